/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block map as text. */
#ifndef SUPPORT_MAP_TEXT_H
#define SUPPORT_MAP_TEXT_H

#include <stdio.h>
#include "block_map.h"

/*
 * Prints @map under @title: at most 16 lines, as wide as text_limit() says or
 * 80, with a character for the same number of cells each, and what share of all
 * blocks each state has.  A character is that of the state most of its blocks
 * are in; fragmented and split ones count four times, lest they not be seen.
 * In colours if @out is a terminal and NO_COLOR is not in the environment.
 */
void map_print(FILE *out, const char *title, const struct block_map *map,
	       unsigned int block_bytes);

#endif
