/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <unistd.h>
#include "full_io.h"

errcode_t e4l_read_full(int fd, void *buf, size_t len, uint64_t at,
			errcode_t at_end)
{
	char *p = buf;
	ssize_t got;

	for (; len; p += got, len -= got, at += got) {
		got = pread(fd, p, len, at);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return got ? errno : at_end;
	}
	return 0;
}

errcode_t e4l_write_full(int fd, const void *buf, size_t len, uint64_t at)
{
	const char *p = buf;
	ssize_t done;

	for (; len; p += done, len -= done, at += done) {
		done = pwrite(fd, p, len, at);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return done ? errno : EIO;
	}
	return 0;
}
