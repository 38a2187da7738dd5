/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pop_source: reads the content of a tree's files, for one thread. */
#ifndef E4L_POP_SOURCE_H
#define E4L_POP_SOURCE_H

#include "tree.h"

/*
 * A range of a source's data file that is to be read into @buf, as content of
 * @node.
 */
struct e4l_source_range {
	/*
	 * byte offset in the data file; ranges are sorted by source and offset
	 */
	uint64_t pos;
	char *buf;
	size_t len;
	uint32_t node;
	uint16_t source;
};

/* The caller sets @t and @reading, and zeroes all other members. */
struct e4l_source {
	struct e4l_tree *t;
	struct e4l_reading reading;
	/*
	 * node of the directory that is open as dir_fd; UINT32_MAX: the open
	 * directory has no node; 0: no directory is open
	 */
	uint32_t dir;
	/* index in e4l_tree.sources of the source that contains @dir */
	uint16_t dir_source;
	int dir_fd;
	VEC(struct e4l_source_range) wanted;
	char *between;	/* buffer for unneeded bytes between two ranges */
};

/*
 * Returns sizes for read calls that suit the devices with the contents of @t.
 * The sizes apply to data files, not to source directories.
 */
struct e4l_reading e4l_source_reading(const struct e4l_tree *t);

/*
 * Reads @len bytes of the content of node @id, from byte @at on, into @buf.
 * Holes and bytes beyond the end of the file become zeroes.  @buf may be
 * complete only after e4l_source_fetch().  Errors, with the detail set in the
 * tree: errno values, E4L_ET_FILE_SHRANK.
 */
errcode_t e4l_source_want(struct e4l_source *s, uint32_t id, uint64_t at,
			  size_t len, char *buf);

/*
 * Reads all ranges that e4l_source_want() has added to s->wanted, in the order
 * of the source.  Errors: as e4l_source_want().
 */
errcode_t e4l_source_fetch(struct e4l_source *s);

/* Frees the resources of @s, but not @s. */
void e4l_source_close(struct e4l_source *s);

#endif
