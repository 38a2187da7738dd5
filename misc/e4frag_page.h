/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents of the page of --html. */
#ifndef E4FRAG_PAGE_H
#define E4FRAG_PAGE_H

#include "e4frag.h"

/*
 * Limits that keep the page below 2 MB.  PAGE_FILES is the number of files
 * whose extents are drawn.
 */
#define PAGE_FILES	20
#define PAGE_EXTENTS	300		/* extents of each file */
#define PAGE_PATH_BYTES	1024		/* bytes of each path, escaped */
#define PAGE_TEXT_BYTES	(64 << 10)	/* bytes of the text report */
#define PAGE_BEFORE_BYTES (512 << 10)	/* bytes of the report of --compare */

/*
 * Returns @path.  If @path is too long, returns "..." and the end of @path, and
 * sets *@cut to true.  If there is no memory, returns NULL.
 */
json_t *page_path(const char *path, bool *cut);

/*
 * Reads the report e4frag/1 in the file @path, and returns only the members
 * that a page shows.  The report is untrusted.  Returns NULL after printing an
 * error.
 */
json_t *page_before(const char *path, bool *cut);

#endif
