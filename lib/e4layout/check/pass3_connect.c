/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 3: whether every directory is connected to the root. */
#include "config.h"
#include "check_internal.h"

struct dir *e4l_find_dir(struct check *ck, ext2_ino_t ino)
{
	return ck->n_dirs ? bsearch(&ino, ck->dirs, ck->n_dirs,
				    sizeof(*ck->dirs), e4l_u32_cmp) : NULL;
}

/*
 * Follows parents from @dir to a connected directory.  Marks all directories on
 * the path as connected, so that no later call follows the path again.
 */
static void connect(struct check *ck, struct dir *dir)
{
	struct dir *d = dir;

	while (!(d->flags & DIR_CONNECTED)) {
		struct dir *up = d->parent ? e4l_find_dir(ck, d->parent) : NULL;

		d->flags |= DIR_CONNECTED | DIR_VISITED;
		if (!up) {
			FOUND(ck, DIR_UNCONNECTED, .ino = d->ino);
			break;
		}
		if (up->flags & DIR_VISITED) {
			FOUND(ck, DIR_LOOP, .ino = d->ino);
			break;
		}
		d = up;
	}
	for (d = dir; d && d->flags & DIR_VISITED; d = e4l_find_dir(ck, d->parent))
		d->flags &= ~DIR_VISITED;
}

errcode_t e4l_pass3_connect(struct check *ck)
{
	struct dir *root = e4l_find_dir(ck, EXT2_ROOT_INO);
	size_t i;

	if (!root) {
		FOUND(ck, INODE_ROOT, .ino = EXT2_ROOT_INO);
		return 0;
	}
	root->parent = EXT2_ROOT_INO;
	root->flags |= DIR_CONNECTED;
	for (i = 0; i < ck->n_dirs; i++) {
		struct dir *d = &ck->dirs[i];

		connect(ck, d);
		if (d->dotdot && d->parent && d->dotdot != d->parent)
			FOUND(ck, DIR_DOTDOT_INODE, .ino = d->ino,
			      .got = d->dotdot, .want = d->parent);
	}
	return 0;
}
