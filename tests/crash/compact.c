/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls e4l_compact_dirs(), with one directory per transaction.  Before the
 * first call, libext2fs creates directories that have lost most of their
 * entries, and fills the filesystem.
 */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "e4layout/dirs/compact.h"
#include "e4layout/journal/change.h"
#include "crash.h"

/* maximum number of names; two blocks are full before this number is reached */
#define NAMES 1000
#define KEPT 5 /* number of names that stay; one block holds them */
#define INDEXED 60	/* files in the htree directory of bench_make() */
#define MEM_BYTES (64u << 20)
#define NOW 1700000000
#define LAST_CLUSTERS 6

static bool exists(ext2_filsys fs, ext2_ino_t dir, const char *name,
		   ext2_ino_t *ino)
{
	return !ext2fs_lookup(fs, dir, name, strlen(name), NULL, ino);
}

static errcode_t count_links(ext2_filsys fs, ext2_ino_t ino, int more)
{
	struct ext2_inode inode;
	errcode_t err = ext2fs_read_inode(fs, ino, &inode);

	if (err)
		return err;
	inode.i_links_count += more;
	if (!inode.i_links_count) {
		inode.i_dtime = NOW;
		ext2fs_inode_alloc_stats2(fs, ino, -1, 0);
	}
	return ext2fs_write_inode(fs, ino, &inode);
}

static errcode_t make_dir(ext2_filsys fs, io_channel device, void *priv)
{
	ext2_ino_t *dir = priv;
	errcode_t err;

	fs->now = NOW;
	if (exists(fs, EXT2_ROOT_INO, "emptied", dir))
		return 0;
	err = ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFDIR, NULL, dir);
	return err ? err : ext2fs_mkdir(fs, EXT2_ROOT_INO, *dir, "emptied");
}

static const char *name_of(unsigned int i, char *name, size_t size)
{
	snprintf(name, size, "a_name_of_more_than_forty_characters_%06u", i);
	return name;
}

/*
 * Adds names of one file until two blocks are full.  A third block would make
 * e2fsck build an index.
 */
static errcode_t add_names(ext2_filsys fs, io_channel device, void *priv)
{
	ext2_ino_t *dir = priv, file, old;
	unsigned int i, blocks = 1;
	char name[80];
	errcode_t err = 0;

	if (!exists(fs, EXT2_ROOT_INO, "small0", &file))
		return EXT2_ET_FILE_NOT_FOUND;
	if (exists(fs, *dir, name_of(0, name, sizeof(name)), &old))
		return 0;
	for (i = 0; i < NAMES && !err; i++) {
		name_of(i, name, sizeof(name));
		err = ext2fs_link(fs, *dir, name, file, EXT2_FT_REG_FILE);
		if (err != EXT2_ET_DIR_NO_SPACE || blocks++ == 2)
			continue;
		err = ext2fs_expand_dir(fs, *dir);
		if (!err)
			err = ext2fs_link(fs, *dir, name, file,
					  EXT2_FT_REG_FILE);
	}
	if (err == EXT2_ET_DIR_NO_SPACE)
		i--;
	return err && err != EXT2_ET_DIR_NO_SPACE ? err :
						    count_links(fs, file, i);
}

static errcode_t remove_names(ext2_filsys fs, io_channel device, void *priv)
{
	ext2_ino_t *dir = priv, file;
	char name[80];
	unsigned int i;
	errcode_t err = 0;

	for (i = KEPT; i < NAMES && !err; i++) {
		name_of(i, name, sizeof(name));
		if (!exists(fs, *dir, name, &file))
			return 0;
		err = ext2fs_unlink(fs, *dir, name, file, 0);
		if (!err)
			err = count_links(fs, file, -1);
	}
	return err;
}

static errcode_t remove_files(ext2_filsys fs, io_channel device, void *priv)
{
	ext2_ino_t dir, file;
	char name[80];
	unsigned int i;
	errcode_t err = 0;

	if (!exists(fs, EXT2_ROOT_INO, "dir", &dir))
		return EXT2_ET_FILE_NOT_FOUND;
	for (i = KEPT; i <= INDEXED && !err; i++) {
		snprintf(name, sizeof(name),
			 "a_name_that_takes_room_in_its_directory_%u", i);
		if (!exists(fs, dir, name, &file))
			continue;
		err = ext2fs_unlink(fs, dir, name, file, 0);
		if (!err)
			err = count_links(fs, file, -1);
	}
	return err;
}

static errcode_t make_sparse(struct op_env *env)
{
	static errcode_t (*const steps[])(ext2_filsys, io_channel, void *) = {
		make_dir, add_names, remove_names, remove_files,
	};
	ext2_ino_t dir;
	errcode_t err = 0;
	size_t j;

	for (j = 0; j < sizeof(steps) / sizeof(*steps) && !err; j++) {
		err = e4l_change(env->e, env->external, "changing", steps[j],
				 &dir);
		if (!err)
			env->mark(env->priv);
	}
	return err;
}

/*
 * Makes a file that takes all free blocks except @left.  If fewer blocks are
 * free, makes an empty file.
 */
static errcode_t fill_but(ext2_filsys fs, const char *name, blk64_t left)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | 0600, .i_links_count = 1,
		.i_flags = ext2fs_has_feature_extents(fs->super) ?
			   EXT4_EXTENTS_FL : 0,
	};
	ext2_ino_t ino;
	blk64_t blk, at = 0;
	errcode_t err = ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG,
					 NULL, &ino);

	if (!err)
		err = ext2fs_link(fs, EXT2_ROOT_INO, name, ino,
				  EXT2_FT_REG_FILE);
	if (err)
		return err;
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	err = ext2fs_write_new_inode(fs, ino, &inode);
	while (!err && ext2fs_free_blocks_count(fs->super) > left)
		err = ext2fs_bmap2(fs, ino, &inode, NULL,
				   BMAP_ALLOC | BMAP_UNINIT, at++, NULL, &blk);
	if (!err)
		err = ext2fs_inode_size_set(fs, &inode,
					    (ext2_off64_t)at * fs->blocksize);
	return err ? err : ext2fs_write_inode(fs, ino, &inode);
}

/*
 * Allocates all free blocks.  The file "full" gets all but LAST_CLUSTERS free
 * clusters.  Each remaining cluster gets a file of its own, because a file of
 * one cluster needs no tree block.
 */
static errcode_t fill(ext2_filsys fs, io_channel device, void *priv)
{
	uint32_t ratio = EXT2FS_CLUSTER_RATIO(fs), i;
	char name[16];
	ext2_ino_t ino;
	errcode_t err;

	fs->now = NOW;
	if (exists(fs, EXT2_ROOT_INO, "full", &ino))
		return 0;
	err = fill_but(fs, "full", LAST_CLUSTERS * ratio);
	for (i = LAST_CLUSTERS; i-- && !err; ) {
		snprintf(name, sizeof(name), "full%u", i);
		err = fill_but(fs, name, (blk64_t)i * ratio);
	}
	return err;
}

errcode_t op_compact_all(struct op_env *env)
{
	struct e4l_repack_result unused;
	struct e4l_repack_run run = {
		.what = { .journal = env->external },
		/* one directory per run */
		.limits = { .copy_blocks = 1, .mem_bytes = MEM_BYTES },
		.result = &unused,
	};
	struct e4l_compact_result result;
	errcode_t err;

	do {
		err = e4l_compact_dirs(env->e, &run, false, false, &result);
		if (!err)
			env->mark(env->priv);
	} while (!err && result.transactions);
	return err;
}

/*
 * The filesystem is full.  Therefore the first directory can use only its own
 * blocks, and the next directory can use the blocks that the first directory
 * frees.
 */
errcode_t op_compact(struct op_env *env)
{
	errcode_t err = make_sparse(env);

	if (!err)
		err = e4l_change(env->e, env->external, "filling", fill, NULL);
	if (!err)
		env->mark(env->priv);
	return err ? err : op_compact_all(env);
}
