/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text: prints names and tables in text reports, and escapes names for JSON. */
#ifndef SUPPORT_TEXT_H
#define SUPPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * File names are bytes.  In a report, a backslash is written as \x5c, and each
 * byte that is not part of valid UTF-8 as \xNN (two lower-case hexadecimal
 * digits).  Replacing each \xNN by its byte gives the name.  In text for
 * people, each byte of a control character (C0, C1, DEL, and the line and
 * direction controls of Unicode) is written as \xNN, too.  JSON has its own
 * escapes for control characters.
 */
enum text_for { TEXT_FOR_PEOPLE, TEXT_FOR_JSON };

/*
 * Returns the escaped form of the @len bytes of @name; the caller frees it.  If
 * there is no memory, returns NULL.
 */
char *text_escape(const char *name, size_t len, enum text_for use);

/* Prints @name in the form for people. Allocates no memory. */
void text_put(FILE *out, const char *name, size_t len);
void text_puts(FILE *out, const char *name);

/*
 * Prints @name as a word of a shell command (see TEXT_FOR_PEOPLE).  If there
 * is no memory, prints the name as text_puts() does.
 */
void text_put_word(FILE *out, const char *name);

/*
 * Returns the length in bytes of the first character of the @len (at least 1)
 * bytes at @name.  Sets *@odd to whether these bytes must be written as \xNN.
 */
unsigned int text_char(const char *name, size_t len, enum text_for use,
		       bool *odd);

/*
 * Writes @n bytes as \xNN to @to, without a terminating 0 byte.  Returns the
 * end of the text.
 */
#define TEXT_HEX 4
char *text_hex(const char *bytes, size_t n, char *to);

/* Size of the buffer for a cell. */
#define TABLE_CELL 64

struct table_column {
	const char *title;
	/* align to the left; numbers are aligned to the right */
	bool left;
	bool cut;	/* shorten the text if the terminal is too narrow */
	/*
	 * If the terminal is too narrow, columns are omitted in the order of
	 * @drop, the highest number first.  A column with a @drop of 0 is never
	 * omitted.  The last column is shortened only if omitting columns is
	 * not enough.
	 */
	unsigned int drop;
};

/*
 * Returns the text of a cell, in @buf or in memory that stays valid until the
 * next call.  table_print() calls this function twice for each cell: to measure
 * the text, and to print the text.
 */
typedef const char *table_cell(size_t row, unsigned int column,
			       char buf[TABLE_CELL], const void *priv);

/*
 * Prints the titles and @rows rows, indented by two columns.  cell() returns
 * the text of each cell, and gets @priv.  The width of a column is counted in
 * bytes unless @cut is set.  File names belong in the last column.  If the last
 * column is aligned to the left, it is not padded.
 */
void table_print(FILE *out, const struct table_column *columns,
		 unsigned int n_columns, size_t rows, table_cell *cell,
		 const void *priv);

/*
 * Returns the width of a line on @out.  If @out is a terminal, or is stdout and
 * COLUMNS is set in the environment, returns text_width().  Otherwise, returns
 * UINT_MAX.
 */
unsigned int text_limit(FILE *out);

/*
 * Returns the number of columns of the terminal @fd, from 1 to 1024.  If @fd is
 * not a terminal, returns COLUMNS of the environment, or 80 if COLUMNS is not
 * set.
 */
unsigned int text_width(int fd);

/*
 * Opens a stream that writes to memory.  If there is no memory, returns NULL.
 * After text_close(), *@text has *@n bytes, and the caller frees *@text.
 * Unlike open_memstream(), this stream reports text that was lost for lack of
 * memory: text_close() then returns false.
 */
FILE *text_open(char **text, size_t *n);
/*
 * Closes a stream of text_open().  If text was lost for lack of memory, returns
 * false.
 */
bool text_close(FILE *out);

/*
 * Draws the fraction @part / @whole to @buf as a bar, where @width characters
 * represent the whole.  Returns @buf, which ends with a 0 byte.
 */
const char *text_bar(double part, double whole, unsigned int width, char *buf);

#endif
