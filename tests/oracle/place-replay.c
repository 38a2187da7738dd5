/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the library's placement of inodes with a kernel's:
 *
 *   place-replay IMAGE WINDOW <LOG
 *
 * IMAGE is the initial filesystem, to which the operations of LOG are applied.
 * WINDOW is the number of inodes per window, as for e4l_place_new().
 * The lines of LOG are "mkdir|create INODE PATH", "unlink|rmdir 0 PATH", and
 * "mount 0 /" if the kernel has lost its state.  Prints each difference, and
 * continues with the kernel's inode.  Prints the number of inodes and of
 * differences.
 */
#include "config.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <e4layout/e4layout.h>
#include "e4layout/inodes/place.h"

struct replay {
	ext2_filsys fs;
	struct e4l *e;
	struct e4l_place *p;
	uint32_t window;
	unsigned int inodes, differ;
};

static void must(errcode_t ret, const char *what, const char *path)
{
	if (ret)
		errx(1, "%s %s: %s", what, path, error_message(ret));
}

/* Returns the directory of @path, and sets *@name to the last component. */
static ext2_ino_t parent_of(struct replay *r, char *path, char **name)
{
	char *slash = strrchr(path, '/');
	ext2_ino_t dir = EXT2_ROOT_INO;

	*name = slash ? slash + 1 : path;
	if (slash) {
		*slash = 0;
		must(ext2fs_namei(r->fs, EXT2_ROOT_INO, EXT2_ROOT_INO, path,
				  &dir), "finding", path);
		*slash = '/';
	}
	return dir;
}

static void mount_again(struct replay *r)
{
	e4l_place_free(r->p);
	must(e4l_place_new(r->e, r->window, 0, &r->p), "starting", "");
}

static void compare(struct replay *r, const char *path, char *name,
		    ext2_ino_t dir, int mode, ext2_ino_t ino)
{
	ext2_ino_t mine;

	must(e4l_new_inode(r->p, dir, mode, name, &mine), "placing", path);
	r->inodes++;
	if (mine == ino)
		return;
	r->differ++;
	printf("%s in inode %u: kernel %u, library %u\n", path, dir, ino, mine);
}

/* If @ret shows that @dir is full, adds a block. */
static bool has_grown(struct replay *r, ext2_ino_t dir, const char *path,
		      errcode_t ret)
{
	if (ret != EXT2_ET_DIR_NO_SPACE)
		return false;
	must(ext2fs_expand_dir(r->fs, dir), "growing", path);
	return true;
}

static void make_dir(struct replay *r, char *path, ext2_ino_t ino)
{
	char *name;
	ext2_ino_t dir = parent_of(r, path, &name);
	errcode_t ret;

	compare(r, path, name, dir, LINUX_S_IFDIR, ino);
	do {
		ret = ext2fs_mkdir(r->fs, dir, ino, name);
	} while (has_grown(r, dir, path, ret));
	must(ret, "making", path);
}

static void make_file(struct replay *r, char *path, ext2_ino_t ino)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1,
		.i_flags = EXT4_EXTENTS_FL,
	};
	ext2_extent_handle_t handle;
	char *name;
	ext2_ino_t dir = parent_of(r, path, &name);
	errcode_t ret;

	compare(r, path, name, dir, LINUX_S_IFREG, ino);
	ext2fs_inode_alloc_stats2(r->fs, ino, 1, 0);
	must(ext2fs_extent_open2(r->fs, ino, &inode, &handle), "making", path);
	ext2fs_extent_free(handle);
	must(ext2fs_write_new_inode(r->fs, ino, &inode), "making", path);
	do {
		ret = ext2fs_link(r->fs, dir, name, ino, EXT2_FT_REG_FILE);
	} while (has_grown(r, dir, path, ret));
	must(ret, "linking", path);
}

static void drop(struct replay *r, char *path, bool is_dir)
{
	struct ext2_inode inode, parent;
	ext2_ino_t ino;
	char *name;
	ext2_ino_t dir = parent_of(r, path, &name);

	must(ext2fs_namei(r->fs, EXT2_ROOT_INO, dir, name, &ino), "finding",
	     path);
	must(ext2fs_unlink(r->fs, dir, name, ino, 0), "unlinking", path);
	must(ext2fs_read_inode(r->fs, ino, &inode), "reading", path);
	if (is_dir) {
		must(ext2fs_punch(r->fs, ino, &inode, NULL, 0, ~0ULL),
		     "removing", path);
		must(ext2fs_read_inode(r->fs, dir, &parent), "reading", path);
		parent.i_links_count--;
		must(ext2fs_write_inode(r->fs, dir, &parent), "removing",
		     path);
	}
	inode.i_links_count = 0;
	inode.i_dtime = time(NULL);
	must(ext2fs_write_inode(r->fs, ino, &inode), "removing", path);
	ext2fs_inode_alloc_stats2(r->fs, ino, -1, is_dir);
}

static void take(struct replay *r, const char *what, ext2_ino_t ino,
		 char *path)
{
	if (!strcmp(what, "mount"))
		mount_again(r);
	else if (!strcmp(what, "mkdir"))
		make_dir(r, path, ino);
	else if (!strcmp(what, "create"))
		make_file(r, path, ino);
	else if (!strcmp(what, "unlink"))
		drop(r, path, false);
	else if (!strcmp(what, "rmdir"))
		drop(r, path, true);
	else
		errx(1, "what is %s?", what);
}

int main(int argc, char **argv)
{
	struct replay r = { 0 };
	char what[16], path[256];
	ext2_ino_t ino;

	if (argc != 3)
		errx(2, "usage: place-replay IMAGE WINDOW <LOG");
	r.window = atoi(argv[2]);
	must(ext2fs_open(argv[1], EXT2_FLAG_64BITS | EXT2_FLAG_RW, 0, 0,
			 unix_io_manager, &r.fs), "opening", argv[1]);
	must(ext2fs_read_bitmaps(r.fs), "reading", argv[1]);
	must(e4l_new(r.fs, &r.e), "opening", argv[1]);
	mount_again(&r);
	while (scanf("%15s %u %255s", what, &ino, path) == 3)
		take(&r, what, ino, path);
	printf("%u inodes, %u placed elsewhere\n", r.inodes, r.differ);
	e4l_place_free(r.p);
	e4l_free(r.e);
	must(ext2fs_close_free(&r.fs), "closing", argv[1]);
	return 0;
}
