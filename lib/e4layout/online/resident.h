/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resident: leaves the page cache as it was. */
#ifndef E4L_RESIDENT_H
#define E4L_RESIDENT_H

#include <stddef.h>
#include <sys/types.h>

#define E4L_BEHIND	32

/* Which pages of a range are in memory. */
struct e4l_resident {
	unsigned char *page;	/* NULL: not known, so all stay */
	size_t n;
	off_t at;
	int fd;
};

/* Ranges that are being written out, the oldest at @first. */
struct e4l_behind {
	struct e4l_resident v[E4L_BEHIND];
	size_t first, n, pages;
};

/* Notes it for @len bytes from @at on, which is rounded down to a page. */
void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r);

/* Reads ahead, page by page, what of it is not in memory. */
void e4l_resident_read(const struct e4l_resident *r);

/*
 * Has the range written out and, once it is, what was not in memory before
 * dropped; of what waits in @b, as much is finished that it stays short.  Takes
 * @r; its file may be closed.
 */
void e4l_resident_restore(struct e4l_behind *b, struct e4l_resident *r);

/* Finishes all of it. */
void e4l_behind_finish(struct e4l_behind *b);

#endif
