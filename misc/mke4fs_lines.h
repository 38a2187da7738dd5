/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for all readers of files that have a line for each path. */
#ifndef MKE4FS_LINES_H
#define MKE4FS_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_source.h"

/* UINT32_MAX is not a valid ID. */
#define MAX_ID		(UINT32_MAX - 1)
#define MAX_PERMS	07777

/* An open file of lines. */
struct lines {
	const char *path;
	/* a line that ends in a backslash continues on the next line */
	bool joins;
	FILE *f;
	char *text;			/* the line, without its newline */
	size_t room;
	unsigned int number;
	bool failed;			/* reading has failed */
};

/*
 * Opens l->path, which must not be the image; "-" is standard input.  Returns
 * false after printing an error.  Call lines_close() in any case.
 */
bool lines_open(const struct config *c, struct lines *l);

/*
 * Reads the next line.  Returns false at the end, and after printing an error,
 * which sets @l->failed.
 */
bool lines_next(struct lines *l);

void lines_close(struct lines *l);

/* Reports why @word of the current line is refused.  Returns false. */
bool lines_refuse(const struct lines *l, const char *word, const char *why);

/*
 * Parse a number without sign, prefix or suffix.  Return false if it is invalid
 * or larger than @max.
 */
bool take_number(const char *value, int base, uint64_t max, uint64_t *n);
bool take_u32(const char *value, int base, uint32_t max, uint32_t *n);

/* Attributes to be set. */
struct change {
	uint32_t set;			/* CHANGE_*; other bits are ignored */
	uint32_t uid, gid, perms;
};

enum { CHANGE_UID = 0x01, CHANGE_GID = 0x02, CHANGE_PERMS = 0x04 };

/*
 * Sets the attributes of the entry @id.  The permissions of a symbolic link do
 * not change.
 */
errcode_t change_entry(struct e4l_tree *t, uint32_t id,
		       const struct change *change);

#endif
