/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the content of files.  Files of a source directory are opened by path
 * and read one by one.  Files of a device or an archive are read by byte
 * offset.  Ranges are collected first, announced to the kernel, and then read
 * in the order of the source.  One call reads several nearby ranges.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/full_io.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/base/stat.h"
#include "e4layout/open/in_use.h"
#include "pop_source.h"

/*
 * A request has at most REQUEST_RANGES ranges, because preadv(2) allows 1024
 * elements: each range needs two elements, one for the range and one for the
 * gap before the range.
 */
#define REQUEST_RANGES	512

/* ---------------------------------------------------------- sources by path */

/*
 * Whether s->dir_fd is the source directory that contains the file of @n.  If
 * n->pos is not 0, the file has another path in the source than in the tree,
 * and the result is false.
 */
static bool is_open(const struct e4l_source *s, const struct node *n)
{
	return s->dir && s->dir == n->parent && s->dir_source == n->source &&
	       !n->pos;
}

/*
 * Sets s->dir_fd to a descriptor of the source directory that contains the file
 * of node @id.  Returns the name of the file in this directory; the caller
 * frees the name.  On failure, returns NULL and sets errno.
 */
static char *open_dir(struct e4l_source *s, uint32_t id)
{
	const struct node *n = &s->t->nodes.v[id];
	int root = s->t->sources.v[n->source].fd;
	char *path = e4l_tree_source_path(s->t, id), *slash, *name = NULL;
	int err = ENOMEM;

	if (s->dir)
		close(s->dir_fd);
	s->dir = 0;
	slash = path ? strrchr(path, '/') : NULL;
	if (path)
		name = strdup(slash ? slash + 1 : path);
	if (!name)
		goto out;
	strcpy(slash ? slash : path, slash ? "" : ".");
	s->dir_fd = e4l_tree_open_dir(root, *path ? path : (char *)"/", O_PATH);
	err = errno;
	if (s->dir_fd < 0) {
		free(name);
		name = NULL;
		goto out;
	}
	s->dir = n->pos ? UINT32_MAX : n->parent;
	s->dir_source = n->source;
out:
	free(path);
	errno = err;
	return name;
}

static int open_source(struct e4l_source *s, uint32_t id)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	const struct node *n = &s->t->nodes.v[id];
	const char *name = node_name(s->t, n);
	char *other = NULL;
	int fd, err;

	if (!is_open(s, n)) {
		other = open_dir(s, id);
		if (!other)
			return -1;
		name = other;
	}
	/*
	 * Only the owner of the file and processes with CAP_FOWNER can use
	 * O_NOATIME.
	 */
	fd = openat(s->dir_fd, name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(s->dir_fd, name, flags);
	err = errno;
	free(other);
	errno = err;
	return fd;
}

/*
 * Reads @len bytes of the file of node @id in the source directory, beginning
 * with byte @at of the file.
 */
static errcode_t read_by_path(struct e4l_source *s, uint32_t id, uint64_t at,
			      size_t len, char *buf)
{
	errcode_t err;
	int fd;

	fd = open_source(s, id);
	if (fd < 0)
		return errno;
	err = e4l_read_full(fd, buf, len, at, E4L_ET_FILE_SHRANK);
	close(fd);
	return err;
}

/* ------------------------------------------------------ sources by position */

/*
 * Adds a range to read.  If the range continues the previous range, in the
 * source and in memory, extends the previous range instead.
 */
static errcode_t note(struct e4l_source *s, uint32_t id, uint64_t pos,
		      size_t len, char *buf)
{
	uint16_t source = s->t->nodes.v[id].source;
	struct e4l_source_range *last = s->wanted.n ?
				&s->wanted.v[s->wanted.n - 1] : NULL;

	if (last && last->node == id && last->pos + last->len == pos &&
	    last->buf + last->len == buf) {
		last->len += len;
		return 0;
	}
	if (vec_room(&s->wanted, 1))
		return ENOMEM;
	s->wanted.v[s->wanted.n++] = (struct e4l_source_range) {
		.pos = pos, .buf = buf, .len = len, .node = id,
		.source = source,
	};
	return 0;
}

/*
 * Adds the data of the file range [at, at + len) as ranges to read into @buf,
 * and zeroes the bytes of @buf that belong to holes and unwritten stretches.
 */
static errcode_t note_stretches(struct e4l_source *s, uint32_t id,
				const struct map *map, uint64_t at, size_t len,
				char *buf)
{
	const struct e4l_stretch *stretch = s->t->stretches.v + map->stretch;
	uint32_t lo = 0, hi = map->n_stretch, mid;
	uint64_t from, to, done = at, end = at + len;
	errcode_t err = 0;

	while (lo < hi) { /* find the first stretch that ends after @at */
		mid = (lo + hi) / 2;
		if (stretch[mid].offset + stretch[mid].bytes <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < map->n_stretch && !err && stretch[lo].offset < end; lo++) {
		if (stretch[lo].unwritten)
			continue;
		from = stretch[lo].offset > at ? stretch[lo].offset : at;
		to = stretch[lo].offset + stretch[lo].bytes;
		if (to > end)
			to = end;
		memset(buf + (done - at), 0, from - done);
		done = to;
		err = note(s, id, stretch[lo].pos + (from - stretch[lo].offset),
			   to - from, buf + (from - at));
	}
	memset(buf + (done - at), 0, end - done);
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct e4l_source_range *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/*
 * Returns how many of the @n sorted ranges from @r on preadv(2) can read in one
 * call.
 */
static size_t request_length(const struct e4l_source *s,
			     const struct e4l_source_range *r, size_t n)
{
	uint64_t end = r->pos + r->len;
	size_t i;

	for (i = 1; i < n && i < REQUEST_RANGES; i++) {
		if (r[i].source != r->source || r[i].pos < end ||
		    r[i].pos - end > s->reading.gap_bytes ||
		    r[i].pos + r[i].len - r->pos > s->reading.gather_bytes)
			break;
		end = r[i].pos + r[i].len;
	}
	return i;
}

/*
 * Reads @n nearby ranges with one call of preadv(2).  If the read fails or is
 * short, returns false.
 */
static bool read_request(struct e4l_source *s, const struct e4l_source_range *r,
			 size_t n)
{
	struct iovec v[2 * REQUEST_RANGES];
	uint64_t end = r->pos;
	size_t i, parts = 0;

	for (i = 0; i < n; i++) {
		if (r[i].pos > end)
			v[parts++] = (struct iovec) { s->between,
						      r[i].pos - end };
		v[parts++] = (struct iovec) { r[i].buf, r[i].len };
		end = r[i].pos + r[i].len;
	}
	return preadv(s->t->sources.v[r->source].fd, v, parts, r->pos) ==
	       (ssize_t)(end - r->pos);
}

/* Reads each range with its own call, to find the file that cannot be read. */
static errcode_t read_singly(struct e4l_source *s,
			     const struct e4l_source_range *r, size_t n)
{
	errcode_t err = 0;

	for (; n && !err; n--, r++) {
		err = e4l_read_full(s->t->sources.v[r->source].fd, r->buf,
				    r->len, r->pos, E4L_ET_FILE_SHRANK);
		if (err)
			e4l_tree_fail(s->t, err, r->node, NULL, 0);
	}
	return err;
}

/* ------------------------------------------------------------------- public */

static bool rotates(int fd)
{
	struct e4l_in_use *u = NULL;
	struct stat st;
	bool yes;

	yes = fd >= 0 && !e4l_fstat(fd, &st) &&
	      !e4l_in_use_new(&st, 0, UINT64_MAX, &u) && e4l_in_use_rotates(u);
	e4l_in_use_free(u);
	return yes;
}

struct e4l_reading e4l_source_reading(const struct e4l_tree *t)
{
	bool any = false;
	size_t i;

	/*
	 * Call rotates() only once for each data file.  The sources of layers
	 * from the same file are consecutive.
	 */
	for (i = 0; i < t->sources.n && !any; i++)
		any = !t->sources.v[i].by_path &&
		      (!i || t->sources.v[i].fd != t->sources.v[i - 1].fd) &&
		      rotates(t->sources.v[i].fd);
	return e4l_reading_for(any);
}

errcode_t e4l_source_want(struct e4l_source *s, uint32_t id, uint64_t at,
			  size_t len, char *buf)
{
	const struct e4l_tree *t = s->t;
	const struct node *n = &t->nodes.v[id];
	bool by_path = t->sources.v[n->source].by_path;
	size_t have = at < n->size ? n->size - at : 0;
	errcode_t err = 0;

	if (have > len)
		have = len;
	if (!by_path && n->map && t->maps.v[n->map].n_stretch) {
		err = note_stretches(s, id, &t->maps.v[n->map], at, len, buf);
	} else {
		memset(buf + have, 0, len - have);
		if (have && by_path)
			err = read_by_path(s, id, at, have, buf);
		else if (have)
			err = note(s, id, n->pos + at, have, buf);
	}
	return err ? e4l_tree_fail(s->t, err, id, NULL, 0) : 0;
}

errcode_t e4l_source_fetch(struct e4l_source *s)
{
	struct e4l_source_range *r = s->wanted.v;
	size_t n = s->wanted.n, i, run;
	errcode_t err = 0;

	s->wanted.n = 0;
	if (!s->between)
		s->between = n ? malloc(s->reading.gap_bytes) : NULL;
	if (n && !s->between)
		return ENOMEM;
	e4l_sort(r, n, sizeof(*r), by_place);
	for (i = 0; i < n && n > 1; i += run) {
		run = request_length(s, r + i, n - i);
		e4l_announce(s->t->sources.v[r[i].source].fd, r[i].pos, r[i + run - 1].pos +
			     r[i + run - 1].len - r[i].pos);
	}
	for (i = 0; i < n && !err; i += run) {
		run = request_length(s, r + i, n - i);
		if (!read_request(s, r + i, run))
			err = read_singly(s, r + i, run);
	}
	return err;
}

void e4l_source_close(struct e4l_source *s)
{
	if (s->dir)
		close(s->dir_fd);
	free(s->wanted.v);
	free(s->between);
}
