/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree: decodes and verifies a node of an extent tree or of an indirect
 * map.  Formats: Documentation/filesystems/ext4/ifork.rst in Linux.
 */
#ifndef E4L_EXTENT_TREE_H
#define E4L_EXTENT_TREE_H

#include "e4layout/base/internal.h"
#include "format.h"

/*
 * Kinds of tokens.  A list of tokens in logical order describes the content of
 * a node.
 */
enum e4l_token_kind {
	TOKEN_INODE,		/* used by read/scan.c: start of an inode */
	TOKEN_WRITTEN,		/* @arg written blocks from @pblk on */
	TOKEN_UNWRITTEN,
	TOKEN_NODE,		/* an unread tree block */
	TOKEN_TREE,	/* used by read/scan.c: a tree block that was read */
	TOKEN_DAMAGE,		/* an invalid entry */
	TOKEN_END,	/* used by read/scan.c: end of a list of tokens */
};

struct e4l_token {
	uint64_t pblk : 48;
	uint64_t level : 8;	/* level of a tree block; level 0 maps data */
	uint64_t kind : 8;	/* enum e4l_token_kind */
	uint32_t lblk;
	/*
	 * TOKEN_WRITTEN and TOKEN_UNWRITTEN: length in blocks; TOKEN_NODE: last
	 * logical block; TOKEN_DAMAGE: error code minus the base of the error
	 * table
	 */
	uint32_t arg;
};

struct e4l_token_vec {
	struct e4l_token *v;
	size_t n, max;
};

/* Reserves space for @n more tokens.  Returns false if there is no memory. */
bool e4l_token_grow(struct e4l_token_vec *vec, size_t n);

/* Appends @token.  Returns false if there is no memory. */
static inline bool e4l_token_push(struct e4l_token_vec *vec,
				  struct e4l_token token)
{
	if (vec->n == vec->max && !e4l_token_grow(vec, 1))
		return false;
	vec->v[vec->n++] = token;
	return true;
}

/*
 * The position of a node in its tree.  The position limits the valid content of
 * the node.
 */
struct e4l_node_pos {
	blk64_t blk;		/* 0: the root in the inode */
	uint32_t seed;		/* from e4l_inode_seed(), if blk is not 0 */
	unsigned int level;	/* level of the node; level 0 maps data */
	/* logical blocks that the node may map, inclusive */
	uint32_t first, last;
	bool trusted;		/* do not verify the checksum and the depth */
};

/*
 * Appends the content of the extent node @node of @bytes bytes to @out: extents
 * for a leaf, TOKEN_NODE for an index, and TOKEN_DAMAGE for each invalid entry.
 * Verifies the checksum of a tree block first.  Errors, with @out unchanged:
 * ENOMEM, or the reason why the whole node is unusable.
 */
errcode_t e4l_decode_extent_node(ext2_filsys fs, const void *node, size_t bytes,
				 const struct e4l_node_pos *pos,
				 struct e4l_token_vec *out);

/*
 * Like e4l_decode_extent_node(), for @n little-endian block numbers of an
 * indirect map.  Each number maps a subtree of level pos->level - 1 or, at
 * level 0, one data block.
 */
errcode_t e4l_decode_indirect(ext2_filsys fs, const uint32_t *entries, size_t n,
			      const struct e4l_node_pos *pos,
			      struct e4l_token_vec *out);

/*
 * Decode the root @i_block of an extent tree or of an indirect map, and set
 * *@depth to the number of levels of tree blocks.
 */
errcode_t e4l_decode_extent_root(ext2_filsys fs, const void *i_block,
				 unsigned int *depth,
				 struct e4l_token_vec *out);
errcode_t e4l_decode_indirect_root(ext2_filsys fs, const void *i_block,
				   unsigned int *depth,
				   struct e4l_token_vec *out);

#endif
