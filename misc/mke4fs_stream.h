/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of bytes for libarchive: a file, or what another stream unpacks to.
 * The last bytes can be read again, since libarchive reads on behind the end of
 * an archive, where another one may begin.
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
	/* or unless it is unpacked: */
	struct archive *raw;		/* or: */
	bool raw_empty;			/* unpacked, it has no bytes */
	z_stream *gzip;			/* both NULL: not compressed */
	bool gzip_ended;		/* the current gzip member has ended */
	struct stream *below;		/* the compressed stream */
	uint64_t first;			/* byte of it */
	char *block[2];			/* the last two blocks that were read */
	size_t len[2];
	uint64_t begin;			/* offset of block[0] in the stream */
	uint64_t at;			/* offset of the next byte */
	uint64_t unpacked;		/* unpacked bytes so far */
	int err;			/* errno; 0: no error */
	char why[160];			/* text of the error */
};

/*
 * Reads @fd, which is borrowed, from where it is; or what s->read gives, if that
 * is set before anything is read.  False: out of memory.
 */
bool stream_open(struct stream *s, int fd);

/*
 * Unpacks @below from its next byte on, which it moves.  *@packed: something is
 * packed there; otherwise nothing has moved, and @s is closed.  False: @below
 * has an error.
 */
bool stream_unpack(struct stream *s, struct stream *below, bool *packed);

/* Closes @s.  What it unpacked continues behind what was packed. */
void stream_close(struct stream *s);

/*
 * For archive_read_open(): reads @priv, a stream.  An error is that of the
 * stream as well.
 */
la_ssize_t stream_read(struct archive *a, void *priv, const void **buf);

/* Sets the next byte to hand out, among the last ones.  False: an error. */
bool stream_seek(struct stream *s, uint64_t at);

/* Moves forward; less far at the end of the stream.  False: an error. */
bool stream_skip(struct stream *s, uint64_t bytes);

/* Copies up to @len of the next bytes, and stays before them; how many. */
size_t stream_peek(struct stream *s, void *buf, size_t len);

/*
 * Skips zeroes, @unit of them at a time.  Whether the stream goes on then: not
 * at its end, nor after an error.
 */
bool stream_skip_zeroes(struct stream *s, size_t unit);

#endif
