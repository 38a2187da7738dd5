/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * renumber: moves inodes to new numbers.  Many moves share one transaction.  A
 * move also changes all references to the inode, and all checksums that depend
 * on the inode number.  No other code changes inode numbers.
 */
#ifndef E4L_RENUMBER_H
#define E4L_RENUMBER_H

#include "e4layout/dirs/dir_maps.h"
#include "e4layout/journal/journal.h"

#define E4L_NO_DIR UINT32_MAX

struct e4l_named_dir {
	struct e4l_dir_map map;		/* must be first, for e4l_u32_cmp() */
	/*
	 * index of the parent in e4l_name_graph.dirs; E4L_NO_DIR: no parent was
	 * found
	 */
	uint32_t parent;
	/* logical block of the directory's entry in the parent */
	uint32_t parent_lblk;
};

/* One of the names of a file that has several names. */
struct e4l_name {
	ext2_ino_t ino;			/* must be first, for e4l_u32_cmp() */
	uint32_t dir;	/* index of the directory in e4l_name_graph.dirs */
	/* logical block of the entry in the directory; inline entry: 0 */
	uint32_t lblk;
};

/*
 * All directories, and all names of files with several names.  The arrays @dirs
 * and @names are sorted by inode number.  @children has the indexes of all
 * directories, sorted by parent.
 */
struct e4l_name_graph {
	struct e4l_dir_maps maps;
	struct e4l_named_dir *dirs;
	size_t n_dirs;
	uint32_t *children;
	struct e4l_name *names;
	size_t n_names;
};

/*
 * Returns the indexes of the subdirectories of directory @dir, and sets *@n to
 * the number of subdirectories.
 */
const uint32_t *e4l_children_of(const struct e4l_name_graph *g, uint32_t dir,
				size_t *n);
/*
 * Returns the names of file @ino, and sets *@n to the number of names.  If the
 * file has only one name, sets *@n to 0.
 */
const struct e4l_name *e4l_names_of(const struct e4l_name_graph *g,
				    ext2_ino_t ino, size_t *n);

struct e4l_inode_move {
	ext2_ino_t from, to;
	ext2_ino_t first; /* inode number before the run, as in e4l_name.ino */
	bool again; /* an earlier move of this run has moved the inode */
	/* directory: index in e4l_name_graph.dirs; file: E4L_NO_DIR */
	uint32_t self;
	/*
	 * for a file with one name: index of the directory, and logical block
	 * of the entry
	 */
	uint32_t dir, lblk;
};

/*
 * Returns the largest number of blocks that @move can change, without the
 * blocks of the inode's extent tree.
 */
uint64_t e4l_move_cost(const struct e4l_name_graph *g,
		       const struct e4l_inode_move *move);

struct e4l_renumber;

/*
 * Prepares to move inodes, in transactions of @j.  @j and @g are borrowed until
 * e4l_renumber_close().  A move of a directory updates the directory's inode
 * number in @g.
 */
errcode_t e4l_renumber_open(struct e4l *e, struct e4l_journal *j,
			    struct e4l_name_graph *g,
			    struct e4l_renumber **ret);

/*
 * Adds @move to the running transaction.  If the transaction does not have
 * enough space, commits the transaction first and begins another one.  Errors:
 * E4L_ET_CHANGED: the inode or its names have changed; E4L_ET_TXN_FULL: the
 * move does not fit into an empty transaction; read errors, and errors of the
 * journal.  After an error, only e4l_renumber_close() may be called.
 */
errcode_t e4l_renumber_add(struct e4l_renumber *r,
			   const struct e4l_inode_move *move);

/*
 * Commits the moves that e4l_renumber_add() has added.  Errors: as
 * e4l_renumber_add().
 */
errcode_t e4l_renumber_commit(struct e4l_renumber *r);

/*
 * Returns the number of committed moves, and sets *@transactions to the number
 * of committed transactions.
 */
uint64_t e4l_renumber_done(const struct e4l_renumber *r,
			   uint64_t *transactions);

/* Drops moves that are not committed and frees @r; NULL is allowed. */
void e4l_renumber_close(struct e4l_renumber *r);

#endif
