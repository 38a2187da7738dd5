/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads files with one path in each line. */
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

/* A file that is read line by line. */
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
 * Opens l->path; "-" means standard input.  Refuses the image as input.
 * Returns false after printing an error.  Call lines_close() in any case.
 */
bool lines_open(const struct config *c, struct lines *l);

/*
 * Reads the next line.  At the end of the file, returns false.  On failure,
 * prints the error, sets @l->failed and returns false.
 */
bool lines_next(struct lines *l);

void lines_close(struct lines *l);

/* Prints why @word of the current line is invalid. Returns false. */
bool lines_refuse(const struct lines *l, const char *word, const char *why);

/*
 * Parse a number without a sign, prefix or suffix.  Return false if the number
 * is invalid or larger than @max.
 */
bool take_number(const char *value, int base, uint64_t max, uint64_t *n);
bool take_u32(const char *value, int base, uint32_t max, uint32_t *n);

/* New attributes of an entry. */
struct change {
	/* CHANGE_* for each attribute to set; other bits are ignored */
	uint32_t set;
	uint32_t uid, gid, perms;
};

enum { CHANGE_UID = 0x01, CHANGE_GID = 0x02, CHANGE_PERMS = 0x04 };

/*
 * Sets the attributes @change of the entry @id.  The permissions of a symbolic
 * link are not changed.
 */
errcode_t change_entry(struct e4l_tree *t, uint32_t id,
		       const struct change *change);

#endif
