/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes millions of objects as JSON Lines.  The output is equal to the output
 * of json_write_line(), but no json_t is made for each value.
 */
#ifndef SUPPORT_JSON_LINE_H
#define SUPPORT_JSON_LINE_H

#include "json.h"

/*
 * The current line.  The next line reuses the buffer.  Initialize the struct
 * with zeroes.
 */
struct json_line {
	char *text;
	size_t used_bytes, room_bytes;
	/* a lack of memory has truncated the line */
	bool failed;
};

#define JSON_LINE_KEY 40	/* maximum number of bytes in a key */

/*
 * Each function adds a member to the object.  Keys and words are not escaped.
 * A number above INT64_MAX is written as INT64_MAX, the largest integer that
 * JSON readers support.
 */
void json_line_number(struct json_line *line, const char *key,
		      uint64_t number);
void json_line_word(struct json_line *line, const char *key,
		    const char *word);
void json_line_boolean(struct json_line *line, const char *key, bool value);
/* Adds a file name in the form of json_name().  If @name is NULL, adds null. */
void json_line_name(struct json_line *line, const char *key,
		    const char *name);
void json_line_members(struct json_line *line, const void *base,
		       const struct json_member *members, size_t n);

/*
 * Returns the current line as an object, and begins a new line.  If there is no
 * memory, returns NULL.
 */
json_t *json_line_value(struct json_line *line);

/*
 * Writes the current line and a newline to stdout, and begins a new line.  If
 * memory is missing, reports a lack of memory and returns false.  If writing
 * fails, returns false without a message: say_done() prints the error.
 */
bool json_line_end(struct json_line *line);

void json_line_free(struct json_line *line);

#endif
