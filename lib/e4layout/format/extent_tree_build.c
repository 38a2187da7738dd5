/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds the nodes of an extent tree.  Documentation/filesystems/ext4/ifork.rst
 * in Linux describes the format.
 */
#include "config.h"
#include <string.h>
#include "csum.h"
#include "extent_tree_build.h"
#include "tree_size.h"

/* ee_len of an unwritten extent is its length plus this number */
#define UNWRITTEN_BIAS		32768

uint64_t e4l_ideal_tree_blocks(uint64_t extents, uint32_t blocksize)
{
	uint64_t per_block = e4l_entries_per_block(blocksize);
	uint64_t level = extents, total = 0;

	while (level > EXTENT_ROOT_ENTRIES) {
		level = level / per_block + (level % per_block != 0);
		total += level;
	}
	return total;
}

void e4l_extent_tree_shape(uint64_t extents, uint32_t blocksize,
		    struct e4l_extent_tree_shape *shape)
{
	uint64_t per_block = e4l_entries_per_block(blocksize), n = extents;

	*shape = (struct e4l_extent_tree_shape) { 0 };
	while (n > EXTENT_ROOT_ENTRIES) {
		n = n / per_block + (n % per_block != 0);
		shape->at[shape->depth++] = n;
		shape->blocks += n;
	}
}

static errcode_t check(ext2_filsys fs, const struct e4l_extent *ex, size_t n)
{
	blk64_t blocks = ext2fs_blocks_count(fs->super);
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < n; end = ex[i].lblk + (uint64_t)ex[i].len, i++) {
		if (ex[i].lblk < end)
			return E4L_ET_EXTENT_ORDER;
		if (!ex[i].len || ex[i].pblk < fs->super->s_first_data_block ||
		    ex[i].pblk >= blocks || ex[i].len > blocks - ex[i].pblk ||
		    ex[i].lblk + (uint64_t)ex[i].len > FILE_MAX_BLOCKS ||
		    ex[i].len > (ex[i].unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
						   E4L_WRITTEN_MAX_BLOCKS))
			return E4L_ET_EXTENT_RANGE;
	}
	return 0;
}

static void put_header(uint8_t *node, uint32_t entries, uint32_t max,
		       unsigned int depth)
{
	put_le16(node, EXTENT_MAGIC);
	put_le16(node + 2, entries);
	put_le16(node + EXTENT_EH_MAX, max);
	put_le16(node + 6, depth);
	put_le32(node + 8, 0);
}

static void put_leaf_entry(uint8_t *p, const struct e4l_extent *ex)
{
	put_le32(p, ex->lblk);
	put_le16(p + 4, ex->len + (ex->unwritten ? UNWRITTEN_BIAS : 0));
	put_le16(p + 6, ex->pblk >> 32);
	put_le32(p + 8, ex->pblk);
}

/*
 * Writes an index entry.  Its first four bytes are the first logical block of
 * the node @child.
 */
static void put_index_entry(uint8_t *p, const uint8_t *child, blk64_t pblk)
{
	memcpy(p, child + EXTENT_ENTRY_BYTES, 4);
	put_le32(p + 4, pblk);
	put_le16(p + 8, pblk >> 32);
	put_le16(p + 10, 0);
}

/* The extents or tree blocks to which the nodes of one level point. */
struct below {
	uint64_t n;
	/* for the nodes of level 0: the extents */
	const struct e4l_extent *extents;
	/* for nodes above level 0: block numbers and content of tree blocks */
	const blk64_t *pblk;
	const uint8_t *blocks;
	uint32_t blocksize;
};

/*
 * Builds a node with up to @max entries, which point to the elements of @below
 * from index @first on.
 */
static void put_node(uint8_t *node, uint32_t max, unsigned int level,
		     const struct below *below, uint64_t first)
{
	uint64_t left = below->n - first, i;
	uint32_t entries = left < max ? left : max;
	uint8_t *p = node;

	put_header(node, entries, max, level);
	for (i = first; i < first + entries; i++) {
		p += EXTENT_ENTRY_BYTES;
		if (!level)
			put_leaf_entry(p, &below->extents[i]);
		else
			put_index_entry(p, below->blocks + i * below->blocksize,
					below->pblk[i]);
	}
}

/* Writes the @count nodes of @level to the buffer @blocks. */
static void put_level(ext2_filsys fs, uint32_t seed, uint8_t *blocks,
		      uint64_t count, unsigned int level,
		      const struct below *below)
{
	uint32_t max = e4l_entries_per_block(fs->blocksize);
	size_t tail = EXTENT_ENTRY_BYTES * (1 + max);
	uint64_t i;

	for (i = 0; i < count; i++, blocks += fs->blocksize) {
		memset(blocks, 0, fs->blocksize);
		put_node(blocks, max, level, below, i * max);
		if (ext2fs_has_feature_metadata_csum(fs->super))
			put_le32(blocks + tail,
				 e4l_crc32c(seed, blocks, tail));
	}
}

errcode_t e4l_extent_tree_build(ext2_filsys fs, ext2_ino_t ino, uint32_t generation,
			 const struct e4l_extent *extents, size_t n,
			 const blk64_t *pblk, void *root, void *blocks)
{
	uint32_t seed = e4l_inode_seed(fs, ino, generation);
	struct below below = {
		.n = n, .extents = extents, .blocksize = fs->blocksize,
	};
	struct e4l_extent_tree_shape shape;
	unsigned int level;
	uint64_t at;
	errcode_t err;

	err = check(fs, extents, n);
	if (err)
		return err;
	e4l_extent_tree_shape(n, fs->blocksize, &shape);
	for (at = 0; at < shape.blocks; at++)
		if (pblk[at] <= fs->super->s_first_data_block ||
		    pblk[at] >= ext2fs_blocks_count(fs->super))
			return E4L_ET_EXTENT_RANGE;
	for (level = 0; level < shape.depth; level++) {
		at -= shape.at[level];
		put_level(fs, seed, (uint8_t *)blocks + at * fs->blocksize,
			  shape.at[level], level, &below);
		below.n = shape.at[level];
		below.pblk = pblk + at;
		below.blocks = (uint8_t *)blocks + at * fs->blocksize;
	}
	memset(root, 0, I_BLOCK_BYTES);
	put_node(root, EXTENT_ROOT_ENTRIES, shape.depth, &below, 0);
	return 0;
}
