/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the blobs of a container image in parts.  The digest can be verified
 * only at the end of a blob; until then, only memory and the spool file have
 * been changed.
 *
 * For each blob, an archive is searched from its start, which reads the headers
 * of all files before the blob.
 */
#include "config.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "mke4fs_blob.h"
#include "support/say.h"

#define READ_BYTES	(1u << 20)
/* largest manifest that the specification allows */
#define MAX_TEXT	(4u << 20)
/* maximum number of links to follow; docker save writes at most one */
#define MAX_LINKS	4

/* ------------------------------------------------------------------- digests */

bool digest_parse(struct digest *d, const char *text)
{
	size_t len = strlen(text);

	d->is_512 = !strncmp(text, "sha512:", 7);
	if ((!d->is_512 && strncmp(text, "sha256:", 7)) ||
	    len != 7 + 2 * (d->is_512 ? SHA512_DIGEST_SIZE :
					SHA256_DIGEST_SIZE) ||
	    strspn(text + 7, "0123456789abcdef") != len - 7)
		return false;
	strcpy(d->text, text);
	return true;
}

void digest_name(const struct digest *d, char name[BLOB_NAME_LEN])
{
	snprintf(name, BLOB_NAME_LEN, "blobs/%.6s/%s", d->text, d->text + 7);
}

static void hash(struct blob *b, const void *buf, size_t len)
{
	if (!b->digest)
		return;
	if (b->digest->is_512)
		sha512_update(&b->c512, len, buf);
	else
		sha256_update(&b->c256, len, buf);
}

static bool has_digest(struct blob *b)
{
	uint8_t sum[SHA512_DIGEST_SIZE];
	char text[2 * SHA512_DIGEST_SIZE + 1];
	size_t n, i;

	if (!b->digest || b->s->unchecked)
		return true;
	n = b->digest->is_512 ? SHA512_DIGEST_SIZE : SHA256_DIGEST_SIZE;
	if (b->digest->is_512)
		sha512_digest(&b->c512, n, sum);
	else
		sha256_digest(&b->c256, n, sum);
	for (i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", sum[i]);
	return !strcmp(text, b->digest->text + 7);
}

/* ------------------------------------------------------------------- reading */

static bool fail(struct blob *b, const char *what)
{
	if (!b->failed)
		say("%s: %s: %s", b->s->l->name, b->name, what);
	b->failed = true;
	return false;
}

static bool fail_archive(struct blob *b, struct archive *a)
{
	const char *why = archive_error_string(a);

	return fail(b, why ? why : "cannot read");
}

static ssize_t read_archive(struct blob *b, struct archive *a, const void **buf)
{
	int64_t offset;
	size_t len;
	int got;

	do {
		got = archive_read_data_block(a, buf, &len, &offset);
		if (got == ARCHIVE_EOF)
			return 0;
	} while (got == ARCHIVE_OK && !len);
	return got == ARCHIVE_OK ? (ssize_t)len :
				   (fail_archive(b, a), (ssize_t)-1);
}

/* Returns the next bytes of the file without unpacking them. */
static ssize_t read_packed(struct blob *b, const void **buf)
{
	ssize_t n;

	if (b->s->find) {
		*buf = b->mem;
		n = b->mem ? (ssize_t)b->size : 0;
		b->mem = NULL;
		return n;
	}
	if (b->in)
		return read_archive(b, b->in, buf);
	*buf = b->buf;
	do {
		n = read(b->fd, b->buf, READ_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		fail(b, error_message(errno));
	return n;
}

static la_ssize_t feed(struct archive *a, void *priv, const void **buf)
{
	ssize_t n = read_packed(priv, buf);

	if (n < 0)
		archive_set_error(a, EIO, "cannot read");
	return n;
}

ssize_t blob_read(void *blob, const void **buf)
{
	struct blob *b = blob;
	ssize_t n;

	if (b->ended || b->failed)
		return b->failed ? -1 : 0;
	n = b->plain ? read_archive(b, b->plain, buf) : read_packed(b, buf);
	if (n > 0) {
		b->got += n;
		hash(b, *buf, n);
		if (b->got > b->size && !b->s->find)
			fail(b, "the content is larger than the size in the descriptor");
	} else if (!n) {
		b->ended = true;
		if (b->size != UINT64_MAX && b->got < b->size && !b->s->find)
			fail(b, "the content is smaller than the size in the descriptor");
		else if (!has_digest(b))
			fail(b, "the content does not match the digest");
	}
	return b->failed ? -1 : n;
}

bool blob_finish(struct blob *b)
{
	const void *buf;
	ssize_t n;

	do {
		n = blob_read(b, &buf);
	} while (n > 0);
	return !n;
}

/* ------------------------------------------------------------------- opening */

static bool lacks(struct blob *b, bool may_lack)
{
	if (may_lack)
		b->failed = true;
	return fail(b, "the file is missing");
}

static bool open_file(struct blob *b, bool may_lack)
{
	const struct load *l = b->s->l;
	struct stat st;
	char *path;

	b->buf = malloc(READ_BYTES);
	if (!b->buf || asprintf(&path, "%s/%s", b->s->path, b->name) < 0)
		return fail(b, "out of memory");
	b->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	b->failed = refuse_image(l->c, l->name, path);
	free(path);
	if (b->failed)
		return false;
	if (b->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return lacks(b, may_lack);
	if (b->fd < 0 || e4l_fstat(b->fd, &st))
		return fail(b, error_message(errno));
	return S_ISREG(st.st_mode) || fail(b, "not a regular file");
}

/* Removes "./" from the start of @name. */
static const char *plain_name(const char *name)
{
	while (!strncmp(name, "./", 2))
		name += 2 + strspn(name + 2, "/");
	return name;
}

/*
 * Returns the name to which the symbolic link @from with the target @target
 * refers.  The caller frees the name.
 */
static char *link_name(const char *from, const char *target)
{
	const char *slash = strrchr(from, '/');
	int len = slash ? slash - from + 1 : 0;
	char *name;

	for (; !strncmp(target, "../", 3) && len; target += 3) {
		for (len--; len && from[len - 1] != '/'; len--)
			;
	}
	return asprintf(&name, "%.*s%s", len, from, target) < 0 ? NULL : name;
}

static bool start_archive(struct blob *b)
{
	archive_read_free(b->in);
	b->in = archive_read_new();
	if (!b->in)
		return fail(b, "out of memory");
	archive_read_support_filter_all(b->in);
	archive_read_support_format_tar(b->in);
	archive_read_support_format_empty(b->in);
	return archive_read_open_filename(b->in, b->s->path, READ_BYTES) ==
	       ARCHIVE_OK || fail_archive(b, b->in);
}

/*
 * Searches the archive for the entry @name.  If the archive has no entry @name,
 * sets *@lacking to true and returns NULL.  On failure, prints the error and
 * returns NULL.
 */
static struct archive_entry *find_entry(struct blob *b, const char *name,
					bool *lacking)
{
	struct archive_entry *entry;
	const char *at;
	int got;

	while ((got = archive_read_next_header(b->in, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		at = archive_entry_pathname(entry);
		if (at && !strcmp(plain_name(at), name))
			return entry;
	}
	*lacking = got == ARCHIVE_EOF;
	if (!*lacking)
		fail_archive(b, b->in);
	return NULL;
}

/*
 * Opens the file b->name of the archive.  Follows links, because docker save
 * stores a repeated layer as a link.  On failure, prints an error and returns
 * false.  If @may_lack is true, prints nothing if the file is missing.
 */
static bool open_member(struct blob *b, bool may_lack)
{
	char *name = strdup(plain_name(b->name)), *next;
	struct archive_entry *entry;
	const char *target;
	bool lacking = false;
	int links;

	for (links = 0; name && links <= MAX_LINKS; links++) {
		entry = start_archive(b) ? find_entry(b, name, &lacking) : NULL;
		if (!entry)
			break;
		target = archive_entry_hardlink(entry);
		if (target)
			next = strdup(plain_name(target));
		else if (archive_entry_filetype(entry) == AE_IFLNK)
			next = link_name(name, archive_entry_symlink(entry));
		else
			break;
		free(name);
		name = next;
	}
	if (lacking)
		lacks(b, may_lack);
	else if (!name)
		fail(b, "out of memory");
	else if (links > MAX_LINKS)
		fail(b, "too many levels of links");
	free(name);
	return !b->failed;
}

static bool open_memory(struct blob *b, bool may_lack)
{
	size_t size;

	if (!b->s->find(b->s->priv, b->name, &b->mem, &size))
		return lacks(b, may_lack);
	b->size = size;
	return true;
}

/*
 * Starts to decompress the file, with any compression that libarchive supports.
 * Returns false after printing an error.
 */
static bool start_unpacking(struct blob *b)
{
	struct archive_entry *entry;
	int got;

	b->plain = archive_read_new();
	if (!b->plain)
		return fail(b, "out of memory");
	archive_read_support_filter_all(b->plain);
	archive_read_support_format_raw(b->plain);
	archive_read_support_format_empty(b->plain);
	if (archive_read_open(b->plain, b, NULL, feed, NULL) != ARCHIVE_OK)
		return fail_archive(b, b->plain);
	got = archive_read_next_header(b->plain, &entry);
	b->ended = got == ARCHIVE_EOF;
	if (b->ended && !has_digest(b))
		return fail(b, "the content does not match the digest");
	return b->ended || got == ARCHIVE_OK || fail_archive(b, b->plain);
}

bool blob_open(struct blob *b, const struct store *s, const char *name,
	       const struct digest *digest, uint64_t size, bool unpacks,
	       bool may_lack)
{
	*b = (struct blob) {
		.s = s, .name = name, .digest = digest, .size = size, .fd = -1,
	};
	if (digest && digest->is_512)
		sha512_init(&b->c512);
	else
		sha256_init(&b->c256);
	if (s->find ? !open_memory(b, may_lack) :
	    s->is_archive ? !open_member(b, may_lack) : !open_file(b, may_lack))
		return false;
	return !unpacks || start_unpacking(b);
}

void blob_close(struct blob *b)
{
	archive_read_free(b->plain);
	archive_read_free(b->in);
	e4l_close_fd(b->fd);
	free(b->buf);
}

static char *read_text(struct blob *b, size_t *len)
{
	char *text = NULL, *longer;
	const void *buf;
	ssize_t n;

	for (*len = 0; (n = blob_read(b, &buf)) > 0; *len += n) {
		longer = *len + n <= MAX_TEXT ? realloc(text, *len + n + 1) :
						NULL;
		if (!longer) {
			fail(b, *len + n > MAX_TEXT ?
			     "the document is larger than 4 MiB" : "out of memory");
			break;
		}
		text = longer;
		memcpy(text + *len, buf, n);
	}
	if (!b->failed && !text)
		fail(b, "the file is empty");
	if (b->failed) {
		free(text);
		return NULL;
	}
	text[*len] = '\0';
	return text;
}

char *blob_text(const struct store *s, const char *name,
		const struct digest *digest, uint64_t size, size_t *len)
{
	struct blob b;
	char *text = NULL;

	if (blob_open(&b, s, name, digest, size, false, false))
		text = read_text(&b, len);
	blob_close(&b);
	return text;
}
