/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "json_line.h"
#include "say.h"
#include "text.h"

#define DIGITS		20		/* digits of the largest uint64_t */
/* maximum number of output bytes for one byte of a name */
#define ESCAPED		6

/* Reserves memory for @n more bytes.  If there is no memory, returns false. */
static inline bool has_room(struct json_line *line, size_t n)
{
	if (line->room_bytes - line->used_bytes >= n && !line->failed)
		return true;
	line->failed = line->failed ||
		       e4l_reserve(&line->text, line->used_bytes,
				   &line->room_bytes, n, 1);
	return !line->failed;
}

static void add_text(struct json_line *line, const char *text)
{
	size_t len = strlen(text);

	if (!has_room(line, len))
		return;
	memcpy(line->text + line->used_bytes, text, len);
	line->used_bytes += len;
}

#define KEY_BYTES (JSON_LINE_KEY + sizeof(",\"\":"))

static inline char *put_key(char *to, char before, const char *key)
{
	*to++ = before;
	*to++ = '"';
	to = stpcpy(to, key);
	*to++ = '"';
	*to++ = ':';
	return to;
}

/*
 * Adds a key, and returns the address for a value of at most @n bytes.  The
 * caller writes the value and calls end_value().  If there is no memory,
 * returns NULL.
 */
static inline char *add_key(struct json_line *line, const char *key, size_t n)
{
	if (!has_room(line, KEY_BYTES + n))
		return NULL;
	return put_key(line->text + line->used_bytes,
		       line->used_bytes ? ',' : '{', key);
}

static inline void end_value(struct json_line *line, const char *to)
{
	line->used_bytes = to - line->text;
}

static char *put_digits(char *to, uint64_t number)
{
	char digits[DIGITS], *first = digits + DIGITS;

	if (number > INT64_MAX)
		number = INT64_MAX;
	do {
		*--first = '0' + number % 10;
		number /= 10;
	} while (number);
	return mempcpy(to, first, digits + DIGITS - first);
}

static inline char *put_number(char *to, uint64_t number)
{
	if (number >= 10)
		return put_digits(to, number);
	*to++ = '0' + number;	/* most numbers have one digit */
	return to;
}

void json_line_number(struct json_line *line, const char *key,
		      uint64_t number)
{
	char *to = add_key(line, key, DIGITS);

	if (to)
		end_value(line, put_number(to, number));
}

void json_line_members(struct json_line *line, const void *base,
		       const struct json_member *members, size_t n)
{
	char before = line->used_bytes ? ',' : '{', *to;
	size_t i;

	if (!has_room(line, n * (KEY_BYTES + DIGITS)))
		return;
	to = line->text + line->used_bytes;
	for (i = 0; i < n; i++, before = ',')
		to = put_number(put_key(to, before, members[i].key),
				json_member_value(base, &members[i]));
	end_value(line, to);
}

void json_line_word(struct json_line *line, const char *key, const char *word)
{
	char *to = add_key(line, key, strlen(word) + sizeof("\"\""));

	if (!to)
		return;
	*to++ = '"';
	to = stpcpy(to, word);
	*to++ = '"';
	end_value(line, to);
}

void json_line_boolean(struct json_line *line, const char *key, bool value)
{
	char *to = add_key(line, key, sizeof("false"));

	if (to)
		end_value(line, stpcpy(to, value ? "true" : "false"));
}

/* -------------------------------------------------------------------- names */

#define BYTES(b) (UINT64_C(0x0101010101010101) * (b))

/*
 * Returns whether one of the eight bytes of @word is less than @b.  @b is at
 * most 128.
 */
static inline uint64_t has_less(uint64_t word, unsigned char b)
{
	return (word - BYTES(b)) & ~word & BYTES(0x80);
}

/* Returns whether all bytes of @w are ASCII, and none needs escaping. */
static inline bool are_plain(uint64_t w)
{
	return !((w & BYTES(0x80)) | has_less(w, ' ') |
		 has_less(w ^ BYTES('"'), 1) | has_less(w ^ BYTES('\\'), 1));
}

static inline bool is_plain(char c)
{
	return c >= ' ' && c != '"' && c != '\\' && !(c & 0x80);
}

/* Writes a control character or a quotation mark in JSON's escaped form. */
static char *put_control(char *to, unsigned char c)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"";
	const char *name = names;

	for (; *name; name += 2)
		if (*name == (char)c) {
			*to++ = '\\';
			*to++ = name[1];
			return to;
		}
	return to + sprintf(to, "\\u%04X", c);
}

/*
 * Writes the first character of the @len bytes at @s to *@to, and advances
 * *@to.  Returns the number of bytes read from @s.
 */
static size_t put_char(char **to, const char *s, size_t len)
{
	bool odd;
	unsigned int n = text_char(s, len, TEXT_FOR_JSON, &odd), i;

	if (!odd && ((unsigned char)*s < ' ' || *s == '"')) {
		*to = put_control(*to, *s);
	} else if (!odd) {
		*to = mempcpy(*to, s, n);
	} else {
		for (i = 0; i < n; i++) {
			*(*to)++ = '\\';
			*to = text_hex(s + i, 1, *to);
		}
	}
	return n;
}

static char *put_name(char *to, const char *s, size_t len)
{
	const char *end = s + len;
	uint64_t w;

	while (s < end) {
		for (; end - s >= 8; s += 8, to += 8) {
			memcpy(&w, s, 8);
			if (!are_plain(w))
				break;
			memcpy(to, &w, 8);
		}
		for (; s < end && is_plain(*s); s++)
			*to++ = *s;
		if (s < end)
			s += put_char(&to, s, end - s);
	}
	return to;
}

void json_line_name(struct json_line *line, const char *key, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	char *to = add_key(line, key, ESCAPED * len + sizeof("null"));

	if (!to)
		return;
	if (!name) {
		to = stpcpy(to, "null");
	} else {
		*to++ = '"';
		to = put_name(to, name, len);
		*to++ = '"';
	}
	end_value(line, to);
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
		say_error("the report", "cannot format JSON", ENOMEM);
	line->used_bytes = 0;
	line->failed = false;
	return ok;
}

void json_line_free(struct json_line *line)
{
	free(line->text);
	*line = (struct json_line){ 0 };
}
