/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of bytes for libarchive: a file, or the unpacked data of another
 * stream.  The last two blocks can be read again: libarchive reads beyond the
 * end of an archive, where another archive may begin.
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
	int fd;				/* the input; -1: use @read */
	/* returns the next bytes of the input, or 0 at the end of the input */
	ssize_t (*read)(void *priv, const void **buf);
	void *priv;
	/* bytes that @read returned and that have not been used */
	const char *given;
	size_t n_given;
	/*
	 * limit of unpacked bytes; if 0, an implausibly large size is refused
	 */
	uint64_t max_bytes;
	/* the input can be endless, so that the number of zeroes is limited */
	bool endless;
	/*
	 * @raw (libarchive) or @gzip (zlib) unpacks @below; if both are NULL,
	 * the stream is not compressed
	 */
	struct archive *raw;
	bool raw_empty;			/* the unpacked data are empty */
	z_stream *gzip;
	bool gzip_ended;		/* the current gzip member has ended */
	/* the compressed stream; NULL: this stream is the input itself */
	struct stream *below;
	/* offset of the compressed data in @below */
	uint64_t first;
	char *block[2];			/* the last two blocks that were read */
	size_t len[2];
	uint64_t begin;			/* offset of block[0] in the stream */
	uint64_t at;			/* offset of the next byte */
	uint64_t unpacked;		/* unpacked bytes so far */
	int err;			/* errno; 0: no error */
	char why[160];			/* text of the error */
};

/*
 * Reads @fd, which is borrowed, from its current position.  If the caller sets
 * s->read after this call, s->read is used instead of @fd.  If memory runs out,
 * returns false.
 */
bool stream_open(struct stream *s, int fd);

/*
 * Opens @s to unpack @below from the next byte of @below on.  If the data are
 * compressed, sets *@packed to true.  Otherwise, sets *@packed to false, closes
 * @s, and leaves the position of @below unchanged.  Returns false after an
 * error, which is recorded in @below.
 */
bool stream_unpack(struct stream *s, struct stream *below, bool *packed);

/*
 * Closes @s.  The next byte of s->below is then the byte after the compressed
 * data.
 */
void stream_close(struct stream *s);

/*
 * For archive_read_open(): reads the stream @priv.  An error is also recorded
 * in the stream.
 */
la_ssize_t stream_read(struct archive *a, void *priv, const void **buf);

/*
 * Sets the position to byte @at, which must be in the last two blocks that were
 * read.  Returns false after an error, which is recorded in @s.
 */
bool stream_seek(struct stream *s, uint64_t at);

/*
 * Copies up to @len of the next bytes to @buf without consuming them.  Returns
 * the number of copied bytes.
 */
size_t stream_peek(struct stream *s, void *buf, size_t len);

/*
 * Copies @len bytes from byte @at on to @buf.  If the bytes are not in the last
 * two blocks that were read, returns false.
 */
bool stream_recall(const struct stream *s, uint64_t at, void *buf, size_t len);

/*
 * Skips zeroes, in units of @unit bytes.  Returns true if more data follow, and
 * false at the end or after an error.
 */
bool stream_skip_zeroes(struct stream *s, size_t unit);

#endif
