/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: the file FAIL_IO_FILE has a bad range of FAIL_IO_BYTES bytes
 * at FAIL_IO_AT.  Reads that touch the range fail with EIO; with FAIL_IO_WRITE,
 * writes fail instead.  With FAIL_IO_DISCARD, which is an errno, punching holes
 * into the file or discarding the device fails.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
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

/*
 * Whether a read or, if @writes is true, a write of @len bytes must fail.  If
 * @at is negative, the request is at the current file position.
 */
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

static bool discards(int fd)
{
	errno = number("FAIL_IO_DISCARD");
	return errno && is_the_file(fd);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return request == BLKDISCARD && discards(fd) ? -1 :
	       syscall(SYS_ioctl, fd, request, arg);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
	return discards(fd) ? -1 : syscall(SYS_fallocate, fd, mode, at, len);
}

/* with __USE_FILE_OFFSET64, fallocate64() and fallocate() are one function */
#ifndef __USE_FILE_OFFSET64
int fallocate64(int fd, int mode, off64_t at, off64_t len)
{
	return fallocate(fd, mode, at, len);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
	return pread(fd, buf, len, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	return pwrite(fd, buf, len, at);
}
#endif
