/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "file.h"
#include "resident.h"

#define BEHIND_BYTES	(16u << 20)

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

static void restore(struct e4l_resident *r)
{
	e4l_file_write_out(r->fd, r->at, r->n * sysconf(_SC_PAGESIZE));
	advise_absent(r, POSIX_FADV_DONTNEED);
	free(r->page);
	r->page = NULL;
}

static void finish_first(struct e4l_behind *b)
{
	struct e4l_resident *r = &b->v[b->first];

	restore(r);
	close(r->fd);
	b->pages -= r->n;
	b->first = (b->first + 1) % E4L_BEHIND;
	b->n--;
}

/* The same file, in a way that hinders nobody to execute it; -1: cannot be. */
static int open_again(int fd)
{
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void e4l_resident_restore(struct e4l_behind *b, struct e4l_resident *r)
{
	size_t page = sysconf(_SC_PAGESIZE), most = BEHIND_BYTES / page;
	int fd = open_again(r->fd);

	if (fd < 0) {
		restore(r);
		return;
	}
	r->fd = fd;
	sync_file_range(fd, r->at, r->n * page, SYNC_FILE_RANGE_WRITE);
	if (b->n == E4L_BEHIND)
		finish_first(b);
	b->v[(b->first + b->n++) % E4L_BEHIND] = *r;
	b->pages += r->n;
	while (b->pages > most)
		finish_first(b);
}

void e4l_behind_finish(struct e4l_behind *b)
{
	while (b->n)
		finish_first(b);
}
