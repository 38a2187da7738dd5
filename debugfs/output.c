/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the result of a request, as text or as JSON. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "support/text.h"
#include "support/units.h"
#include "e4debug.h"

#define MAX_COLUMNS 12

json_t *shell_text(const struct shell *s, const char *bytes, size_t max)
{
	char *text = text_escape(bytes, strnlen(bytes, max), s->args.json ?
				 TEXT_FOR_JSON : TEXT_FOR_PEOPLE);
	json_t *value = text ? json_string(text) : NULL;

	free(text);
	return value;
}

/* Converts a key such as "free_blocks" to a label for text output. */
static const char *label(const char *key, char buf[TABLE_CELL])
{
	size_t i;

	for (i = 0; key[i] && i < TABLE_CELL - 1; i++)
		buf[i] = key[i] == '_' ? ' ' : key[i];
	buf[i] = '\0';
	return buf;
}

static const char *cell(const json_t *value, char buf[TABLE_CELL])
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "yes" : "no";
	if (json_is_real(value)) {
		snprintf(buf, TABLE_CELL, "%.1f", json_real_value(value));
		return buf;
	}
	return json_is_integer(value) ?
	       units_count(json_integer_value(value), buf) : "-";
}

static const char *row_cell(size_t row, unsigned int column,
			    char buf[TABLE_CELL], const void *priv)
{
	const json_t *object = json_array_get(priv, row);
	void *at = json_object_iter((json_t *)object);

	while (column-- && at)
		at = json_object_iter_next((json_t *)object, at);
	return at ? cell(json_object_iter_value(at), buf) : "";
}

/*
 * Prints an array of objects.  The members of the first object determine the
 * columns.
 */
static void print_table(json_t *rows)
{
	struct table_column columns[MAX_COLUMNS] = { 0 };
	char titles[MAX_COLUMNS][TABLE_CELL];
	unsigned int n = 0;
	const char *key;
	json_t *value;

	json_object_foreach(json_array_get(rows, 0), key, value) {
		if (n == MAX_COLUMNS)
			break;
		columns[n].title = label(key, titles[n]);
		columns[n++].left = json_is_string(value) ||
				    !strcmp(key, "path");
	}
	table_print(stdout, columns, n, json_array_size(rows), row_cell, rows);
}

/*
 * Objects with the same members, such as "before" and "after", which are
 * printed as columns of one table.
 */
struct beside {
	json_t *objects[MAX_COLUMNS];
	unsigned int n;
};

static const char *beside_cell(size_t row, unsigned int column,
			       char buf[TABLE_CELL], const void *priv)
{
	const struct beside *b = priv;
	void *at = json_object_iter(b->objects[0]);
	const char *key;

	while (row-- && at)
		at = json_object_iter_next(b->objects[0], at);
	if (!at)
		return "";
	key = json_object_iter_key(at);
	return column ? cell(json_object_get(b->objects[column - 1], key), buf) :
			label(key, buf);
}

static bool same_members(json_t *a, json_t *b)
{
	const char *key;
	json_t *value;

	if (!json_is_object(b) || json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach(a, key, value)
		if (!json_object_get(b, key))
			return false;
	return true;
}

/*
 * Prints the object at position @at of @object and the following objects with
 * the same members as one table.  The table has a row for each member and a
 * column for each object.  Returns the position of the last printed object.
 */
static void *print_beside(json_t *object, void *at)
{
	struct table_column columns[MAX_COLUMNS] = { { .title = "" } };
	char titles[MAX_COLUMNS][TABLE_CELL];
	struct beside b = { .n = 0 };
	void *last = at;

	columns[0].left = true;
	b.objects[0] = json_object_iter_value(at);
	while (at && b.n < MAX_COLUMNS - 1 &&
	       same_members(b.objects[0], json_object_iter_value(at))) {
		b.objects[b.n++] = json_object_iter_value(at);
		columns[b.n].title = label(json_object_iter_key(at),
					   titles[b.n]);
		last = at;
		at = json_object_iter_next(object, at);
	}
	table_print(stdout, columns, b.n + 1, json_object_size(b.objects[0]),
		    beside_cell, &b);
	return last;
}

static void print_words(const char *name, const json_t *words)
{
	const json_t *word;
	size_t i;

	printf("%-26s", name);
	json_array_foreach(words, i, word)
		printf(" %s", json_string_value(word));
	putchar('\n');
}

static void print_member(const char *key, json_t *value)
{
	char name[TABLE_CELL], buf[TABLE_CELL];

	label(key, name);
	if (!json_is_array(value))
		printf("%-26s %s\n", name, cell(value, buf));
	else if (json_is_string(json_array_get(value, 0)))
		print_words(name, value);
	else if (json_array_size(value))
		print_table(value);
}

static void print_object(json_t *object)
{
	void *at = json_object_iter(object);

	for (; at; at = json_object_iter_next(object, at)) {
		if (json_is_object(json_object_iter_value(at)))
			at = print_beside(object, at);
		else
			print_member(json_object_iter_key(at),
				     json_object_iter_value(at));
	}
}

bool shell_report(const struct shell *s, json_t *object)
{
	if (s->args.json || !s->args.quiet)
		return shell_show(s, object);
	json_decref(object);
	return true;
}

bool shell_show(const struct shell *s, json_t *object)
{
	json_t *all;
	int failed;

	if (s->args.json || !object) {
		all = json_pack("{s:s, s:s}", "schema", "e4debug/1", "request",
				s->request);
		failed = json_object_update(all, object);
		json_decref(object);
		return json_write_line(json_checked(all, failed));
	}
	print_object(object);
	json_decref(object);
	return true;
}
