/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * renumber: carries out moves of inodes, in transactions of which many share
 * one.  With an inode go all that names it, and every checksum that begins with
 * its number.  The only code that changes an inode's number.
 */
#ifndef E4L_RENUMBER_H
#define E4L_RENUMBER_H

#include "e4layout/dirs/dir_maps.h"
#include "e4layout/journal/journal.h"

#define E4L_NO_DIR UINT32_MAX

struct e4l_named_dir {
	struct e4l_dir_map map;		/* first: in the order of numbers */
	uint32_t parent;		/* index, or E4L_NO_DIR */
	uint32_t parent_lblk;		/* where its name is there */
};

/* Where a file that has several names has one of them. */
struct e4l_name {
	ext2_ino_t ino;			/* first: see e4l_u32_cmp() */
	uint32_t dir;			/* index */
	uint32_t lblk;			/* that the entry is in; 0 if inline */
};

/*
 * All directories, and the names of files that have several, by number.
 * @children has the indexes of directories in the order of their parents.
 */
struct e4l_name_graph {
	struct e4l_dir_maps maps;
	struct e4l_named_dir *dirs;
	size_t n_dirs;
	uint32_t *children;
	struct e4l_name *names;
	size_t n_names;
};

/* Where the children of @dir begin in @children; *@n: how many. */
const uint32_t *e4l_children_of(const struct e4l_name_graph *g, uint32_t dir,
				size_t *n);
/* Likewise the names of @ino. */
const struct e4l_name *e4l_names_of(const struct e4l_name_graph *g,
				    ext2_ino_t ino, size_t *n);

struct e4l_inode_move {
	ext2_ino_t from, to;
	ext2_ino_t first;	/* its number in the graph */
	bool again;		/* this run has moved it before */
	uint32_t self;		/* index, of a directory; or E4L_NO_DIR */
	/* A file with one name has it here. */
	uint32_t dir, lblk;
};

/* The most blocks that a move changes, beside the tree of @from. */
uint64_t e4l_move_cost(const struct e4l_name_graph *g,
		       const struct e4l_inode_move *move);

struct e4l_renumber;

/*
 * @j and @g are borrowed until e4l_renumber_close().  The graph's directories
 * get the numbers that they have after each move.
 */
errcode_t e4l_renumber_open(struct e4l *e, struct e4l_journal *j,
			    struct e4l_name_graph *g,
			    struct e4l_renumber **ret);

/*
 * Adds a move to the running transaction; first commits that if there is no room
 * for it.  Errors: E4L_ET_CHANGED, what names the inode is not what it was;
 * E4L_ET_TXN_FULL, it does not fit in a transaction of its own; those of reading
 * and of the journal.  After an error, e4l_renumber_close() is all that is left.
 */
errcode_t e4l_renumber_add(struct e4l_renumber *r,
			   const struct e4l_inode_move *move);

/* Commits what has been added.  Errors: as above. */
errcode_t e4l_renumber_commit(struct e4l_renumber *r);

/* Moves and transactions that were committed. */
uint64_t e4l_renumber_done(const struct e4l_renumber *r,
			   uint64_t *transactions);

/* Drops what has not been committed and frees @r; NULL is allowed. */
void e4l_renumber_close(struct e4l_renumber *r);

#endif
