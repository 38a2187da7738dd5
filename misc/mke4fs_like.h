/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --like: a new image that differs little from an old image. */
#ifndef MKE4FS_LIKE_H
#define MKE4FS_LIKE_H

#include "mke4fs_image.h"

/*
 * If --like is given with an option that does not allow --like, or without an
 * option that names the new files, prints an error and returns false.
 */
bool like_agrees(const struct config *c);

/*
 * Opens the old image of --like as @old, and checks it.  @bytes is the size of
 * DEVICE.  Returns false after printing an error.  Sets c->like_fs if @old must
 * be closed.
 */
bool like_open(struct config *c, struct target *old, uint64_t bytes);

/*
 * Plans and writes the new image.  Sets @im->stats and *@blocksize.  Returns
 * false after printing an error.
 */
bool like_run(const struct config *c, struct e4l_tree *t, struct target *old,
	      struct image *im, uint32_t *blocksize);

#endif
