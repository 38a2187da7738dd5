/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores the contents of archives in an unlinked file. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "e4layout/base/full_io.h"
#include "mke4fs_source.h"
#include "support/say.h"

#define HOLE_BYTES (32u << 10)	/* size and alignment of holes */

static const char zeroes[HOLE_BYTES];

/*
 * Creates an unlinked file in the directory of the image, and returns its
 * descriptor.  If the target is a device, or if the directory of the image
 * permits no new file, uses the directory $TMPDIR or /tmp.  On failure, returns
 * -1 with errno set.
 */
static int make_file(const char *device)
{
	const char *slash = strrchr(device, '/'), *tmp = getenv("TMPDIR");
	char *dir;
	int fd = -1;

	if (strncmp(device, "/dev/", 5)) {
		dir = slash ? strndup(device, slash - device + 1) : strdup(".");
		if (dir)
			fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		free(dir);
	}
	return fd >= 0 ? fd : open(tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR |
				   O_CLOEXEC, 0600);
}

bool spool_open(const struct load *l)
{
	if (l->spool->fd < 0)
		l->spool->fd = make_file(l->c->device);
	if (l->spool->fd >= 0)
		return true;
	say("cannot create a temporary file: %s: set TMPDIR to another "
	    "directory", say_why(errno));
	return false;
}

/*
 * Allocates space for one more stretch.  Returns false after printing an error.
 */
static bool grow_stretches(const struct load *l)
{
	struct spool *s = l->spool;

	return !e4l_grow(&s->stretches, s->n_stretches, sizeof(*s->stretches)) ||
	       complain(l, "out of memory");
}

bool spool_begin(const struct load *l)
{
	struct spool *s = l->spool;

	s->n_stretches = 0;
	s->taken_end = s->zero_end = 0;
	/* The array must not be NULL, even if the file consists of one hole. */
	return grow_stretches(l);
}

static bool add_stretch(const struct load *l, uint64_t offset, uint64_t bytes)
{
	struct spool *s = l->spool;
	struct e4l_stretch *last;

	if (s->n_stretches) {
		last = &s->stretches[s->n_stretches - 1];
		if (last->offset + last->bytes == offset) {
			last->bytes += bytes;
			return true;
		}
	}
	if (!grow_stretches(l))
		return false;
	s->stretches[s->n_stretches++] = (struct e4l_stretch) {
		.offset = offset, .bytes = bytes, .pos = s->end,
	};
	return true;
}

bool spool_append(struct spool *s, const char *buf, size_t len)
{
	errcode_t err = e4l_write_full(s->fd, buf, len, s->end);

	if (err) {
		say_error("the temporary file", "cannot write", err);
		return false;
	}
	s->end += len;
	return true;
}

static bool put_stretch(const struct load *l, const char *buf, size_t len,
			uint64_t offset)
{
	return !len || (add_stretch(l, offset, len) &&
			spool_append(l->spool, buf, len));
}

/* Removes the last @bytes of the last stretch. */
static void drop_data(struct spool *s, uint64_t bytes)
{
	if (!bytes)
		return;
	s->stretches[s->n_stretches - 1].bytes -= bytes;
	s->n_stretches -= !s->stretches[s->n_stretches - 1].bytes;
	s->end -= bytes;
}

/*
 * Handles @len bytes at @offset, which are in one aligned block of HOLE_BYTES.
 * If the bytes complete the block, and the block has only zeroes, removes the
 * stored bytes of the block and returns true.
 */
static bool ends_hole(struct spool *s, const char *buf, size_t len,
		      uint64_t offset)
{
	size_t before = offset % HOLE_BYTES;

	if ((before && s->zero_end != offset) || memcmp(buf, zeroes, len))
		return false;
	s->zero_end = offset + len;
	if (before + len < HOLE_BYTES)
		return false;
	drop_data(s, before);
	return true;
}

bool spool_take(const struct load *l, const char *buf, size_t len,
		uint64_t offset)
{
	struct spool *s = l->spool;
	size_t from = 0, at, n;

	if (offset < s->taken_end)
		return complain(l, "data segments overlap");
	s->taken_end = offset + len;
	for (at = 0; at < len; at += n) {
		n = HOLE_BYTES - (offset + at) % HOLE_BYTES;
		if (n > len - at)
			n = len - at;
		if (!ends_hole(s, buf + at, n, offset + at))
			continue;
		if (!put_stretch(l, buf + from, at - from, offset + from))
			return false;
		from = at + n;
	}
	return put_stretch(l, buf + from, len - from, offset + from);
}

void spool_describe(const struct spool *s, uint64_t pos, struct e4l_entry *e)
{
	e->pos = pos;
	if (s->n_stretches != 1 || s->stretches->bytes != e->size) {
		e->stretches = s->stretches;
		e->n_stretches = s->n_stretches;
	}
}

void spool_free(struct spool *s)
{
	e4l_close_fd(s->fd);
	free(s->stretches);
}
