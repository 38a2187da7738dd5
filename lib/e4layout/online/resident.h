/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resident: leaves the page cache as it was. */
#ifndef E4L_RESIDENT_H
#define E4L_RESIDENT_H

#include <stddef.h>
#include <sys/types.h>

/* Which pages of a range are in memory. */
struct e4l_resident {
	unsigned char *page;	/* NULL: not known, so all stay */
	size_t n;
	off_t at;
};

/* Notes it for @len bytes from @at on, which is rounded down to a page. */
void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r);

/* Reads ahead, page by page, what of it is not in memory. */
void e4l_resident_read(int fd, const struct e4l_resident *r);

/* Writes the range out and drops what was not in memory before; frees @r. */
void e4l_resident_restore(int fd, struct e4l_resident *r);

#endif
