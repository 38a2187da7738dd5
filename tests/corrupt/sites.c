/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits the first structure of each kind in an image, in a fixed order, so
 * that the number of a case depends only on the image.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "corrupt.h"

/* Makes cases for @fields at @at, which the checksum of structure @s covers. */
static void visit(struct corpus *c, const struct site *s, const char *name,
		  uint64_t at, const struct field *fields)
{
	struct site sub = *s;

	sub.name = name;
	sub.at = at;
	sub.fields = fields;
	try_site(c, &sub);
}

/*
 * Describes block @blk, which belongs to the inode of @owner.  The inode number
 * is copied from @owner, because the checksum of the block depends on it.
 * @name is shown in lists, and @seal recomputes the checksum of the block.
 */
static struct site in_block(struct corpus *c, const struct site *owner,
			    const char *name, blk64_t blk, seal_fn *seal)
{
	struct site s = *owner;

	s.name = name;
	s.at = s.container = block_at(c, blk);
	s.number = blk;
	s.seal = seal;
	return s;
}

/* ---- superblocks and descriptors ---- */

/*
 * Whether to visit @group.  For random cases, all groups are visited.  For
 * other cases, only the first group and the last group are visited.
 */
static bool is_visited(const struct corpus *c, dgrp_t group)
{
	return c->note || !group || group + 1 == c->fs->group_desc_count;
}

static void visit_super(struct corpus *c, uint64_t at, dgrp_t group,
			const char *name)
{
	struct site s = {
		.name = name, .fields = super_fields, .seal = seal_super,
		.at = at, .container = at, .number = group
	};

	try_site(c, &s);
}

static void visit_group(struct corpus *c, uint64_t at, dgrp_t group,
			const char *name)
{
	struct site s = {
		.name = name, .seal = seal_group, .at = at, .container = at,
		.number = group, .group = group
	};
	const struct field *f;

	for (f = group_fields; f->name; f++)
		if (f->off < EXT2_DESC_SIZE(c->fs->super))
			try_field(c, &s, f);
}

static void visit_supers(struct corpus *c)
{
	ext2_filsys fs = c->fs;
	blk64_t super, old_desc, new_desc;
	dgrp_t group;

	visit_super(c, SUPERBLOCK_OFFSET, 0, "super");
	for (group = 0; group < fs->group_desc_count; group++)
		if (is_visited(c, group))
			visit_group(c, group_at(c, group), group, "group");
	for (group = 1; group < fs->group_desc_count; group++) {
		ext2fs_super_and_bgd_loc2(fs, group, &super, &old_desc,
					  &new_desc, NULL);
		if (!super)
			continue;
		visit_super(c, block_at(c, super), group, "super-backup");
		if (old_desc)
			visit_group(c, block_at(c, old_desc), 0,
				    "group-backup");
		return;
	}
}

/* ---- bitmaps ---- */

static bool bit_is_set(const struct corpus *c, uint64_t at, uint32_t bit)
{
	return c->img[at + bit / 8] >> bit % 8 & 1;
}

static void flip(struct corpus *c, const struct site *s, uint32_t bit,
		 const char *which)
{
	uint8_t byte = c->img[s->at + bit / 8] ^ 1 << bit % 8;

	try_bytes(c, s, which, s->at + bit / 8, 1, &byte, "flip");
}

/* Visits a bitmap of @bits bits.  The other bits of the block are padding. */
static void visit_bitmap(struct corpus *c, const struct site *s, uint32_t bits)
{
	static const char *const first[] = { "first-free", "first-used" };
	static const char *const last[] = { "last-free", "last-used" };
	uint32_t all = 8 * c->fs->blocksize, bit;
	uint8_t none[16] = { 0 }, full[16];
	int used;

	if (c->note) {
		c->note(c, s, NULL);
		return;
	}
	for (used = 0; used < 2; used++) {
		for (bit = 0; bit < bits; bit++)
			if (bit_is_set(c, s->at, bit) == used)
				break;
		if (bit == bits)
			continue;
		flip(c, s, bit, first[used]);
		for (bit = bits; bit-- && bit_is_set(c, s->at, bit) != used;)
			;
		flip(c, s, bit, last[used]);
	}
	flip(c, s, bits / 2, "middle");
	if (bits < all) {
		flip(c, s, bits, "first-padding");
		flip(c, s, all - 1, "last-padding");
	}
	memset(full, 0xFF, sizeof(full));
	try_bytes(c, s, "start", s->at, sizeof(none), none, "0");
	try_bytes(c, s, "start", s->at, sizeof(full), full, "max");
}

static void visit_bitmaps_of(struct corpus *c, dgrp_t group)
{
	ext2_filsys fs = c->fs;
	struct site s = { .number = group, .group = group };

	if (!ext2fs_bg_flags_test(fs, group, EXT2_BG_BLOCK_UNINIT)) {
		s.name = "block-bitmap";
		s.seal = seal_block_bitmap;
		s.at = s.container =
			block_at(c, ext2fs_block_bitmap_loc(fs, group));
		visit_bitmap(c, &s, ext2fs_group_blocks_count(fs, group) /
			     EXT2FS_CLUSTER_RATIO(fs));
	}
	if (!ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT)) {
		s.name = "inode-bitmap";
		s.seal = seal_inode_bitmap;
		s.at = s.container =
			block_at(c, ext2fs_inode_bitmap_loc(fs, group));
		visit_bitmap(c, &s, fs->super->s_inodes_per_group);
	}
}

static void visit_bitmaps(struct corpus *c)
{
	dgrp_t group;

	for (group = 0; group < c->fs->group_desc_count; group++)
		if (is_visited(c, group))
			visit_bitmaps_of(c, group);
}

/* ---- maps ---- */

/*
 * Visits the node of an extent tree at @s, and its first and last child.
 * @is_root is true for the root in the inode.
 */
static void visit_extents(struct corpus *c, const struct site *s, bool is_root)
{
	uint32_t entries = get_le(c, s->at + 2, 2), i;
	uint32_t depth = get_le(c, s->at + 6, 2);
	struct site child;
	uint64_t at;

	visit(c, s, is_root ? "extent-root" : depth ? "extent-index" :
	      "extent-leaf", s->at, extent_header_fields);
	for (i = 0; i < entries; i++) {
		if (i > 1 && i + 1 < entries)
			continue;
		at = s->at + 12 * (1 + i);
		if (!depth) {
			visit(c, s, "extent", at, extent_fields);
			continue;
		}
		visit(c, s, "extent-index-entry", at, extent_index_fields);
		if (i == 1)
			continue;
		child = in_block(c, s, "", get_le(c, at + 4, 4) |
				 get_le(c, at + 8, 2) << 32, seal_extent_block);
		visit_extents(c, &child, false);
	}
	if (!is_root && ext2fs_has_feature_metadata_csum(c->fs->super))
		visit(c, s, "extent-tail", s->at + 12 +
		      (c->fs->blocksize - 12) / 12 * 12, extent_tail_fields);
}

/*
 * Visits elements of an indirect block: the first, second and last block
 * number, and the first unused element.  At level 2 or 3, also visits the
 * indirect blocks that these block numbers refer to.
 */
static void visit_indirect(struct corpus *c, const struct site *s, int level)
{
	static const char *const name[] = {
		"indirect", "double-indirect", "triple-indirect"
	};
	uint32_t n = c->fs->blocksize / 4, i, used = 0, last = 0;
	struct site child;
	bool free_done = false;
	blk64_t blk;

	for (i = 0; i < n; i++)
		if (get_le(c, s->at + 4 * i, 4))
			last = i;
	for (i = 0; i < n; i++) {
		blk = get_le(c, s->at + 4 * i, 4);
		if (blk ? used++ > 1 && i != last : free_done)
			continue;
		free_done |= !blk;
		visit(c, s, name[level - 1], s->at + 4 * i, block_slot_fields);
		if (!blk || level == 1)
			continue;
		child = in_block(c, s, "", blk, seal_nothing);
		visit_indirect(c, &child, level - 1);
	}
}

static void visit_blockmap(struct corpus *c, const struct site *s)
{
	struct site child;
	unsigned int i;
	uint64_t at;
	blk64_t blk;

	for (i = 0; i < EXT2_N_BLOCKS; i++) {
		at = s->at + offsetof(struct ext2_inode, i_block) + 4 * i;
		blk = get_le(c, at, 4);
		if (i > 2 && i < EXT2_IND_BLOCK - 1)
			continue;
		visit(c, s, i < EXT2_IND_BLOCK ? "i_block" : "i_block-indirect",
		      at, block_slot_fields);
		if (!blk || i < EXT2_IND_BLOCK)
			continue;
		child = in_block(c, s, "", blk, seal_nothing);
		visit_indirect(c, &child, i - EXT2_IND_BLOCK + 1);
	}
}

/* ---- directories ---- */

/*
 * Makes a case in which the entry at @s has the name of the previous entry, if
 * the names are equally long.  @prev is the byte offset of the previous entry
 * in the image; 0: no previous entry.
 */
static void visit_twin(struct corpus *c, const struct site *s, uint64_t prev)
{
	uint32_t len = c->img[s->at + 6];

	if (prev && c->img[prev + 6] == len)
		try_bytes(c, s, "name", s->at + 8, len, c->img + prev + 8,
			  "another's");
}

static void visit_dirent(struct corpus *c, const struct site *s, uint64_t at,
			 uint64_t prev, const char *name)
{
	struct field last_byte = { "name[last]", 0, 1, NAME };
	uint32_t len = c->img[at + 6];
	struct site entry = *s;

	entry.at = at;
	entry.name = name;
	entry.fields = dirent_fields;
	try_site(c, &entry);
	if (len > 1) {
		last_byte.off = 7 + len;
		try_field(c, &entry, &last_byte);
	}
	visit_twin(c, &entry, prev);
}

/*
 * Visits the first four directory entries and the last one from byte @at to
 * @end.  @has_dots is true if the first two entries are "." and "..".
 */
static void visit_dirents(struct corpus *c, const struct site *s, uint64_t at,
			  uint64_t end, bool has_dots)
{
	uint64_t prev = 0, next;
	unsigned int i;

	for (i = 0; at < end; i++, prev = at, at = next) {
		next = at + get_le(c, at + 4, 2);
		if (i > 3 && next < end)
			continue;
		visit_dirent(c, s, at, prev, i < 2 && has_dots ?
			     i ? "dotdot" : "dot" : "dirent");
	}
}

static void visit_dir_leaf(struct corpus *c, const struct site *s, bool first)
{
	uint64_t end = s->at + c->fs->blocksize;

	if (ext2fs_has_feature_metadata_csum(c->fs->super))
		end -= sizeof(struct ext2_dir_entry_tail);
	visit_dirents(c, s, s->at, end, first);
	if (ext2fs_has_feature_metadata_csum(c->fs->super))
		visit(c, s, "dir-tail", end, dir_tail_fields);
}

static blk64_t dir_block(struct corpus *c, const struct site *s, blk64_t lblk)
{
	blk64_t pblk = 0;

	die_if(ext2fs_bmap2(c->fs, s->ino, NULL, NULL, 0, lblk, NULL, &pblk),
	       "a directory's block");
	return pblk;
}

static void visit_dx_block(struct corpus *c, const struct site *s, int levels);

/*
 * Visits the count, the limit, the tail and some entries of an htree block, and
 * the blocks of its first and last entry.
 */
static void visit_dx_entries(struct corpus *c, const struct site *s, int levels)
{
	uint64_t base = s->container + s->count_off, at;
	uint32_t limit = get_le(c, base, 2), count = get_le(c, base + 2, 2), i;

	visit(c, s, "htree-count", base, dx_count_fields);
	for (i = 0; i < count; i++) {
		struct site child;
		blk64_t blk;

		if (i > 2 && i + 1 < count)
			continue;
		at = base + 8 * i;
		visit(c, s, "htree-entry", at, i ? dx_entry_fields :
		      dx_entry_fields + 1);
		if (i && i + 1 < count)
			continue;
		blk = dir_block(c, s, get_le(c, at + 4, 4));
		child = in_block(c, s, "", blk,
				 levels ? seal_dx_block : seal_dir_leaf);
		if (levels)
			visit_dx_block(c, &child, levels - 1);
		else
			visit_dir_leaf(c, &child, false);
	}
	if (ext2fs_has_feature_metadata_csum(c->fs->super))
		visit(c, s, "htree-tail", base + 8 * limit, dx_tail_fields);
}

static void visit_dx_block(struct corpus *c, const struct site *s, int levels)
{
	struct site node = *s;

	node.count_off = 8;
	visit(c, &node, "htree-node", s->at, dx_node_fields);
	visit_dx_entries(c, &node, levels);
}

/* Offsets in the root block of an htree, after "." and ".." (24 bytes). */
#define DX_INFO_OFF 24
#define DX_LEVELS_OFF \
	(DX_INFO_OFF + offsetof(struct ext2_dx_root_info, indirect_levels))

static void visit_dx_root(struct corpus *c, const struct site *s)
{
	struct site root = *s;
	uint64_t info = s->at + DX_INFO_OFF;

	root.count_off = 32;
	visit_dirents(c, &root, s->at, s->at + c->fs->blocksize, true);
	visit(c, &root, "htree-root", info, dx_root_fields);
	visit_dx_entries(c, &root, c->img[s->at + DX_LEVELS_OFF]);
}

static void visit_dir(struct corpus *c, const struct site *s,
		      const struct ext2_inode *inode)
{
	uint32_t blocks = EXT2_I_SIZE(inode) / c->fs->blocksize;
	struct site block = in_block(c, s, "", dir_block(c, s, 0),
				     seal_dir_leaf);

	if (inode->i_flags & EXT2_INDEX_FL) {
		block.seal = seal_dx_block;
		visit_dx_root(c, &block);
		return;
	}
	visit_dir_leaf(c, &block, true);
	if (blocks == 1)
		return;
	block = in_block(c, s, "", dir_block(c, s, blocks - 1), seal_dir_leaf);
	visit_dir_leaf(c, &block, false);
}

#define IBLOCK_OFF offsetof(struct ext2_inode, i_block)

static void visit_inline(struct corpus *c, const struct site *s,
			 const struct ext2_inode *inode)
{
	if (!LINUX_S_ISDIR(inode->i_mode)) {
		visit(c, s, "inline-byte", s->at + IBLOCK_OFF, byte_fields);
		return;
	}
	visit(c, s, "inline-parent", s->at + IBLOCK_OFF, ino_slot_fields);
	visit_dirents(c, s, s->at + IBLOCK_OFF + 4, s->at + IBLOCK_OFF + 60,
		      false);
}

/* ---- extended attributes ---- */

static void visit_xattr_entries(struct corpus *c, const struct site *s,
				uint64_t at, uint64_t values)
{
	struct ext2_ext_attr_entry e;

	for (; get_le(c, at, 4); at += EXT2_EXT_ATTR_LEN(e.e_name_len)) {
		memcpy(&e, c->img + at, sizeof(e));
		visit(c, s, s->name, at, xattr_entry_fields);
		if (!e.e_value_inum && e.e_value_size)
			visit(c, s, "xattr-value", values +
			      ext2fs_le16_to_cpu(e.e_value_offs), byte_fields);
	}
	visit(c, s, "xattr-end", at, slot_fields);
}

static void visit_xattr_block(struct corpus *c, const struct site *s,
			      blk64_t blk)
{
	struct site block = in_block(c, s, "xattr-block-entry", blk,
				     seal_xattr_block);

	visit(c, &block, "xattr-header", block.at, xattr_header_fields);
	block.seal = seal_xattr_block_entry;
	visit_xattr_entries(c, &block, block.at +
			    sizeof(struct ext2_ext_attr_header), block.at);
}

static void visit_ibody(struct corpus *c, const struct site *s)
{
	uint32_t isize = EXT2_INODE_SIZE(c->fs->super);
	uint64_t at = s->at + EXT2_GOOD_OLD_INODE_SIZE;
	struct site body = *s;

	if (isize == EXT2_GOOD_OLD_INODE_SIZE)
		return;
	at += get_le(c, at, 2);
	if (at + 4 > s->at + isize || get_le(c, at, 4) != EXT2_EXT_ATTR_MAGIC)
		return;
	visit(c, s, "xattr-ibody", at, xattr_ibody_fields);
	body.name = "xattr-ibody-entry";
	visit_xattr_entries(c, &body, at + 4, at + 4);
}

/* ---- internal files of the filesystem ---- */

static void visit_journal(struct corpus *c, const struct site *s)
{
	struct site block = in_block(c, s, "journal", dir_block(c, s, 0),
				     seal_journal);

	block.fields = journal_fields;
	try_site(c, &block);
}

/*
 * Returns the offset of block @block of a quota file in the image.  The blocks
 * of quota files have 1 KiB, independently of the filesystem.
 */
static uint64_t quota_at(struct corpus *c, const struct site *s, uint32_t block)
{
	uint64_t off = 1024ULL * block;

	return block_at(c, dir_block(c, s, off / c->fs->blocksize)) +
	       off % c->fs->blocksize;
}

#define QUOTA_DEPTH 4
#define QUOTA_ENTRY_BYTES 72

static void visit_quota(struct corpus *c, const struct site *s)
{
	struct site file = *s;
	uint32_t block = 1, level, slot;
	uint64_t at;

	file.seal = seal_nothing;
	visit(c, &file, "quota-header", quota_at(c, s, 0), quota_header_fields);
	for (level = 0; level < QUOTA_DEPTH; level++) {
		at = quota_at(c, s, block);
		for (slot = 0; slot < 255 && !get_le(c, at + 4 * slot, 4);)
			slot++;
		visit(c, &file, "quota-tree", at + 4 * slot, slot_fields);
		visit(c, &file, "quota-tree", at + 4 * slot + 4, slot_fields);
		block = get_le(c, at + 4 * slot, 4);
	}
	at = quota_at(c, s, block);
	visit(c, &file, "quota-block", at, quota_block_fields);
	visit(c, &file, "quota-entry", at + 16, quota_entry_fields);
	visit(c, &file, "quota-entry", at + 16 + QUOTA_ENTRY_BYTES,
	      quota_entry_fields);
}

static void visit_orphan_file(struct corpus *c, const struct site *s)
{
	struct site block = in_block(c, s, "orphan-slot", dir_block(c, s, 0),
				     seal_orphan_block);
	uint64_t tail = block.at + c->fs->blocksize -
		sizeof(struct ext4_orphan_block_tail);

	visit(c, &block, "orphan-slot", block.at, ino_slot_fields);
	visit(c, &block, "orphan-slot", tail - 4, ino_slot_fields);
	visit(c, &block, "orphan-tail", tail, orphan_tail_fields);
}

static void visit_mmp(struct corpus *c)
{
	struct site s = {
		.name = "mmp", .fields = mmp_fields, .seal = seal_mmp,
		.number = c->fs->super->s_mmp_block,
	};

	if (!ext2fs_has_feature_mmp(c->fs->super))
		return;
	s.at = s.container = block_at(c, s.number);
	try_site(c, &s);
}

/* ---- inodes ---- */

static const char *special_kind(const struct corpus *c, ext2_ino_t ino)
{
	const struct ext2_super_block *super = c->fs->super;

	if (ino == super->s_journal_inum)
		return "journal";
	if (ino == EXT2_RESIZE_INO)
		return "resize";
	if (ino == super->s_usr_quota_inum || ino == super->s_grp_quota_inum ||
	    ino == super->s_prj_quota_inum)
		return "quota";
	if (ino == super->s_orphan_file_inum &&
	    ext2fs_has_feature_orphan_file(c->fs->super))
		return "orphan-file";
	return ino < EXT2_FIRST_INO(super) && ino != EXT2_ROOT_INO ?
	       "reserved" : NULL;
}

static const char *type_kind(const struct corpus *c, ext2_ino_t ino,
			     const struct ext2_inode *inode)
{
	if (!inode->i_links_count)
		return "free";
	if (ino == EXT2_ROOT_INO)
		return "root";
	if (inode->i_flags & EXT4_EA_INODE_FL)
		return "ea-inode";
	if (LINUX_S_ISLNK(inode->i_mode))
		return ext2fs_is_fast_symlink((struct ext2_inode *)inode) ?
		       "fast-symlink" : "symlink";
	if (LINUX_S_ISDIR(inode->i_mode))
		return inode->i_flags & EXT2_INDEX_FL ? "dir-htree" : "dir";
	return LINUX_S_ISREG(inode->i_mode) ? "file" : "special";
}

static bool is_deep_htree(struct corpus *c, ext2_ino_t ino,
			  const struct ext2_inode *inode)
{
	struct site s = { .ino = ino };

	return LINUX_S_ISDIR(inode->i_mode) && inode->i_flags & EXT2_INDEX_FL &&
	       c->img[block_at(c, dir_block(c, &s, 0)) + DX_LEVELS_OFF];
}

/*
 * Describes an inode in a few words; inodes with equal descriptions
 * have the same structures.
 */
static void kind_of(struct corpus *c, ext2_ino_t ino,
		    const struct ext2_inode *inode, char *kind, size_t size)
{
	const struct ext3_extent_header *eh = (const void *)inode->i_block;
	const char *name = special_kind(c, ino);
	uint32_t flags = inode->i_flags;
	char map[16] = "";

	if (!name)
		name = type_kind(c, ino, inode);
	if (flags & EXT4_EXTENTS_FL)
		snprintf(map, sizeof(map), "-extents%u",
			 ext2fs_le16_to_cpu(((const __le16 *)eh)[3]));
	snprintf(kind, size, "inode-%s%s%s%s%s%s%s%s%s", name,
		 is_deep_htree(c, ino, inode) ? "-deep" : "", map,
		 flags & EXT4_INLINE_DATA_FL ? "-inline" : "",
		 flags & EXT4_ENCRYPT_FL ? "-encrypt" : "",
		 flags & EXT4_VERITY_FL ? "-verity" : "",
		 flags & EXT4_CASEFOLD_FL ? "-casefold" : "",
		 flags & EXT4_PROJINHERIT_FL ? "-project" : "",
		 ext2fs_file_acl_block(c->fs, inode) ? "-xattr" : "");
}

static bool is_special(const char *kind, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(kind + strlen("inode-"), name, len);
}

static void visit_body(struct corpus *c, const struct site *s,
		       const struct ext2_inode *inode)
{
	struct site map = *s;

	if (inode->i_flags & EXT4_INLINE_DATA_FL) {
		visit_inline(c, s, inode);
		return;
	}
	map.at += IBLOCK_OFF;
	if (inode->i_flags & EXT4_EXTENTS_FL)
		visit_extents(c, &map, true);
	else if (ext2fs_inode_has_valid_blocks2(c->fs,
						(struct ext2_inode *)inode))
		visit_blockmap(c, s);
	else
		visit(c, s, is_special(s->name, "fast-symlink") ?
		      "symlink-byte" : "device", map.at, byte_fields);
	if (LINUX_S_ISDIR(inode->i_mode))
		visit_dir(c, s, inode);
	if (is_special(s->name, "symlink")) {
		map = in_block(c, s, "symlink-byte", dir_block(c, s, 0),
			       seal_nothing);
		visit(c, &map, "symlink-byte", map.at, byte_fields);
	}
	if (is_special(s->name, "ea-inode")) {
		map = in_block(c, s, "ea-inode-byte", dir_block(c, s, 0),
			       seal_nothing);
		visit(c, &map, "ea-inode-byte", map.at, byte_fields);
	}
	if (is_special(s->name, "journal"))
		visit_journal(c, s);
	if (is_special(s->name, "quota"))
		visit_quota(c, s);
	if (is_special(s->name, "orphan-file"))
		visit_orphan_file(c, s);
}

static void visit_inode(struct corpus *c, ext2_ino_t ino,
			const struct ext2_inode *inode, const char *kind)
{
	struct site s = {
		.name = kind, .fields = inode_fields, .seal = seal_inode,
		.at = inode_at(c, ino), .number = ino, .ino = ino,
		.generation = inode->i_generation,
	};
	blk64_t acl = ext2fs_file_acl_block(c->fs, inode);

	s.container = s.at;
	try_site(c, &s);
	if (EXT2_INODE_SIZE(c->fs->super) > EXT2_GOOD_OLD_INODE_SIZE) {
		s.fields = large_inode_fields;
		try_site(c, &s);
	}
	if (!inode->i_links_count && !inode->i_mode)
		return;
	visit_body(c, &s, inode);
	visit_ibody(c, &s);
	if (acl)
		visit_xattr_block(c, &s, acl);
}

/*
 * Returns whether @kind is one of the @n @kinds, and adds a kind that is
 * missing.
 */
static bool seen(char (*kinds)[96], unsigned int *n, const char *kind)
{
	unsigned int i;

	for (i = 0; i < *n; i++)
		if (!strcmp(kinds[i], kind))
			return true;
	snprintf(kinds[(*n)++], sizeof(*kinds), "%s", kind);
	return false;
}

#define MAX_KINDS 64

static void visit_inodes(struct corpus *c)
{
	char kinds[MAX_KINDS][96], kind[96];
	struct ext2_inode inode;
	unsigned int n = 0;
	ext2_ino_t ino;

	for (ino = 1; ino <= c->fs->super->s_inodes_count; ino++) {
		die_if(ext2fs_read_inode(c->fs, ino, &inode), "an inode");
		kind_of(c, ino, &inode, kind, sizeof(kind));
		if (n < MAX_KINDS && (!seen(kinds, &n, kind) || c->note))
			visit_inode(c, ino, &inode, kind);
	}
}

/* ---- targets of hostile pointers ---- */

static void choose_targets(struct corpus *c)
{
	ext2_filsys fs = c->fs;
	struct ext2_inode inode;
	ext2_ino_t ino;

	c->table_blk = ext2fs_inode_table_loc(fs, 0);
	c->bitmap_blk = ext2fs_block_bitmap_loc(fs, 0);
	if (ext2fs_find_first_zero_block_bitmap2(fs->block_map,
		fs->super->s_first_data_block,
		ext2fs_blocks_count(fs->super) - 1, &c->free_blk))
		c->free_blk = ext2fs_blocks_count(fs->super) - 1;
	for (ino = fs->super->s_inodes_count; ino > EXT2_FIRST_INO(fs->super);
	     ino--) {
		die_if(ext2fs_read_inode(fs, ino, &inode), "an inode");
		if (!ext2fs_test_inode_bitmap2(fs->inode_map, ino))
			c->free_ino = ino;
		else if (LINUX_S_ISDIR(inode.i_mode))
			c->dir_ino = ino;
		else if (LINUX_S_ISREG(inode.i_mode) && EXT2_I_SIZE(&inode) &&
			 !(inode.i_flags & EXT4_INLINE_DATA_FL))
			c->file_ino = ino;
	}
	c->data_blk = c->free_blk;
	if (c->file_ino)
		die_if(ext2fs_bmap2(fs, c->file_ino, NULL, NULL, 0, 0, NULL,
				    &c->data_blk), "a file's block");
}

void try_image(struct corpus *c)
{
	choose_targets(c);
	visit_supers(c);
	visit_bitmaps(c);
	visit_mmp(c);
	visit_inodes(c);
}
