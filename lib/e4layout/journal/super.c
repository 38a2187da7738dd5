/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * super: writes the primary superblock so that a power failure cannot leave an
 * invalid superblock.
 *
 * A session changes needs_recovery, the state, the free counts, the time of the
 * last write, and the kilobytes written.  All these fields are in the first 512
 * bytes of the superblock, but the checksum is at the end of its 1024 bytes.
 * If a device writes 512 bytes at a time and loses power between the two
 * writes, the checksum is wrong.  The kernel refuses a superblock with a wrong
 * checksum, and e2fsck replaces the superblock by a backup.  Therefore the
 * checksum must not change.  CRC-32C is linear: four unused bytes can be set so
 * that the checksum does not change.  The last four bytes of s_last_mounted are
 * usually unused, because the string is shorter.  If the string uses the last
 * four bytes, the checksum changes.
 */
#include "config.h"
#include <string.h>
#include <time.h>
#include "journal_internal.h"

#define SUPER_BYTES	1024
#define SUM_OFFSET	offsetof(struct ext2_super_block, s_checksum)
/* the last four bytes of s_last_mounted, before s_algorithm_usage_bitmap */
#define SPARE_OFFSET	(offsetof(struct ext2_super_block, \
				  s_algorithm_usage_bitmap) - sizeof(uint32_t))

static uint32_t sum_with(struct ext2_super_block *sb, uint32_t spare)
{
	memcpy((uint8_t *)sb + SPARE_OFFSET, &spare, sizeof(spare));
	return ext2fs_crc32c_le(~0, (uint8_t *)sb, SUM_OFFSET);
}

/*
 * Returns the value of the four spare bytes that changes the checksum by
 * @wanted.  Bit i of the value flips the bits effect[i] of the checksum.  The
 * 32 effects are linearly independent, so that Gaussian elimination finds the
 * only solution.
 */
static uint32_t solve(uint32_t effect[32], uint32_t wanted)
{
	uint32_t bits[32], answer = 0;
	int i, k, pivot;

	for (i = 0; i < 32; i++)
		bits[i] = 1u << i;
	for (i = 0; i < 32; i++) {
		pivot = 31 - __builtin_clz(effect[i]);
		for (k = 0; k < 32; k++) {
			if (k == i || !(effect[k] >> pivot & 1))
				continue;
			effect[k] ^= effect[i];
			bits[k] ^= bits[i];
		}
	}
	for (i = 0; i < 32; i++)
		if (wanted >> (31 - __builtin_clz(effect[i])) & 1)
			answer ^= bits[i];
	return answer;
}

/* Sets the spare bytes of @sb so that the checksum of @sb is @checksum. */
void e4l_super_keep_checksum(struct ext2_super_block *sb, uint32_t checksum)
{
	uint32_t effect[32], base = sum_with(sb, 0);
	int i;

	for (i = 0; i < 32; i++)
		effect[i] = sum_with(sb, 1u << i) ^ base;
	sum_with(sb, solve(effect, base ^ checksum));
	sb->s_checksum = ext2fs_cpu_to_le32(checksum);
}

static bool spare_is_unused(const struct ext2_super_block *sb)
{
	size_t size = sizeof(sb->s_last_mounted);

	return strnlen((const char *)sb->s_last_mounted, size) <
	       size - sizeof(uint32_t);
}

static void set_checksum(ext2_filsys fs, struct ext2_super_block *sb)
{
	if (ext2fs_has_feature_metadata_csum(fs->super) && spare_is_unused(sb))
		e4l_super_keep_checksum(sb,
					ext2fs_le32_to_cpu(sb->s_checksum));
	else
		ext2fs_superblock_csum_set(fs, sb);
}

/*
 * Reads the superblock into @sb or, if @write is true, writes @sb.  Always
 * reads or writes the whole block that contains byte 1024 of the device.
 * Smaller requests would need another block size of the channel, which would
 * confuse the block numbers of undo_io.
 *
 * A write does not change the other bytes of the block, so that a power failure
 * cannot damage these bytes.  Sets *@began to true just before the write.
 * @began may be NULL.
 */
static errcode_t super_io(struct e4l_journal *j, bool write,
			  struct ext2_super_block *sb, bool *began)
{
	ext2_filsys fs = j->e->fs;
	blk64_t blk = SUPERBLOCK_OFFSET / fs->blocksize;
	int count = -(int)fs->blocksize;
	uint8_t *buf, *place;
	errcode_t err;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	place = buf + SUPERBLOCK_OFFSET % fs->blocksize;
	err = io_channel_read_blk64(fs->io, blk, count, buf);
	if (!err && write) {
		memcpy(place, sb, SUPER_BYTES);
		if (began)
			*began = true;
		err = io_channel_write_blk64(fs->io, blk, count, buf);
	} else if (!err) {
		memcpy(sb, place, SUPER_BYTES);
	}
	ext2fs_free_mem(&buf);
	if (err)
		e4l_fail(j->e, err, write ? "writing the superblock" :
					    "reading the superblock", 0, blk);
	return err;
}

/*
 * Returns the number of bytes that the filesystem's channel has written so far.
 */
static uint64_t bytes_written(ext2_filsys fs)
{
	io_stats stats = NULL;

	if (fs->io->manager->get_stats)
		fs->io->manager->get_stats(fs->io, &stats);
	return stats ? stats->bytes_written : 0;
}

static errcode_t not_ours(struct e4l_journal *j)
{
	return e4l_fail(j->e, E4L_ET_NOT_OURS, "checking the superblock", 0,
			0);
}

/*
 * Reads the superblock into j->sb.  Fails if another program has changed the
 * superblock since libext2fs read it or write_super() wrote it.
 */
errcode_t e4l_super_read(struct e4l_journal *j)
{
	ext2_filsys fs = j->e->fs;
	errcode_t err = super_io(j, false, &j->sb, NULL);

	if (err)
		return err;
	if (fs->orig_super && memcmp(&j->sb, fs->orig_super, SUPER_BYTES))
		return not_ours(j);
	j->written_before = bytes_written(fs);
	if (j->sb.s_magic != ext2fs_cpu_to_le16(EXT2_SUPER_MAGIC) ||
	    memcmp(j->sb.s_uuid, fs->super->s_uuid, sizeof(j->sb.s_uuid)) ||
	    !ext2fs_superblock_csum_verify(fs, &j->sb))
		return e4l_fail(j->e, E4L_ET_BAD_GEOMETRY,
				"reading the superblock", 0, 0);
	return 0;
}

/*
 * Compares the superblock on the device with the superblock that the session
 * last read or wrote.  If the superblocks differ, returns E4L_ET_NOT_OURS.
 */
errcode_t e4l_super_check(struct e4l_journal *j)
{
	struct ext2_super_block now;
	errcode_t err = super_io(j, false, &now, NULL);

	if (!err && memcmp(&now, &j->sb, SUPER_BYTES))
		err = not_ours(j);
	return err;
}

/* Writes @sb to the device, and updates j->sb and fs->orig_super. */
static errcode_t write_super(struct e4l_journal *j,
			     struct ext2_super_block *sb)
{
	ext2_filsys fs = j->e->fs;
	errcode_t err;

	set_checksum(fs, sb);
	err = super_io(j, true, sb, NULL);
	if (err)
		return err;
	j->sb = *sb;
	if (fs->orig_super)
		memcpy(fs->orig_super, sb, SUPER_BYTES);
	return 0;
}

/*
 * Marks the filesystem as having an open session.  With a journal, sets
 * needs_recovery in the superblock on disk; without a journal, clears the valid
 * state.  e4l_super_unmark() removes the mark.
 */
errcode_t e4l_super_mark(struct e4l_journal *j)
{
	struct ext2_super_block sb = j->sb;
	uint32_t recover = EXT3_FEATURE_INCOMPAT_RECOVER;

	if (j->has_journal)
		sb.s_feature_incompat |= ext2fs_cpu_to_le32(recover);
	else
		sb.s_state &= ext2fs_cpu_to_le16(~EXT2_VALID_FS & 0xffff);
	return write_super(j, &sb);
}

/*
 * Updates s_kbytes_written in @sb.  If the field is 0, leaves 0, as libext2fs
 * does.
 */
static void count_written(struct e4l_journal *j, struct ext2_super_block *sb)
{
	ext2_filsys fs = j->e->fs;

	if (!sb->s_kbytes_written)
		return;
	fs->super->s_kbytes_written +=
		(bytes_written(fs) - j->written_before) >> 10;
	sb->s_kbytes_written = ext2fs_cpu_to_le64(fs->super->s_kbytes_written);
}

/*
 * Copies the backup of the journal inode's block map to @sb, which is in the
 * byte order of the disk.
 */
static void copy_journal_map(ext2_filsys fs, struct ext2_super_block *sb)
{
	struct ext2_super_block disk = *fs->super;

#ifdef WORDS_BIGENDIAN
	ext2fs_swap_super(&disk);
#endif
	memcpy(sb->s_jnl_blocks, disk.s_jnl_blocks, sizeof(sb->s_jnl_blocks));
}

errcode_t e4l_super_unmark(struct e4l_journal *j)
{
	ext2_filsys fs = j->e->fs;
	struct ext2_super_block sb = j->sb;
	uint32_t recover = EXT3_FEATURE_INCOMPAT_RECOVER;
	blk64_t free_blks = ext2fs_free_blocks_count(fs->super);
	time_t now = fs->now ? fs->now : time(NULL);

	sb.s_feature_incompat &= ~ext2fs_cpu_to_le32(recover);
	sb.s_state = ext2fs_cpu_to_le16(fs->super->s_state);
	sb.s_free_blocks_count = ext2fs_cpu_to_le32((uint32_t)free_blks);
	if (ext2fs_has_feature_64bit(fs->super))
		sb.s_free_blocks_hi = ext2fs_cpu_to_le32(free_blks >> 32);
	sb.s_free_inodes_count =
		ext2fs_cpu_to_le32(fs->super->s_free_inodes_count);
	/* the session may have moved the journal */
	copy_journal_map(fs, &sb);
	sb.s_wtime = ext2fs_cpu_to_le32((uint32_t)now);
	fs->super->s_wtime = (uint32_t)now;
	count_written(j, &sb);
	return write_super(j, &sb);
}

static void set_counts(ext2_filsys fs, struct ext2_super_block *sb)
{
	blk64_t blocks = ext2fs_blocks_count(fs->super);
	blk64_t free_blks = ext2fs_free_blocks_count(fs->super);
	blk64_t reserved = ext2fs_r_blocks_count(fs->super);

	sb->s_inodes_count = ext2fs_cpu_to_le32(fs->super->s_inodes_count);
	sb->s_blocks_count = ext2fs_cpu_to_le32((uint32_t)blocks);
	sb->s_r_blocks_count = ext2fs_cpu_to_le32((uint32_t)reserved);
	sb->s_free_blocks_count = ext2fs_cpu_to_le32((uint32_t)free_blks);
	sb->s_free_inodes_count =
		ext2fs_cpu_to_le32(fs->super->s_free_inodes_count);
	if (!ext2fs_has_feature_64bit(fs->super))
		return;
	sb->s_blocks_count_hi = ext2fs_cpu_to_le32(blocks >> 32);
	sb->s_r_blocks_count_hi = ext2fs_cpu_to_le32(reserved >> 32);
	sb->s_free_blocks_hi = ext2fs_cpu_to_le32(free_blks >> 32);
}

/*
 * Sets the fields in the second 512 bytes of the superblock, including the
 * checksum.  If the superblock has an unused field for set_checksum(), the
 * checksum is valid with the old and with the new first 512 bytes.
 */
static void set_second_half(ext2_filsys fs, struct ext2_super_block *sb)
{
	int i;

	sb->s_overhead_clusters =
		ext2fs_cpu_to_le32(fs->super->s_overhead_clusters);
	for (i = 0; i < 2; i++)
		sb->s_backup_bgs[i] =
			ext2fs_cpu_to_le32(fs->super->s_backup_bgs[i]);
	ext2fs_superblock_csum_set(fs, sb);
}

errcode_t e4l_super_switch(struct e4l_journal *j, bool *switched)
{
	ext2_filsys fs = j->e->fs;
	struct ext2_super_block sb = j->sb;
	uint32_t recover = EXT3_FEATURE_INCOMPAT_RECOVER;
	errcode_t err;

	set_counts(fs, &sb);
	sb.s_reserved_gdt_blocks =
		ext2fs_cpu_to_le16(fs->super->s_reserved_gdt_blocks);
	sb.s_first_meta_bg = ext2fs_cpu_to_le32(fs->super->s_first_meta_bg);
	sb.s_mmp_block = ext2fs_cpu_to_le64(fs->super->s_mmp_block);
	if (j->has_journal)
		sb.s_feature_incompat |= ext2fs_cpu_to_le32(recover);
	else
		sb.s_state &= ext2fs_cpu_to_le16(~EXT2_VALID_FS & 0xffff);
	set_checksum(fs, &sb);
	set_second_half(fs, &sb);
	err = super_io(j, true, &sb, switched);
	if (err)
		return err;
	j->sb = sb;
	if (fs->orig_super)
		memcpy(fs->orig_super, &sb, SUPER_BYTES);
	return 0;
}
