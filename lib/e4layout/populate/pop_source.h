/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pop_source: the content of a tree's files, as one thread reads it. */
#ifndef E4L_POP_SOURCE_H
#define E4L_POP_SOURCE_H

#include "tree.h"

/* Bytes of the data file that somebody wants at @buf, for @node. */
struct e4l_source_range {
	uint64_t pos;		/* in it: they are sorted by both */
	char *buf;
	size_t len;
	uint32_t node;
	uint16_t source;
};

/* Zeroed but for the first two before it is used. */
struct e4l_source {
	struct e4l_tree *t;
	struct e4l_reading reading;
	uint32_t dir;		/* whose directory dir_fd is; 0: none */
	uint16_t dir_source;	/* in this one */
	int dir_fd;
	VEC(struct e4l_source_range) wanted;
	char *between;		/* for what lies between two ranges */
};

/* How to read from where @t has its content by position. */
struct e4l_reading e4l_source_reading(const struct e4l_tree *t);

/*
 * Has @len bytes of @id's content from @at on in @buf, zeroes where it has none,
 * at the latest once e4l_source_fetch() is done.  Errors, with what they are
 * about on the tree: errno's, E4L_ET_FILE_SHRANK.
 */
errcode_t e4l_source_want(struct e4l_source *s, uint32_t id, uint64_t at,
			  size_t len, char *buf);

/* Reads all that was wanted, in the order of the data file.  The same errors. */
errcode_t e4l_source_fetch(struct e4l_source *s);

/* Frees what @s has. */
void e4l_source_close(struct e4l_source *s);

#endif
