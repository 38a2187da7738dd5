/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "map_text.h"
#include "text.h"
#include "units.h"

#define MAX_ROWS 16
#define DEFAULT_WIDTH 80
#define LABEL_WIDTH 12		/* columns of the label that precedes a line */
#define LABEL_FROM 40		/* minimum width of a line with a label */

static const struct look {
	char character;
	const char *colour;		/* SGR code of the state's colour */
	unsigned int weight;
} looks[BLOCK_STATES] = {
	[BLOCK_OTHER] = { 'o', "34", 1 },
	[BLOCK_CONTIGUOUS] = { '=', "32", 1 },
	[BLOCK_FRAGMENTED] = { '#', "31", 4 },
	[BLOCK_SPLIT] = { '%', "35", 4 },
	[BLOCK_UNWRITTEN] = { '~', "36", 1 },
	[BLOCK_FREE] = { '.', "90", 1 },
};

struct drawing {
	FILE *out;
	const struct block_map *map;
	unsigned int block_bytes;
	/* width of the map, and of the label before the map, in columns */
	unsigned int width, label;
	/* cells per character; the last character may have fewer */
	size_t cells;
	bool colours;
};

static enum block_state state_of(const struct block_map_cell *cell)
{
	enum block_state state, most = BLOCK_OTHER;

	for (state = 0; state < BLOCK_STATES; state++)
		if (cell->blocks[state] * looks[state].weight >
		    cell->blocks[most] * looks[most].weight)
			most = state;
	return most;
}

static void set_colour(const struct drawing *d, const char *colour)
{
	if (d->colours)
		fprintf(d->out, "\033[%sm", colour);
}

static void put_label(const struct drawing *d, size_t i)
{
	char size[UNITS_LEN];

	if (d->label)
		fprintf(d->out, "%*s  ", d->label - 2,
			units_size(block_map_first(d->map, i) *
				   d->block_bytes, size));
}

/* Prints one line from cell @i on. Returns the first cell of the next line. */
static size_t put_line(const struct drawing *d, size_t i)
{
	enum block_state state, last = BLOCK_STATES;
	struct block_map_cell cell;
	unsigned int n;

	put_label(d, i);
	for (n = d->label; n < d->width && i < d->map->n_cells; n++) {
		cell = block_map_sum(d->map, i, i + d->cells);
		state = state_of(&cell);
		if (state != last)
			set_colour(d, looks[state].colour);
		last = state;
		putc(looks[state].character, d->out);
		i += d->cells;
	}
	set_colour(d, "0");
	putc('\n', d->out);
	return i;
}

/* Prints each state with its character and the percentage of its blocks. */
static void put_legend(const struct drawing *d)
{
	struct block_map_cell whole = block_map_sum(d->map, 0,
						    d->map->n_cells);
	char text[100], percent[UNITS_LEN];
	unsigned int used = 0, n;
	uint64_t all = 0;
	int state;

	for (state = 0; state < BLOCK_STATES; state++)
		all += whole.blocks[state];
	for (state = 0; state < BLOCK_STATES; state++) {
		n = snprintf(text, sizeof(text), "%s %s",
			     block_state_names[state],
			     units_percent(whole.blocks[state], all,
				   percent)) + 2;
		if (used && used + 3 + n > d->width) {
			putc('\n', d->out);
			used = 0;
		}
		fputs(used ? "   " : "", d->out);
		used += n + (used ? 3 : 0);
		set_colour(d, looks[state].colour);
		putc(looks[state].character, d->out);
		set_colour(d, "0");
		fprintf(d->out, " %s", text);
	}
	putc('\n', d->out);
}

static bool wants_colours(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no_color && *no_color) &&
	       !(term && !strcmp(term, "dumb"));
}

void map_print(FILE *out, const char *title, const struct block_map *map,
	       unsigned int block_bytes)
{
	unsigned int limit = text_limit(out);
	struct drawing d = {
		.out = out, .map = map, .block_bytes = block_bytes,
		.width = limit == UINT_MAX ? DEFAULT_WIDTH : limit,
		.colours = wants_colours(out),
	};
	char size[UNITS_LEN];
	size_t i = 0, characters;

	d.label = d.width >= LABEL_FROM ? LABEL_WIDTH : 0;
	characters = (size_t)(d.width - d.label) * MAX_ROWS;
	d.cells = (map->n_cells - 1) / characters + 1;
	i = d.cells < map->n_cells ? d.cells : map->n_cells;
	fprintf(out, "%s: %s a character\n", title,
		units_size((block_map_first(map, i) - block_map_first(map, 0)) *
			   block_bytes, size));
	for (i = 0; i < map->n_cells;)
		i = put_line(&d, i);
	put_legend(&d);
}
