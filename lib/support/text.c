/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/shell_word.h"
#include "text.h"
#include "units.h"

#define MAX_COLUMNS 16
#define MAX_CHAR 4		/* bytes of a UTF-8 character */

/* Default width of a terminal, in columns. */
#define DEFAULT_WIDTH 80
#define MAX_WIDTH 1024

/*
 * Decodes one character of the @len bytes at @s.  Returns its length in bytes,
 * or 0 if the bytes are not valid UTF-8 (RFC 3629: shortest form, no
 * surrogates, at most U+10FFFF).
 */
static unsigned int utf8_decode(const unsigned char *s, size_t len,
				uint32_t *ch)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int n, i;

	n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 :
	    *s >> 3 == 30 ? 4 : 0;
	if (!n || n > len)
		return 0;
	*ch = n == 1 ? *s : *s & (0x7f >> n);
	for (i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		*ch = *ch << 6 | (s[i] & 0x3f);
	}
	if (*ch < least[n] || *ch > 0x10ffff ||
	    (*ch >= 0xd800 && *ch <= 0xdfff))
		return 0;
	return n;
}

/*
 * Returns whether the character affects how the rest of the line is displayed.
 */
static bool is_control(uint32_t ch)
{
	return ch < 0x20 || (ch >= 0x7f && ch < 0xa0) ||
	       (ch >= 0x200b && ch <= 0x200f) ||
	       (ch >= 0x2028 && ch <= 0x202e) ||
	       (ch >= 0x2060 && ch <= 0x206f) || ch == 0xfeff;
}

unsigned int text_char(const char *name, size_t len, enum text_for use,
		       bool *odd)
{
	uint32_t ch;
	unsigned int n = utf8_decode((const unsigned char *)name, len, &ch);

	*odd = !n || ch == '\\' || !ch ||
	       (use == TEXT_FOR_PEOPLE && is_control(ch));
	return n ? n : 1;
}

char *text_hex(const char *bytes, size_t n, char *to)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)bytes;

	for (; n--; s++) {
		*to++ = '\\';
		*to++ = 'x';
		*to++ = digits[*s >> 4];
		*to++ = digits[*s & 15];
	}
	return to;
}

char *text_escape(const char *name, size_t len, enum text_for use)
{
	char *text = malloc(TEXT_HEX * len + 1), *out = text;
	unsigned int n;
	bool odd;

	if (!text)
		return NULL;
	for (; len; name += n, len -= n) {
		n = text_char(name, len, use, &odd);
		out = odd ? text_hex(name, n, out) : mempcpy(out, name, n);
	}
	*out = '\0';
	return text;
}

void text_put(FILE *out, const char *name, size_t len)
{
	char hex[MAX_CHAR * TEXT_HEX];
	unsigned int n;
	bool odd;

	for (; len; name += n, len -= n) {
		n = text_char(name, len, TEXT_FOR_PEOPLE, &odd);
		if (odd)
			fwrite(hex, 1, text_hex(name, n, hex) - hex, out);
		else
			fwrite(name, 1, n, out);
	}
}

void text_puts(FILE *out, const char *name)
{
	text_put(out, name, strlen(name));
}

void text_put_word(FILE *out, const char *name)
{
	char *word = e4l_shell_word(name);

	text_puts(out, word ? word : name);
	free(word);
}

/* ------------------------------------------------------------------- tables */

#define CUT "..."
/*
 * If a table is too wide, other columns are omitted until the last column has
 * at least this width, in terminal columns.
 */
#define LEAST_NAME 20

/* Returns how many columns of a terminal the character takes. */
static unsigned int columns_of(uint32_t ch)
{
	static const struct { uint32_t first, last; } wide[] = {
		{ 0x1100, 0x115f }, { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
	};
	unsigned int i;

	if (ch >= 0x300 && ch < 0x370)
		return 0;	/* a combining character takes no column */
	for (i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (ch >= wide[i].first && ch <= wide[i].last)
			return 2;
	return 1;
}

/*
 * Returns the length in bytes of the first unit of the escaped text @text: a
 * character, or a \xNN that must not be split.  Sets *@columns to the width of
 * the unit on a terminal.
 */
static size_t next_piece(const char *text, unsigned int *columns)
{
	uint32_t ch;
	size_t n = utf8_decode((const unsigned char *)text, strlen(text), &ch);

	*columns = n ? columns_of(ch) : 1;
	if (*text != '\\')
		return n ? n : 1;
	*columns = n = strnlen(text, sizeof("\\xNN") - 1);
	return n;
}

static unsigned int text_columns(const char *text)
{
	unsigned int n, columns = 0;

	for (; *text; columns += n)
		text += next_piece(text, &n);
	return columns;
}

/*
 * If @text is wider than @room columns, prints only its end, because the end of
 * a path is more useful than its start.
 */
static void print_cut(FILE *out, const char *text, unsigned int room)
{
	unsigned int columns = text_columns(text), n;

	if (columns > room) {
		fputs(CUT, out);
		room -= strlen(CUT);
	}
	for (; columns > room; columns -= n)
		text += next_piece(text, &n);
	fputs(text, out);
}

static void print_cell(FILE *out, const struct table_column *column,
		       const char *text, int width, bool last)
{
	fputs("  ", out);
	if (!column->left)
		fprintf(out, "%*s", width, text);
	else if (last && column->cut)
		print_cut(out, text, width);
	else if (last)
		fputs(text, out);
	else
		fprintf(out, "%-*s", width, text);
	if (last)
		putc('\n', out);
}

/*
 * Returns the total width of the columns.  A width of -1 marks an omitted
 * column.
 */
static unsigned int width_of(const int *width, unsigned int n)
{
	unsigned int all = 0, c;

	for (c = 0; c < n; c++)
		if (width[c] >= 0)
			all += 2 + width[c];
	return all;
}

/* Omits and shortens columns until they fit into @limit. */
static void fit(const struct table_column *columns, unsigned int n_columns,
		int *width, unsigned int limit)
{
	unsigned int last = n_columns - 1, all, c, drop;
	int name = width[last];

	if (columns[last].cut && name > LEAST_NAME)
		width[last] = LEAST_NAME;
	while ((all = width_of(width, n_columns)) > limit) {
		drop = last;
		for (c = 0; c < last; c++)
			if (width[c] >= 0 &&
			    columns[c].drop > columns[drop].drop)
				drop = c;
		if (drop == last)
			break;
		width[drop] = -1;
	}
	if (!columns[last].cut || all > limit)
		return;
	if ((unsigned int)(name - width[last]) > limit - all)
		width[last] += limit - all;
	else
		width[last] = INT_MAX;
}

static void print_row(FILE *out, const struct table_column *columns,
		      unsigned int n_columns, const int *width, size_t row,
		      table_cell *cell, const void *priv)
{
	char buf[TABLE_CELL];
	unsigned int c;

	for (c = 0; c < n_columns; c++)
		if (width[c] >= 0)
			print_cell(out, &columns[c],
				   cell ? cell(row, c, buf, priv) :
					  columns[c].title, width[c],
				   c + 1 == n_columns);
}

void table_print(FILE *out, const struct table_column *columns,
		 unsigned int n_columns, size_t rows, table_cell *cell,
		 const void *priv)
{
	int width[MAX_COLUMNS], n;
	char buf[TABLE_CELL];
	unsigned int c;
	const char *text;
	size_t r;

	for (c = 0; c < n_columns; c++) {
		width[c] = strlen(columns[c].title);
		for (r = 0; r < rows; r++) {
			text = cell(r, c, buf, priv);
			n = columns[c].cut ? text_columns(text) : strlen(text);
			width[c] = n > width[c] ? n : width[c];
		}
	}
	fit(columns, n_columns, width, text_limit(out));
	print_row(out, columns, n_columns, width, 0, NULL, NULL);
	for (r = 0; r < rows; r++)
		print_row(out, columns, n_columns, width, r, cell, priv);
}

const char *text_bar(double part, double whole, unsigned int width, char *buf)
{
	unsigned int n = whole > 0 ? (unsigned int)ceil(width * part / whole) :
				     0;

	n = n > width ? width : n;
	memset(buf, '#', n);
	buf[n] = '\0';
	return buf;
}

unsigned int text_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	uint64_t width = DEFAULT_WIDTH;
	struct winsize size;

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	else if (columns)
		units_parse_count(columns, &width);
	if (!width)
		return DEFAULT_WIDTH;
	return width < MAX_WIDTH ? width : MAX_WIDTH;
}

unsigned int text_limit(FILE *out)
{
	int fd = fileno(out);

	if (isatty(fd) || (fd == STDOUT_FILENO && getenv("COLUMNS")))
		return text_width(fd);
	return UINT_MAX;
}

/* The buffer of a stream of text_open(). */
struct text_sink {
	char **text;
	size_t *n, max;
};

/* Appends @n bytes to the text, and terminates the text with a 0 byte. */
static ssize_t sink_write(void *cookie, const char *bytes, size_t n)
{
	struct text_sink *sink = cookie;

	if (e4l_reserve(sink->text, *sink->n, &sink->max, n + 1, 1))
		return 0;
	memcpy(*sink->text + *sink->n, bytes, n);
	*sink->n += n;
	(*sink->text)[*sink->n] = '\0';
	return n;
}

static int sink_close(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *text_open(char **text, size_t *n)
{
	const cookie_io_functions_t functions = {
		.write = sink_write, .close = sink_close,
	};
	struct text_sink *sink = malloc(sizeof(*sink));
	FILE *out = NULL;

	*n = 0;
	*text = calloc(1, 1);
	if (sink && *text) {
		*sink = (struct text_sink) { .text = text, .n = n, .max = 1 };
		out = fopencookie(sink, "w", functions);
	}
	if (!out) {
		free(sink);
		free(*text);
		*text = NULL;
	}
	return out;
}

bool text_close(FILE *out)
{
	bool failed = ferror(out);

	return !fclose(out) && !failed;
}
