/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mke4fs_stream.h"

#define BLOCK_BYTES (1u << 20)

/*
 * Limits of unpacked data without --max-size: FREE_BYTES, plus the size of the
 * packed data multiplied by a ratio.  ONCE_RATIO, for data that were packed
 * once, is larger than any compression method reaches.  TWICE_RATIO, for data
 * that were packed several times, is smaller than repeated compression reaches,
 * but larger than any single method reaches, except bzip2 for zeroes.
 */
#define FREE_BYTES (1ULL << 30)
#define ONCE_RATIO (1u << 21)
#define TWICE_RATIO (1u << 16)

static la_ssize_t fail(struct stream *s, int err, const char *why)
{
	s->err = err ? err : EIO;
	snprintf(s->why, sizeof(s->why), "%s", why);
	return ARCHIVE_FATAL;
}

bool stream_open(struct stream *s, int fd)
{
	*s = (struct stream) { .fd = fd };
	s->block[0] = malloc(BLOCK_BYTES);
	s->block[1] = malloc(BLOCK_BYTES);
	if (s->block[0] && s->block[1])
		return true;
	stream_close(s);
	return false;
}

static bool is_packed_twice(const struct stream *s)
{
	return s->below->below || (s->raw &&
		archive_filter_code(s->raw, 0) > 0 &&
		archive_filter_code(s->raw, 1) > 0);
}

/*
 * Returns the number of bytes of the file from which the data of @s were
 * unpacked.
 */
static uint64_t packed_bytes(const struct stream *s)
{
	if (s->raw && !s->below->below)
		return archive_filter_bytes(s->raw, -1);
	while (s->below)
		s = s->below;
	return s->at;
}

static bool is_bomb(struct stream *s)
{
	uint64_t read = packed_bytes(s) + 1;
	unsigned int ratio = is_packed_twice(s) ? TWICE_RATIO : ONCE_RATIO;

	/*
	 * With --max-size, the limit is four blocks higher, because this stream
	 * reads ahead.  The caller checks the exact limit.
	 */
	if (s->max_bytes ?
	    s->unpacked / 2 <= s->max_bytes / 2 + 2 * BLOCK_BYTES :
	    s->unpacked <= FREE_BYTES ||
	    (s->unpacked - FREE_BYTES) / ratio <= read)
		return false;
	fail(s, EFBIG, s->max_bytes ?
	     "the unpacked size exceeds --max-size" :
	     "the unpacked size is implausibly large (--max-size=SIZE allows "
	     "it)");
	return true;
}

static la_ssize_t read_file(struct stream *s, char *buf)
{
	size_t len = 0;
	ssize_t got = 1;

	while (len < BLOCK_BYTES && got) {
		got = read(s->fd, buf + len, BLOCK_BYTES - len);
		if (got < 0 && errno != EINTR)
			return fail(s, errno, strerror(errno));
		len += got > 0 ? got : 0;
	}
	return len;
}

/*
 * Copies the data that s->read returns, because the data are valid only until
 * the next call.
 */
static la_ssize_t read_given(struct stream *s, char *buf)
{
	size_t len = 0, n;
	const void *given;
	ssize_t got;

	while (len < BLOCK_BYTES) {
		if (!s->n_given) {
			got = s->read(s->priv, &given);
			if (got < 0)
				return fail(s, EIO, "cannot read");
			if (!got)
				break;
			s->given = given;
			s->n_given = got;
		}
		n = s->n_given < BLOCK_BYTES - len ? s->n_given :
						     BLOCK_BYTES - len;
		memcpy(buf + len, s->given, n);
		len += n;
		s->given += n;
		s->n_given -= n;
	}
	return len;
}

static la_ssize_t read_packed(struct stream *s, char *buf)
{
	la_ssize_t got = s->raw_empty ? 0 :
			 archive_read_data(s->raw, buf, BLOCK_BYTES);
	const char *why = got < 0 ? archive_error_string(s->raw) : NULL;

	if (got < 0)
		return fail(s, archive_errno(s->raw), why ? why :
			    "cannot unpack");
	s->unpacked += got;
	return is_bomb(s) ? ARCHIVE_FATAL : got;
}

static la_ssize_t look(struct stream *s, const char **buf);

static bool is_gzip(struct stream *s)
{
	unsigned char h[3];

	return stream_peek(s, h, sizeof(h)) == sizeof(h) &&
	       h[0] == 0x1f && h[1] == 0x8b && h[2] == Z_DEFLATED;
}

/*
 * Unpacks the next bytes of s->below.  Returns 1 if more data can follow, 0 at
 * the end, and a negative number after an error.
 */
static la_ssize_t inflate_some(struct stream *s)
{
	z_stream *z = s->gzip;
	struct stream *below = s->below;
	const char *in = NULL;
	la_ssize_t got;
	int ret;

	if (s->gzip_ended && !is_gzip(below))
		return below->err ? fail(s, below->err, below->why) : 0;
	if (s->gzip_ended)
		inflateReset(z);
	got = look(below, &in);
	if (got <= 0)
		return got ? fail(s, below->err, below->why) :
			     fail(s, EIO, "truncated gzip data");
	z->next_in = (const Bytef *)in;
	z->avail_in = got;
	ret = inflate(z, Z_NO_FLUSH);
	below->at += got - z->avail_in;
	s->gzip_ended = ret == Z_STREAM_END;
	if (ret == Z_MEM_ERROR)
		return fail(s, ENOMEM, "out of memory");
	if (ret == Z_OK || ret == Z_STREAM_END)
		return 1;
	fail(s, EIO, "");
	snprintf(s->why, sizeof(s->why), "damaged gzip data: %s",
		 z->msg ? z->msg : "cannot unpack");
	return ARCHIVE_FATAL;
}

/* Unpacks one block. All members of a gzip file form one stream. */
static la_ssize_t read_gzip(struct stream *s, char *buf)
{
	z_stream *z = s->gzip;
	la_ssize_t got = 1;

	z->next_out = (Bytef *)buf;
	z->avail_out = BLOCK_BYTES;
	while (got > 0 && z->avail_out)
		got = inflate_some(s);
	if (got < 0)
		return got;
	got = BLOCK_BYTES - (la_ssize_t)z->avail_out;
	s->unpacked += got;
	return is_bomb(s) ? ARCHIVE_FATAL : got;
}

/* Reads the next block into the buffer of the older of the two blocks. */
static la_ssize_t read_block(struct stream *s)
{
	char *oldest = s->block[0];
	la_ssize_t got;

	if (s->err)
		return ARCHIVE_FATAL;
	got = s->raw ? read_packed(s, oldest) :
	      s->gzip ? read_gzip(s, oldest) :
	      s->read ? read_given(s, oldest) : read_file(s, oldest);
	if (got <= 0)
		return got;
	s->begin += s->len[0];
	s->block[0] = s->block[1];
	s->len[0] = s->len[1];
	s->block[1] = oldest;
	s->len[1] = got;
	return got;
}

/*
 * Sets *@buf to the next bytes without consuming them, and returns their
 * number; 0 means the end.
 */
static la_ssize_t look(struct stream *s, const char **buf)
{
	uint64_t off = s->at - s->begin;
	la_ssize_t got;

	if (off >= s->len[0] + s->len[1]) {
		got = read_block(s);
		if (got <= 0)
			return got;
		off = s->at - s->begin;
	}
	if (off < s->len[0]) {
		*buf = s->block[0] + off;
		return s->len[0] - off;
	}
	*buf = s->block[1] + (off - s->len[0]);
	return s->len[1] - (off - s->len[0]);
}

la_ssize_t stream_read(struct archive *a, void *priv, const void **buf)
{
	struct stream *s = priv;
	const char *at = NULL;
	la_ssize_t got = look(s, &at);

	if (got < 0) {
		archive_set_error(a, s->err, "%s", s->why);
		return got;
	}
	*buf = at;
	s->at += got;
	return got;
}

bool stream_seek(struct stream *s, uint64_t at)
{
	if (s->err)
		return false;
	if (at < s->begin || at > s->begin + s->len[0] + s->len[1]) {
		fail(s, EIO, "cannot find the end of the archive");
		return false;
	}
	s->at = at;
	return true;
}

size_t stream_peek(struct stream *s, void *buf, size_t len)
{
	const uint64_t first = s->at;
	const char *from;
	size_t done = 0, n;
	la_ssize_t got;

	while (done < len && (got = look(s, &from)) > 0) {
		n = (size_t)got < len - done ? (size_t)got : len - done;
		memcpy((char *)buf + done, from, n);
		done += n;
		s->at += n;
	}
	s->at = first;
	return done;
}

bool stream_recall(const struct stream *s, uint64_t at, void *buf, size_t len)
{
	const uint64_t all = s->len[0] + s->len[1], off = at - s->begin;
	size_t n = 0;

	if (at < s->begin || off > all || len > all - off)
		return false;
	if (off < s->len[0]) {
		n = len < s->len[0] - off ? len : s->len[0] - off;
		memcpy(buf, s->block[0] + off, n);
	}
	if (n < len)
		memcpy((char *)buf + n, s->block[1] + (off + n - s->len[0]),
		       len - n);
	return true;
}

/* Returns the number of zeroes at the start of the @len bytes. */
static size_t count_zeroes(const char *buf, size_t len)
{
	size_t n = 0;

	if (len && !*buf && !memcmp(buf, buf + 1, len - 1))
		return len;
	while (n < len && !buf[n])
		n++;
	return n;
}

static bool is_endless(struct stream *s, uint64_t zeroes)
{
	if (!s->endless ||
	    zeroes <= (s->max_bytes ? s->max_bytes : FREE_BYTES))
		return false;
	fail(s, EFBIG, "too many zero bytes (--max-size=SIZE allows more)");
	return true;
}

bool stream_skip_zeroes(struct stream *s, size_t unit)
{
	const uint64_t first = s->at;
	uint64_t zeroes = 0;
	const char *buf;
	la_ssize_t got;
	size_t n = 0;

	while ((got = look(s, &buf)) > 0) {
		n = count_zeroes(buf, got);
		zeroes += n;
		s->at += n;
		if (n < (size_t)got)
			break;
		if (is_endless(s, zeroes))
			return false;
	}
	if (got <= 0)
		return false;
	return stream_seek(s, first + zeroes / unit * unit);
}

/*
 * Unpacks gzip with zlib, because libarchive ignores the checksums of gzip and
 * would return damaged data.
 */
static bool unpack_gzip(struct stream *s)
{
	const int any_gzip = 15 + 16;

	s->gzip = calloc(1, sizeof(*s->gzip));
	if (s->gzip && inflateInit2(s->gzip, any_gzip) == Z_OK)
		return true;
	free(s->gzip);
	s->gzip = NULL;
	stream_close(s);
	fail(s->below, ENOMEM, "out of memory");
	return false;
}

static void support_filters(struct archive *a)
{
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_compress(a);
	archive_read_support_filter_grzip(a);
	archive_read_support_filter_lrzip(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_filter_lzip(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_lzop(a);
	archive_read_support_filter_rpm(a);
	archive_read_support_filter_uu(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
}

/* Opens @s->raw, and reads the header.  Returns a status of libarchive. */
static int open_raw(struct stream *s)
{
	struct archive_entry *entry;
	int got;

	s->raw = archive_read_new();
	if (!s->raw)
		return fail(s->below, ENOMEM, "out of memory");
	support_filters(s->raw);
	archive_read_support_format_raw(s->raw);
	archive_read_support_format_empty(s->raw);
	got = archive_read_open(s->raw, s->below, NULL, stream_read, NULL);
	return got == ARCHIVE_OK ? archive_read_next_header(s->raw, &entry) :
				   got;
}

/*
 * If s->below is compressed, begins to unpack s->below with libarchive, and
 * sets *@packed to true.  Returns false after an error.
 */
static bool unpack_raw(struct stream *s, bool *packed)
{
	struct stream *below = s->below;
	int got = open_raw(s);
	const char *why;

	if (!below->err && got < ARCHIVE_WARN) {
		why = archive_error_string(s->raw);
		fail(below, archive_errno(s->raw), why ? why :
		     "cannot unpack");
	}
	*packed = !below->err && archive_filter_code(s->raw, 0) > 0;
	if (*packed) {
		s->raw_empty = got == ARCHIVE_EOF;
		return true;
	}
	archive_read_free(s->raw);
	s->raw = NULL;
	stream_close(s);
	return !below->err && stream_seek(below, s->first);
}

bool stream_unpack(struct stream *s, struct stream *below, bool *packed)
{
	*packed = false;
	if (!stream_open(s, -1)) {
		fail(below, ENOMEM, "out of memory");
		return false;
	}
	s->below = below;
	s->first = below->at;
	*packed = is_gzip(below);
	return *packed ? unpack_gzip(s) : unpack_raw(s, packed);
}

void stream_close(struct stream *s)
{
	if (s->raw) {
		stream_seek(s->below, s->first +
			    archive_filter_bytes(s->raw, -1));
		archive_read_free(s->raw);
	}
	s->raw = NULL;
	if (s->gzip)
		inflateEnd(s->gzip);
	free(s->gzip);
	s->gzip = NULL;
	free(s->block[0]);
	free(s->block[1]);
	s->block[0] = s->block[1] = NULL;
}
