/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reread: reads the block maps of several files again, together. */
#ifndef E4L_REREAD_H
#define E4L_REREAD_H

#include "e4layout/base/internal.h"
#include "e4layout/apply/steps.h"

/*
 * Block maps that were read again.  Start with a zeroed struct; free with
 * e4l_reread_free().
 */
struct e4l_reread {
	struct e4l *e;		/* must be first: see e4l_refuse_damage() */
	struct e4l_reread_file *files;	/* sorted by inode number */
	struct e4l_extent *extents;
	struct e4l_tree_block *tree;
	size_t n_files, n_extents, max_extents, n_tree, max_tree;
};

/*
 * Reads the block maps of the @n files @inos.  @changing: other programs may be
 * changing the filesystem, so damaged structures are skipped.  Otherwise,
 * damage is an error.  Errors: E4L_ET_DAMAGED, ENOMEM, and read errors.
 */
errcode_t e4l_reread(struct e4l *e, const ext2_ino_t *inos, size_t n,
		     bool changing, struct e4l_reread *ret);
/*
 * Finds the map of @ino, one of the files passed to e4l_reread().  If the inode
 * is not in use, returns false.
 */
bool e4l_reread_find(const struct e4l_reread *r, ext2_ino_t ino,
		     struct e4l_plan_now *now);
void e4l_reread_free(struct e4l_reread *r);

#endif
