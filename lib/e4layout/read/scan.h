/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scan: scans inodes for callers that examine the on-disk structures. */
#ifndef E4L_SCAN_H
#define E4L_SCAN_H

#include <e4layout/scan.h>
#include "e4layout/format/extent_tree.h"

/*
 * Callbacks for each inode and tree block, called before the scan decodes the
 * inode or block.  Several threads can call these callbacks at the same time,
 * in any order.  The callbacks must verify the checksums of inodes and tree
 * blocks, and the depth of tree blocks, because the scan does not.
 */
struct e4l_scan_look {
	/*
	 * Called for each inode in the part of the inode tables that may be in
	 * use, including free inodes.  @raw is the inode as on disk, @inode is
	 * the inode in host byte order; each has s_inode_size bytes.  @blk is
	 * the block that contains the inode.  Returns false to skip the inode.
	 * The callback may change *@map.
	 */
	bool (*inode)(ext2_ino_t ino, blk64_t blk, const void *raw,
		      const struct ext2_inode_large *inode, enum e4l_map *map,
		      void *priv);
	/*
	 * Called for each tree block, except unreadable tree blocks.  @pos is
	 * the position of the block in the tree.  @indirect is true for an
	 * indirect block, and false for a block of an extent tree.
	 */
	void (*node)(ext2_ino_t ino, const struct ext2_inode_large *inode,
		     const struct e4l_node_pos *pos, bool indirect,
		     const void *block, void *priv);
};

/*
 * A damage callback for e4l_scan_ops and e4l_free_space() that ends the scan:
 * sets the failure detail and returns E4L_ET_DAMAGED.  @priv must point to a
 * struct whose first member is the context, a struct e4l *.
 */
errcode_t e4l_refuse_damage(const struct e4l_damage *damage, void *priv);

/*
 * Like e4l_scan() for all inodes, but also calls the functions of @look.  The
 * callbacks of @look and @ops get @priv.
 */
errcode_t e4l_scan_looking(struct e4l *e, const struct e4l_scan_look *look,
			   const struct e4l_scan_ops *ops, void *priv);

#endif
