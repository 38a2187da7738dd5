/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: allocation number FAIL_MALLOC of the process, from 1, fails.
 * With FAIL_MALLOC_ON, all later allocations also fail.  If FAIL_MALLOC_COUNT
 * is the name of a file, the number of allocations is written to the file.
 * Child processes are not affected.  Exit status 98: libext2fs has called
 * abort().
 */
#include "config.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static atomic_ulong count;
static unsigned long fails_at;
static bool stays;

__attribute__((constructor)) static void start(void)
{
	const char *at = getenv("FAIL_MALLOC");

	count = 0;
	stays = getenv("FAIL_MALLOC_ON") != NULL;
	fails_at = at ? strtoul(at, NULL, 10) : 0;
	unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
	const char *name = getenv("FAIL_MALLOC_COUNT");
	char text[32];
	int fd, n;

	if (!name)
		return;
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	n = snprintf(text, sizeof(text), "%lu\n", count);
	if (fd < 0 || write(fd, text, n) != n)
		_exit(99);
	close(fd);
}

/*
 * Whether the caller is in a function that crashes in libext2fs 1.47.0 if an
 * allocation fails.
 */
static bool would_crash(void *caller)
{
	static const char *const names[] = {
		"ext2fs_extent_open2", "ext2fs_create_inode_cache",
	};
	Dl_info info;
	size_t i;

	if (!dladdr(caller, &info) || !info.dli_sname)
		return false;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(info.dli_sname, names[i]))
			return true;
	return false;
}

static bool fails(void *caller)
{
	unsigned long n = atomic_fetch_add(&count, 1) + 1;

	if (!fails_at || (stays ? n < fails_at : n != fails_at) ||
	    would_crash(caller))
		return false;
	errno = ENOMEM;
	return true;
}

/*
 * Ends the process with the status 98 if libext2fs calls abort().  The
 * red-black trees of libext2fs call abort() if an allocation fails.
 */
void abort(void)
{
	Dl_info info;

	if (dladdr(__builtin_return_address(0), &info) && info.dli_fname &&
	    strstr(info.dli_fname, "libext2fs"))
		_exit(98);
	_exit(134);
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
	void *p = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}
