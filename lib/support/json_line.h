/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON Lines, an object a line, where there are millions of them: the bytes
 * are those of json_write_line(), but no value is made of them in between.
 */
#ifndef SUPPORT_JSON_LINE_H
#define SUPPORT_JSON_LINE_H

#include "json.h"

/* A line that is being made, and its room for the next.  Starts as zeroes. */
struct json_line {
	char *text;
	size_t used_bytes, room_bytes;
	bool failed;			/* no memory for all of it */
};

#define JSON_LINE_KEY 40	/* bytes of a key, at most */

/*
 * Each adds a member.  Keys and words are written as they are; a number that
 * is larger than INT64_MAX, which JSON's readers have no integer for, as that.
 */
void json_line_number(struct json_line *line, const char *key,
		      uint64_t number);
void json_line_word(struct json_line *line, const char *key,
		    const char *word);
void json_line_boolean(struct json_line *line, const char *key, bool value);
/* A file name as json_name() has it, or null where there is none. */
void json_line_name(struct json_line *line, const char *key,
		    const char *name);
void json_line_members(struct json_line *line, const void *base,
		       const struct json_member *members, size_t n);

/* The object that the line has so far, and begins another; NULL: no memory. */
json_t *json_line_value(struct json_line *line);

/*
 * Writes the object and a newline to stdout, and begins another.  False as
 * json_write_line().
 */
bool json_line_end(struct json_line *line);

void json_line_free(struct json_line *line);

#endif
