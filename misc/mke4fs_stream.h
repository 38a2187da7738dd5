/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of bytes for libarchive: a file, or the unpacked data of another
 * stream.  The last bytes can be read again, because libarchive reads beyond
 * the end of an archive, where another archive may begin.
 */
#ifndef MKE4FS_STREAM_H
#define MKE4FS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <archive.h>
#define ZLIB_CONST
#include <zlib.h>

struct stream {
	int fd;				/* -1: use @read */
	ssize_t (*read)(void *priv, const void **buf);	/* 0: the end */
	void *priv;
	/* bytes from @read that have not been used */
	const char *given;
	size_t n_given;
	/* limit of unpacked bytes; 0: a plausible size */
	uint64_t max_bytes;
	/* the input can be endless, so that zeroes are limited */
	bool endless;
	/* libarchive or zlib unpacks @below; both NULL: not compressed */
	struct archive *raw;
	bool raw_empty;			/* the unpacked data are empty */
	z_stream *gzip;
	bool gzip_ended;		/* the current gzip member has ended */
	struct stream *below;		/* the compressed stream */
	uint64_t first;			/* offset of the compressed data */
	char *block[2];			/* the last two blocks that were read */
	size_t len[2];
	uint64_t begin;			/* offset of block[0] in the stream */
	uint64_t at;			/* offset of the next byte */
	uint64_t unpacked;		/* unpacked bytes so far */
	int err;			/* errno; 0: no error */
	char why[160];			/* text of the error */
};

/*
 * Reads @fd, which is borrowed, from its current position; or uses s->read, if
 * set before anything is read.  False: no memory.
 */
bool stream_open(struct stream *s, int fd);

/*
 * Unpacks @below from its next byte on, and moves @below.  *@packed: the data
 * are compressed; otherwise @below has not moved, and @s is closed.  False:
 * @below has an error.
 */
bool stream_unpack(struct stream *s, struct stream *below, bool *packed);

/* Closes @s.  The stream below continues after the compressed data. */
void stream_close(struct stream *s);

/*
 * For archive_read_open(): reads @priv, a stream.  An error is also recorded in
 * the stream.
 */
la_ssize_t stream_read(struct archive *a, void *priv, const void **buf);

/*
 * Moves to byte @at, which must be in the last two blocks that were read.
 * False: an error.
 */
bool stream_seek(struct stream *s, uint64_t at);

/*
 * Copies up to @len of the next bytes without consuming them; returns their
 * number.
 */
size_t stream_peek(struct stream *s, void *buf, size_t len);

/*
 * Copies @len bytes from byte @at on, which precede the next byte.  False: the
 * bytes are not among the last ones.
 */
bool stream_recall(const struct stream *s, uint64_t at, void *buf, size_t len);

/*
 * Skips zeroes, in units of @unit.  Returns whether more data follow; false
 * also after an error.
 */
bool stream_skip_zeroes(struct stream *s, size_t unit);

#endif
