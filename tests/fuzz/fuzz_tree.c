/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: loads the tree of files from an unchecked image, plans an image
 * with these files in a sound filesystem, and writes the image.
 */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "mem_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

/*
 * Makes an empty filesystem, which gets the files of the input.  The properties
 * of the filesystem do not depend on the input.
 */
static void make_target(const char *path)
{
	struct ext2_super_block sb = {
		.s_rev_level = EXT2_DYNAMIC_REV, .s_inode_size = 256,
		.s_inodes_count = 2048,
	};
	ext2_filsys fs;

	ext2fs_blocks_count_set(&sb, 16384);
	ext2fs_set_feature_extents(&sb);
	ext2fs_set_feature_filetype(&sb);
	ext2fs_set_feature_dir_index(&sb);
	ext2fs_set_feature_ea_inode(&sb);
	ext2fs_set_feature_inline_data(&sb);
	ext2fs_set_feature_project(&sb);
	require(!ext2fs_initialize(path, EXT2_FLAG_64BITS, &sb,
				   unix_io_manager, &fs));
	require(!ext2fs_allocate_tables(fs));
	require(!ext2fs_mkdir(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, 0));
	require(!ext2fs_close_free(&fs));
}

static void fill(struct e4l_tree *t, const char *path, int fd)
{
	struct e4l_populate_options o = {
		.window = E4L_WINDOW_EXACT, .threads = 1,
	};
	struct e4l_populate_target target = { .fd = fd, .direct_fd = -1 };
	struct e4l_populate *p = NULL;
	struct e4l *e = NULL;
	ext2_filsys fs;

	require(!ext2fs_open(path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
			     unix_io_manager, &fs));
	require(!ext2fs_read_bitmaps(fs));
	require(!e4l_new(fs, &e));
	if (!e4l_populate_plan(e, t, &o, &p))
		e4l_populate_write(p, &target);
	e4l_populate_free(p);
	e4l_free(e);
	ext2fs_free(fs);
}

/* Returns a file with the bytes of the image, because pread(2) needs a file. */
static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("image", 0);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char target[40];
	static int target_fd = -1;
	struct e4l_tree *t;
	struct e4l *e;
	ext2_filsys fs;
	int fd;

	if (target_fd < 0) {
		target_fd = memfd_create("target", 0);
		require(!ftruncate(target_fd, 16 << 20));
		snprintf(target, sizeof(target), "/proc/self/fd/%d", target_fd);
		make_target(target);
	}
	e = mem_io_open(data, size, &fs);
	if (!e)
		return 0;
	fd = file_of(data, size);
	require(!e4l_tree_new(&t));
	if (!e4l_tree_load_fs(t, e, 0, E4L_LOAD_GENERATION, NULL)) {
		e4l_tree_set_data_fd(t, fd);
		fill(t, target, target_fd);
	}
	e4l_tree_free(t);
	close(fd);
	mem_io_close(e, fs);
	return 0;
}
