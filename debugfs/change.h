/* SPDX-License-Identifier: GPL-2.0-or-later */
/* change: functions that writing requests share. */
#ifndef E4DEBUG_CHANGE_H
#define E4DEBUG_CHANGE_H

#include "e4debug.h"
#include "e4layout/journal/change.h"

/*
 * To be called after every change, successful (@ok) or not: drops the cached
 * extents and, without an undo file, opens the filesystem again.  Returns @ok,
 * or false after printing an error.
 */
bool shell_changed(struct shell *s, bool ok);

/* Calls e4l_change().  Returns false after printing that @what failed. */
bool shell_change(struct shell *s, const char *what, const char *doing,
		  errcode_t (*fn)(ext2_filsys fs, io_channel device,
				  void *priv),
		  void *priv);

/*
 * The best place for @blocks blocks of a file near @ino: the first free extent
 * that is large enough, searched from the group of @ino on, and then from the
 * start of the filesystem; if no free extent is large enough, the largest one.
 */
errcode_t find_goal(struct shell *s, ext2_ino_t ino, uint64_t blocks,
		    blk64_t *goal);

/* The place of an existing or new name. */
struct name_at {
	const char *path, *name;
	ext2_ino_t dir;
	ext2_ino_t ino;		/* 0: the name does not exist */
	bool full; /* the directory cannot have more subdirectories */
};

/*
 * Finds the directory for the name at @path, and the inode if the name exists.
 * Returns false after printing why no name can be added to the directory.
 */
bool name_find(struct shell *s, const char *path, struct name_at *p);

/* Allocates an inode for a new file at @p. */
errcode_t name_inode(struct shell *s, const struct name_at *p, int mode,
		      ext2_ino_t *ino);

/* Adds an entry for @ino, of type EXT2_FT_*, at @p. */
errcode_t name_link(ext2_filsys fs, const struct name_at *p, ext2_ino_t ino,
		     int type);

/* Whether the content of @f may be changed; false after printing the reason. */
bool file_may_change(const struct shell *s, const char *path,
		     const struct file *f);

#endif
