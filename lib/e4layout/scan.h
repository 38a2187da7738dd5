/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scan: every inode in use, with its extents. */
#ifndef E4LAYOUT_SCAN_H
#define E4LAYOUT_SCAN_H

#include <e4layout/extents.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where an inode keeps its content. */
enum e4l_map {
	E4L_MAP_NONE,		/* no blocks: device, short symlink, empty */
	E4L_MAP_EXTENTS,	/* an extent tree */
	E4L_MAP_INDIRECT,	/* the classic block map */
	E4L_MAP_INLINE,		/* inline_data */
};

/*
 * A piece of an inode in use.  Most inodes come in one piece, with first and
 * last set; a file with very many extents comes in several, in logical order,
 * so that no file has to fit in memory.
 */
struct e4l_piece {
	ext2_ino_t ino;
	bool first, last;
	bool damaged;		/* something of its map was stepped over */
	enum e4l_map map;
	unsigned int depth;	/* levels of tree blocks: 0 = all in the inode */
	/*
	 * The inode in host byte order; s_inode_size bytes are valid.  Like the
	 * arrays it belongs to the scan and is valid during the call only.
	 */
	const struct ext2_inode_large *inode;
	/* the next piece may go on with the last run of an indirect map */
	const struct e4l_extent *extents;
	size_t n_extents;
	/* in the order in which a walk down the tree meets them */
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/* Something that could not be read or believed, and was stepped over. */
struct e4l_damage {
	ext2_ino_t ino;		/* 0: none in particular */
	blk64_t blk;		/* a tree's, an inode table's, ...; 0: none */
	errcode_t why;
};

struct e4l_scan_ops {
	/*
	 * Called for each piece in inode order.  Calls never overlap, but may
	 * come from different threads.  A result other than 0 ends the scan
	 * with that result.
	 */
	errcode_t (*piece)(const struct e4l_piece *piece, void *priv);
	/* Likewise for damage, before the piece it concerns; may be NULL. */
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
	/*
	 * Groups are done up to @group of @groups, at the end up to all; may
	 * be NULL.
	 */
	void (*progress)(dgrp_t group, dgrp_t groups, void *priv);
	void (*reserved[4])(void);
};

/* Flags for e4l_scan(). */
#define E4L_SCAN_NO_MAPS	0x1	/* inodes only: no extents, no tree */
#define E4L_SCAN_DIRS		0x2	/* directories only */

/*
 * Streams every inode in use (link count above 0), in inode order, with its
 * extents.  @only, when not NULL, is an inode bitmap (ext2fs) that restricts
 * the scan; only the inode-table blocks that hold its inodes are read.
 * Memory is bounded by a constant per thread, whatever the filesystem holds.
 * Damage does not end the scan; a result of 0 means that the end was reached.
 */
errcode_t e4l_scan(struct e4l *e, unsigned int flags, ext2fs_inode_bitmap only,
		   const struct e4l_scan_ops *ops, void *priv);

/*
 * The same for inode @ino alone, if it is in use.  Error: E4L_ET_BAD_ARGUMENT,
 * it is not 1 to s_inodes_count.
 */
errcode_t e4l_scan_inode(struct e4l *e, ext2_ino_t ino,
			 const struct e4l_scan_ops *ops, void *priv);

#ifdef __cplusplus
}
#endif
#endif
