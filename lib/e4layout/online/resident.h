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

/* Reads ahead, page by page, what of it is not in memory. */
void e4l_resident_read(const struct e4l_resident *r);

/* Keeps in memory what is, as far as the process may. */
void e4l_resident_hold(struct e4l_resident *r);

/* Whether all of it still is, without having been read again. */
bool e4l_resident_held(const struct e4l_resident *r);

/* Lets go, of what was not in memory before also there; frees @r. */
void e4l_resident_restore(struct e4l_resident *r);

#endif
