/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_shrink() moves the end of the filesystem to the last used block and inode,
 * and moves no file.  op_shrink_files() makes the journal shorter and the
 * filesystem as small as possible.
 */
#include "config.h"
#include "e4layout/format/jbd2.h"
#include "e4layout/shrink/end.h"
#include "e4layout/shrink/own.h"
#include "crash.h"

#define STEP 16 /* step of the search for the smallest size, in blocks */

#define JOURNAL_BLOCKS (JBD2_MIN_BLOCKS + JBD2_DEFAULT_FC_BLOCKS)

/*
 * Sets *@end to the end of the last used block that is not metadata of a group.
 */
static errcode_t end_of_files(ext2_filsys fs, blk64_t *end)
{
	blk64_t blk = ext2fs_blocks_count(fs->super);
	struct e4l_own own = { NULL, 0 };
	errcode_t err = ext2fs_read_bitmaps(fs);

	if (!err)
		err = e4l_own_add(fs, 0, fs->group_desc_count, &own);
	if (err)
		return err;
	e4l_own_sort(&own);
	while (--blk > fs->super->s_first_data_block)
		if (ext2fs_test_block_bitmap2(fs->block_map, blk) &&
		    !e4l_own_meets(&own, blk, 1))
			break;
	e4l_own_free(&own);
	*end = blk + 1;
	return 0;
}

static ext2_ino_t last_inode(ext2_filsys fs)
{
	ext2_ino_t ino = fs->super->s_inodes_count;

	while (!ext2fs_test_inode_bitmap2(fs->inode_map, ino))
		ino--;
	return ino;
}

/* Finds the smallest size that moves no file. */
static errcode_t choose(struct op_env *env, ext2_filsys fs,
			struct e4l_size *size)
{
	blk64_t end, blocks, now = ext2fs_blocks_count(fs->super);
	errcode_t err = end_of_files(fs, &end);

	if (err)
		return err;
	for (blocks = end; blocks < now; blocks += STEP) {
		err = e4l_size_for(env->e, blocks, size);
		if (!err && size->blocks >= end &&
		    size->inodes >= last_inode(fs) &&
		    size->free_blocks >= 0)
			return 0;
	}
	return e4l_size_for(env->e, now, size);
}

errcode_t op_shrink(struct op_env *env)
{
	ext2_filsys fs = e4l_fs(env->e);
	struct e4l_size size;
	errcode_t err = choose(env, fs, &size);

	if (err || size.blocks >= ext2fs_blocks_count(fs->super))
		return err;
	err = e4l_shrink_prepare(env->e, env->external, &size);
	if (err)
		return err;
	env->mark(env->priv);
	err = e4l_shrink_end(env->e, env->external, &size);
	if (!err)
		env->mark(env->priv);
	return err;
}

/* Files, directories and attributes at the end of the filesystem. */
const char shrink_recipe[] =
	"file /early size 20K\n"
	"xattr /early user.block size 600\n"
	"tree /t dirs 3 files 5 size 1K-3K\n"
	"link /t/d0/f0 /t/d1/linked\n"
	"many /late count 30 size 3K\n"
	"xattr /late/f1 user.block size 600\n"
	"scatter /apart frags 20 blocks 2 gap 1\n"
	"file /large size 400K\n"
	"delete /early\n";

static void progress(bool writing, uint64_t done, uint64_t total, void *priv)
{
	struct op_env *env = priv;

	(void)done, (void)total;
	if (writing)
		env->mark(env->priv);
}

errcode_t op_shrink_files(struct op_env *env)
{
	const struct e4l_repack_what what = {
		.flags = E4L_REPACK_SHRINK, .journal = env->external,
		.shrink_journal_blocks = JOURNAL_BLOCKS,
	};
	const struct e4l_repack_callbacks callbacks = {
		.progress = progress, .priv = env,
	};
	struct e4l_repack_result result;
	errcode_t err;

	err = e4l_repack(env->e, &what, NULL, &callbacks, &result);
	if (!err)
		env->mark(env->priv);
	return err;
}
