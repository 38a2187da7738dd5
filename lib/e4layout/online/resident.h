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
 * A range of a file, a record of the pages that were in memory before a move,
 * and a mapping of the range.
 */
struct e4l_resident {
	/*
	 * One byte per page: bit 0 is set if the page was in memory before the
	 * move.  NULL: the pages before the move are unknown, and all pages
	 * stay in memory.
	 */
	unsigned char *page;
	size_t n;
	off_t at;
	int fd;
	/* the mapping of the range; NULL if the range is not mapped */
	void *map;
};

/*
 * Records which pages of the @len bytes from byte @at on are in memory.  The
 * range begins at the start of the page that contains @at.
 */
void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r);

/*
 * Reads the pages of the range that are not in memory.  Reads single pages,
 * because the kernel cannot move the blocks of large folios.  Returns 0 or an
 * errno.  After an error, the caller must not lock the pages, because Linux
 * (6.18) would try endlessly to read the missing pages.
 */
int e4l_resident_read(struct e4l_resident *r);

/*
 * Locks the pages in memory.  Call after e4l_resident_read().  If the process
 * exceeds its limit for locked memory, returns false.  Locked pages leave the
 * memory only if the file changes.
 */
bool e4l_resident_hold(struct e4l_resident *r);
void e4l_resident_let_go(struct e4l_resident *r);

/*
 * Sets bit 0 of @page[i] if page number i was in memory during the whole time
 * since e4l_resident_hold().  If the kernel does not report the pages, returns
 * false.  In this case, the caller must assume that all pages were removed.
 */
bool e4l_resident_held(const struct e4l_resident *r, unsigned char *page);

/*
 * Unlocks the pages, and frees the members of @r.  Drops the pages that were
 * not in memory when e4l_resident_note() was called.
 */
void e4l_resident_restore(struct e4l_resident *r);

/* Unlocks the pages, which stay in memory, and frees the members of @r. */
void e4l_resident_free(struct e4l_resident *r);

#endif
