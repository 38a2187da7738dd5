/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: allocates inodes for new files. */
#ifndef E4L_PLACE_H
#define E4L_PLACE_H

#include <e4layout/context.h>

/*
 * An allocator of inodes.  A window is an aligned range of inodes.  New
 * directories of a group get their inodes from the group's shared window.  An
 * own window is a window for the files of one directory.
 */
struct e4l_place;

/* Flags for e4l_place_new(). */
/*
 * give each directory a window (range of inodes) of its own at once, and do not
 * use Orlov's rule
 */
#define E4L_PLACE_PACK		0x1
/* do not read directories, because they have no entries yet */
#define E4L_PLACE_NO_READ	0x2
/* do not zero inode tables, because the caller writes whole tables */
#define E4L_PLACE_NO_ZERO	0x4

/* Whether @window is a power of two from 16 to 4096. */
bool e4l_place_is_window(uint32_t window);

/*
 * Creates an allocator for @e's filesystem, whose inode bitmap must be loaded.
 * @e is borrowed until e4l_place_free().  @window is the number of inodes per
 * window: a power of two from 16 to 4096, or 0 for no windows.  Errors:
 * E4L_ET_OPTION (unknown flags), E4L_ET_BAD_ARGUMENT (@window),
 * EXT2_ET_NO_INODE_BITMAP, ENOMEM.
 */
errcode_t e4l_place_new(struct e4l *e, uint32_t window, unsigned int flags,
			struct e4l_place **ret);
void e4l_place_free(struct e4l_place *p);

/*
 * Finds a free inode for a new file @name of @mode in the directory @parent.
 * Like ext2fs_new_inode(), does not mark the inode as allocated: the caller
 * must call ext2fs_inode_alloc_stats2() before the next call.  @name may be
 * NULL.
 *
 * - A directory gets an inode in the window that its group shares.  Windows
 *   are aligned, and are empty when they are allocated.  Orlov's rule picks
 *   the group (Documentation/filesystems/ext4/allocators.rst in Linux),
 *   beginning with the group of the last inode found for @parent.  With
 *   E4L_PLACE_PACK, each directory gets its own window, close to the window of
 *   the previous directory.
 * - A file gets an inode in its directory's own window.  An unknown window is
 *   found from the entries in the directory block that will contain @name, or
 *   from the directory's inode.  If the directory has no own window, or the
 *   window is full, the file goes into the window that the group shares.
 * - If other directories of the group have got files between files of @parent
 *   more than once, @parent gets a new own window of twice the size.  The
 *   search for a new window begins in the directory's group.
 * - If no window has a free inode, any free inode is used, beginning with the
 *   group that Linux tries first.
 *
 * If the inode table was never zeroed up to the inode, zeroes the table up to
 * the inode first.  Errors: E4L_ET_BAD_ARGUMENT (@parent);
 * EXT2_ET_INODE_ALLOC_FAIL (no free inode); errors of zeroing, after which
 * *@ret must not be used; ENOMEM.
 */
errcode_t e4l_new_inode(struct e4l_place *p, ext2_ino_t parent, int mode,
			const char *name, ext2_ino_t *ret);

/*
 * Finds @n consecutive free inodes that occupy as few blocks of the inode table
 * as @n inodes can.  Sets *@ret to the first inode.  If the number of files in
 * a directory is known in advance, use this function for the directory and its
 * files.  Call ext2fs_inode_alloc_stats2() for all @n inodes before the next
 * call.
 *
 * If the window skips free inodes at the end of a partly used block, later
 * calls with a smaller @n use these inodes.
 *
 * Errors: as e4l_new_inode(), but EXT2_ET_INODE_ALLOC_FAIL only means that
 * there are not @n consecutive free inodes.
 */
errcode_t e4l_place_window(struct e4l_place *p, uint32_t n, ext2_ino_t *ret);

struct e4l_place_stats {
	uint64_t inodes;	/* inodes allocated after e4l_place_new() */
	/*
	 * number of additional inodes that e2fsck has to scan because of the
	 * allocations
	 */
	uint64_t fsck_inodes;
	/* new windows allocated for the files of one directory */
	uint64_t grown;
	/*
	 * number of times that the window of a directory was found from the
	 * inodes in the directory's entries
	 */
	uint64_t leaf_goals;
	uint64_t fallbacks;	/* number of inodes found without a window */
	uint64_t zeroed_blocks;	/* blocks of inode tables that were zeroed */
};
void e4l_place_get_stats(const struct e4l_place *p,
			 struct e4l_place_stats *stats);

#endif
