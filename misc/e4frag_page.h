/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --html: a page of its own, and what it is compared with. */
#ifndef E4FRAG_PAGE_H
#define E4FRAG_PAGE_H

#include "e4frag.h"

/* A page is below 2 MB whatever it shows, since it shows no more than this. */
#define PAGE_FILES	20
#define PAGE_EXTENTS	300		/* of each of these */
#define PAGE_PATH_BYTES	1024		/* of each path, escaped */
#define PAGE_TEXT_BYTES	(64 << 10)	/* of the report */
#define PAGE_BEFORE_BYTES (512 << 10)	/* of what is compared with */

/* The end of a long path, with dots before it; *@cut then becomes true. */
json_t *page_path(const char *path, bool *cut);

/*
 * Of the object e4frag/1 in the file @path what a page shows, and no more,
 * whoever made that file.  NULL after saying what is wrong.
 */
json_t *page_before(const char *path, bool *cut);

#endif
