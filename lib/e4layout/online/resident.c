/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "resident.h"

void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r)
{
	size_t page = sysconf(_SC_PAGESIZE), n;
	void *map;

	len += at % page;
	at -= at % page;
	n = (len + page - 1) / page;
	*r = (struct e4l_resident) {
		.page = calloc(n, 1), .n = n, .at = at, .fd = fd,
	};
	map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, at);
	if (!r->page || map == MAP_FAILED || mincore(map, len, r->page)) {
		free(r->page);
		r->page = NULL;
	}
	if (map != MAP_FAILED)
		munmap(map, len);
}

static void advise_absent(const struct e4l_resident *r, int advice)
{
	size_t page = sysconf(_SC_PAGESIZE), i = 0, from;

	while (r->page && i < r->n) {
		for (; i < r->n && r->page[i] & 1; i++)
			;
		for (from = i; i < r->n && !(r->page[i] & 1); i++)
			;
		if (i > from)
			posix_fadvise(r->fd, r->at + from * page,
				      (i - from) * page, advice);
	}
}

void e4l_resident_read(const struct e4l_resident *r)
{
	advise_absent(r, POSIX_FADV_WILLNEED);
}

void e4l_resident_hold(struct e4l_resident *r)
{
	size_t len = r->n * sysconf(_SC_PAGESIZE);

	r->map = mmap(NULL, len, PROT_READ, MAP_SHARED, r->fd, r->at);
	if (r->map == MAP_FAILED)
		r->map = NULL;
	else
		mlock(r->map, len);
}

bool e4l_resident_held(const struct e4l_resident *r)
{
	size_t len = r->n * sysconf(_SC_PAGESIZE), i = 0;
	unsigned char *page = malloc(r->n);

	if (page && r->map && !mincore(r->map, len, page))
		while (i < r->n && page[i] & 1)
			i++;
	free(page);
	return i == r->n;
}

void e4l_resident_restore(struct e4l_resident *r)
{
	if (r->map)
		munmap(r->map, r->n * sysconf(_SC_PAGESIZE));
	advise_absent(r, POSIX_FADV_DONTNEED);
	free(r->page);
	r->map = r->page = NULL;
}
