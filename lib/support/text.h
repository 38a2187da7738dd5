/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and tables in a report for people, and names in JSON. */
#ifndef SUPPORT_TEXT_H
#define SUPPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * File names are bytes.  In a report, a byte that is not part of valid UTF-8
 * and a backslash are written as \xNN, two lower-case hexadecimal digits, so
 * that replacing every \xNN by its byte gives the name back.  Text for people
 * also has control characters that way (C0, C1, DEL, and the line and
 * direction controls of Unicode); JSON has its own escapes for those.
 */
enum text_for { TEXT_FOR_PEOPLE, TEXT_FOR_JSON };

/* The escaped form of the @len bytes of @name; to be freed; NULL: no memory. */
char *text_escape(const char *name, size_t len, enum text_for use);

/* Prints @name for people, which needs no memory. */
void text_put(FILE *out, const char *name, size_t len);
void text_puts(FILE *out, const char *name);

/*
 * The bytes of the first character of the @len at @name, which are some; whether
 * it is @odd, so that each is written as \xNN.
 */
unsigned int text_char(const char *name, size_t len, enum text_for use,
		       bool *odd);

/* Writes @n bytes as \xNN to @to, without an end.  Returns where that is. */
#define TEXT_HEX 4
char *text_hex(const char *bytes, size_t n, char *to);

/* Room for the text of one cell. */
#define TABLE_CELL 64

struct table_column {
	const char *title;
	bool left;	/* aligned to the left; numbers are to the right */
	/* where a terminal is narrow: the last column is shortened, and before
	 * that others are left out, the highest number first; 0: never */
	bool cut;
	unsigned int drop;
};

/*
 * Gives the text of a cell, in @buf or wherever it stays valid until the next
 * call.  Asked twice for each cell: first to measure, then to print.
 */
typedef const char *table_cell(size_t row, unsigned int column,
			       char buf[TABLE_CELL], const void *priv);

/*
 * Prints titles and @rows rows, indented by two.  Widths count bytes, so
 * names belong in the last column, which is not padded when it is to the left.
 */
void table_print(FILE *out, const struct table_column *columns,
		 unsigned int n_columns, size_t rows, table_cell *cell,
		 const void *priv);

/*
 * How wide a line on @out may be: as wide as the terminal, or as COLUMNS in the
 * environment says where standard output is none; else UINT_MAX.
 */
unsigned int text_limit(FILE *out);

/*
 * Columns of the terminal @fd; where it is none, those that the environment's
 * COLUMNS says, or 80.  From 1 to 1024.
 */
unsigned int text_width(int fd);

/*
 * A stream into memory, as open_memstream(), which loses a character without a
 * word where there was no memory for it; NULL: there is none.  *@text, which is
 * the caller's to free, and the @n bytes of it are known when it is closed.
 */
FILE *text_open(char **text, size_t *n);
/* Closes what that opened; false: there was no memory for all of it. */
bool text_close(FILE *out);

/* A bar of @part / @whole of @width characters, terminated.  Returns @buf. */
const char *text_bar(double part, double whole, unsigned int width, char *buf);

#endif
