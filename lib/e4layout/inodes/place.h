/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: where new inodes go. */
#ifndef E4L_PLACE_H
#define E4L_PLACE_H

#include <e4layout/context.h>

/* Opaque: an allocator of inodes. */
struct e4l_place;

/* Flags for e4l_place_new(). */
#define E4L_PLACE_PACK		0x1	/* not by Orlov; each a window at once */
#define E4L_PLACE_NO_READ	0x2	/* directories are not on disk yet */
#define E4L_PLACE_NO_ZERO	0x4	/* the caller writes whole tables */

/*
 * Creates an allocator over @e's filesystem, whose inode bitmap must be loaded;
 * it is borrowed until e4l_place_free().  @window is the number of inodes in a
 * window: a power of two from 16 to 4096, or 0 for none.
 * Errors: E4L_ET_BAD_ARGUMENT, EXT2_ET_NO_INODE_BITMAP, ENOMEM.
 */
errcode_t e4l_place_new(struct e4l *e, uint32_t window, unsigned int flags,
			struct e4l_place **ret);
void e4l_place_free(struct e4l_place *p);

/*
 * Finds an inode for a new file @name of @mode in the directory @parent, as
 * ext2fs_new_inode() does: it is not marked; the caller does that, with
 * ext2fs_inode_alloc_stats2(), before the next call.  @name may be NULL.
 *  - A directory goes into the window that its group shares: aligned, and empty
 *    when it was taken; the group is the one that Orlov's rule picks
 *    (Documentation/filesystems/ext4/allocators.rst in Linux), beginning where
 *    the last inode for @parent was found.  With
 *    E4L_PLACE_PACK each gets such a window to itself, close to the last one.
 *  - A file goes into its directory's own window, which after opening is found
 *    from the entries in the directory block that will get @name, or from the
 *    directory's inode.
 *    Where it has none or that is full: into the window that the group shares,
 *    unless files of another directory in the group were placed in between, more
 *    often than once; else into a new window of its own, of twice the size of
 *    the one before, from the parent's group on.
 *  - When there is none of these, any free inode, to the last, beginning where
 *    Linux begins.
 * Where inode tables are not zeroed, the part up to the inode is zeroed first.
 * Errors: EXT2_ET_INODE_ALLOC_FAIL when none is free; errors of zeroing, after
 * which *@ret must not be used.
 */
errcode_t e4l_new_inode(struct e4l_place *p, ext2_ino_t parent, int mode,
			const char *name, ext2_ino_t *ret);

/*
 * Finds @n consecutive free inodes that lie in as few blocks of the inode
 * table as @n inodes can: for a directory and its files when the whole tree is
 * known.  Inode-table blocks are filled up by later, smaller windows.  Mark
 * all @n before the next call.  Errors: as above; EXT2_ET_INODE_ALLOC_FAIL
 * says that no such run is left, not that no inode is.
 */
errcode_t e4l_place_window(struct e4l_place *p, uint32_t n, ext2_ino_t *ret);

struct e4l_place_stats {
	uint64_t inodes;	/* in use more than at e4l_place_new() */
	uint64_t fsck_inodes;	/* that e2fsck has to read more than then */
	uint64_t windows;	/* that groups share; E4L_PLACE_PACK: first ones */
	uint64_t grown;		/* own windows of directories */
	uint64_t leaf_goals;	/* found beside a directory's entries */
	uint64_t fallbacks;	/* found by the ordinary search */
	uint64_t zeroed_blocks;	/* of inode tables */
	uint64_t reserved[4];
};
void e4l_place_get_stats(const struct e4l_place *p,
			 struct e4l_place_stats *stats);

#endif
