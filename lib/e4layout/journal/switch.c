// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * switch: commits a transaction that changes the size of a filesystem.
 *
 * The kernel and e2fsck read the number of groups from the superblock before
 * they replay the journal.  Therefore a superblock with the old size must
 * prevent a replay of descriptors and bitmaps for the new size, and a
 * superblock with the new size must cause the replay.  One write of the
 * superblock sets the size and the flag needs_recovery:
 *
 *   1. The log is empty, and needs_recovery is clear.  The journal's superblock
 *      gets the sequence number of the transaction.                      flush
 *   2. The new metadata are written to the log, with a commit block.     flush
 *   3. The journal's superblock points at the transaction.  The kernel does not
 *      replay the transaction, because needs_recovery is clear.          flush
 *   4. One write gives the superblock the new size and needs_recovery.   flush
 *   5. The metadata are written to their final locations.                flush
 *   6. The backups are written.  The session ends as usual.
 *
 * If power fails before step 4, the filesystem has its old size.  The kernel
 * empties the log.  If the log is not empty although needs_recovery is clear,
 * e2fsck asks whether to replay the log.  All files are intact with and without
 * a replay, because no file has blocks or inodes above the new end.  e2fsck
 * only has to correct bitmaps and the resize inode.  If reserved blocks replace
 * descriptors of the old size, e2fsck takes descriptors from a backup;
 * shrink/size.c permits such a size only if there is a backup.
 *
 * If power fails after step 4, the filesystem has its new size, and the replay
 * completes the metadata.
 *
 * Step 4 is safe even if only one of the two 512-byte sectors of the superblock
 * is written.  The first sector has the size and needs_recovery.  The second
 * sector has the backup groups (sparse_super2), the overhead, and the checksum.
 * If the last four bytes of s_last_mounted are unused, super.c sets these bytes
 * so that the checksum is right for all combinations of old and new sectors.
 *
 * On a filesystem without a journal, the superblock with the new size is
 * written first, and is marked as not clean.  After a power failure, e2fsck
 * completes the metadata.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/io_pool.h"
#include "journal_internal.h"

/*
 * Call this function if the write of the journal's superblock or of the
 * filesystem's superblock has failed.  If the superblock on the device still
 * has the old size, sets *@switched to false and marks the log as empty,
 * because e2fsck would ask whether to replay the log.
 */
static void take_back(struct e4l_journal *j, bool *switched)
{
	const struct e4l_detail detail = j->e->detail;

	if (!e4l_journal_look(j)) {
		*switched = false;
		if (j->has_journal && !e4l_log_point(j, 0))
			e4l_journal_flush(j);
	}
	j->e->detail = detail;
}

/*
 * Writes the transaction to the log.  The journal's superblock still marks the
 * log as empty.
 */
static errcode_t write_log(struct e4l_journal *j,
			   const struct txn_block *blocks, size_t n)
{
	errcode_t err;

	j->seq++;
	err = e4l_log_point(j, 0);
	if (!err)
		err = e4l_log_forget_fast(j);
	if (!err)
		err = e4l_journal_settle(j);
	if (!err)
		err = e4l_log_write(j, blocks, n);
	if (!err)
		err = e4l_journal_settle(j);
	return err;
}

/*
 * Makes the journal's superblock point at the transaction in the log.
 */
static errcode_t announce_log(struct e4l_journal *j)
{
	errcode_t err = e4l_log_point(j, e4l_log_start(j, j->seq));

	return err ? err : e4l_journal_settle(j);
}

/*
 * If the filesystem has a journal, makes the journal's superblock point at the
 * transaction in the log.  Then changes the size in the filesystem's
 * superblock, and writes the @n @blocks of the transaction to their final
 * locations.  Sets *@switched as e4l_super_switch() does.
 */
static errcode_t write_all(struct e4l_journal *j,
			   const struct txn_block *blocks, size_t n,
			   bool *switched)
{
	errcode_t err = j->has_journal ? announce_log(j) : 0;

	if (!err)
		err = e4l_super_switch(j, switched);
	if (err) {
		take_back(j, switched);
		return err;
	}
	err = e4l_journal_settle(j);
	j->marked = !err;
	if (!err)
		err = e4l_journal_write(j, blocks, n);
	return err ? err : e4l_journal_settle(j);
}

errcode_t e4l_journal_switch(struct e4l_journal *j,
			     const struct txn_block *blocks, size_t n,
			     bool *switched)
{
	errcode_t err = j->marked ? E4L_ET_BAD_ARGUMENT : 0;

	e4l_counts_total(j->e->fs);
	if (!err)
		err = e4l_journal_settle(j);
	if (!err && j->has_journal)
		err = write_log(j, blocks, n);
	if (!err)
		err = write_all(j, blocks, n, switched);
	if (err && !j->failed)
		j->failed = err;
	return err;
}

/* ------------------------------------------------------------ the backups */

/*
 * Copies block @i of the group descriptors to @buf, in the byte order of the
 * disk.
 */
static void copy_descriptors(ext2_filsys fs, uint32_t i, uint8_t *buf)
{
	memcpy(buf, (uint8_t *)fs->group_desc + (size_t)i * fs->blocksize,
	       fs->blocksize);
#ifdef WORDS_BIGENDIAN
	for (i = 0; i < EXT2_DESC_PER_BLOCK(fs->super); i++)
		ext2fs_swap_group_desc2(fs, (struct ext2_group_desc *)
			(buf + i * EXT2_DESC_SIZE(fs->super)));
#endif
}

static errcode_t write_block(struct e4l_journal *j, blk64_t blk, uint8_t *buf)
{
	ext2_filsys fs = j->e->fs;
	errcode_t err = io_channel_write_blk64(fs->io, blk,
					       -(int)fs->blocksize, buf);

	return err ? e4l_fail(j->e, err, "writing a backup", 0, blk) : 0;
}

/*
 * Writes a backup of the superblock.  Like libext2fs, clears the valid state
 * and needs_recovery in a backup.
 */
static errcode_t write_super(struct e4l_journal *j, dgrp_t group, blk64_t blk,
			     uint8_t *buf)
{
	ext2_filsys fs = j->e->fs;
	struct ext2_super_block sb = j->sb;
	uint32_t recover = EXT3_FEATURE_INCOMPAT_RECOVER;

	sb.s_feature_incompat &= ~ext2fs_cpu_to_le32(recover);
	sb.s_state &= ext2fs_cpu_to_le16(~EXT2_VALID_FS & 0xffff);
	sb.s_block_group_nr = ext2fs_cpu_to_le16(group < 65535 ? group : 65535);
	ext2fs_superblock_csum_set(fs, &sb);
	memset(buf, 0, fs->blocksize);
	memcpy(buf, &sb, sizeof(sb));
	return write_block(j, blk, buf);
}

static errcode_t write_group(struct e4l_journal *j, dgrp_t group, uint8_t *buf)
{
	ext2_filsys fs = j->e->fs;
	blk64_t super, old_desc, new_desc;
	uint32_t n = ext2fs_has_feature_meta_bg(fs->super) ?
		     fs->super->s_first_meta_bg : fs->desc_blocks, i;
	errcode_t err = 0;

	ext2fs_super_and_bgd_loc2(fs, group, &super, &old_desc, &new_desc,
				  NULL);
	if (super || old_desc || new_desc)
		err = e4l_journal_check(j);
	if (super && !err)
		err = write_super(j, group, super, buf);
	for (i = 0; i < n && old_desc && !err; i++) {
		copy_descriptors(fs, i, buf);
		err = write_block(j, old_desc + i, buf);
	}
	if (!new_desc || err)
		return err;
	copy_descriptors(fs, group / EXT2_DESC_PER_BLOCK(fs->super), buf);
	return write_block(j, new_desc, buf);
}

errcode_t e4l_journal_write_backups(struct e4l_journal *j)
{
	ext2_filsys fs = j->e->fs;
	errcode_t err;
	uint8_t *buf = NULL;
	dgrp_t g;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	for (g = 1; g < fs->group_desc_count && !err; g++)
		err = write_group(j, g, buf);
	ext2fs_free_mem(&buf);
	return err ? err : e4l_renew_buffers(fs->io);
}
