/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree: what a node of an extent tree or of an indirect map says, once
 * it has been bounded.  Formats: Documentation/filesystems/ext4/ifork.rst in
 * Linux.
 */
#ifndef E4L_EXTENT_TREE_H
#define E4L_EXTENT_TREE_H

#include "e4layout/base/internal.h"
#include "format.h"

/* What a node holds, in logical order. */
enum e4l_token_kind {
	TOKEN_INODE,		/* scan: an inode begins */
	TOKEN_WRITTEN,		/* data: @arg blocks at @pblk */
	TOKEN_UNWRITTEN,
	TOKEN_NODE,		/* a tree block still to be read */
	TOKEN_TREE,		/* scan: one that has been read */
	TOKEN_DAMAGE,		/* what could not be believed */
	TOKEN_END,		/* scan: of a list */
};

struct e4l_token {
	uint64_t pblk : 48;
	uint64_t level : 8;	/* of a tree block; 0 maps data */
	uint64_t kind : 8;
	uint32_t lblk;
	/*
	 * A run's length in blocks; an unread tree block's last logical block;
	 * damage's offset from the base of the error table.
	 */
	uint32_t arg;
};

struct e4l_token_vec {
	struct e4l_token *v;
	size_t n, max;
};

/* Makes room for @n more; false when memory is short. */
bool e4l_token_grow(struct e4l_token_vec *vec, size_t n);

/* False when memory is short. */
static inline bool e4l_token_push(struct e4l_token_vec *vec,
				  struct e4l_token token)
{
	if (vec->n == vec->max && !e4l_token_grow(vec, 1))
		return false;
	vec->v[vec->n++] = token;
	return true;
}

/* Where a node stands, and so what it may hold. */
struct e4l_node_pos {
	blk64_t blk;		/* 0: the root in the inode */
	uint32_t seed;		/* e4l_inode_seed(), when blk is not 0 */
	unsigned int level;	/* of the node: 0 maps data */
	uint32_t first, last;	/* logical blocks that it may map, inclusive */
	bool trusted;		/* its checksum and depth are not looked at */
};

/*
 * Appends what the extent node @node of @bytes bytes holds to @out: data runs
 * for a leaf, TOKEN_NODE for an index.  A tree block's checksum is verified
 * first.  Entries that cannot be right are left
 * out, with one TOKEN_DAMAGE each.  Returns 0, a reason why nothing of the node
 * can be believed (nothing was appended), or ENOMEM.
 */
errcode_t e4l_decode_extent_node(ext2_filsys fs, const void *node, size_t bytes,
				 const struct e4l_node_pos *pos,
				 struct e4l_token_vec *out);

/*
 * The same for @n little-endian block numbers of an indirect map, each of which
 * maps a subtree of level pos->level - 1, or, at level 0, one data block.
 */
errcode_t e4l_decode_indirect(ext2_filsys fs, const uint32_t *entries, size_t n,
			      const struct e4l_node_pos *pos,
			      struct e4l_token_vec *out);

/* The root of either kind, all of i_block.  *@depth: tree block levels. */
errcode_t e4l_decode_extent_root(ext2_filsys fs, const void *i_block,
				 unsigned int *depth,
				 struct e4l_token_vec *out);
errcode_t e4l_decode_indirect_root(ext2_filsys fs, const void *i_block,
				   unsigned int *depth,
				   struct e4l_token_vec *out);

#endif
