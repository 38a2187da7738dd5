/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "file.h"
#include "resident.h"

void e4l_resident_note(int fd, off_t at, size_t len, struct e4l_resident *r)
{
	size_t page = sysconf(_SC_PAGESIZE), n;
	void *map;

	len += at % page;
	at -= at % page;
	n = (len + page - 1) / page;
	*r = (struct e4l_resident) { .page = calloc(n, 1), .n = n, .at = at };
	map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, at);
	if (!r->page || map == MAP_FAILED || mincore(map, len, r->page)) {
		free(r->page);
		r->page = NULL;
	}
	if (map != MAP_FAILED)
		munmap(map, len);
}

static void advise_absent(int fd, const struct e4l_resident *r, int advice)
{
	size_t page = sysconf(_SC_PAGESIZE), i = 0, from;

	while (r->page && i < r->n) {
		for (; i < r->n && r->page[i] & 1; i++)
			;
		for (from = i; i < r->n && !(r->page[i] & 1); i++)
			;
		if (i > from)
			posix_fadvise(fd, r->at + from * page,
				      (i - from) * page, advice);
	}
}

void e4l_resident_read(int fd, const struct e4l_resident *r)
{
	advise_absent(fd, r, POSIX_FADV_WILLNEED);
}

void e4l_resident_restore(int fd, struct e4l_resident *r)
{
	e4l_file_write_out(fd, r->at, r->n * sysconf(_SC_PAGESIZE));
	advise_absent(fd, r, POSIX_FADV_DONTNEED);
	free(r->page);
	*r = (struct e4l_resident) { 0 };
}
