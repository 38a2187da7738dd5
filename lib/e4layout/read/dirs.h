/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dirs: reading directories; the steps of learning names. */
#ifndef E4L_DIRS_H
#define E4L_DIRS_H

#include <e4layout/dirs.h>
#include "e4layout/base/internal.h"
#include "e4layout/format/dirent.h"

struct e4l_dirs_ops {
	/*
	 * Called for each entry but ".", blocks in no particular order; the
	 * entries of one block in their order.  Calls (also of the functions
	 * below) never overlap, but may come from different threads.  A
	 * result other than 0 ends the reading with that result.  May be NULL.
	 */
	errcode_t (*entry)(const struct e4l_dirent *entry, void *priv);
	/*
	 * Whether entry() is to be called.  Runs in several threads at once,
	 * and beside the other functions; NULL: for each entry.
	 */
	bool (*wanted)(const struct e4l_dirent *entry, void *priv);
	/* Called once for each directory, in no particular order; or NULL. */
	errcode_t (*locality)(const struct e4l_dir_locality *l, void *priv);
	/* Hears of what was stepped over; may be NULL. */
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
	void (*reserved[4])(void);
};

/* Opaque: reads the contents of directories that a scan meets. */
struct e4l_dirs;

/*
 * Creates a reader.  @ops is copied.  If locality is asked for on a filesystem
 * without the filetype feature, reads the inode tables to learn which inodes
 * are directories (a bit for each inode).
 */
errcode_t e4l_dirs_new(struct e4l *e, const struct e4l_dirs_ops *ops,
		       void *priv, struct e4l_dirs **ret);

/*
 * Adds a piece from e4l_scan(); anything but a directory is passed over.
 * Up to 256 Ki runs of directory blocks are collected and then read in disk
 * order by several threads, so that the callbacks run now and then during this
 * function, and for the rest in e4l_dirs_finish(); for inline directories, at
 * once.  Beside that, memory is used for locality: 8 bytes for each entry of
 * up to 8 MiB of directories of several blocks, and, while a directory over
 * 8 MiB is read, a bit for each inode.  Directories that claim more blocks than
 * the filesystem has are damage.  After an error the reader can only be freed.
 */
errcode_t e4l_dirs_add_piece(struct e4l_dirs *d, const struct e4l_piece *piece);

/* Reads what is still collected.  The reader can then be used again. */
errcode_t e4l_dirs_finish(struct e4l_dirs *d);

/* Frees @d; NULL is allowed. */
void e4l_dirs_free(struct e4l_dirs *d);

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
