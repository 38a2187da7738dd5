/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_text: prints a block map as text. */
#ifndef SUPPORT_MAP_TEXT_H
#define SUPPORT_MAP_TEXT_H

#include <stdio.h>
#include "block_map.h"

/*
 * Prints @map under @title in at most 16 lines of text_limit() columns (80
 * columns if there is no limit), and the percentage of blocks in each state.
 * Each character represents the same number of cells, and shows the most
 * frequent state of their blocks.  Fragmented and split blocks count four
 * times, so that they are visible.  Colours are used if @out is a terminal and
 * NO_COLOR is not set.
 */
void map_print(FILE *out, const char *title, const struct block_map *map,
	       unsigned int block_bytes);

#endif
