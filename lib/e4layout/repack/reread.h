/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reread: reads the block maps of several files again, directly before the
 * planned moves of these files.
 */
#ifndef E4L_REREAD_H
#define E4L_REREAD_H

#include "e4layout/base/internal.h"
#include "e4layout/apply/steps.h"

/*
 * The block maps that e4l_reread() has read.  The caller frees the maps with
 * e4l_reread_free(), also after an error of e4l_reread().
 */
struct e4l_reread {
	struct e4l *e;		/* must be first, for e4l_refuse_damage() */
	struct e4l_reread_file *files;	/* sorted by inode number */
	struct e4l_extent *extents;
	struct e4l_tree_block *tree;
	size_t n_files, n_extents, max_extents, n_tree, max_tree;
};

/*
 * Reads the block maps of the @n files @inos.  If @changing is true, other
 * programs may be changing the filesystem, so that damaged structures are
 * skipped.  If @changing is false, damage is an error.  Errors: E4L_ET_DAMAGED,
 * ENOMEM, and read errors.
 */
errcode_t e4l_reread(struct e4l *e, const ext2_ino_t *inos, size_t n,
		     bool changing, struct e4l_reread *ret);
/*
 * Sets *@now to the block map of @ino.  *@now is valid until
 * e4l_reread_free().  Returns false if @ino was not passed to e4l_reread(), or
 * if e4l_reread() found no inode @ino in use.
 */
bool e4l_reread_find(const struct e4l_reread *r, ext2_ino_t ino,
		     struct e4l_plan_now *now);
void e4l_reread_free(struct e4l_reread *r);

#endif
