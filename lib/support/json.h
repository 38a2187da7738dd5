/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json: makes JSON objects from tables of struct members, and writes reports.
 */
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

/*
 * Makes an object of the @n members of the struct at @base.  If there is no
 * memory, returns NULL.
 */
json_t *json_members(const void *base, const struct json_member *members,
		     size_t n);

/*
 * If @failed is 0, returns @value; otherwise frees @value and returns NULL.  If
 * an argument is NULL, the functions of jansson that add a value fail and free
 * the value.  One check after filling an object is therefore enough.
 */
json_t *json_checked(json_t *value, int failed);

/*
 * If @there is true, returns @number.  Otherwise, returns JSON's null.  If
 * there is no memory, returns NULL.
 */
json_t *json_number_or_null(bool there, json_int_t number);
json_t *json_text_or_null(const char *text);

/*
 * Returns a file name, escaped as text.h describes.  If there is no memory,
 * returns NULL.
 */
json_t *json_name(const char *name);

/*
 * Returns the C string @text, which has at most @max bytes, in the form of
 * text_escape().  If there is no memory, returns NULL.
 */
json_t *json_field(const char *text, size_t max);

/*
 * Writes @object and a newline to stdout, and frees @object.  json_write()
 * indents the output; json_write_line() writes one line.  If @object is NULL or
 * memory is missing, reports a lack of memory and returns false.  If writing
 * fails, returns false without a message: say_done() prints the error.
 */
bool json_write(json_t *object);
bool json_write_line(json_t *object);

#endif
