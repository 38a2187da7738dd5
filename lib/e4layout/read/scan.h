/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scan: the same stream for who judges what is on the disk. */
#ifndef E4L_SCAN_H
#define E4L_SCAN_H

#include <e4layout/scan.h>
#include "e4layout/format/extent_tree.h"

/*
 * A look at everything that the scan reads, before it is decoded.  Calls come
 * from several threads at once, in no particular order.  Checksums, and the
 * depth that a tree block says it has, are then left to the look to judge: the
 * scan goes on with what it can make of them.
 */
struct e4l_scan_look {
	/*
	 * Called for each slot of an inode table that may be in use, free ones
	 * too.  @raw is the inode as on disk, @inode in host byte order, each
	 * of s_inode_size bytes; @blk is where it lies.  False: the scan passes
	 * over it.  *@map may be changed.
	 */
	bool (*inode)(ext2_ino_t ino, blk64_t blk, const void *raw,
		      const struct ext2_inode_large *inode, enum e4l_map *map,
		      void *priv);
	/* Called for each tree block that could be read. */
	void (*node)(ext2_ino_t ino, const struct ext2_inode_large *inode,
		     const struct e4l_node_pos *pos, bool indirect,
		     const void *block, void *priv);
};

/*
 * For e4l_scan_ops.damage, and e4l_free_space(): E4L_ET_DAMAGED, with what it is
 * as the detail.  *@priv must begin with the context, a struct e4l *.
 */
errcode_t e4l_refuse_damage(const struct e4l_damage *damage, void *priv);

/* e4l_scan() of everything; @look is called with the same @priv. */
errcode_t e4l_scan_looking(struct e4l *e, const struct e4l_scan_look *look,
			   const struct e4l_scan_ops *ops, void *priv);

#endif
