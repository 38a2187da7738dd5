/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents of the page of --html. */
#ifndef E4FRAG_PAGE_H
#define E4FRAG_PAGE_H

#include "e4frag.h"

/*
 * Limits of the page's contents, which keep the page below 2 MB: files with
 * drawn extents
 */
#define PAGE_FILES	20
#define PAGE_EXTENTS	300		/* extents of each file */
#define PAGE_PATH_BYTES	1024		/* bytes of each path, escaped */
#define PAGE_TEXT_BYTES	(64 << 10)	/* bytes of the text report */
#define PAGE_BEFORE_BYTES (512 << 10)	/* bytes of the report of --compare */

/*
 * Returns the end of a long path after dots, and sets *@cut to true.  NULL: no
 * memory.
 */
json_t *page_path(const char *path, bool *cut);

/*
 * Reads a report e4frag/1 of any origin, and returns only what a page shows.
 * NULL after printing an error.
 */
json_t *page_before(const char *path, bool *cut);

#endif
