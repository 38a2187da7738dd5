/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "resident.h"

#ifndef MADV_POPULATE_READ
/* since Linux 5.14; some C libraries do not define it */
#define MADV_POPULATE_READ	22
#endif

/*
 * Bytes per call of posix_fadvise().  For a longer range, the kernel reads no
 * more bytes than the read-ahead of the device, which is 128 KiB by default.
 */
#define AT_ONCE	(128u << 10)

static size_t bytes_of(const struct e4l_resident *r)
{
	return r->n * sysconf(_SC_PAGESIZE);
}

static bool map(struct e4l_resident *r)
{
	if (!r->map)
		r->map = mmap(NULL, bytes_of(r), PROT_READ, MAP_SHARED, r->fd,
			      r->at);
	if (r->map == MAP_FAILED)
		r->map = NULL;
	return r->map;
}

void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r)
{
	size_t page = sysconf(_SC_PAGESIZE), n;

	len += at % page;
	at -= at % page;
	n = (len + page - 1) / page;
	*r = (struct e4l_resident) {
		.page = calloc(n, 1), .n = n, .at = at, .fd = fd,
	};
	if (!r->page || !map(r) || mincore(r->map, len, r->page)) {
		free(r->page);
		r->page = NULL;
	}
}

static void read_ahead(const struct e4l_resident *r, size_t from, size_t end)
{
	size_t page = sysconf(_SC_PAGESIZE), n;

	for (; from < end; from += n) {
		n = end - from < AT_ONCE / page ? end - from : AT_ONCE / page;
		posix_fadvise(r->fd, r->at + from * page, n * page,
			      POSIX_FADV_WILLNEED);
	}
}

static void drop(const struct e4l_resident *r, size_t from, size_t end)
{
	size_t page = sysconf(_SC_PAGESIZE);

	posix_fadvise(r->fd, r->at + from * page, (end - from) * page,
		      POSIX_FADV_DONTNEED);
}

/*
 * Calls @f for each range of pages that were not in memory when
 * e4l_resident_note() was called.
 */
static void each_absent(const struct e4l_resident *r,
			void (*f)(const struct e4l_resident *r, size_t from,
				  size_t end))
{
	size_t i = 0, from;

	while (r->page && i < r->n) {
		for (; i < r->n && r->page[i] & 1; i++)
			;
		for (from = i; i < r->n && !(r->page[i] & 1); i++)
			;
		if (i > from)
			f(r, from, i);
	}
}

static int read_each(const struct e4l_resident *r)
{
	size_t page = sysconf(_SC_PAGESIZE), i;
	char byte;

	/*
	 * Disable read-ahead, because read-ahead creates large folios in the
	 * page cache.  The kernel cannot move the blocks of large folios.
	 */
	posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM);
	for (i = 0; i < r->n; i++)
		if (pread(r->fd, &byte, 1, r->at + i * page) < 0)
			return errno;
	return 0;
}

int e4l_resident_read(struct e4l_resident *r)
{
	each_absent(r, read_ahead);
	/*
	 * MADV_RANDOM prevents page faults from creating large folios.  The
	 * kernel cannot move the blocks of large folios.
	 */
	if (map(r) && !madvise(r->map, bytes_of(r), MADV_RANDOM) &&
	    !madvise(r->map, bytes_of(r), MADV_POPULATE_READ))
		return 0;
	return read_each(r);
}

bool e4l_resident_hold(struct e4l_resident *r)
{
	/*
	 * syscall() is used because sanitizers replace mlock() by an empty
	 * function
	 */
	return map(r) && !syscall(SYS_mlock, r->map, bytes_of(r));
}

void e4l_resident_let_go(struct e4l_resident *r)
{
	if (r->map)
		munmap(r->map, bytes_of(r));
	r->map = NULL;
}

bool e4l_resident_held(const struct e4l_resident *r, unsigned char *page)
{
	return r->map && !mincore(r->map, bytes_of(r), page);
}

void e4l_resident_free(struct e4l_resident *r)
{
	e4l_resident_let_go(r);
	free(r->page);
	r->page = NULL;
}

void e4l_resident_restore(struct e4l_resident *r)
{
	e4l_resident_let_go(r);
	each_absent(r, drop);
	e4l_resident_free(r);
}
