/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: for each descriptor, the second sync_file_range() call that
 * waits for the writes returns EIO, although the data is written.  e4repack
 * waits once before and once after moving a file's data.  Before the first
 * failure, the shell command FAIL_RUN is run.  With FAIL_ONCE, only the first
 * failure occurs.  With FAIL_POPULATE, madvise(MADV_POPULATE_READ) fails
 * instead.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS 1024
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static unsigned int waited[FDS];
static unsigned int failures;

int close(int fd)
{
	if (fd >= 0 && fd < FDS)
		waited[fd] = 0;
	return syscall(SYS_close, fd);
}

static void run_once(void)
{
	const char *command = getenv("FAIL_RUN");

	unsetenv("LD_PRELOAD");
	unsetenv("FAIL_RUN");
	if (command && system(command))
		_exit(99);
}

int madvise(void *at, size_t len, int advice)
{
	if (advice != MADV_POPULATE_READ || !getenv("FAIL_POPULATE"))
		return syscall(SYS_madvise, at, len, advice);
	errno = EFAULT;
	return -1;
}

int sync_file_range(int fd, off64_t at, off64_t len, unsigned int flags)
{
	int ret = syscall(SYS_sync_file_range, fd, at, len, flags);

	if (!(flags & SYNC_FILE_RANGE_WAIT_AFTER) || fd >= FDS ||
	    getenv("FAIL_POPULATE") ||
	    ++waited[fd] != 2 || (failures && getenv("FAIL_ONCE")))
		return ret;
	failures++;
	run_once();
	errno = EIO;
	return -1;
}
