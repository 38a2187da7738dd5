/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Joins the extents of files with EXT4_IOC_JOIN_EXTENTS while other processes
 * write to the files.  A block has 4096 bytes, or $BLOCK_BYTES if it is set.
 *
 *  join mosaic FILE BLOCKS RUN
 *	preallocates BLOCKS blocks, and writes every second range of RUN blocks
 *  join check FILE BLOCKS RUN
 *	fails unless FILE has the data of "join mosaic" and zeroes elsewhere
 *  join call FILE LONGEST [START LENGTH]
 *	joins extents that are separated by at most LONGEST unwritten blocks;
 *	prints the number of zeroed bytes
 *  join kill FILE LONGEST
 *	like "join call", but the call is killed after it has joined some
 *	extents; prints the number of processed bytes and of zeroed bytes
 *  join refused DIR
 *	fails unless the kernel refuses invalid requests on new files in DIR
 *  join beside FILE BLOCKS SEED COUNT HOW
 *	joins extents repeatedly until all other processes have ended.  HOW has
 *	a letter for each of these processes.  A process changes its own blocks
 *	COUNT times: it zeroes a block (which makes the block unwritten), or
 *	punches and preallocates it, or writes it in the way of the letter.  At
 *	the end, each process reads its blocks from the disk and checks them;
 *	T checks its blocks after each change instead.
 *	  B  buffered write, sometimes followed by a sync
 *	  S  buffered write, always followed by a sync
 *	  D  direct write
 *	  A  asynchronous direct write; the next change waits for its completion
 *	  M  write through a mapping, always followed by a sync
 *	  T  truncates the file to just after BLOCKS, preallocates blocks there
 *	     and writes one of them
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "blocks.h"
#include "rand.h"

struct ext4_join_extents {
	uint64_t start, len, longest, done, zeroed;
	uint32_t flags, reserved;
};
#define EXT4_IOC_JOIN_EXTENTS _IOWR('f', 47, struct ext4_join_extents)

/* "join beside" zeroes gaps of at most this number of unwritten blocks */
#define LONGEST	16
/* number of blocks that a process T (see above) preallocates */
#define TAIL	64

/* Fills a block with its number and @version. Version 0 consists of zeroes. */
static void fill(char *buf, uint32_t block, uint32_t version)
{
	fill_words(buf, version ? block + 1 : 0, version);
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, O_RDWR | flags, 0644);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void put(int fd, uint32_t block, uint32_t version)
{
	static char *buf;

	if (!buf)
		buf = buffer();
	fill(buf, block, version);
	if (pwrite(fd, buf, bytes, (off_t)block * bytes) != bytes)
		err(1, "writing block %u", block);
}

static void allocate(int fd, int mode, uint32_t block, uint32_t count)
{
	if (fallocate(fd, mode, (off_t)block * bytes, (off_t)count * bytes))
		err(1, "fallocate, mode %d, block %u", mode, block);
}

static bool differs(int fd, uint32_t block, uint32_t version)
{
	static char *buf, *want;

	if (!buf) {
		buf = buffer();
		want = buffer();
	}
	if (pread(fd, buf, bytes, (off_t)block * bytes) != bytes)
		err(1, "reading block %u", block);
	fill(want, block, version);
	return memcmp(buf, want, bytes) != 0;
}

/* ------------------------------------------------------------------ mosaic */

static void mosaic(const char *path, uint32_t blocks, uint32_t run)
{
	int fd = open_file(path, O_CREAT | O_TRUNC);
	uint32_t i;

	allocate(fd, 0, 0, blocks);
	for (i = 0; i < blocks; i++)
		if (i / run % 2 == 0)
			put(fd, i, 1);
	if (fsync(fd))
		err(1, "%s", path);
	close(fd);
}

static void check(const char *path, uint32_t blocks, uint32_t run)
{
	int fd = open(path, O_RDONLY);
	uint32_t i, bad = 0;

	if (fd < 0)
		err(1, "%s", path);
	for (i = 0; i < blocks; i++)
		bad += differs(fd, i, i / run % 2 == 0);
	if (bad)
		errx(1, "%s: %u blocks of %u are wrong", path, bad, blocks);
	close(fd);
}

/* ------------------------------------------------------------------ joining */

static struct ext4_join_extents all(uint32_t longest)
{
	return (struct ext4_join_extents) {
		.len = UINT64_MAX, .longest = (uint64_t)longest * bytes,
	};
}

static void call(char **argv, int argc)
{
	struct ext4_join_extents join = all(atoi(argv[1]));
	int fd = open_file(argv[0], 0);

	if (argc == 4) {
		join.start = strtoull(argv[2], NULL, 0);
		join.len = strtoull(argv[3], NULL, 0);
	}
	if (ioctl(fd, EXT4_IOC_JOIN_EXTENTS, &join))
		err(1, "%s", argv[0]);
	if (join.done != join.len)
		errx(1, "%s: %llu bytes are done", argv[0],
		     (unsigned long long)join.done);
	printf("%llu\n", (unsigned long long)join.zeroed);
}

static uint32_t extents(int fd)
{
	struct fiemap map = { .fm_length = FIEMAP_MAX_OFFSET };

	if (ioctl(fd, FS_IOC_FIEMAP, &map))
		err(1, "FIEMAP");
	return map.fm_mapped_extents;
}

/*
 * Starts a child that joins extents, and kills the child after some extents
 * have been joined.  The argument of the ioctl is in shared memory, so that the
 * parent can read the results of the ioctl.
 */
static void killed(char **argv)
{
	int fd = open_file(argv[0], 0);
	uint32_t before = extents(fd);
	struct ext4_join_extents *join;
	pid_t child;

	join = mmap(NULL, sizeof(*join), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (join == MAP_FAILED)
		err(1, "mmap");
	child = fork();
	if (!child) {
		*join = all(atoi(argv[1]));
		ioctl(fd, EXT4_IOC_JOIN_EXTENTS, join);
		exit(0);
	}
	while (extents(fd) == before && !waitpid(child, NULL, WNOHANG))
		usleep(1000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%llu %llu\n", (unsigned long long)join->done,
	       (unsigned long long)join->zeroed);
}

/* ----------------------------------------------------------------- refusals */

static void expect(int fd, struct ext4_join_extents join, int error,
		   const char *what)
{
	int got = ioctl(fd, EXT4_IOC_JOIN_EXTENTS, &join) ? errno : 0;

	if (got != error)
		errx(1, "%s: %s", what, got ? strerror(got) : "done");
}

static void expect_flag(const char *path, int flag, bool set, int error,
			const char *what)
{
	int fd = open_file(path, O_CREAT | O_TRUNC), flags, old;

	if (ioctl(fd, FS_IOC_GETFLAGS, &old))
		err(1, "%s", path);
	flags = set ? old | flag : old & ~flag;
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags))
		err(1, "%s, %s", path, what);
	expect(fd, all(1), error, what);
	if (set && ioctl(fd, FS_IOC_SETFLAGS, &old))
		err(1, "%s", path);
	close(fd);
	unlink(path);
}

static bool same_times(const struct stat *a, const struct stat *b)
{
	return !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) &&
	       !memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) &&
	       !memcmp(&a->st_atim, &b->st_atim, sizeof(a->st_atim)) &&
	       a->st_size == b->st_size;
}

static void refused(const char *dir)
{
	struct ext4_join_extents join = all(1);
	struct stat before, after;
	int fd;

	if (chdir(dir))
		err(1, "%s", dir);
	mosaic("file", 16, 1);
	expect(open(".", O_RDONLY), join, EBADF, "a directory");
	expect(open("file", O_RDONLY), join, EBADF, "open to read");
	fd = open_file("file", 0);
	join.flags = 1;
	expect(fd, join, EINVAL, "flags");
	join.flags = 0;
	join.reserved = 1;
	expect(fd, join, EINVAL, "reserved");
	expect(fd, all(0), EINVAL, "no length");
	join = all(1);
	join.start = UINT64_MAX;
	expect(fd, join, EINVAL, "start");
	expect_flag("flag", FS_IMMUTABLE_FL, true, EPERM, "immutable");
	expect_flag("flag", FS_APPEND_FL, true, EPERM, "append only");
	expect_flag("flag", FS_JOURNAL_DATA_FL, true, EOPNOTSUPP,
		    "journaled data");
	expect_flag("flag", FS_EXTENT_FL, false, EOPNOTSUPP, "no extents");
	if (fstat(fd, &before))
		err(1, "fstat");
	usleep(20000);
	expect(fd, all(1), 0, "a file");
	if (fstat(fd, &after) || !same_times(&before, &after))
		errx(1, "times or size differ");
	close(fd);
	check("file", 16, 1);
}

/* ------------------------------------------------------------ writing beside */

struct writer {
	const char *path;
	char how;
	uint32_t nr, of, blocks, count;
	uint64_t seed;
	/* version that each block must have at the end */
	uint32_t *version;
	int fd, direct;
	aio_context_t aio;
	struct iocb cb;
	char *aio_buf;
	bool in_flight;
};

static void wait_aio(struct writer *w)
{
	struct io_event event;

	if (!w->in_flight)
		return;
	if (syscall(SYS_io_getevents, w->aio, 1, 1, &event, NULL) != 1 ||
	    event.res != bytes)
		errx(1, "a write failed");
	w->in_flight = false;
}

static void submit_aio(struct writer *w, uint32_t block, uint32_t version)
{
	struct iocb *cb = &w->cb;

	wait_aio(w);
	fill(w->aio_buf, block, version);
	w->cb = (struct iocb) {
		.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = w->direct,
		.aio_buf = (uintptr_t)w->aio_buf, .aio_nbytes = bytes,
		.aio_offset = (int64_t)block * bytes,
	};
	if (syscall(SYS_io_submit, w->aio, 1, &cb) != 1)
		err(1, "io_submit");
	w->in_flight = true;
}

static void put_mapped(int fd, uint32_t block, uint32_t version)
{
	char *map = mmap(NULL, bytes, PROT_WRITE, MAP_SHARED, fd,
			 (off_t)block * bytes);

	if (map == MAP_FAILED)
		err(1, "mmap");
	fill(map, block, version);
	if (msync(map, bytes, MS_SYNC))
		err(1, "msync");
	munmap(map, bytes);
}

static void write_one(struct writer *w, uint32_t block, uint32_t version)
{
	switch (w->how) {
	case 'B':
	case 'S':
		put(w->fd, block, version);
		if ((w->how == 'S' || version % 16 == 0) && fdatasync(w->fd))
			err(1, "fdatasync");
		break;
	case 'D':
		put(w->direct, block, version);
		break;
	case 'A':
		submit_aio(w, block, version);
		break;
	default:
		put_mapped(w->fd, block, version);
	}
}

static void change_one(struct writer *w, uint32_t version)
{
	uint32_t block = below(&w->seed, w->blocks / w->of) * w->of + w->nr;
	uint32_t kind = below(&w->seed, 8);

	if (kind < 5) {
		write_one(w, block, version);
		w->version[block] = version;
		return;
	}
	wait_aio(w);
	if (kind < 7) {
		allocate(w->fd, FALLOC_FL_ZERO_RANGE, block, 1);
	} else {
		allocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 block, 1);
		allocate(w->fd, 0, block, 1);
	}
	w->version[block] = 0;
}

static void change_tail(struct writer *w, uint32_t version)
{
	uint32_t size = 1 + below(&w->seed, TAIL - 1), at, i;

	if (ftruncate(w->fd, (off_t)w->blocks * bytes))
		err(1, "ftruncate");
	allocate(w->fd, FALLOC_FL_KEEP_SIZE, w->blocks, TAIL);
	if (ftruncate(w->fd, (off_t)(w->blocks + size) * bytes - 7))
		err(1, "ftruncate");
	at = below(&w->seed, size);
	put(at % 2 && at + 1 < size ? w->direct : w->fd, w->blocks + at,
	    version);
	if (fdatasync(w->fd))
		err(1, "fdatasync");
	for (i = 0; i + 1 < size; i++)
		if (differs(w->fd, w->blocks + i, i == at ? version : 0))
			errx(1, "block %u of the tail is wrong", i);
}

static void work(struct writer *w)
{
	uint32_t i, bad = 0;

	w->fd = open_file(w->path, 0);
	w->direct = open_file(w->path, O_DIRECT);
	w->version = calloc(w->blocks, sizeof(*w->version));
	w->aio_buf = buffer();
	if (!w->version || syscall(SYS_io_setup, 1, &w->aio))
		err(1, "starting");
	for (i = 1; i <= w->count; i++)
		if (w->how == 'T')
			change_tail(w, i);
		else
			change_one(w, i);
	wait_aio(w);
	if (fsync(w->fd))
		err(1, "fsync");
	for (i = w->nr; i < w->blocks && w->how != 'T'; i += w->of)
		bad += differs(w->direct, i, w->version[i]);
	if (bad)
		errx(1, "%c: %u blocks are wrong", w->how, bad);
	exit(0);
}

/*
 * Joins extents until all children have ended.  Returns the number of zeroed
 * bytes.
 */
static uint64_t join_beside(int fd)
{
	struct ext4_join_extents join;
	bool failed = false;
	uint64_t zeroed = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0) {
		failed |= pid && status;
		if (pid)
			continue;
		join = all(LONGEST);
		if (ioctl(fd, EXT4_IOC_JOIN_EXTENTS, &join))
			err(1, "joining");
		zeroed += join.zeroed;
	}
	if (failed)
		errx(1, "a process failed");
	return zeroed;
}

static void beside(char **argv)
{
	struct writer w = {
		.path = argv[0], .blocks = atoi(argv[1]), .count = atoi(argv[3]),
	};
	int fd = open_file(w.path, O_CREAT | O_TRUNC);
	uint64_t zeroed;

	w.of = strlen(argv[4]);
	allocate(fd, 0, 0, w.blocks);
	if (fsync(fd))
		err(1, "%s", w.path);
	for (w.nr = 0; w.nr < w.of; w.nr++) {
		w.how = argv[4][w.nr];
		w.seed = atoi(argv[2]) * 100 + w.nr;
		if (!fork())
			work(&w);
	}
	zeroed = join_beside(fd);
	if (!zeroed)
		errx(1, "nothing was zeroed");
	printf("%s: %llu blocks were zeroed\n", argv[4],
	       (unsigned long long)zeroed / bytes);
}

int main(int argc, char **argv)
{
	if (getenv("BLOCK_BYTES"))
		bytes = atoi(getenv("BLOCK_BYTES"));
	if (bytes < 512 || bytes > 4096 || bytes % 512)
		errx(2, "blocks of %u bytes", bytes);
	if (argc == 5 && !strcmp(argv[1], "mosaic"))
		mosaic(argv[2], atoi(argv[3]), atoi(argv[4]));
	else if (argc == 5 && !strcmp(argv[1], "check"))
		check(argv[2], atoi(argv[3]), atoi(argv[4]));
	else if ((argc == 4 || argc == 6) && !strcmp(argv[1], "call"))
		call(argv + 2, argc - 2);
	else if (argc == 4 && !strcmp(argv[1], "kill"))
		killed(argv + 2);
	else if (argc == 3 && !strcmp(argv[1], "refused"))
		refused(argv[2]);
	else if (argc == 7 && !strcmp(argv[1], "beside"))
		beside(argv + 2);
	else
		errx(2, "usage: join mosaic|check|call|kill|refused|beside ARGUMENT...");
	return 0;
}
