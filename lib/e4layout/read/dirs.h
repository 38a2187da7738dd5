/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dirs, names: what the library's other modules use of them. */
#ifndef E4L_DIRS_H
#define E4L_DIRS_H

#include <e4layout/dirs.h>
#include "e4layout/base/internal.h"

/*
 * Reads the contents of all directories, or of those in the inode bitmap
 * @only.  Damage of the scan goes to @ops->damage as well.
 */
errcode_t e4l_dirs_read(struct e4l *e, ext2fs_inode_bitmap only,
			const struct e4l_dirs_ops *ops, void *priv);

/*
 * The steps of e4l_names_load(): entries that e4l_names_wanted() go to
 * e4l_names_entry() (priv is the names) from any reader; then
 * e4l_names_resolve() learns the parents.
 */
errcode_t e4l_names_new(struct e4l *e, struct e4l_names **ret);
/* Wants these inodes, of which those named already are left out. */
errcode_t e4l_names_want(struct e4l_names *names, const ext2_ino_t *wanted,
			 size_t n);
bool e4l_names_wanted(const struct e4l_dirent *entry, void *priv);
errcode_t e4l_names_entry(const struct e4l_dirent *entry, void *priv);
extern const struct e4l_dirs_ops e4l_names_ops;	/* of these two */
/* How many of the inodes wanted last are still without a name. */
size_t e4l_names_missing(struct e4l_names *names);
errcode_t e4l_names_resolve(struct e4l_names *names);

#endif
