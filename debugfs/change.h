/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests that write share. */
#ifndef E4DEBUG_CHANGE_H
#define E4DEBUG_CHANGE_H

#include "e4debug.h"
#include "e4layout/journal/change.h"

/*
 * After every change, whether it was @ok: what is known of the filesystem is
 * learned anew.  Returns @ok, or false after saying what failed.
 */
bool shell_changed(struct shell *s, bool ok);

/* e4l_change(); false after saying what failed with @what. */
bool shell_change(struct shell *s, const char *what, const char *doing,
		  errcode_t (*fn)(ext2_filsys fs, io_channel device,
				  void *priv),
		  void *priv);

/*
 * Where @blocks blocks of a file near @ino are best put: the first free run
 * that holds them from its group on, else the first of all, else the longest.
 */
errcode_t find_goal(struct shell *s, ext2_ino_t ino, uint64_t blocks,
		    blk64_t *goal);

/* Where a name is, or could be. */
struct name_at {
	const char *path, *name;
	ext2_ino_t dir;
	ext2_ino_t ino;		/* 0: there is nothing yet */
	bool full;		/* no directory more */
};

/*
 * Finds the directory for a new name.  Returns false after printing why the
 * name cannot be created.
 */
bool name_find(struct shell *s, const char *path, struct name_at *p);

/* An inode for something new there. */
errcode_t name_inode(struct shell *s, const struct name_at *p, int mode,
		      ext2_ino_t *ino);

/* Gives it to @ino, of the type EXT2_FT_*. */
errcode_t name_link(ext2_filsys fs, const struct name_at *p, ext2_ino_t ino,
		     int type);

/* Whether the content of @f may change; false after saying why not. */
bool file_may_change(const struct shell *s, const char *path,
		     const struct file *f);

#endif
