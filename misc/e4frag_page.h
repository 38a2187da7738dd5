/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of the page that --html writes, and their limits. */
#ifndef E4FRAG_PAGE_H
#define E4FRAG_PAGE_H

#include "e4frag.h"

/*
 * Limits that keep the page below 2 MB.  PAGE_FILES is the number of files
 * whose extents are drawn.
 */
#define PAGE_FILES	20
#define PAGE_EXTENTS	300		/* maximum for each file */
#define PAGE_PATH_BYTES	1024		/* maximum for an escaped path */
#define PAGE_TEXT_BYTES	(64 << 10)	/* maximum for the text report */
/* maximum length of the report that page_before() returns, in bytes */
#define PAGE_BEFORE_BYTES (512 << 10)

/*
 * Returns @path.  If @path is too long, returns "..." and the end of @path, and
 * sets *@cut to true.  If there is no memory, returns NULL.
 */
json_t *page_path(const char *path, bool *cut);

/*
 * Reads the JSON report of e4frag in the file @path, and returns only the
 * members that a page shows.  If page_path() shortens a path of the report,
 * sets *@cut to true.  The report is untrusted.  Returns NULL after printing an
 * error.
 */
json_t *page_before(const char *path, bool *cut);

#endif
