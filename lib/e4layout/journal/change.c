// SPDX-License-Identifier: LGPL-2.1-or-later
/* change: makes changes with functions of libext2fs in one transaction. */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "e4layout/check/check.h"
#include "capture_io.h"
#include "journal.h"

struct change {
	errcode_t (*fn)(ext2_filsys fs, io_channel device, void *priv);
	void *priv;
};

static errcode_t make_change(ext2_filsys fs, struct capture *c,
			     const struct change *change)
{
	errcode_t err = ext2fs_read_bitmaps(fs);

	if (!err)
		err = change->fn(fs, c->below, change->priv);
	if (!err && c->n)
		err = ext2fs_flush2(fs, 0);
	return err == EXT2_ET_BLOCK_ALLOC_FAIL ||
	       err == EXT2_ET_INODE_ALLOC_FAIL ? ENOSPC : err;
}

/*
 * Runs @change, and keeps the blocks that libext2fs writes, including bitmaps
 * and group descriptors, in *@ret.  Like the kernel, does not update the
 * backups of the superblock and of the group descriptors.
 */
static errcode_t capture_change(ext2_filsys fs, const struct change *change,
				struct capture **ret)
{
	const int flags = fs->flags;
	errcode_t err;

	err = e4l_capture_start(fs, ret);
	if (err)
		return err;
	fs->flags |= EXT2_FLAG_MASTER_SB_ONLY;
	ext2fs_flush_icache(fs);
	err = make_change(fs, *ret, change);
	fs->flags = flags;
	ext2fs_flush_icache(fs);
	e4l_capture_stop(*ret);
	return err;
}

static errcode_t commit_capture(struct e4l_journal *j, const struct capture *c)
{
	const size_t blocksize = c->fs->blocksize;
	struct e4l_txn *txn;
	errcode_t err;
	void *data;
	size_t i;

	err = e4l_txn_begin(j, &txn);
	if (err)
		return err;
	for (i = 0; i < c->n && !err; i++) {
		/*
		 * skip free blocks: @fn has freed them, so that their content
		 * is not needed
		 */
		if (!ext2fs_test_block_bitmap2(c->fs->block_map,
					       c->blocks[i].blk))
			continue;
		err = e4l_txn_new_block(txn, c->blocks[i].blk, &data);
		if (!err)
			memcpy(data, c->blocks[i].data, blocksize);
	}
	return e4l_txn_end(txn, err);
}

/*
 * Returns whether quota files are outdated, because the numbers of free blocks
 * and inodes are no longer @free_blks and @free_inodes.  libext2fs does not
 * update quota files.
 */
static bool quota_counts(ext2_filsys fs, blk64_t free_blks,
			 uint32_t free_inodes)
{
	return ext2fs_has_feature_quota(fs->super) &&
	       (ext2fs_free_blocks_count(fs->super) != free_blks ||
		fs->super->s_free_inodes_count != free_inodes);
}

errcode_t e4l_change(struct e4l *e, io_channel external, const char *doing,
		     errcode_t (*fn)(ext2_filsys fs, io_channel device,
				     void *priv),
		     void *priv)
{
	const struct change change = { fn, priv };
	struct e4l_journal *j;
	struct capture *c;
	uint32_t free_inodes;
	blk64_t free_blks;
	errcode_t err, err2;

	err = e4l_require_sound(e, external);
	if (!err)
		err = e4l_journal_open(e, external, &j);
	if (err)
		return err;
	free_blks = ext2fs_free_blocks_count(e->fs->super);
	free_inodes = e->fs->super->s_free_inodes_count;
	err = capture_change(e->fs, &change, &c);
	if (!err && quota_counts(e->fs, free_blks, free_inodes))
		err = E4L_ET_CHANGE_QUOTA;
	if (err)
		e4l_fail(e, err, doing, 0, c && c->err == err ? c->bad : 0);
	else if (c->n)
		err = commit_capture(j, c);
	e4l_capture_free(c);
	err2 = e4l_journal_close(j);
	return e4l_sound_after(e, err ? err : err2);
}
