/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scan: every inode in use, with its extents. */
#ifndef E4LAYOUT_SCAN_H
#define E4LAYOUT_SCAN_H

#include <e4layout/extents.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an inode refers to its content. */
enum e4l_map {
	E4L_MAP_NONE,		/* no blocks: device, short symlink, empty */
	E4L_MAP_EXTENTS,	/* an extent tree */
	E4L_MAP_INDIRECT,	/* the classic block map */
	E4L_MAP_INLINE,		/* inline_data */
};

/*
 * A piece of an inode in use.  Most inodes have one piece, in which first and
 * last are set.  A file with very many extents has several pieces, in logical
 * order, so that memory need not hold all extents of a file.
 */
struct e4l_piece {
	ext2_ino_t ino;
	bool first, last;
	/* a damaged part of the inode's map was skipped */
	bool damaged;
	enum e4l_map map;
	/* levels of tree blocks; 0: all extents are in the inode */
	unsigned int depth;
	/*
	 * The inode in host byte order, s_inode_size bytes.  @inode, @extents
	 * and @tree belong to the scan and are valid during the call only.
	 */
	const struct ext2_inode_large *inode;
	/* the last range of an indirect map may continue in the next piece */
	const struct e4l_extent *extents;
	size_t n_extents;
	/* a tree block precedes its descendants */
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/* A report of damaged metadata that the scan has skipped. */
struct e4l_damage {
	ext2_ino_t ino;		/* 0: no inode */
	blk64_t blk;		/* 0: no block */
	errcode_t why;
};

struct e4l_scan_ops {
	/*
	 * Called for each inode, in inode order.  If an inode has very many
	 * extents, piece() is called several times, with consecutive extents.
	 * Calls never overlap, but may come from different threads.  If piece()
	 * returns an error, the scan ends with this error.
	 */
	errcode_t (*piece)(const struct e4l_piece *piece, void *priv);
	/* Called for damage to an inode, before piece(); may be NULL. */
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
	/*
	 * Called during the scan: all groups before @group are finished.  At
	 * the end of the scan, @group is equal to @groups.  progress() may be
	 * NULL.
	 */
	void (*progress)(dgrp_t group, dgrp_t groups, void *priv);
	void (*reserved[4])(void);
};

/* Flags for e4l_scan(). */
#define E4L_SCAN_NO_MAPS	0x1	/* skip extents and tree blocks */
#define E4L_SCAN_DIRS		0x2	/* scan directories only */

/*
 * Calls the functions of @ops for each inode in use (link count above 0), in
 * inode order, with the extents of the inode.  @only is a bitmap of the inodes
 * to scan, or NULL to scan all inodes.  @only and @ops are borrowed during the
 * call; each callback gets @priv.  The scan needs a constant amount of memory
 * for each thread.  Damage does not end the scan.  Errors: the error of a
 * callback; E4L_ET_OPTION, E4L_ET_INTERRUPTED, ENOMEM.
 */
errcode_t e4l_scan(struct e4l *e, unsigned int flags, ext2fs_inode_bitmap only,
		   const struct e4l_scan_ops *ops, void *priv);

/*
 * Calls the functions of @ops for inode @ino if the inode is in use.  Errors:
 * as for e4l_scan(); E4L_ET_BAD_ARGUMENT: @ino is not from 1 to s_inodes_count.
 */
errcode_t e4l_scan_inode(struct e4l *e, ext2_ino_t ino,
			 const struct e4l_scan_ops *ops, void *priv);

#ifdef __cplusplus
}
#endif
#endif
