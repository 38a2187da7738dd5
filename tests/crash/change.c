/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes changes through libext2fs, as e4debug does: a directory, and a file
 * with data, holes, preallocated space and another name.  Each change is one
 * transaction.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/journal/change.h"
#include "crash.h"

#define ROUNDS 3
#define FILE_BLOCKS 20
#define NOW 1700000000

/* The operation may run again, so each step skips work that is already done. */
struct round {
	ext2_ino_t dir, file;
	char name[20];
};

static bool exists(ext2_filsys fs, ext2_ino_t dir, const char *name,
		   ext2_ino_t *ino)
{
	return !ext2fs_lookup(fs, dir, name, strlen(name), NULL, ino);
}

static errcode_t make_dir(ext2_filsys fs, io_channel device, void *priv)
{
	struct round *r = priv;
	errcode_t err;

	fs->now = NOW;
	if (exists(fs, EXT2_ROOT_INO, r->name, &r->dir))
		return 0;
	err = ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFDIR, NULL, &r->dir);
	return err ? err : ext2fs_mkdir(fs, EXT2_ROOT_INO, r->dir, r->name);
}

static errcode_t fill(ext2_filsys fs, io_channel device, ext2_ino_t ino)
{
	uint8_t *block = check_alloc(malloc(fs->blocksize));
	errcode_t err = 0;
	blk64_t pblk;
	int i;

	for (i = 0; i < FILE_BLOCKS && !err; i++) {
		memset(block, ino + i, fs->blocksize);
		err = ext2fs_bmap2(fs, ino, NULL, NULL, 0, i, NULL, &pblk);
		if (!err)
			err = io_channel_write_blk64(device, pblk, 1, block);
	}
	free(block);
	return err;
}

static errcode_t make_file(ext2_filsys fs, io_channel device, void *priv)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1,
		.i_flags = EXT4_EXTENTS_FL,
	};
	struct round *r = priv;
	ext2_extent_handle_t handle;
	errcode_t err;

	if (exists(fs, r->dir, "file", &r->file))
		return 0;
	err = ext2fs_new_inode(fs, r->dir, LINUX_S_IFREG, NULL, &r->file);
	if (err)
		return err;
	ext2fs_inode_alloc_stats2(fs, r->file, 1, 0);
	ext2fs_inode_size_set(fs, &inode, FILE_BLOCKS * fs->blocksize);
	err = ext2fs_extent_open2(fs, r->file, &inode, &handle);
	if (err)
		return err;
	ext2fs_extent_free(handle);
	err = ext2fs_write_new_inode(fs, r->file, &inode);
	if (!err)
		err = ext2fs_fallocate(fs, EXT2_FALLOCATE_FORCE_INIT, r->file,
				       NULL, ~0ULL, 0, FILE_BLOCKS);
	if (!err)
		err = fill(fs, device, r->file);
	return err ? err : ext2fs_link(fs, r->dir, "file", r->file,
				       EXT2_FT_REG_FILE);
}

static errcode_t punch(ext2_filsys fs, io_channel device, void *priv)
{
	struct round *r = priv;
	errcode_t err = 0;
	int i;

	for (i = 0; i < FILE_BLOCKS && !err; i += 3)
		err = ext2fs_punch(fs, r->file, NULL, NULL, i, i);
	return err;
}

static errcode_t preallocate(ext2_filsys fs, io_channel device, void *priv)
{
	struct round *r = priv;

	return ext2fs_fallocate(fs, EXT2_FALLOCATE_FORCE_UNINIT, r->file,
				NULL, ~0ULL, 0, 2 * FILE_BLOCKS);
}

static errcode_t add_name(ext2_filsys fs, io_channel device, void *priv)
{
	struct round *r = priv;
	struct ext2_inode inode;
	ext2_ino_t ino;
	errcode_t err;

	if (exists(fs, r->dir, "again", &ino))
		return 0;
	err = ext2fs_link(fs, r->dir, "again", r->file, EXT2_FT_REG_FILE);
	if (!err)
		err = ext2fs_read_inode(fs, r->file, &inode);
	if (err)
		return err;
	inode.i_links_count++;
	return ext2fs_write_inode(fs, r->file, &inode);
}

errcode_t op_change(struct op_env *env)
{
	static errcode_t (*const steps[])(ext2_filsys, io_channel, void *) = {
		make_dir, make_file, punch, preallocate, add_name,
	};
	struct round r;
	errcode_t err = 0;
	size_t i, j;

	for (i = 0; i < ROUNDS && !err; i++) {
		snprintf(r.name, sizeof(r.name), "change%zu", i);
		for (j = 0; j < sizeof(steps) / sizeof(*steps) && !err; j++) {
			err = e4l_change(env->e, env->external, "changing",
					 steps[j], &r);
			if (!err)
				env->mark(env->priv);
		}
	}
	return err;
}
