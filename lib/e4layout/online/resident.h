/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resident: keeps pages of a file in memory during a move, and then drops the
 * pages that were not in memory before.
 */
#ifndef E4L_RESIDENT_H
#define E4L_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A range of a file, with a record of the pages that were in memory before a
 * move, and a mapping of the range.
 */
struct e4l_resident {
	/*
	 * One byte per page: bit 0 is set if the page was in memory.  NULL: it
	 * is unknown which pages were in memory, and all pages are kept.
	 */
	unsigned char *page;
	size_t n;
	off_t at;
	int fd;
	void *map;		/* the mapping of the range, or NULL */
};

/*
 * Records which pages of the @len bytes from byte @at on are in memory.  @at is
 * rounded down to the start of a page.
 */
void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r);

/*
 * Reads the absent pages as single pages, because large folios cannot be moved.
 * Returns an errno.  After an error, the caller must not hold the pages,
 * because Linux (6.18) would try to read them endlessly.
 */
int e4l_resident_read(struct e4l_resident *r);

/*
 * Locks the pages in memory after e4l_resident_read().  Returns true if the
 * pages are locked.  Only changes of the file can remove locked pages.  Returns
 * false if the process's limit for locked memory is exceeded.
 */
bool e4l_resident_hold(struct e4l_resident *r);
void e4l_resident_let_go(struct e4l_resident *r);

/*
 * Sets bit 0 of @page[i] if page number i was in memory all the time after
 * e4l_resident_hold().  If this information is not available, returns false,
 * and the caller must assume that all pages were removed.
 */
bool e4l_resident_held(const struct e4l_resident *r, unsigned char *page);

/*
 * Unlocks the pages, drops the pages that were not in memory at
 * e4l_resident_note(), and frees the members of @r.
 */
void e4l_resident_restore(struct e4l_resident *r);

/* Unlocks the pages, which stay in memory, and frees the members of @r. */
void e4l_resident_free(struct e4l_resident *r);

#endif
