/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "text.h"
#include "units.h"

#define MAX_COLUMNS 16

/* Of terminals. */
#define DEFAULT_WIDTH 80
#define MAX_WIDTH 1024

/*
 * Decodes one character of the @len bytes at @s.  Returns how many bytes it
 * takes, or 0 when they are not valid UTF-8 (RFC 3629: shortest form, no
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

/* Characters that would change how the rest of a line looks. */
static bool is_control(uint32_t ch)
{
	return ch < 0x20 || (ch >= 0x7f && ch < 0xa0) ||
	       (ch >= 0x200b && ch <= 0x200f) ||
	       (ch >= 0x2028 && ch <= 0x202e) ||
	       (ch >= 0x2060 && ch <= 0x206f) || ch == 0xfeff;
}

char *text_escape(const char *name, size_t len, enum text_for use)
{
	const unsigned char *s = (const unsigned char *)name;
	char *text = malloc(4 * len + 1), *out = text;
	unsigned int n, i;
	uint32_t ch;

	if (!text)
		return NULL;
	for (; len; s += n, len -= n) {
		n = utf8_decode(s, len, &ch);
		if (n && ch != '\\' && ch &&
		    (use == TEXT_FOR_JSON || !is_control(ch))) {
			out = mempcpy(out, s, n);
			continue;
		}
		if (!n)
			n = 1;
		for (i = 0; i < n; i++)
			out += sprintf(out, "\\x%02x", s[i]);
	}
	*out = '\0';
	return text;
}

static void print_cell(FILE *out, const struct table_column *column,
		       const char *text, int width, bool last)
{
	fputs("  ", out);
	if (!column->left)
		fprintf(out, "%*s", width, text);
	else if (last)
		fputs(text, out);
	else
		fprintf(out, "%-*s", width, text);
	if (last)
		putc('\n', out);
}

void table_print(FILE *out, const struct table_column *columns,
		 unsigned int n_columns, size_t rows, table_cell *cell,
		 const void *priv)
{
	int width[MAX_COLUMNS], n;
	char buf[TABLE_CELL];
	unsigned int c;
	size_t r;

	for (c = 0; c < n_columns; c++) {
		width[c] = strlen(columns[c].title);
		for (r = 0; r < rows; r++) {
			n = strlen(cell(r, c, buf, priv));
			width[c] = n > width[c] ? n : width[c];
		}
	}
	for (c = 0; c < n_columns; c++)
		print_cell(out, &columns[c], columns[c].title, width[c],
			   c + 1 == n_columns);
	for (r = 0; r < rows; r++)
		for (c = 0; c < n_columns; c++)
			print_cell(out, &columns[c], cell(r, c, buf, priv),
				   width[c], c + 1 == n_columns);
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
