/* SPDX-License-Identifier: GPL-2.0-or-later */
/* change: functions that all writing requests use. */
#ifndef E4DEBUG_CHANGE_H
#define E4DEBUG_CHANGE_H

#include "e4debug.h"
#include "e4layout/journal/change.h"

/*
 * Ends a change.  Each request that changes the filesystem must call this
 * function; @ok is true if the change succeeded.  Drops the cached extents.
 * Without an undo file, closes the filesystem and opens it again.  With an undo
 * file, keeps the filesystem open after a successful change, and closes the
 * filesystem after a failed change.
 *
 * Returns @ok.  If the filesystem cannot be opened again, prints an error and
 * returns false.
 */
bool shell_changed(struct shell *s, bool ok);

/*
 * Calls e4l_change() with @doing, @fn and @priv, and then shell_changed().  If
 * e4l_change() fails, prints an error that begins with @what.  Returns the
 * result of shell_changed(), which is false after an error.
 */
bool shell_change(struct shell *s, const char *what, const char *doing,
		  errcode_t (*fn)(ext2_filsys fs, io_channel device,
				  void *priv),
		  void *priv);

/*
 * Sets *@goal to the first block of a free extent for @blocks blocks of a file
 * near inode @ino.  Searches for a free extent of at least @blocks blocks,
 * first from the start of the group of @ino on, and then from the start of the
 * filesystem on.  If no free extent is large enough, uses the largest free
 * extent.
 */
errcode_t find_goal(struct shell *s, ext2_ino_t ino, uint64_t blocks,
		    blk64_t *goal);

/* An existing or new name, and its directory. */
struct name_at {
	const char *path, *name;
	ext2_ino_t dir;
	ext2_ino_t ino;		/* inode of the name; 0: no such name */
	bool full; /* the directory has the maximum number of subdirectories */
};

/*
 * Finds the directory for the name at @path, and the inode if the name exists.
 * Returns false after printing an error, for example if no name can be added to
 * the directory.
 */
bool name_find(struct shell *s, const char *path, struct name_at *p);

/* Allocates an inode for a new file at @p. */
errcode_t name_inode(struct shell *s, const struct name_at *p, int mode,
		      ext2_ino_t *ino);

/* Adds an entry for @ino, of type EXT2_FT_*, at @p. */
errcode_t name_link(ext2_filsys fs, const struct name_at *p, ext2_ino_t ino,
		     int type);

/*
 * Returns whether the content of @f may be changed.  If the content must not be
 * changed, prints the reason.
 */
bool file_may_change(const struct shell *s, const char *path,
		     const struct file *f);

#endif
