/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request found: one value, printed for people or as JSON. */
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

/* "free_blocks" as people write it. */
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

/* The first row says which columns there are. */
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

static void print_words(const char *name, const json_t *words)
{
	const json_t *word;
	size_t i;

	printf("%-26s", name);
	json_array_foreach(words, i, word)
		printf(" %s", json_string_value(word));
	putchar('\n');
}

static void print_object(json_t *object)
{
	char name[TABLE_CELL], buf[TABLE_CELL];
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		label(key, name);
		if (!json_is_array(value))
			printf("%-26s %s\n", name, cell(value, buf));
		else if (json_is_string(json_array_get(value, 0)))
			print_words(name, value);
		else if (json_array_size(value))
			print_table(value);
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
