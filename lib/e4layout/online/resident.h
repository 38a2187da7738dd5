/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resident: keeps the page cache as it was before a move. */
#ifndef E4L_RESIDENT_H
#define E4L_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A range of a file: its pages that were in memory before a move, and a
 * mapping.
 */
struct e4l_resident {
	/* one byte per page; NULL: unknown, all pages are kept */
	unsigned char *page;
	size_t n;
	off_t at;
	int fd;
	void *map;		/* the mapping of the range, or NULL */
};

/*
 * Records the pages in memory for @len bytes from @at on; @at is rounded down
 * to a page.
 */
void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r);

/*
 * Reads the absent pages as single pages, because large folios cannot be moved.
 * Returns an errno.  Pages that cannot be read must not be held, because Linux
 * (6.18) would try to read them endlessly.
 */
int e4l_resident_read(struct e4l_resident *r);

/*
 * Locks the pages in memory after e4l_resident_read().  Returns true if only
 * changes of the file can remove pages; false if the limit of the process for
 * locked memory is exceeded.
 */
bool e4l_resident_hold(struct e4l_resident *r);
void e4l_resident_let_go(struct e4l_resident *r);

/*
 * Sets @page, one byte per page, to the pages that have been in memory all the
 * time since e4l_resident_hold().  False: unknown, assume none.
 */
bool e4l_resident_held(const struct e4l_resident *r, unsigned char *page);

/* Releases the pages, drops the pages that were absent before, and frees @r. */
void e4l_resident_restore(struct e4l_resident *r);

/* Releases the pages without dropping any, and frees @r. */
void e4l_resident_free(struct e4l_resident *r);

#endif
