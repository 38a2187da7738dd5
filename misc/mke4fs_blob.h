/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blobs of a container image: in a directory or in an archive, checked. */
#ifndef MKE4FS_BLOB_H
#define MKE4FS_BLOB_H

#include <nettle/sha2.h>
#include "mke4fs_source.h"

/* Where an image's files are. */
struct store {
	const struct load *l;
	const char *path;
	bool is_archive;
	bool unchecked;			/* digests do not count: for fuzzing */
	/* Instead of both, for fuzzing: the file's bytes; false: none. */
	bool (*find)(void *priv, const char *name, const void **bytes,
		     size_t *size);
	void *priv;
};

/* "sha256:" or "sha512:" and lower-case digits. */
struct digest {
	char text[8 + 2 * SHA512_DIGEST_SIZE];
	bool is_512;
};

/* Whether @text is a digest. */
bool digest_parse(struct digest *d, const char *text);

/* Its file in an image layout, in @name. */
#define BLOB_NAME_LEN (sizeof(struct digest) + 8)
void digest_name(const struct digest *d, char name[BLOB_NAME_LEN]);

/* A file that is being read. */
struct blob {
	const struct store *s;
	const char *name;
	const struct digest *digest;	/* NULL: it has none */
	uint64_t size;			/* that it has to have, or UINT64_MAX */
	uint64_t got;
	int fd;
	struct archive *in;		/* that holds it */
	struct archive *plain;		/* unpacks it */
	const void *mem;
	char *buf;
	union {
		struct sha256_ctx c256;
		struct sha512_ctx c512;
	};
	bool ended, failed;
};

/*
 * Opens the file @name, with a digest and a size that it must have.  @unpacks:
 * they are those of what compression it has hides.  False after a message, or
 * with @may_lack without one when there is no such file.  blob_close() in any
 * case.
 */
bool blob_open(struct blob *b, const struct store *s, const char *name,
	       const struct digest *digest, uint64_t size, bool unpacks,
	       bool may_lack);

/* struct tar_input: the next bytes; the end is reached only if all is right. */
ssize_t blob_read(void *blob, const void **buf);

/* Reads to the end.  False after a message. */
bool blob_finish(struct blob *b);
void blob_close(struct blob *b);

/* All of a file that is a document, to be freed, and its size. */
char *blob_text(const struct store *s, const char *name,
		const struct digest *digest, uint64_t size, size_t *len);

#endif
