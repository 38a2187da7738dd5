/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and tables in text reports, and names in JSON. */
#ifndef SUPPORT_TEXT_H
#define SUPPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * File names are bytes.  In a report, a backslash, and each byte that is not
 * part of valid UTF-8, is written as \xNN (two lower-case hexadecimal digits):
 * replacing each \xNN by its byte gives the name.  Text for people also has
 * control characters in this form (C0, C1, DEL, and the line and direction
 * controls of Unicode); JSON has its own escapes for them.
 */
enum text_for { TEXT_FOR_PEOPLE, TEXT_FOR_JSON };

/*
 * Returns the escaped form of the @len bytes of @name; the caller frees it.
 * NULL: no memory.
 */
char *text_escape(const char *name, size_t len, enum text_for use);

/* Prints @name for people. Needs no memory. */
void text_put(FILE *out, const char *name, size_t len);
void text_puts(FILE *out, const char *name);

/*
 * Returns the length in bytes of the first character of the @len (at least 1)
 * bytes at @name.  *@odd: each of these bytes is written as \xNN.
 */
unsigned int text_char(const char *name, size_t len, enum text_for use,
		       bool *odd);

/* Writes @n bytes as \xNN to @to, without a terminator. Returns the end. */
#define TEXT_HEX 4
char *text_hex(const char *bytes, size_t n, char *to);

/* Size of the buffer for a cell. */
#define TABLE_CELL 64

struct table_column {
	const char *title;
	/* aligned to the left; numbers are aligned to the right */
	bool left;
	bool cut;	/* shortened if the terminal is too narrow */
	/*
	 * If the terminal is too narrow, columns are omitted before the last
	 * column is shortened, the highest number first; 0: never omitted.
	 */
	unsigned int drop;
};

/*
 * Returns the text of a cell, in @buf or in memory that stays valid until the
 * next call.  Called twice for each cell: to measure, and to print.
 */
typedef const char *table_cell(size_t row, unsigned int column,
			       char buf[TABLE_CELL], const void *priv);

/*
 * Prints the titles and @rows rows, indented by two columns.  Widths are
 * counted in bytes; names belong in the last column, which is not padded if it
 * is aligned to the left.
 */
void table_print(FILE *out, const struct table_column *columns,
		 unsigned int n_columns, size_t rows, table_cell *cell,
		 const void *priv);

/*
 * Returns the width of a line on @out: of the terminal, or of COLUMNS in the
 * environment if @out is not a terminal; otherwise UINT_MAX.
 */
unsigned int text_limit(FILE *out);

/*
 * Returns the columns of the terminal @fd, or of COLUMNS in the environment, or
 * 80.  The result is from 1 to 1024.
 */
unsigned int text_width(int fd);

/*
 * Opens a memory stream.  Unlike with open_memstream(), text that is lost for
 * lack of memory is reported by text_close().  NULL: no memory.  After
 * text_close(), *@text has @n bytes, and the caller frees it.
 */
FILE *text_open(char **text, size_t *n);
/*
 * Closes a stream of text_open().  Returns false if text was lost for lack of
 * memory.
 */
bool text_close(FILE *out);

/*
 * Draws @part / @whole as a bar of @width characters to @buf, terminated.
 * Returns @buf.
 */
const char *text_bar(double part, double whole, unsigned int width, char *buf);

#endif
