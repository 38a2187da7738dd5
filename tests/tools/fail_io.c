/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded: the file FAIL_IO_FILE has a bad place, FAIL_IO_BYTES long
 * and FAIL_IO_AT bytes into it.  What touches it fails with EIO: reading, or,
 * with FAIL_IO_WRITE, writing.
 */
#include "config.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t number(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : 0;
}

static bool is_the_file(int fd)
{
	const char *name = getenv("FAIL_IO_FILE");
	struct stat want, st;

	return name && !stat(name, &want) && !fstat(fd, &st) &&
	       st.st_ino == want.st_ino && st.st_dev == want.st_dev;
}

/* @at < 0: where the descriptor is. */
static bool fails(int fd, bool writes, size_t len, off_t at)
{
	uint64_t from = number("FAIL_IO_AT"), to;

	to = from + number("FAIL_IO_BYTES");
	if (writes != (getenv("FAIL_IO_WRITE") != NULL) || !is_the_file(fd))
		return false;
	if (at < 0)
		at = syscall(SYS_lseek, fd, 0, SEEK_CUR);
	if ((uint64_t)at >= to || (uint64_t)at + len <= from)
		return false;
	errno = EIO;
	return true;
}

ssize_t read(int fd, void *buf, size_t len)
{
	return fails(fd, false, len, -1) ? -1 :
	       syscall(SYS_read, fd, buf, len);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	return fails(fd, true, len, -1) ? -1 :
	       syscall(SYS_write, fd, buf, len);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	return fails(fd, false, len, at) ? -1 :
	       syscall(SYS_pread64, fd, buf, len, at);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return fails(fd, true, len, at) ? -1 :
	       syscall(SYS_pwrite64, fd, buf, len, at);
}

#ifndef __USE_FILE_OFFSET64	/* where they are the same */
ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
	return pread(fd, buf, len, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	return pwrite(fd, buf, len, at);
}
#endif
