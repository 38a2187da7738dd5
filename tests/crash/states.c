/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the possible states of the devices.  Writes before the last flush of a
 * device are complete.  Of the later writes, any subset may be on disk, in any
 * order, torn at 512 bytes.
 *
 * One copy of the devices is in memory, and one copy is in files, which e2fsck
 * and other programs read and change.  A state is patched into both copies and
 * undone again.  Changes by the programs are undone by comparing the copies.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "crash.h"

#define SECTOR 512u

struct sector {
	int dev;
	uint64_t index;
	uint8_t old[SECTOR];
};

struct device {
	uint8_t *mem;
	size_t size;		/* allocated size of @mem, in bytes */
	size_t len;		/* size of the device in the state, in bytes */
	size_t file_len;	/* current size of the file @fd, in bytes */
	int fd;
};

struct machine {
	const struct bench *b;
	const struct tap_log *log;
	struct world w;
	struct device dev[TAP_DEVICES];
	uint64_t hash;			/* hash of all memory */
	struct sector *patch;		/* sectors that the state changes */
	size_t n_patch, patch_room;
	size_t *pending;		/* writes without a later flush */
	size_t n_pending;
	size_t marks;	/* number of transactions committed in the state */
	uint64_t *seen;			/* hashes of states, open addressing */
	size_t seen_size;
	const struct refs *refs;
	uint64_t random;
	unsigned int job, jobs;
	struct verdict *verdict;
	/* a repair has changed the files, which now differ from dev[].mem */
	bool repaired;
	bool first_loss;	/* stop at the first state that fails a check */
};

static uint32_t rnd(struct machine *m, uint32_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 16) % below;
}

static uint64_t sector_hash(const struct machine *m, int dev, uint64_t index)
{
	const uint8_t *p = m->dev[dev].mem + index * SECTOR;
	uint64_t hash = index * 8 + dev + 1, word;
	size_t i;

	for (i = 0; i < SECTOR; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

/* ------------------------------------------------------- setup and teardown */

static size_t log_end(const struct tap_log *log, int dev)
{
	size_t end = 0, i;

	for (i = 0; i < log->n; i++)
		if (log->ev[i].type == TAP_WRITE && log->ev[i].dev == dev &&
		    log->ev[i].offset + log->ev[i].len > end)
			end = log->ev[i].offset + log->ev[i].len;
	return end;
}

/*
 * Copies everything except zeroes to memory and to the file, so that the file
 * stays sparse.
 */
static void fill(struct device *d, const uint8_t *base)
{
	const size_t piece = 4096;
	size_t pos, n;

	if (ftruncate(d->fd, d->len))
		fatal("cannot truncate");
	for (pos = 0; pos < d->len; pos += n) {
		n = d->len - pos < piece ? d->len - pos : piece;
		if (all_zero(base + pos, n))
			continue;
		memcpy(d->mem + pos, base + pos, n);
		if (pwrite(d->fd, base + pos, n, pos) != (ssize_t)n)
			fatal("cannot write");
	}
}

static void device_open(struct machine *m, int i)
{
	struct device *d = &m->dev[i];
	size_t end = log_end(m->log, i);

	d->len = m->b->size[i];
	d->size = (end > d->len ? end : d->len) + SECTOR;
	d->mem = check_alloc(calloc(1, d->size));
	d->file_len = d->len;
	snprintf(m->w.path[i], sizeof(m->w.path[i]), "%s/work%u-%d",
		 m->b->dir, m->job, i);
	d->fd = open(m->w.path[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (d->fd < 0)
		fatal("cannot create %s", m->w.path[i]);
	fill(d, m->b->base[i]);
}

static void machine_open(struct machine *m, const struct bench *b,
			 const struct tap_log *log, unsigned int job, bool undo)
{
	size_t writes = 0, i;

	memset(m, 0, sizeof(*m));
	m->b = b;
	m->log = log;
	m->job = job;
	m->w.undo = undo;
	m->w.mmp = b->sc->flags & SCENARIO_MMP;
	m->w.by_name = b->renumbers;
	m->w.resizes = b->resizes;
	m->w.n_dev = m->w.undo ? TAP_DEVICES : b->n_dev;
	for (i = 0; i < m->w.n_dev; i++)
		device_open(m, i);
	for (i = 0; i < log->n; i++)
		writes += log->ev[i].type == TAP_WRITE;
	m->pending = check_alloc(calloc(writes + 1, sizeof(*m->pending)));
}

static void machine_close(struct machine *m)
{
	int i;

	for (i = 0; i < m->w.n_dev; i++) {
		free(m->dev[i].mem);
		close(m->dev[i].fd);
		unlink(m->w.path[i]);
	}
	free(m->pending);
	free(m->patch);
	free(m->seen);
}

/* ---------------------------------------------- applying and undoing writes */

static void save_sector(struct machine *m, int dev, uint64_t index)
{
	struct sector *s;

	if (m->n_patch == m->patch_room) {
		m->patch_room = m->patch_room ? 2 * m->patch_room : 1024;
		m->patch = check_alloc(reallocarray(m->patch, m->patch_room,
						    sizeof(*m->patch)));
	}
	s = &m->patch[m->n_patch++];
	s->dev = dev;
	s->index = index;
	memcpy(s->old, m->dev[dev].mem + index * SECTOR, SECTOR);
}

/*
 * Whether @ev is a relevant write.  A write to the undo file is irrelevant if
 * the file is not read.
 */
static bool is_write(const struct machine *m, const struct tap_event *ev)
{
	return ev->type == TAP_WRITE && ev->dev < m->w.n_dev;
}

/* Writes the sectors of @ev to memory, each with a probability of @percent. */
static void apply(struct machine *m, const struct tap_event *ev,
		  unsigned int percent)
{
	struct device *d = &m->dev[ev->dev];
	uint64_t pos = ev->offset, end = ev->offset + ev->len, next;

	for (; pos < end; pos = next) {
		uint64_t index = pos / SECTOR;

		next = (index + 1) * SECTOR;
		if (next > end)
			next = end;
		if (percent < 100 && rnd(m, 100) >= percent)
			continue;
		save_sector(m, ev->dev, index);
		m->hash ^= sector_hash(m, ev->dev, index);
		memcpy(d->mem + pos, ev->data + (pos - ev->offset),
		       next - pos);
		m->hash ^= sector_hash(m, ev->dev, index);
		if (next > d->len)
			d->len = next;
	}
}

/*
 * Writes the state from memory to the files of the devices: sets the size of
 * each file, and copies each sector in m->patch, which has the changed sectors.
 */
static void write_patches(struct machine *m)
{
	size_t i;

	for (i = 0; i < m->w.n_dev; i++)
		if (m->dev[i].len != m->dev[i].file_len &&
		    ftruncate(m->dev[i].fd, m->dev[i].len))
			fatal("cannot truncate");
	for (i = 0; i < m->n_patch; i++) {
		struct device *d = &m->dev[m->patch[i].dev];
		size_t pos = m->patch[i].index * SECTOR, len = SECTOR;

		if (len > d->len - pos)
			len = d->len - pos;
		if (pwrite(d->fd, d->mem + pos, len, pos) != (ssize_t)len)
			fatal("cannot patch");
	}
	for (i = 0; i < m->w.n_dev; i++)
		m->dev[i].file_len = m->dev[i].len;
}

static void restore_range(struct device *d, size_t pos, size_t end)
{
	const size_t piece = 65536;
	uint8_t buf[65536];
	size_t n;

	for (; pos < end; pos += n) {
		n = end - pos < piece ? end - pos : piece;
		if (pread(d->fd, buf, n, pos) != (ssize_t)n)
			fatal("cannot read back");
		if (!memcmp(buf, d->mem + pos, n))
			continue;
		if (pwrite(d->fd, d->mem + pos, n, pos) != (ssize_t)n)
			fatal("cannot restore");
	}
}

/*
 * Gives the device files the content of dev[].mem again, after a repair has
 * changed the files.  Skips holes of the files: the programs make no holes, so
 * that dev[].mem also has zeroes there.
 */
static void restore_files(struct machine *m)
{
	off_t pos, end;
	int i;

	for (i = 0; i < m->w.n_dev; i++) {
		struct device *d = &m->dev[i];

		if (ftruncate(d->fd, d->len))
			fatal("cannot truncate");
		d->file_len = d->len;
		for (pos = 0; (pos = lseek(d->fd, pos, SEEK_DATA)) >= 0;
		     pos = end) {
			end = lseek(d->fd, pos, SEEK_HOLE);
			if (end < pos)
				fatal("cannot seek");
			restore_range(d, pos, end);
		}
		if (errno != ENXIO)
			fatal("cannot seek");
	}
}

static void take_back(struct machine *m, const size_t len[])
{
	int i;

	while (m->n_patch) {
		struct sector *s = &m->patch[--m->n_patch];

		m->hash ^= sector_hash(m, s->dev, s->index);
		memcpy(m->dev[s->dev].mem + s->index * SECTOR, s->old, SECTOR);
		m->hash ^= sector_hash(m, s->dev, s->index);
	}
	for (i = 0; i < m->w.n_dev; i++)
		m->dev[i].len = len[i];
	if (m->repaired)
		restore_files(m);
	m->repaired = false;
}

/* ------------------------------------------------------------- checking */

static bool seen_before(struct machine *m, uint64_t hash)
{
	size_t i = hash % m->seen_size;

	hash += !hash;
	while (m->seen[i] && m->seen[i] != hash)
		i = (i + 1) % m->seen_size;
	if (m->seen[i])
		return true;
	m->seen[i] = hash;
	return false;
}

static bool same(const struct digest *a, const struct digest *b)
{
	return a->content == b->content && a->layout == b->layout;
}

/*
 * Checks that the committed transactions are complete, and that later
 * transactions are absent.  The first uncommitted transaction may be complete
 * or absent.
 */
static const char *judge(const struct machine *m, const struct digest *d)
{
	const struct digest *ref = &m->refs->v[m->w.undo ? 0 : m->marks];

	if (same(d, ref) ||
	    (!m->w.undo && m->marks + 1 < m->refs->n && same(d, &ref[1])))
		return NULL;
	return d->content != ref->content ?
	       "a file has changed" : "neither before nor after the transaction";
}

/*
 * Checks the state that is in memory: the contents of the devices after a crash
 * before event @at of the log.  If the state was checked before, only
 * increments @m->verdict->repeated.
 */
static void check_state(struct machine *m, size_t at, const char *how)
{
	uint64_t len = m->w.undo ? m->dev[DEV_UNDO].len : 0;
	uint64_t key = m->hash ^ m->marks * 0xff51afd7ed558ccdull ^
		       len * 0xc4ceb9fe1a85ec53ull;
	struct digest d;
	const char *wrong;

	if (seen_before(m, key)) {
		m->verdict->repeated++;
		return;
	}
	if (m->verdict->states++ % m->jobs != m->job)
		return;
	write_patches(m);
	m->repaired = true;
	wrong = repair_state(&m->w, &d);
	if (!wrong)
		wrong = judge(m, &d);
	if (wrong && !m->verdict->lost++)
		printf("# lost: before event %zu, after transaction %zu, %s:"
		       "\n# %s\n", at, m->marks, how, wrong);
}

static void state_all(struct machine *m, size_t at)
{
	size_t i;

	for (i = 0; i < m->n_pending; i++)
		apply(m, &m->log->ev[m->pending[i]], 100);
	check_state(m, at, "all writes");
}

static void shuffle(struct machine *m, size_t *list, size_t n)
{
	size_t i, k, keep;

	for (i = n; i > 1; i--) {
		k = rnd(m, i);
		keep = list[i - 1];
		list[i - 1] = list[k];
		list[k] = keep;
	}
}

/*
 * Makes and checks a state in which a random part of the pending writes is on
 * disk.  @at is the number of log events before the power failure.
 */
static void state_sample(struct machine *m, size_t at)
{
	static const char *const how[] = {
		"some writes", "some writes, some torn", "all but one write",
		"one write only",
	};
	size_t n = m->n_pending ? rnd(m, m->n_pending) + 1 : 0, i;
	size_t *list = check_alloc(malloc((n + 1) * sizeof(*list)));
	unsigned int kind = rnd(m, 4), one = rnd(m, n + 1);
	unsigned int percent[] = { 0, 100, 50 };

	memcpy(list, m->pending, n * sizeof(*list));
	if (rnd(m, 2))
		shuffle(m, list, n);
	for (i = 0; i < n; i++) {
		unsigned int part = percent[rnd(m, kind ? 3 : 2)];

		if (kind == 2)
			part = i == one ? percent[rnd(m, 2) * 2] : 100;
		if (kind == 3)
			part = i == one ? percent[rnd(m, 2) + 1] : 0;
		apply(m, &m->log->ev[list[i]], part);
	}
	free(list);
	check_state(m, at, how[kind]);
}

/* ------------------------------------------- states in the order of the log */

/* Makes the writes to @dev durable. */
static void flush(struct machine *m, int dev)
{
	size_t i, kept = 0;

	for (i = 0; i < m->n_pending; i++) {
		if (m->log->ev[m->pending[i]].dev == dev)
			apply(m, &m->log->ev[m->pending[i]], 100);
		else
			m->pending[kept++] = m->pending[i];
	}
	m->n_pending = kept;
	write_patches(m);
	m->n_patch = 0;
}

/*
 * Returns the weight of an interval between flushes.  The weight grows with the
 * number of possible states: any writes may be on disk, and any sectors of torn
 * writes.
 */
static size_t window_weight(size_t writes, size_t sectors)
{
	return 16 * writes + (sectors < 64 ? sectors : 64);
}

static size_t pending_weight(const struct machine *m)
{
	size_t sectors = 0, i;

	for (i = 0; i < m->n_pending; i++)
		sectors += m->log->ev[m->pending[i]].len / SECTOR + 1;
	return window_weight(m->n_pending, sectors);
}

static bool is_over(const struct machine *m)
{
	return m->first_loss && m->verdict->lost;
}

/*
 * Walks through the log of writes and flushes.  At each @each-th event, checks
 * the state with all writes so far.  Also checks the state at the end of each
 * interval between flushes; if @each is large, omits some intervals.  In each
 * interval, checks about @attempts * window_weight() random states, and at
 * least one.
 */
static void walk(struct machine *m, size_t each, double attempts)
{
	size_t more = (each + 3) / each, of = (each + 2) / 3, stretch = 0;
	size_t at, len[TAP_DEVICES], i;

	for (at = 0; at <= m->log->n; at++) {
		const struct tap_event *ev = &m->log->ev[at];
		bool end = (at == m->log->n || ev->type == TAP_FLUSH) &&
			   stretch++ % of == 0;
		size_t draws = end ? attempts * pending_weight(m) + more : 0;

		for (i = 0; i < TAP_DEVICES; i++)
			len[i] = m->dev[i].len;
		for (i = 0; i <= draws && !is_over(m); i++) {
			if (i)
				state_sample(m, at);
			else if (end || at % each == 0)
				state_all(m, at);
			take_back(m, len);
		}
		if (at == m->log->n || is_over(m))
			break;
		if (is_write(m, ev))
			m->pending[m->n_pending++] = at;
		else if (ev->type == TAP_FLUSH)
			flush(m, ev->dev);
		else if (ev->type == TAP_MARK)
			m->marks++;
	}
}

/* ------------------------------------------------------------------- public */

struct refs make_refs(const struct bench *b, const struct tap_log *log,
		      bool undo)
{
	struct digest *ref = NULL;
	struct machine m;
	const char *wrong;
	size_t n = 0, at, i;

	machine_open(&m, b, log, 0, undo);
	for (at = 0; at <= log->n; at++) {
		const struct tap_event *ev = at ? &log->ev[at - 1] : NULL;

		if (ev && is_write(&m, ev))
			apply(&m, ev, 100);
		if (ev && (m.w.undo || ev->type != TAP_MARK))
			continue;
		ref = check_alloc(reallocarray(ref, n + 1, sizeof(*ref)));
		write_patches(&m);
		wrong = repair_state(&m.w, &ref[n]);
		if (wrong)
			fatal("%s: after transaction %zu: %s", b->sc->name,
			      n, wrong);
		n++;
		restore_files(&m);
	}
	for (i = 1; i < n; i++)
		if (!b->changes_content && ref[i].content != ref[0].content)
			fatal("%s: transaction %zu changes a file",
			      b->sc->name, i);
	/*
	 * Compare only the first and the last state.  A transaction that only
	 * packs an extent tree may not change the digest, because e2fsck packs
	 * the tree in the earlier state.
	 */
	if (n > 1 && same(&ref[0], &ref[n - 1]))
		fatal("%s: no transaction changes an extent", b->sc->name);
	machine_close(&m);
	return (struct refs) { ref, n };
}

/*
 * Returns the sum of window_weight() for all intervals between flushes, plus 1.
 * The writes to all devices are counted together.
 */
static size_t total_weight(const struct machine *m)
{
	const struct tap_log *log = m->log;
	size_t weight = 1, writes = 0, sectors = 0, i;

	for (i = 0; i < log->n; i++) {
		if (is_write(m, &log->ev[i])) {
			writes++;
			sectors += log->ev[i].len / SECTOR + 1;
		} else if (log->ev[i].type == TAP_FLUSH) {
			weight += window_weight(writes, sectors);
			writes = sectors = 0;
		}
	}
	return weight + window_weight(writes, sectors);
}

static void run_job(struct machine *m, const struct sampling *how)
{
	m->jobs = how->jobs;
	m->w.mount = how->mount;
	m->first_loss = how->first_loss;
	m->random = how->seed * 0x9e3779b97f4a7c15ull + 1;
	m->seen_size = 4 * (how->wanted + m->log->n) + 4096;
	m->seen = check_alloc(calloc(m->seen_size, sizeof(*m->seen)));
	walk(m, how->each, (double)how->wanted / total_weight(m));
}

struct verdict check_states(const struct bench *b, const struct tap_log *log,
			    const struct refs *refs,
			    const struct sampling *how)
{
	size_t bytes = how->jobs * sizeof(struct verdict);
	struct verdict *v, sum;
	unsigned int i;
	int status;

	v = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		fatal("out of memory");
	fflush(NULL);
	for (i = 0; i < how->jobs; i++) {
		struct machine m;

		if (fork())
			continue;
		machine_open(&m, b, log, i, how->undo);
		m.refs = refs;
		m.verdict = &v[i];
		run_job(&m, how);
		machine_close(&m);
		exit(EXIT_SUCCESS);
	}
	for (i = 0; i < how->jobs; i++)
		if (wait(&status) < 0 || status)
			fatal("%s: a job has died", b->sc->name);
	sum = v[0];
	for (i = 1; i < how->jobs; i++)
		sum.lost += v[i].lost;
	munmap(v, bytes);
	return sum;
}
