/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include "move_ext.h"

/*
 * Calls EXT4_IOC_MOVE_EXT once.  The kernel may swap only the first blocks of
 * the range.
 */
static int swap_some(int fd, struct move_extent *m)
{
	int err;

	m->moved_len = 0;
	err = ioctl(fd, EXT4_IOC_MOVE_EXT, m) ? errno : 0;
	if (m->moved_len > m->len)
		m->moved_len = m->len;
	m->orig_start += m->moved_len;
	m->donor_start += m->moved_len;
	m->len -= m->moved_len;
	if (m->moved_len)
		return 0;
	return err ? err : ENODATA;
}

int e4l_move_ext(int fd, struct move_extent *m,
		 int (*unpin)(const struct move_extent *left, void *priv),
		 void *priv)
{
	int err = 0;

	while (m->len && !err) {
		err = swap_some(fd, m);
		if (err == EBUSY)
			err = unpin(m, priv);
	}
	return err;
}
