/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "json_line.h"
#include "say.h"

#define DIGITS		20		/* of the largest uint64_t */

/* Makes room for @n bytes more. */
static inline bool has_room(struct json_line *line, size_t n)
{
	if (line->room_bytes - line->used_bytes >= n && !line->failed)
		return true;
	line->failed = line->failed ||
		       e4l_reserve(&line->text, line->used_bytes,
				   &line->room_bytes, n, 1);
	return !line->failed;
}

static void add(struct json_line *line, const char *bytes, size_t n)
{
	if (!has_room(line, n))
		return;
	memcpy(line->text + line->used_bytes, bytes, n);
	line->used_bytes += n;
}

static void add_text(struct json_line *line, const char *text)
{
	add(line, text, strlen(text));
}

/* Where the value goes, for which there is room for @n bytes; NULL: nowhere. */
static char *add_key(struct json_line *line, const char *key, size_t n)
{
	size_t len = strlen(key);
	char *to;

	if (!has_room(line, len + 4 + n))
		return NULL;
	to = line->text + line->used_bytes;
	*to++ = line->used_bytes ? ',' : '{';
	*to++ = '"';
	to = mempcpy(to, key, len);
	*to++ = '"';
	*to++ = ':';
	line->used_bytes += len + 4;
	return to;
}

void json_line_number(struct json_line *line, const char *key,
		      uint64_t number)
{
	char *to = add_key(line, key, DIGITS), *first;
	char digits[DIGITS];

	if (!to)
		return;
	if (number > INT64_MAX)
		number = INT64_MAX;
	first = digits + DIGITS;
	do {
		*--first = '0' + number % 10;
		number /= 10;
	} while (number);
	memcpy(to, first, digits + DIGITS - first);
	line->used_bytes += digits + DIGITS - first;
}

void json_line_word(struct json_line *line, const char *key, const char *word)
{
	add_key(line, key, 0);
	add_text(line, "\"");
	add_text(line, word);
	add_text(line, "\"");
}

void json_line_boolean(struct json_line *line, const char *key, bool value)
{
	add_key(line, key, 0);
	add_text(line, value ? "true" : "false");
}

/* Nothing in @name is written other than as it is. */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (*name < ' ' || *name > '~' || *name == '"' ||
		    *name == '\\')
			return false;
	return true;
}

static void add_escaped(struct json_line *line, const char *name)
{
	json_t *value = json_name(name);
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

	if (text)
		add_text(line, text);
	else
		line->failed = true;
	free(text);
	json_decref(value);
}

void json_line_name(struct json_line *line, const char *key, const char *name)
{
	if (name && is_plain(name)) {
		json_line_word(line, key, name);
		return;
	}
	add_key(line, key, 0);
	if (name)
		add_escaped(line, name);
	else
		add_text(line, "null");
}

void json_line_members(struct json_line *line, const void *base,
		       const struct json_member *members, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		json_line_number(line, members[i].key,
				 json_member_value(base, &members[i]));
}

json_t *json_line_value(struct json_line *line)
{
	json_t *value = NULL;

	add_text(line, line->used_bytes ? "}" : "{}");
	if (!line->failed)
		value = json_loadb(line->text, line->used_bytes, 0, NULL);
	line->used_bytes = 0;
	line->failed = false;
	return value;
}

bool json_line_end(struct json_line *line)
{
	bool ok;

	add_text(line, line->used_bytes ? "}\n" : "{}\n");
	ok = !line->failed &&
	     fwrite(line->text, 1, line->used_bytes, stdout) ==
	     line->used_bytes;
	if (line->failed)
		say_error("the report", "cannot make JSON", ENOMEM);
	line->used_bytes = 0;
	line->failed = false;
	return ok;
}

void json_line_free(struct json_line *line)
{
	free(line->text);
	*line = (struct json_line){ 0 };
}
