/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef E4L_FD_H
#define E4L_FD_H

#include <unistd.h>

/* Closes @fd, unless @fd is negative. */
static inline void e4l_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

#endif
