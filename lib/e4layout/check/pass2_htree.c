/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <string.h>
#include "e4layout/format/format.h"
#include "pass2_htree.h"

#define LAST_HASH		0xFFFFFFFE

/* flags of struct dx_block */
#define DX_REFERENCED		0x01
#define DX_REFERENCED_TWICE	0x02
#define DX_FIRST		0x04
#define DX_LAST			0x08

static unsigned int max_levels(ext2_filsys fs)
{
	return ext2fs_has_feature_largedir(fs->super) ? EXT4_HTREE_LEVEL :
	       EXT4_HTREE_LEVEL_COMPAT;
}

/* Excludes @dir's index from further checks. */
static void give_up(struct dir *dir)
{
	dir->flags &= ~DIR_INDEX;
}

static bool hash_version_ok(const struct dir *dir, unsigned int version)
{
	bool in_entry = dir->flags & DIR_CASEFOLD && dir->flags & DIR_ENCRYPTED;

	if (version == EXT2_HASH_SIPHASH || in_entry)
		return in_entry && version == EXT2_HASH_SIPHASH;
	return version <= EXT2_HASH_TEA;
}

void e4l_htree_judge_root(struct check *ck, struct dir *dir, blk64_t blk,
			  const void *block)
{
	const struct ext2_dx_root_info *root = (const void *)
		((const char *)block + DX_INFO_AT);

	if (root->reserved_zero || root->info_length < sizeof(*root) ||
	    root->unused_flags & EXT2_HASH_FLAG_INCOMPAT ||
	    DX_INFO_AT + root->info_length + DX_TAIL_BYTES + sizeof(struct
	    ext2_dx_entry) > ck->fs->blocksize) {
		FOUND(ck, HTREE_ROOT, .ino = dir->ino, .blk = blk);
		give_up(dir);
	} else if (!hash_version_ok(dir, root->hash_version)) {
		FOUND(ck, HTREE_HASH, .ino = dir->ino, .blk = blk,
		      .got = root->hash_version);
		give_up(dir);
	} else if (root->indirect_levels >= max_levels(ck->fs)) {
		FOUND(ck, HTREE_DEPTH, .ino = dir->ino, .blk = blk,
		      .got = root->indirect_levels);
		give_up(dir);
	}
	dir->levels = root->indirect_levels + 1;
	dir->hash_version = hash_version_of(ck->fs->super,
					    root->hash_version);
}

/* Returns the size of the checksum at the end of an index block, in bytes. */
static unsigned int tail_bytes(ext2_filsys fs)
{
	return ext2fs_has_feature_metadata_csum(fs->super) ? DX_TAIL_BYTES : 0;
}

/*
 * Returns the number of index entries that fit in an index block after @offset.
 */
static unsigned int entries_from(ext2_filsys fs, unsigned int offset)
{
	return (fs->blocksize - tail_bytes(fs) - offset) /
	       sizeof(struct ext2_dx_entry);
}

bool e4l_htree_is_node(struct check *ck, const void *block)
{
	const struct dirent_raw first = dirent_read(ck->fs->blocksize, block);
	const struct ext2_dx_countlimit *limit = (const void *)
		((const char *)block + DX_NODE_AT);

	return !first.ino && !first.name_len &&
	       first.rec_len == ck->fs->blocksize &&
	       ext2fs_le16_to_cpu(limit->limit) ==
	       entries_from(ck->fs, DX_NODE_AT);
}

/*
 * Records the hash range of the block to which entry @i of @count refers.
 * @parent is the index block with the entry.  *@previous is the hash of the
 * previous entry, and becomes the hash of this entry.  If the entry is invalid,
 * returns false.
 */
static bool note_entry(struct check *ck, struct dir *dir, uint32_t parent,
		       const struct ext2_dx_entry *entry, unsigned int i,
		       unsigned int count, uint32_t *previous)
{
	uint32_t to = ext2fs_le32_to_cpu(entry[i].block) & DX_BLOCK_MASK;
	uint32_t hash = i ? ext2fs_le32_to_cpu(entry[i].hash) & ~1u : 0;
	bool ordered = hash >= *previous;
	struct dx_block *b;

	*previous = hash;
	if (to >= dir->blocks || !ordered)
		return false;
	b = &ck->dx[dir->index + to];
	if (b->flags & DX_REFERENCED)
		b->flags |= DX_REFERENCED_TWICE;
	else
		b->parent = parent;
	b->flags |= DX_REFERENCED;
	b->node_min = hash;
	b->node_max = i + 1 < count ?
		      ext2fs_le32_to_cpu(entry[i + 1].hash) & ~1u : LAST_HASH;
	b->flags |= (i ? 0 : DX_FIRST) | (i + 1 < count ? 0 : DX_LAST);
	return true;
}

/*
 * Records the entries of an index block, from @offset on.  If an entry or the
 * count is invalid, returns false.
 */
static bool note_entries(struct check *ck, struct dir *dir, uint32_t lblk,
			 const char *block, unsigned int offset)
{
	const struct ext2_dx_countlimit *limit = (const void *)(block + offset);
	const struct ext2_dx_entry *entry = (const void *)(block + offset);
	unsigned int room = entries_from(ck->fs, offset), count, i;
	uint32_t previous = 0;
	bool ok;

	if (offset % sizeof(entry->block))
		return false;
	count = ext2fs_le16_to_cpu(limit->count);
	ok = ext2fs_le16_to_cpu(limit->limit) == room && count <= room;
	pthread_mutex_lock(&ck->lock);
	for (i = 0; i < count && ok; i++)
		ok = note_entry(ck, dir, lblk, entry, i, count, &previous);
	pthread_mutex_unlock(&ck->lock);
	return ok;
}

void e4l_htree_judge_node(struct check *ck, struct dir *dir, blk64_t blk,
			  uint32_t lblk, const void *block)
{
	const struct ext2_dx_root_info *root =
		(const void *)((const char *)block + DX_INFO_AT);
	unsigned int offset = lblk ? DX_NODE_AT :
			      DX_INFO_AT + root->info_length;

	if (note_entries(ck, dir, lblk, block, offset))
		return;
	FOUND(ck, HTREE_NODE, .ino = dir->ino, .blk = blk);
	dir_is_damaged(dir);
}

/*
 * Returns the number of index blocks on the path from the root to block @b.  If
 * the path is a loop, returns a number above EXT4_HTREE_LEVEL.
 */
static unsigned int depth_of(const struct check *ck, const struct dir *dir,
			     uint32_t b)
{
	unsigned int depth = 0;

	while (b && depth <= EXT4_HTREE_LEVEL) {
		b = ck->dx[dir->index + b].parent;
		depth++;
	}
	return depth;
}

/*
 * Sets the hash bounds of each index block that refers to blocks of @type.  The
 * lower bound is the lowest hash in the first of these blocks.  The upper bound
 * is the highest hash in the last of these blocks.
 */
static void raise_hashes(struct check *ck, struct dir *dir, enum dx_type type)
{
	struct dx_block *dx = ck->dx + dir->index, *parent;
	uint32_t b;

	for (b = 0; b < dir->blocks; b++) {
		if (dx[b].type != type)
			continue;
		parent = &dx[dx[b].parent];
		if (dx[b].flags & DX_FIRST)
			parent->min_hash = dx[b].min_hash;
		if (dx[b].flags & DX_LAST)
			parent->max_hash = dx[b].max_hash;
	}
}

static bool block_ok(const struct check *ck, const struct dir *dir, uint32_t b)
{
	const struct dx_block *x = &ck->dx[dir->index + b];

	if (!b)		/* no entry may refer to the root */
		return !(x->flags & DX_REFERENCED);
	if (!(x->flags & DX_REFERENCED) || x->flags & DX_REFERENCED_TWICE)
		return false;
	if (!(x->flags & DX_FIRST) && x->min_hash < x->node_min)
		return false;
	if (x->max_hash > x->node_max)
		return false;
	return x->type != DX_LEAF || depth_of(ck, dir, b) == dir->levels;
}

void e4l_htree_compare(struct check *ck, struct dir *dir)
{
	uint32_t b;

	if (dir->damaged)
		return;
	raise_hashes(ck, dir, DX_LEAF);
	raise_hashes(ck, dir, DX_NODE);
	for (b = 0; b < dir->blocks; b++) {
		if (ck->dx[dir->index + b].type == DX_UNSEEN ||
		    block_ok(ck, dir, b))
			continue;
		FOUND(ck, HTREE_ORDER, .ino = dir->ino, .got = b);
		return;
	}
}
