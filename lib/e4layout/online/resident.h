/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resident: leaves the page cache as it was. */
#ifndef E4L_RESIDENT_H
#define E4L_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Which pages of a range are in memory. */
struct e4l_resident {
	unsigned char *page;	/* NULL: not known, so all stay */
	size_t n;
	off_t at;
	int fd;
	void *map;		/* holds them in memory, or NULL */
};

/* Notes it for @len bytes from @at on, which is rounded down to a page. */
void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r);

/*
 * Reads page by page what of it is not in memory.  Returns an errno: what cannot
 * be read must not be held, since Linux (6.18) tries to without an end.
 */
int e4l_resident_read(const struct e4l_resident *r);

/*
 * Keeps in memory what is.  Returns whether nobody can take it away now but who
 * changes the file: not if the process may not hold so much.
 */
bool e4l_resident_hold(struct e4l_resident *r);
void e4l_resident_let_go(struct e4l_resident *r);

/*
 * Which pages have been in memory since they were held, one byte for each;
 * false: not known, so none.
 */
bool e4l_resident_held(const struct e4l_resident *r, unsigned char *page);

/* Lets go, of what was not in memory before also there; frees @r. */
void e4l_resident_restore(struct e4l_resident *r);

/* The same, and all stays in memory. */
void e4l_resident_free(struct e4l_resident *r);

#endif
