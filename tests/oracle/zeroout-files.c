/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the zero-out oracle that would be slow in a shell:
 *
 *   create DIR SEED COUNT
 *	preallocates COUNT random files in DIR
 *   write DIR EXTENTS SEED CHUNK
 *	makes random writes to the files in DIR, each to disk before the next;
 *	also simulates the writes, beginning with the extents EXTENTS, and
 *	prints the resulting extents
 *   dump IMAGE
 *	prints the extents on disk
 *
 * Extents are lines "inode logical physical length state".  CHUNK is
 * extent_max_zeroout_kb.
 */
#include "config.h"
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "../../debugfs/zeroout.h"

#define MAX_FILES 1000
#define MAX_EXTENTS 20000

static unsigned int below(unsigned int n)
{
	return random() % n;
}

static int open_file(const char *dir, unsigned int i, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/f%03u", dir, i);
	fd = open(path, flags, 0644);
	if (fd < 0 && flags & O_CREAT)
		err(1, "%s", path);
	return fd;
}

/*
 * Gives each file a size and preallocated ranges, some of them after a hole or
 * beyond the end.  Files grow alternately, so that their blocks are fragmented.
 * One file in 10 is long enough for several leaves.
 */
static void create(const char *dir, unsigned int seed, unsigned int count)
{
	unsigned int i, pieces, turn, bs, len;
	off_t at[MAX_FILES] = { 0 };
	struct stat st;
	int fd;

	srandom(seed);
	for (turn = 0; turn < 4; turn++) {
		for (i = 0; i < count; i++) {
			fd = open_file(dir, i, O_RDWR | O_CREAT);
			if (fstat(fd, &st))
				err(1, "fstat");
			bs = st.st_blksize;
			len = i % 10 ? 1 + below(200) : 4000;
			if (!turn && below(4) &&
			    ftruncate(fd, (off_t)below(3 * len * bs) + 1))
				err(1, "ftruncate");
			pieces = below(3);
			if (turn && i % 10 && !pieces)
				len = 0;
			if (!below(3))
				at[i] += (off_t)below(20) * bs;
			if (len && fallocate(fd, below(3) ?
					     0 : FALLOC_FL_KEEP_SIZE,
					     at[i], (off_t)len * bs))
				err(1, "fallocate");
			at[i] += (off_t)len * bs;
			close(fd);
		}
	}
}

struct list {
	size_t n;
	struct e4l_extent ex[MAX_EXTENTS];
};

/* Reads the extents of inode @ino from the file @path. */
static void load(const char *path, unsigned long ino, struct list *list)
{
	FILE *in = fopen(path, "r");
	unsigned long long pblk;
	unsigned long at_ino;
	unsigned int lblk, len;
	char state;

	if (!in)
		err(1, "%s", path);
	list->n = 0;
	while (fscanf(in, "%lu %u %llu %u %c", &at_ino, &lblk, &pblk, &len,
		      &state) == 5) {
		if (at_ino != ino)
			continue;
		if (list->n == MAX_EXTENTS)
			errx(1, "%s: too many extents", path);
		list->ex[list->n++] = (struct e4l_extent) {
			.lblk = lblk, .pblk = pblk, .len = len,
			.unwritten = state == 'u',
		};
	}
	fclose(in);
}

static void tell(unsigned long ino, const struct e4l_extent *ex, size_t n)
{
	for (; n--; ex++)
		printf("%lu %u %llu %u %c\n", ino, ex->lblk,
		       (unsigned long long)ex->pblk, ex->len,
		       ex->unwritten ? 'u' : 'w');
}

static void write_disk(int fd, uint32_t lblk, uint32_t len, unsigned int bs)
{
	static char data[64 << 12];
	off_t off = (off_t)lblk * bs;
	size_t size = (size_t)len * bs;

	memset(data, 0x5a, size);
	if (pwrite(fd, data, size, off) != (ssize_t)size)
		err(1, "pwrite");
	if (sync_file_range(fd, off, size, SYNC_FILE_RANGE_WAIT_BEFORE |
			    SYNC_FILE_RANGE_WRITE |
			    SYNC_FILE_RANGE_WAIT_AFTER))
		err(1, "sync_file_range");
}

/*
 * The distribution of a file's writes.  AROUND_A_SPOT and MIDDLE_LAST split
 * leaves of the extent tree unevenly.
 */
enum spread { ANYWHERE, AROUND_A_SPOT, MIDDLE_LAST, SPREADS };

/* Returns the block of write @i.  The previous write was to block @last. */
static uint32_t pick(enum spread spread, uint32_t last, uint32_t blocks,
		     unsigned int i)
{
	if (spread == AROUND_A_SPOT && below(200))
		return (last + blocks + below(60) - 30) % blocks;
	if (spread == MIDDLE_LAST && i < blocks / 20)
		return (below(blocks / 2) + blocks * 3 / 4) % blocks;
	if (spread == MIDDLE_LAST)
		return (blocks / 4 + 2 * (i - blocks / 20)) % blocks;
	return below(blocks);
}

/* Makes random writes to the blocks in @list, on disk and in the model. */
static void write_file(int fd, const struct list *list, unsigned int bs,
		       struct e4l_zeroout_file *f, uint32_t max_blocks)
{
	uint32_t blocks = list->ex[list->n - 1].lblk +
			  list->ex[list->n - 1].len;
	uint32_t lblk = 0, len, most = below(3) ? 1 : 64;
	enum spread spread = below(SPREADS);
	unsigned int writes = 1 + below(blocks / 3 + 2), i;

	for (i = 0; i < writes; i++) {
		lblk = pick(spread, lblk, blocks, i);
		len = 1 + below(most);
		if (e4l_zeroout_file_write(f, lblk, len, max_blocks, NULL,
					   NULL))
			continue;	/* the model refuses writes to holes */
		write_disk(fd, lblk, len, bs);
	}
}

static void write_all(const char *dir, const char *extents, unsigned int seed,
		      unsigned int chunk_kb)
{
	static struct list list, result;
	struct e4l_zeroout_file *f;
	unsigned int i, bs;
	struct stat st;
	int fd;

	srandom(seed);
	for (i = 0; (fd = open_file(dir, i, O_RDWR)) >= 0; i++) {
		if (fstat(fd, &st))
			err(1, "fstat");
		bs = st.st_blksize;
		load(extents, st.st_ino, &list);
		if (!list.n)
			errx(1, "file %u has no extents in %s", i, extents);
		if (e4l_zeroout_file_new(list.ex, list.n, bs,
					 (st.st_size + bs - 1) / bs, &f))
			errx(1, "file %u: bad extents in %s", i, extents);
		write_file(fd, &list, bs, f, chunk_kb * 1024 / bs);
		result.n = e4l_zeroout_file_extents(f, NULL);
		if (result.n > MAX_EXTENTS)
			errx(1, "file %u: too many extents", i);
		e4l_zeroout_file_extents(f, result.ex);
		tell(st.st_ino, result.ex, result.n);
		e4l_zeroout_file_free(f);
		close(fd);
	}
}

static void dump_inode(ext2_filsys fs, ext2_ino_t ino)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent ex;
	struct e4l_extent leaf;
	errcode_t ret;

	if (ext2fs_extent_open(fs, ino, &handle))
		errx(1, "inode %u: no extents", ino);
	for (ret = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &ex); !ret;
	     ret = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &ex)) {
		if (!(ex.e_flags & EXT2_EXTENT_FLAGS_LEAF) ||
		    ex.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT)
			continue;
		leaf = (struct e4l_extent) {
			.lblk = ex.e_lblk, .pblk = ex.e_pblk, .len = ex.e_len,
			.unwritten = !!(ex.e_flags &
					EXT2_EXTENT_FLAGS_UNINIT),
		};
		tell(ino, &leaf, 1);
	}
	if (ret != EXT2_ET_EXTENT_NO_NEXT)
		errx(1, "inode %u: error %ld", ino, ret);
	ext2fs_extent_free(handle);
}

static void dump(const char *image)
{
	struct ext2_inode inode;
	ext2_inode_scan scan;
	ext2_filsys fs;
	ext2_ino_t ino;

	if (ext2fs_open(image, EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs) ||
	    ext2fs_open_inode_scan(fs, 0, &scan))
		errx(1, "%s: cannot be opened", image);
	for (;;) {
		if (ext2fs_get_next_inode(scan, &ino, &inode))
			errx(1, "%s: cannot be read", image);
		if (!ino)
			break;
		if (ino >= EXT2_FIRST_INO(fs->super) && inode.i_links_count &&
		    LINUX_S_ISREG(inode.i_mode))
			dump_inode(fs, ino);
	}
	ext2fs_close_inode_scan(scan);
	ext2fs_close_free(&fs);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "create"))
		create(argv[2], atoi(argv[3]),
		       atoi(argv[4]) < MAX_FILES ? atoi(argv[4]) : MAX_FILES);
	else if (argc == 6 && !strcmp(argv[1], "write"))
		write_all(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]));
	else if (argc == 3 && !strcmp(argv[1], "dump"))
		dump(argv[2]);
	else
		errx(2, "usage: zeroout-files create|write|dump ARGUMENT...");
	return 0;
}
