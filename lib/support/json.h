/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON for reports: objects from tables of members, JSON Lines. */
#ifndef SUPPORT_JSON_H
#define SUPPORT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A uint64_t member of a struct, and its key. */
struct json_member {
	const char *key;
	size_t offset;
};

static inline uint64_t json_member_value(const void *base,
					 const struct json_member *member)
{
	return *(const uint64_t *)((const char *)base + member->offset);
}

/* An object of the @n members of the struct at @base; NULL: no memory. */
json_t *json_members(const void *base, const struct json_member *members,
		     size_t n);

/*
 * @value, or NULL after freeing it when something @failed while it was filled.
 * jansson's functions take a NULL anywhere, fail, and free what they were
 * given, so that one test at the end is enough.
 */
json_t *json_checked(json_t *value, int failed);

/* null where there is none; NULL: no memory. */
json_t *json_number_or_null(bool there, json_int_t number);
json_t *json_text_or_null(const char *text);

/* A file name, escaped as text.h says; NULL: no memory. */
json_t *json_name(const char *name);

/* Adds what text_escape() makes of a C string of at most @max bytes. */
json_t *json_field(const char *text, size_t max);

/*
 * Writes @object and a newline to stdout, in one line or indented, and frees
 * it.  False after saying what failed, also for a NULL, which means that
 * memory ran out while it was made; but what stdout refuses, say_done() says.
 */
bool json_write(json_t *object);
bool json_write_line(json_t *object);

#endif
