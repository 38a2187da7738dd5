/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes files and directories at random, and checks the filesystem after a
 * crash.
 *
 *  fuzz run DIR SEED WORKERS MILLISECONDS FC_INFO
 *	Let each of WORKERS processes change its own directory below DIR. After
 *	MILLISECONDS, shut the filesystem down without flushing the log. Print
 *	all operations, and the number of fast commits according to FC_INFO.
 *  fuzz judge DIR LOG
 *	Check DIR against LOG, the output of "run". The names, link counts and
 *	modes below each worker's directory must be those after one of its
 *	operations: the last synced operation, or a later one. Each sector of a
 *	file must have the contents that were last synced, or contents that
 *	were written later.
 *
 * Files are written in sectors of 512 bytes. A sector repeats the number of the
 * operation that wrote it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "rand.h"

#define SECTOR		512
#define SECTORS		128	/* maximum number of sectors of a file */
#define DIRS		5	/* directory 0 is the worker's own directory */
#define SLOTS		8	/* maximum number of names in a directory */
/* files that a worker keeps open at the same time */
#define HELD		2
#define WORKERS		4
#define MAX_OPS		6000
#define EXT4_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#define SHUTDOWN_NOLOGFLUSH	2

enum { CREATE, WRITE, FSYNC, TRUNCATE, FALLOCATE, UNLINK, RENAME, LINK, MKDIR,
	RMDIR, CHMOD, XATTR, TMPFILE, TMPLINK, HOLD, DROP, HWRITE, SYNCDIR,
	SYNCFS, TYPES };
enum { STARTED, DONE, FAILED };
enum { BUFFERED, DIRECT, DSYNC };

/* Element n of a worker's ops[] is operation number n + 1 of the worker. */
struct op {
	int type, arg[4], state;
};

struct shared {
	volatile int down;
	int n[WORKERS];
	struct op ops[WORKERS][MAX_OPS];
};

/* A file is identified by the number of the operation that created it. */
struct model {
	bool dir[DIRS];
	int name[DIRS][SLOTS];
	int held[HELD];
	int mode[MAX_OPS + 1], links[MAX_OPS + 1];
};

static void model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->dir[0] = true;
}

static void set_name(struct model *m, int dir, int slot, int file)
{
	int *name = &m->name[dir][slot];

	if (*name)
		m->links[*name]--;
	*name = file;
	if (file)
		m->links[file]++;
}

static void apply_rename(struct model *m, const int *arg)
{
	int file = m->name[arg[0]][arg[1]];

	/* If both names refer to the same file, rename() does nothing. */
	if (m->name[arg[2]][arg[3]] == file)
		return;
	set_name(m, arg[2], arg[3], file);
	set_name(m, arg[0], arg[1], 0);
}

/* Apply operation @op, number @n, to the names, links and modes of @m. */
static void apply(struct model *m, const struct op *op, int n)
{
	const int *arg = op->arg;

	switch (op->type) {
	case CREATE:
		set_name(m, arg[0], arg[1], n);
		m->mode[n] = 0600;
		break;
	case UNLINK:
		set_name(m, arg[0], arg[1], 0);
		break;
	case RENAME:
		apply_rename(m, arg);
		break;
	case LINK:
		set_name(m, arg[2], arg[3], m->name[arg[0]][arg[1]]);
		break;
	case MKDIR:
		m->dir[arg[0]] = true;
		break;
	case RMDIR:
		m->dir[arg[0]] = false;
		break;
	case CHMOD:
		m->mode[arg[0]] = arg[1];
		break;
	case TMPFILE:
		m->held[arg[0]] = n;
		m->mode[n] = 0600;
		break;
	case TMPLINK:
		set_name(m, arg[1], arg[2], m->held[arg[0]]);
		break;
	case HOLD:
		m->held[arg[2]] = m->name[arg[0]][arg[1]];
		break;
	case DROP:
		m->held[arg[0]] = 0;
		break;
	}
}

static void dir_path(char *path, const char *top, int dir)
{
	if (dir)
		sprintf(path, "%s/d%d", top, dir);
	else
		strcpy(path, top);
}

static void name_path(char *path, const char *top, int dir, int slot)
{
	dir_path(path, top, dir);
	sprintf(path + strlen(path), "/a-name-of-some-length-%d", slot);
}

/*
 * Set *@dir and *@slot to a name of @file, and return whether @file has a name.
 */
static bool find_name(const struct model *m, int file, int *dir, int *slot)
{
	for (*dir = 0; *dir < DIRS; ++*dir)
		for (*slot = 0; *slot < SLOTS; ++*slot)
			if (m->name[*dir][*slot] == file)
				return true;
	return false;
}

/* ---- run ---- */

struct worker {
	struct shared *shared;
	int number, fds[HELD];
	uint64_t seed;
	char top[64];
	struct model m;
};

static int rand_below(struct worker *w, int n)
{
	return below(&w->seed, n);
}

static int pick_dir(struct worker *w)
{
	int dir = rand_below(w, DIRS);

	return w->m.dir[dir] ? dir : 0;
}

/* If @used, choose a name that exists, otherwise a name that does not exist. */
static bool pick_name(struct worker *w, bool used, int *dir, int *slot)
{
	int i;

	for (i = 0; i < 16; i++) {
		*dir = pick_dir(w);
		*slot = rand_below(w, SLOTS);
		if (!w->m.name[*dir][*slot] == !used)
			return true;
	}
	return false;
}

static bool dir_empty(const struct model *m, int dir)
{
	int slot;

	for (slot = 0; slot < SLOTS; slot++)
		if (m->name[dir][slot])
			return false;
	return true;
}

static bool choose_on_file(struct worker *w, struct op *op)
{
	int *arg = op->arg, dir, slot;

	if (!pick_name(w, true, &dir, &slot))
		return false;
	arg[0] = w->m.name[dir][slot];
	switch (op->type) {
	case WRITE:
		arg[3] = rand_below(w, 6) % 3;
		arg[1] = rand_below(w, SECTORS - 16) & (arg[3] == DIRECT ? ~7 : ~0);
		arg[2] = arg[3] == DIRECT ? 8 : 1 + rand_below(w, 16);
		break;
	case FSYNC:
		arg[1] = !rand_below(w, 4);
		break;
	case TRUNCATE:
		arg[1] = rand_below(w, SECTORS);
		break;
	case FALLOCATE:
		arg[1] = rand_below(w, SECTORS - 32);
		arg[2] = 1 + rand_below(w, 32);
		arg[3] = rand_below(w, 4);
		break;
	case CHMOD:
		arg[1] = 0600 | (w->m.mode[arg[0]] + 1 + rand_below(w, 62)) % 64;
		return arg[1] != w->m.mode[arg[0]];
	}
	return true;
}

/*
 * Choose the arguments of @op.  Return false if an operation of type op->type
 * is not possible.
 */
static bool choose(struct worker *w, struct op *op)
{
	int *arg = op->arg, held = rand_below(w, HELD);
	struct model *m = &w->m;

	switch (op->type) {
	case CREATE:
		return pick_name(w, false, &arg[0], &arg[1]);
	case UNLINK:
		return pick_name(w, true, &arg[0], &arg[1]);
	case RENAME:
		return pick_name(w, true, &arg[0], &arg[1]) &&
		       pick_name(w, !rand_below(w, 3), &arg[2], &arg[3]);
	case LINK:
		return pick_name(w, true, &arg[0], &arg[1]) &&
		       pick_name(w, false, &arg[2], &arg[3]);
	case MKDIR:
		arg[0] = 1 + rand_below(w, DIRS - 1);
		return !m->dir[arg[0]];
	case RMDIR:
		arg[0] = 1 + rand_below(w, DIRS - 1);
		return m->dir[arg[0]] && dir_empty(m, arg[0]);
	case TMPFILE:
		arg[0] = held;
		arg[1] = pick_dir(w);
		return !m->held[held];
	case TMPLINK:
		arg[0] = held;
		return m->held[held] && m->mode[m->held[held]] == 0600 &&
		       !m->links[m->held[held]] && w->fds[held] < 0 &&
		       pick_name(w, false, &arg[1], &arg[2]);
	case HOLD:
		arg[2] = held;
		return !m->held[held] && pick_name(w, true, &arg[0], &arg[1]);
	case DROP:
		arg[0] = held;
		return m->held[held];
	case HWRITE:
		arg[0] = held;
		arg[1] = rand_below(w, SECTORS - 16);
		arg[2] = 1 + rand_below(w, 16);
		return m->held[held];
	case SYNCDIR:
		arg[0] = pick_dir(w);
		return true;
	case SYNCFS:
		return true;
	default:
		return choose_on_file(w, op);
	}
}

static int write_sectors(int fd, int n, int worker, int first, int count)
{
	static uint32_t buffer[16 * SECTOR / 4] __attribute__((aligned(4096)));
	int i;

	for (i = 0; i < count * SECTOR / 4; i++)
		buffer[i] = (worker + 1) << 24 | n;
	i = pwrite(fd, buffer, count * SECTOR, (off_t)first * SECTOR);
	return i == count * SECTOR ? 0 : -1;
}

static int do_fallocate(int fd, const int *arg)
{
	static const int modes[] = {
		0, FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
	};

	return fallocate(fd, modes[arg[3]], (off_t)arg[1] * SECTOR,
			 (off_t)arg[2] * SECTOR);
}

static int do_on_file(struct worker *w, const struct op *op, int n)
{
	static const int flags[] = { 0, O_DIRECT, O_DSYNC };
	static const char value[1000] = "x";
	int dir, slot, fd, ret = -1;
	const int *arg = op->arg;
	char path[128];

	if (!find_name(&w->m, arg[0], &dir, &slot))
		return -1;
	name_path(path, w->top, dir, slot);
	fd = open(path, O_RDWR | (op->type == WRITE ? flags[arg[3]] : 0));
	if (fd < 0)
		return -1;
	switch (op->type) {
	case WRITE:
		ret = write_sectors(fd, n, w->number, arg[1], arg[2]);
		break;
	case FSYNC:
		ret = arg[1] ? fdatasync(fd) : fsync(fd);
		break;
	case TRUNCATE:
		ret = ftruncate(fd, (off_t)arg[1] * SECTOR);
		break;
	case FALLOCATE:
		ret = do_fallocate(fd, arg);
		break;
	case CHMOD:
		ret = fchmod(fd, arg[1]);
		break;
	case XATTR:
		ret = fsetxattr(fd, "user.x", value, sizeof(value), 0);
		break;
	}
	close(fd);
	return ret;
}

static int do_tmplink(struct worker *w, const int *arg)
{
	char from[64], path[128];

	sprintf(from, "/proc/self/fd/%d", ~w->fds[arg[0]]);
	name_path(path, w->top, arg[1], arg[2]);
	return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/*
 * Return the descriptor of open file number @held.  In w->fds[], ~fd stands for
 * a file of O_TMPFILE that has no name.
 */
static int held_fd(const struct worker *w, int held)
{
	int fd = w->fds[held];

	return fd < 0 ? ~fd : fd;
}

static int do_two_names(struct worker *w, const struct op *op)
{
	char from[128], to[128];

	name_path(from, w->top, op->arg[0], op->arg[1]);
	name_path(to, w->top, op->arg[2], op->arg[3]);
	return op->type == LINK ? link(from, to) : rename(from, to);
}

static int do_sync(struct worker *w, const struct op *op)
{
	char path[128];
	int fd, ret;

	dir_path(path, w->top, op->type == SYNCDIR ? op->arg[0] : 0);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	ret = op->type == SYNCDIR ? fsync(fd) : syncfs(fd);
	close(fd);
	return ret;
}

static int do_op(struct worker *w, const struct op *op, int n)
{
	const int *arg = op->arg;
	char path[128];
	int fd;

	switch (op->type) {
	case CREATE:
		name_path(path, w->top, arg[0], arg[1]);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		return fd < 0 ? -1 : close(fd);
	case UNLINK:
		name_path(path, w->top, arg[0], arg[1]);
		return unlink(path);
	case RENAME:
	case LINK:
		return do_two_names(w, op);
	case MKDIR:
		dir_path(path, w->top, arg[0]);
		return mkdir(path, 0700);
	case RMDIR:
		dir_path(path, w->top, arg[0]);
		return rmdir(path);
	case TMPFILE:
		dir_path(path, w->top, arg[1]);
		fd = open(path, O_TMPFILE | O_RDWR, 0600);
		w->fds[arg[0]] = ~fd;
		return fd < 0 ? -1 : 0;
	case TMPLINK:
		return do_tmplink(w, arg);
	case HOLD:
		name_path(path, w->top, arg[0], arg[1]);
		w->fds[arg[2]] = open(path, O_RDWR);
		return w->fds[arg[2]] < 0 ? -1 : 0;
	case DROP:
		return close(held_fd(w, arg[0]));
	case HWRITE:
		return write_sectors(held_fd(w, arg[0]), n, w->number, arg[1],
				     arg[2]);
	case SYNCDIR:
	case SYNCFS:
		return do_sync(w, op);
	default:
		return do_on_file(w, op, n);
	}
}

/* The relative frequency of each type of operation. */
static const int weights[TYPES] = {
	[CREATE] = 12, [WRITE] = 20, [FSYNC] = 24, [TRUNCATE] = 4,
	[FALLOCATE] = 8, [UNLINK] = 7, [RENAME] = 6, [LINK] = 4, [MKDIR] = 5,
	[RMDIR] = 5, [CHMOD] = 5, [XATTR] = 1, [TMPFILE] = 2, [TMPLINK] = 1,
	[HOLD] = 3, [DROP] = 2, [HWRITE] = 3, [SYNCDIR] = 2, [SYNCFS] = 1,
};

static int pick_type(struct worker *w)
{
	int total = 0, type, n;

	for (type = 0; type < TYPES; type++)
		total += weights[type];
	n = rand_below(w, total);
	for (type = 0; n >= weights[type]; type++)
		n -= weights[type];
	return type;
}

static void work(struct worker *w)
{
	struct shared *s = w->shared;
	int *n = &s->n[w->number];

	while (*n < MAX_OPS && !s->down) {
		struct op op = { .type = pick_type(w) };
		bool failed;

		if (!choose(w, &op))
			continue;
		s->ops[w->number][*n] = op;
		++*n;
		failed = do_op(w, &op, *n);
		if (s->down)
			break;
		s->ops[w->number][*n - 1].state = failed ? FAILED : DONE;
		if (!failed)
			apply(&w->m, &op, *n);
	}
	for (;;)
		pause();
}

/*
 * Make the directories of the workers, and sync them.  Return the descriptor of
 * @dir.
 */
static int make_dirs(const char *dir, int workers)
{
	int fd = open(dir, O_RDONLY), i;
	char path[64];

	if (fd < 0)
		err(1, "%s", dir);
	for (i = 0; i < workers; i++) {
		snprintf(path, sizeof(path), "%s/w%d", dir, i);
		if (mkdir(path, 0700))
			err(1, "%s", path);
	}
	if (syncfs(fd))
		err(1, "syncfs");
	return fd;
}

static void start_worker(struct shared *s, const char *dir, int number, int seed,
			 pid_t *pid)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		err(1, "memory");
	w->shared = s;
	w->number = number;
	snprintf(w->top, sizeof(w->top), "%s/w%d", dir, number);
	*pid = fork();
	if (*pid < 0)
		err(1, "fork");
	if (*pid) {
		free(w);
		return;
	}
	model_init(&w->m);
	w->seed = seed * WORKERS + number;
	work(w);
}

/*
 * Sleep for @milliseconds.  Meanwhile, evict cached directories and files at
 * random intervals.
 */
static void wait_milliseconds(uint64_t seed, int milliseconds)
{
	while (milliseconds > 0) {
		int part = 20 + below(&seed, 100);
		int fd;

		usleep((part < milliseconds ? part : milliseconds) * 1000);
		milliseconds -= part;
		fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
		if (fd >= 0 && write(fd, "2", 1) != 1)
			warn("drop_caches");
		close(fd);
	}
}

static void print_commits(const char *fc_info)
{
	FILE *f = fopen(fc_info, "r");
	int commits = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "commits"))
			if (sscanf(line, "%d", &commits) == 1)
				break;
	if (f)
		fclose(f);
	printf("C %d\n", commits);
}

static void print_ops(const struct shared *s, int workers)
{
	int i, n;

	for (i = 0; i < workers; i++)
		for (n = 0; n < s->n[i]; n++) {
			const struct op *op = &s->ops[i][n];

			printf("O %d %d %d %d %d %d %d\n", i, op->type, op->arg[0],
			       op->arg[1], op->arg[2], op->arg[3], op->state);
		}
}

static void run(char **argv)
{
	const char *dir = argv[0];
	int seed = atoi(argv[1]), workers = atoi(argv[2]), i, top;
	uint32_t how = SHUTDOWN_NOLOGFLUSH;
	pid_t pids[WORKERS];
	struct shared *s;

	if (workers < 1 || workers > WORKERS)
		errx(2, "1 to %d workers", WORKERS);
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		err(1, "mmap");
	top = make_dirs(dir, workers);
	for (i = 0; i < workers; i++)
		start_worker(s, dir, i, seed, &pids[i]);
	wait_milliseconds(seed, atoi(argv[3]));
	print_commits(argv[4]);
	s->down = 1;
	if (ioctl(top, EXT4_IOC_SHUTDOWN, &how))
		err(1, "shutdown of %s", dir);
	for (i = 0; i < workers; i++)
		kill(pids[i], SIGKILL);
	print_ops(s, workers);
}

/* ---- judge ---- */

/* The names found on disk below a worker's directory. */
struct found {
	bool dir[DIRS];
	uint64_t ino[DIRS][SLOTS];
	int mode[DIRS][SLOTS], links[DIRS][SLOTS];
	int unknown, dir_links;
};

static void look(struct found *f, const char *top)
{
	int dir, slot;
	char path[128];
	struct stat st;

	memset(f, 0, sizeof(*f));
	for (dir = 0; dir < DIRS; dir++) {
		struct dirent *entry;
		DIR *stream;

		dir_path(path, top, dir);
		stream = opendir(path);
		f->dir[dir] = stream;
		if (!stream)
			continue;
		while ((entry = readdir(stream)))
			f->unknown++;
		f->unknown -= 2 + (dir != 0);
		closedir(stream);
		for (slot = 0; slot < SLOTS; slot++) {
			name_path(path, top, dir, slot);
			if (lstat(path, &st))
				continue;
			f->ino[dir][slot] = st.st_ino;
			f->mode[dir][slot] = st.st_mode & 07777;
			f->links[dir][slot] = st.st_nlink;
			f->unknown--;
		}
	}
	if (!f->dir[0])
		f->unknown = -1;
	f->dir_links = stat(top, &st) ? 0 : st.st_nlink;
}

/*
 * Return whether the names, links and modes on the disk agree with the model.
 */
static bool same(const struct model *m, const struct found *f)
{
	uint64_t ino[MAX_OPS + 1] = { 0 };
	int dir, slot, links = 2;

	for (dir = 1; dir < DIRS; dir++)
		links += m->dir[dir];
	if (f->unknown || f->dir_links != links)
		return false;
	for (dir = 0; dir < DIRS; dir++) {
		if (m->dir[dir] != f->dir[dir])
			return false;
		for (slot = 0; slot < SLOTS; slot++) {
			int file = m->name[dir][slot];
			uint64_t is = f->ino[dir][slot];

			if (!file != !is)
				return false;
			if (!file)
				continue;
			if (ino[file] && ino[file] != is)
				return false;
			ino[file] = is;
			if (m->mode[file] != f->mode[dir][slot] ||
			    m->links[file] != f->links[dir][slot])
				return false;
		}
	}
	return true;
}

static void print_names(const struct found *f)
{
	int dir, slot;

	printf("%d links, %d unknown names\n", f->dir_links, f->unknown);
	for (dir = 0; dir < DIRS; dir++)
		for (slot = 0; slot < SLOTS; slot++)
			if (f->ino[dir][slot])
				printf("d%d/%d: inode %llu, %d links, %o\n", dir,
				       slot, (long long)f->ino[dir][slot],
				       f->links[dir][slot], f->mode[dir][slot]);
}

struct log {
	int n;
	struct op ops[MAX_OPS];
};

static bool changes_file(const struct op *op, int file, const struct model *m,
			 int n)
{
	const int *arg = op->arg;

	switch (op->type) {
	case CREATE:
		return n == file;
	case CHMOD:
		return arg[0] == file;
	case LINK:
		return m->name[arg[2]][arg[3]] == file;
	case RENAME:
		/*
		 * If both names refer to the same file, rename() does nothing.
		 */
		return m->name[arg[2]][arg[3]] == file &&
		       m->name[arg[0]][arg[1]] != file;
	case TMPLINK:
		return m->name[arg[1]][arg[2]] == file;
	}
	return false;
}

/* Return the last operation whose metadata fsync() or syncfs() has synced. */
static int synced(const struct log *log)
{
	/* last operation that changed each file */
	static int changed[MAX_OPS + 1];
	struct model *m = calloc(1, sizeof(*m));
	int n, file, last = 0;

	if (!m)
		err(1, "memory");
	model_init(m);
	memset(changed, 0, sizeof(changed));
	for (n = 1; n <= log->n; n++) {
		const struct op *op = &log->ops[n - 1];

		if (op->state != DONE)
			continue;
		apply(m, op, n);
		for (file = 1; file <= n; file++)
			if (changes_file(op, file, m, n))
				changed[file] = n;
		if (op->type == SYNCFS)
			last = n;
		else if (op->type == FSYNC && !op->arg[1] &&
			 changed[op->arg[0]] > last)
			last = changed[op->arg[0]];
	}
	free(m);
	return last;
}

/*
 * Find the first operation, from @first on, after which the model agrees with
 * @f.  Return -1 if there is none.
 */
static int find_moment(const struct log *log, const struct found *f, int first)
{
	struct model *m = calloc(1, sizeof(*m));
	int n, moment = -1;

	if (!m)
		err(1, "memory");
	model_init(m);
	for (n = 0; n <= log->n && moment < 0; n++) {
		if (n && log->ops[n - 1].state != FAILED)
			apply(m, &log->ops[n - 1], n);
		if (n >= first && same(m, f))
			moment = n;
	}
	free(m);
	return moment;
}

/* The possible contents of a file, for each sector, and its possible size. */
struct contents {
	/* number of the operation that wrote the sector last; 0: zeroes */
	int cur[SECTORS];
	int base[SECTORS];		/* value of cur[] at the last sync */
	/* number of the operation that synced the sector last */
	int sync[SECTORS];
	/* number of the operation that zeroed the sector last */
	int zero[SECTORS];
	/* current size; minimum and maximum size since the last sync */
	int size, min, max;
};

static void size_is(struct contents *c, int size)
{
	c->size = size;
	if (size < c->min)
		c->min = size;
	if (size > c->max)
		c->max = size;
}

static void zero_sectors(struct contents *c, int n, int first, int end)
{
	int i;

	for (i = first; i < end && i < SECTORS; i++) {
		c->cur[i] = 0;
		c->zero[i] = n;
	}
}

static void sync_sectors(struct contents *c, int n, int first, int end)
{
	int i;

	for (i = first; i < end && i < SECTORS; i++) {
		c->base[i] = c->cur[i];
		c->sync[i] = n;
	}
}

static void write_contents(struct contents *c, int n, int first, int count)
{
	int i;

	for (i = first; i < first + count; i++)
		c->cur[i] = n;
	if (first + count > c->size)
		size_is(c, first + count);
}

static void change_contents(struct contents *c, const struct op *op, int n)
{
	const int *arg = op->arg;

	/* A failed write may have written a part of the data. */
	if (op->state == FAILED && op->type != WRITE && op->type != HWRITE)
		return;
	switch (op->type) {
	case WRITE:
	case HWRITE:
		write_contents(c, n, arg[1], arg[2]);
		if (op->type == WRITE && arg[3] == DSYNC && op->state == DONE) {
			sync_sectors(c, n, arg[1], arg[1] + arg[2]);
			/*
			 * The file cannot be shorter, unless a later operation
			 * truncates the file.
			 */
			if (c->min < arg[1] + arg[2])
				c->min = arg[1] + arg[2];
		}
		break;
	case TRUNCATE:
		zero_sectors(c, n, arg[1], SECTORS);
		size_is(c, arg[1]);
		break;
	case FALLOCATE:
		if (arg[3] >= 2)
			zero_sectors(c, n, arg[1], arg[1] + arg[2]);
		if (!arg[3] && arg[1] + arg[2] > c->size)
			size_is(c, arg[1] + arg[2]);
		break;
	case FSYNC:
	case SYNCFS:
		if (op->state != DONE)
			break;
		sync_sectors(c, n, 0, SECTORS);
		c->min = c->max = c->size;
		break;
	}
}

/* Determine the possible contents of @file after all operations of the log. */
static void expect(const struct log *log, int file, struct contents *c)
{
	struct model *m = calloc(1, sizeof(*m));
	int n;

	if (!m)
		err(1, "memory");
	model_init(m);
	memset(c, 0, sizeof(*c));
	for (n = 1; n <= log->n; n++) {
		const struct op *op = &log->ops[n - 1];
		int on = op->type == HWRITE ? m->held[op->arg[0]] :
			op->type == SYNCFS ? file : op->arg[0];

		if (on == file && n > file)
			change_contents(c, op, n);
		if (op->state != FAILED)
			apply(m, op, n);
	}
	free(m);
}

/* Return whether operation @n wrote sector @i of @file. */
static bool wrote(const struct log *log, const struct model *held, int n, int file,
		  int i)
{
	const struct op *op;

	if (n < 1 || n > log->n)
		return false;
	op = &log->ops[n - 1];
	if (op->type == HWRITE ? held->held[op->arg[0]] != file :
	    op->type != WRITE || op->arg[0] != file)
		return false;
	return i >= op->arg[1] && i < op->arg[1] + op->arg[2];
}

static bool wrote_sector(const struct log *log, int n, int file, int i)
{
	struct model *m = calloc(1, sizeof(*m));
	bool ret;
	int k;

	if (!m)
		err(1, "memory");
	model_init(m);
	for (k = 1; k < n && k <= log->n; k++)
		if (log->ops[k - 1].state != FAILED)
			apply(m, &log->ops[k - 1], k);
	ret = wrote(log, m, n, file, i);
	free(m);
	return ret;
}

/*
 * Return the number of the operation that wrote the sector, 0 if the sector
 * contains zeroes, or -1 if its contents are invalid.
 */
static int sector_writer(const uint32_t *sector, int worker)
{
	int i;

	for (i = 1; i < SECTOR / 4; i++)
		if (sector[i] != sector[0])
			return -1;
	if (!sector[0])
		return 0;
	if (sector[0] >> 24 != (uint32_t)worker + 1)
		return -1;
	return sector[0] & 0xffffff;
}

static int judge_file(const struct log *log, int worker, int file,
		      const char *path)
{
	static uint32_t data[SECTORS * SECTOR / 4];
	int fd = open(path, O_RDONLY), size, i, bad = 0;
	struct contents c;

	expect(log, file, &c);
	memset(data, 0, sizeof(data));
	size = fd < 0 ? -1 : read(fd, data, sizeof(data));
	close(fd);
	if (size < 0) {
		printf("%s cannot be read\n", path);
		return 1;
	}
	if (size < c.min * SECTOR || size > c.max * SECTOR) {
		printf("%s has %d sectors, not %d to %d\n", path, size / SECTOR,
		       c.min, c.max);
		bad++;
	}
	for (i = 0; i < size / SECTOR; i++) {
		int n = sector_writer(data + i * SECTOR / 4, worker);

		if (n == c.base[i] || (!n && c.zero[i] > c.sync[i]) ||
		    (n > c.sync[i] && wrote_sector(log, n, file, i)))
			continue;
		printf("%s (%d): sector %d is of %d, synced at %d was %d\n", path,
		       file, i, n, c.sync[i], c.base[i]);
		bad++;
	}
	return bad;
}

/*
 * Check the contents of the files that existed after operation @moment.  The
 * contents may be newer than this operation.
 */
static int judge_moment(const struct log *log, int worker, const char *top,
			int moment)
{
	struct model *m = calloc(1, sizeof(*m));
	int n, dir, slot, bad = 0;
	char path[128];

	if (!m)
		err(1, "memory");
	model_init(m);
	for (n = 1; n <= moment; n++)
		if (log->ops[n - 1].state != FAILED)
			apply(m, &log->ops[n - 1], n);
	for (dir = 0; dir < DIRS; dir++)
		for (slot = 0; slot < SLOTS; slot++)
			if (m->name[dir][slot]) {
				name_path(path, top, dir, slot);
				bad += judge_file(log, worker,
						  m->name[dir][slot], path);
			}
	free(m);
	return bad;
}

/*
 * Checks a worker's directory.  The names in the directory can be right after
 * several operations, because an operation can replace a file by another file
 * of the same name.  The contents must be right after one of these operations.
 * Returns 0 if the directory is right.
 */
static int judge_worker(const struct log *log, int worker, const char *dir)
{
	struct found *f = calloc(1, sizeof(*f));
	int first = synced(log), moment, bad = 1;
	char top[64];

	if (!f)
		err(1, "memory");
	snprintf(top, sizeof(top), "%s/w%d", dir, worker);
	look(f, top);
	moment = find_moment(log, f, first);
	if (moment < 0) {
		printf("worker %d: the names are of no moment from %d to %d\n",
		       worker, first, log->n);
		print_names(f);
	}
	while (moment >= 0) {
		bad = judge_moment(log, worker, top, moment);
		printf("worker %d: %d operations, synced to %d, found %d%s\n",
		       worker, log->n, first, moment, bad ? ", or later" : "");
		moment = bad ? find_moment(log, f, moment + 1) : -1;
	}
	free(f);
	return bad;
}

static int judge(char **argv)
{
	struct log *logs = calloc(WORKERS, sizeof(*logs));
	FILE *f = fopen(argv[1], "r");
	int i, bad = 0;
	char line[128];

	if (!f || !logs)
		err(1, "%s", argv[1]);
	while (fgets(line, sizeof(line), f)) {
		struct op op;

		if (sscanf(line, "O %d %d %d %d %d %d %d", &i, &op.type,
			   &op.arg[0], &op.arg[1], &op.arg[2], &op.arg[3],
			   &op.state) == 7)
			logs[i].ops[logs[i].n++] = op;
	}
	fclose(f);
	for (i = 0; i < WORKERS; i++)
		if (logs[i].n)
			bad += judge_worker(&logs[i], i, argv[0]);
	return bad != 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (argc == 7 && !strcmp(argv[1], "run"))
		run(argv + 2);
	else if (argc == 4 && !strcmp(argv[1], "judge"))
		return judge(argv + 2);
	else
		errx(2, "usage: fuzz run|judge ...");
	return 0;
}
