/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dirs: reads directories, and finds names of inodes. */
#ifndef E4L_DIRS_H
#define E4L_DIRS_H

#include <e4layout/dirs.h>
#include "e4layout/base/internal.h"
#include "e4layout/format/dirent.h"

struct e4l_dirs_ops {
	/*
	 * Called for each entry except ".".  The entries of a block come in
	 * order, but the blocks of a directory come in any order.  Calls of
	 * entry(), locality() and damage() never overlap, but may come from
	 * different threads.  An error from entry() ends the reading with this
	 * error.  May be NULL.
	 */
	errcode_t (*entry)(const struct e4l_dirent *entry, void *priv);
	/*
	 * Returns true if entry() should be called for @entry.  Several threads
	 * can call wanted() at the same time, also while other callbacks run.
	 * If @wanted is NULL, entry() is called for each entry.
	 */
	bool (*wanted)(const struct e4l_dirent *entry, void *priv);
	/* Called once for each directory, in any order.  May be NULL. */
	errcode_t (*locality)(const struct e4l_dir_locality *l, void *priv);
	/*
	 * Called for each damaged structure.  The reader skips the structure.
	 * May be NULL.
	 */
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
};

/* Opaque: a reader of the directories that e4l_scan() finds. */
struct e4l_dirs;

/*
 * Creates a reader.  @ops is copied.  If @ops->locality is set and the
 * filesystem does not have the filetype feature, reads all inode tables to find
 * the directories, and uses one bit of memory per inode.
 */
errcode_t e4l_dirs_new(struct e4l *e, const struct e4l_dirs_ops *ops,
		       void *priv, struct e4l_dirs **ret);

/*
 * Adds a piece from e4l_scan(); ignores files that are not directories.
 * Collects extents.  When 256 Ki extents are collected, several threads read
 * the blocks of these extents in disk order.  Callbacks are called during
 * e4l_dirs_add_piece() and e4l_dirs_finish().  Inline directories are read
 * immediately.
 *
 * @ops->locality needs more memory.  Directories of two or more blocks are read
 * in rounds of up to 8 MiB, and need 8 bytes for each entry of a round.  A
 * directory of more than 8 MiB needs one bit per inode of the filesystem.
 *
 * If all directories together have more blocks than the filesystem, the excess
 * is reported as damage.  After an error, the reader can only be freed.
 */
errcode_t e4l_dirs_add_piece(struct e4l_dirs *d, const struct e4l_piece *piece);

/*
 * Reads all collected blocks.  After e4l_dirs_finish(), the caller can add
 * pieces again.
 */
errcode_t e4l_dirs_finish(struct e4l_dirs *d);

/* Frees @d; NULL is allowed. */
void e4l_dirs_free(struct e4l_dirs *d);

/*
 * Reads the directories in the inode bitmap @only.  If @only is NULL, reads all
 * directories.  Damage found by the scan is also reported to @ops->damage.
 */
errcode_t e4l_dirs_read(struct e4l *e, ext2fs_inode_bitmap only,
			const struct e4l_dirs_ops *ops, void *priv);

/*
 * Functions that do e4l_names_load() in steps, for callers that read the
 * directories themselves.  Pass each entry for which e4l_names_wanted() returns
 * true to e4l_names_entry(), with the names as @priv.  After the last entry,
 * call e4l_names_resolve(), which finds the names of the parent directories.
 */
errcode_t e4l_names_new(struct e4l *e, struct e4l_names **ret);
/*
 * Replaces the list of wanted inodes by the @n inodes @wanted, except the root
 * and inodes that already have a name.
 */
errcode_t e4l_names_want(struct e4l_names *names, const ext2_ino_t *wanted,
			 size_t n);
bool e4l_names_wanted(const struct e4l_dirent *entry, void *priv);
errcode_t e4l_names_entry(const struct e4l_dirent *entry, void *priv);
/* Callbacks for e4l_dirs_read(): e4l_names_wanted() and e4l_names_entry(). */
extern const struct e4l_dirs_ops e4l_names_ops;
/* Returns how many of the wanted inodes have no name yet. */
size_t e4l_names_missing(struct e4l_names *names);
errcode_t e4l_names_resolve(struct e4l_names *names);

#endif
