/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON for reports: objects from tables of members, and JSON Lines. */
#ifndef SUPPORT_JSON_H
#define SUPPORT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A uint64_t member of a struct, and its key in JSON. */
struct json_member {
	const char *key;
	size_t offset;
};

static inline uint64_t json_member_value(const void *base,
					 const struct json_member *member)
{
	return *(const uint64_t *)((const char *)base + member->offset);
}

/* Makes an object of the @n members of the struct at @base. NULL: no memory. */
json_t *json_members(const void *base, const struct json_member *members,
		     size_t n);

/*
 * Returns @value; if @failed is not 0, frees @value and returns NULL.
 * jansson's functions accept NULL, fail, and free their arguments, so that one
 * check after filling an object is enough.
 */
json_t *json_checked(json_t *value, int failed);

/* Returns @number, or null if @there is false. NULL: no memory. */
json_t *json_number_or_null(bool there, json_int_t number);
json_t *json_text_or_null(const char *text);

/* Returns a file name, escaped as text.h describes. NULL: no memory. */
json_t *json_name(const char *name);

/*
 * Returns the escaped form (text_escape()) of a C string of at most @max bytes.
 * NULL: no memory.
 */
json_t *json_field(const char *text, size_t max);

/*
 * Writes @object and a newline to stdout, indented or on one line, and frees
 * @object.  Returns false after reporting a lack of memory, also if @object is
 * NULL.  say_done() reports errors of writing to stdout.
 */
bool json_write(json_t *object);
bool json_write_line(json_t *object);

#endif
