/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes the checksums of changed structures.  The functions of libext2fs
 * compute the offset of a checksum from fields of the structure, which can have
 * hostile values.  The functions of this file use the offset in the original
 * image.
 */
#include "config.h"
#include <string.h>
#include "corrupt.h"

/* ---- numbers ---- */

uint64_t get_le(const struct corpus *c, uint64_t at, unsigned int width)
{
	uint64_t value = 0;

	while (width--)
		value = value << 8 | c->img[at + width];
	return value;
}

void put_le(struct corpus *c, uint64_t at, unsigned int width, uint64_t value)
{
	uint8_t bytes[8];
	unsigned int i;

	for (i = 0; i < width; i++)
		bytes[i] = value >> 8 * i;
	put(c, at, bytes, width);
}

void put_be(struct corpus *c, uint64_t at, unsigned int width, uint64_t value)
{
	uint8_t bytes[8];
	unsigned int i;

	for (i = 0; i < width; i++)
		bytes[i] = value >> 8 * (width - 1 - i);
	put(c, at, bytes, width);
}

/* ---- places ---- */

uint64_t block_at(const struct corpus *c, blk64_t blk)
{
	return blk * c->fs->blocksize;
}

uint64_t inode_at(const struct corpus *c, ext2_ino_t ino)
{
	uint32_t per_group = c->fs->super->s_inodes_per_group;
	dgrp_t group = (ino - 1) / per_group;

	return block_at(c, ext2fs_inode_table_loc(c->fs, group)) +
	       (uint64_t)((ino - 1) % per_group) *
	       EXT2_INODE_SIZE(c->fs->super);
}

uint64_t group_at(const struct corpus *c, dgrp_t group)
{
	ext2_filsys fs = c->fs;
	uint32_t per_block = EXT2_DESC_PER_BLOCK(fs->super);
	blk64_t super_blk = fs->super->s_first_data_block;

	return block_at(c, ext2fs_descriptor_block_loc2(fs, super_blk,
							group / per_block)) +
	       (uint64_t)(group % per_block) * EXT2_DESC_SIZE(fs->super);
}

/* ---- checksums ---- */

static bool with_csum(const struct corpus *c)
{
	return ext2fs_has_feature_metadata_csum(c->fs->super);
}

static uint32_t crc(const struct corpus *c, uint32_t seed, uint64_t at,
		    uint64_t len)
{
	return ext2fs_crc32c_le(seed, c->img + at, len);
}

static uint32_t crc_number(uint32_t seed, uint64_t number, unsigned int width)
{
	uint8_t bytes[8];
	unsigned int i;

	for (i = 0; i < width; i++)
		bytes[i] = number >> 8 * i;
	return ext2fs_crc32c_le(seed, bytes, width);
}

static uint32_t inode_seed(const struct corpus *c, const struct site *s)
{
	return crc_number(crc_number(c->fs->csum_seed, s->ino, 4),
			  s->generation, 4);
}

void seal_nothing(struct corpus *c, const struct site *s)
{
}

void seal_super(struct corpus *c, const struct site *s)
{
	size_t off = offsetof(struct ext2_super_block, s_checksum);

	if (with_csum(c))
		put_le(c, s->container + off, 4,
		       crc(c, ~0U, s->container, off));
}

#define GROUP_CSUM_OFF offsetof(struct ext2_group_desc, bg_checksum)

/*
 * Returns the checksum of the group descriptor at @s, which can be a backup.
 * libext2fs computes checksums only for descriptors in memory.
 */
static uint16_t group_csum(const struct corpus *c, const struct site *s)
{
	struct ext2_group_desc *desc =
		ext2fs_group_desc(c->fs, c->fs->group_desc, s->group);
	uint32_t bytes = EXT2_DESC_SIZE(c->fs->super);
	uint8_t kept[EXT2_MIN_BLOCK_SIZE];
	uint16_t sum;

	memcpy(kept, desc, bytes);
	memcpy(desc, c->img + s->container, bytes);
	sum = ext2fs_group_desc_csum(c->fs, s->group);
	memcpy(desc, kept, bytes);
	return sum;
}

void seal_group(struct corpus *c, const struct site *s)
{
	if (ext2fs_has_group_desc_csum(c->fs))
		put_le(c, s->container + GROUP_CSUM_OFF, 2, group_csum(c, s));
}

/*
 * Writes the checksum of a bitmap to the group descriptor, at the offsets
 * @lo_off and @hi_off, and then writes the checksum of the group descriptor.
 */
static void seal_bitmap(struct corpus *c, const struct site *s,
			uint32_t bytes, size_t lo_off, size_t hi_off)
{
	struct site group = *s;
	uint32_t sum;

	if (!with_csum(c))
		return;
	group.container = group_at(c, s->group);
	sum = crc(c, c->fs->csum_seed, s->container, bytes);
	put_le(c, group.container + lo_off, 2, sum);
	if (EXT2_DESC_SIZE(c->fs->super) >= hi_off + 2)
		put_le(c, group.container + hi_off, 2, sum >> 16);
	seal_group(c, &group);
}

void seal_block_bitmap(struct corpus *c, const struct site *s)
{
	seal_bitmap(c, s, c->fs->super->s_clusters_per_group / 8,
		    offsetof(struct ext4_group_desc, bg_block_bitmap_csum_lo),
		    offsetof(struct ext4_group_desc, bg_block_bitmap_csum_hi));
}

void seal_inode_bitmap(struct corpus *c, const struct site *s)
{
	seal_bitmap(c, s, c->fs->super->s_inodes_per_group / 8,
		    offsetof(struct ext4_group_desc, bg_inode_bitmap_csum_lo),
		    offsetof(struct ext4_group_desc, bg_inode_bitmap_csum_hi));
}

#define INODE_OFF(field) offsetof(struct ext2_inode_large, field)

void seal_inode(struct corpus *c, const struct site *s)
{
	uint64_t lo = s->container + INODE_OFF(i_checksum_lo);
	uint64_t hi = s->container + INODE_OFF(i_checksum_hi), at = lo + 2;
	uint32_t isize = EXT2_INODE_SIZE(c->fs->super), sum;
	bool has_hi = isize > EXT2_GOOD_OLD_INODE_SIZE &&
		get_le(c, s->container + INODE_OFF(i_extra_isize), 2) >= 4;

	if (!with_csum(c))
		return;
	sum = crc_number(c->fs->csum_seed, s->ino, 4);
	sum = crc(c, sum, s->container + INODE_OFF(i_generation), 4);
	sum = crc(c, sum, s->container, lo - s->container);
	sum = crc_number(sum, 0, 2);
	if (has_hi) {
		sum = crc(c, sum, at, hi - at);
		sum = crc_number(sum, 0, 2);
		at = hi + 2;
	}
	sum = crc(c, sum, at, s->container + isize - at);
	put_le(c, lo, 2, sum);
	if (has_hi)
		put_le(c, hi, 2, sum >> 16);
}

void seal_extent_block(struct corpus *c, const struct site *s)
{
	uint64_t end = s->container + 12 + (c->fs->blocksize - 12) / 12 * 12;

	if (with_csum(c))
		put_le(c, end, 4, crc(c, inode_seed(c, s), s->container,
				      end - s->container));
}

void seal_dir_leaf(struct corpus *c, const struct site *s)
{
	uint32_t len = c->fs->blocksize - sizeof(struct ext2_dir_entry_tail);

	if (with_csum(c))
		put_le(c, s->container + c->fs->blocksize - 4, 4,
		       crc(c, inode_seed(c, s), s->container, len));
}

/*
 * Writes the checksum of an htree block.  The checksum is in struct
 * ext2_dx_tail, after the space for the maximum number of entries.
 */
void seal_dx_block(struct corpus *c, const struct site *s)
{
	uint32_t room = c->fs->blocksize - s->count_off, sum;
	uint64_t tail = s->container + s->count_off +
		(room - sizeof(struct ext2_dx_tail)) / 8 * 8;
	uint64_t count = get_le(c, s->container + s->count_off + 2, 2);

	if (!with_csum(c))
		return;
	if (count > room / 8)
		count = room / 8;
	sum = crc(c, inode_seed(c, s), s->container, s->count_off + count * 8);
	sum = crc(c, sum, tail, 4);
	put_le(c, tail + 4, 4, crc_number(sum, 0, 4));
}

void seal_xattr_block(struct corpus *c, const struct site *s)
{
	size_t off = offsetof(struct ext2_ext_attr_header, h_checksum);
	uint32_t sum;

	if (!with_csum(c))
		return;
	sum = crc_number(c->fs->csum_seed, s->container / c->fs->blocksize, 8);
	sum = crc(c, sum, s->container, off);
	sum = crc_number(sum, 0, 4);
	sum = crc(c, sum, s->container + off + 4, c->fs->blocksize - off - 4);
	put_le(c, s->container + off, 4, sum);
}

/*
 * Updates the hash in the entry @s of an attribute block.  The hash covers the
 * name and the value.  If the value is in an EA inode, or out of bounds, does
 * nothing.
 */
static void seal_entry(struct corpus *c, const struct site *s)
{
	uint64_t end = s->container + c->fs->blocksize;
	struct ext2_ext_attr_entry e;
	uint64_t at, stop;
	uint32_t hash = 0;
	unsigned int i;

	memcpy(&e, c->img + s->at, sizeof(e));
	if (e.e_value_inum || s->at + sizeof(e) + e.e_name_len > end)
		return;
	for (i = 0; i < e.e_name_len; i++)
		hash = hash << 5 ^ hash >> 27 ^
		       c->img[s->at + sizeof(e) + i];
	at = s->container +
		get_le(c, s->at + offsetof(typeof(e), e_value_offs), 2);
	stop = at + get_le(c, s->at + offsetof(typeof(e), e_value_size), 4);
	if (stop > end)
		return;
	for (; at < stop; at += 4)
		hash = hash << 16 ^ hash >> 16 ^ get_le(c, at, 4);
	put_le(c, s->at + offsetof(typeof(e), e_hash), 4, hash);
}

void seal_xattr_block_entry(struct corpus *c, const struct site *s)
{
	seal_entry(c, s);
	seal_xattr_block(c, s);
}

/*
 * Recomputes the checksum of the journal's superblock.  If the checksum is 0,
 * the journal has no checksums, and nothing is written.
 */
void seal_journal(struct corpus *c, const struct site *s)
{
	uint64_t csum = s->container + 0xFC;
	uint32_t sum;

	if (!get_le(c, csum, 4))
		return;
	sum = crc(c, ~0U, s->container, 0xFC);
	sum = crc_number(sum, 0, 4);
	put_be(c, csum, 4, crc(c, sum, csum + 4, 1024 - 0x100));
}

void seal_mmp(struct corpus *c, const struct site *s)
{
	size_t off = offsetof(struct mmp_struct, mmp_checksum);

	if (with_csum(c))
		put_le(c, s->container + off, 4,
		       crc(c, c->fs->csum_seed, s->container, off));
}

void seal_orphan_block(struct corpus *c, const struct site *s)
{
	uint32_t len = c->fs->blocksize - sizeof(struct ext4_orphan_block_tail);
	uint32_t sum;

	if (!with_csum(c))
		return;
	sum = crc_number(inode_seed(c, s), s->container / c->fs->blocksize, 8);
	put_le(c, s->container + c->fs->blocksize - 4, 4,
	       crc(c, sum, s->container, len));
}
