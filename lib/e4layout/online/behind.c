/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "behind.h"
#include "file.h"
#include "move_ext.h"

#define BEHIND_BYTES	(16u << 20)

static int open_again(int fd, int flags)
{
	char name[40];
	int again;

	flags |= O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	again = open(name, flags | O_NOATIME);
	return again < 0 && errno == EPERM ? open(name, flags) : again;
}

int e4l_behind_open(int fd)
{
	int again = open_again(fd, O_RDONLY);

	return again >= 0 ? again : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static off_t length_of(const struct e4l_moved *m)
{
	return m->pages.n * sysconf(_SC_PAGESIZE);
}

static int write_out(const struct e4l_moved *m)
{
	return e4l_file_write_out(m->pages.fd, m->pages.at, length_of(m));
}

/*
 * The kernel copies what is in memory, which nothing else has: it must not be
 * dropped before.
 */
static bool swap_back(int fd, const struct e4l_moved *m)
{
	struct move_extent x = {
		.donor_fd = m->donor_fd, .orig_start = m->lblk,
		.donor_start = m->donor_lblk,
	};
	uint64_t end = m->lblk + m->len;
	int tries = 0;

	while (x.orig_start < end && e4l_resident_held(&m->pages)) {
		x.len = end - x.orig_start;
		x.moved_len = 0;
		if (ioctl(fd, EXT4_IOC_MOVE_EXT, &x) && !x.moved_len) {
			if (errno != EBUSY || ++tries > MOVE_TRIES)
				break;
			write_out(m);
		}
		x.orig_start += x.moved_len;
		x.donor_start += x.moved_len;
	}
	return x.orig_start >= end;
}

static void put_back(struct e4l_behind *b, const struct e4l_moved *m)
{
	int fd = open_again(m->pages.fd, O_RDWR);
	struct stat st = { 0 };
	bool done;

	fstat(m->pages.fd, &st);
	done = swap_back(fd >= 0 ? fd : m->pages.fd, m);
	if (fd >= 0)
		close(fd);
	/* the old blocks still have what nobody has written since */
	if (done)
		write_out(m);
	b->failed(st.st_ino, done, b->priv);
}

static void finish(struct e4l_behind *b, struct e4l_moved *m)
{
	if (write_out(m) && m->len)
		put_back(b, m);
	e4l_resident_restore(&m->pages);
	close(m->pages.fd);
}

static void finish_first(struct e4l_behind *b)
{
	struct e4l_moved m = b->v[b->first];

	b->pages -= m.pages.n;
	b->first = (b->first + 1) % E4L_BEHIND;
	b->n--;
	finish(b, &m);
}

void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m)
{
	size_t most = BEHIND_BYTES / sysconf(_SC_PAGESIZE);

	e4l_resident_hold(&m->pages);
	sync_file_range(m->pages.fd, m->pages.at, length_of(m),
			SYNC_FILE_RANGE_WRITE);
	if (b->n == E4L_BEHIND)
		finish_first(b);
	b->v[(b->first + b->n++) % E4L_BEHIND] = *m;
	b->pages += m->pages.n;
	while (b->pages > most)
		finish_first(b);
}

void e4l_behind_finish(struct e4l_behind *b)
{
	while (b->n)
		finish_first(b);
}
