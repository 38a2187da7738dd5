/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blobs of a container image, in a directory or an archive, with verified
 * digests.
 */
#ifndef MKE4FS_BLOB_H
#define MKE4FS_BLOB_H

#include <nettle/sha2.h>
#include "mke4fs_source.h"

/* Where the blobs of a container image are. */
struct store {
	const struct load *l;
	const char *path;
	bool is_archive;
	/* digests are not verified (for fuzzing) */
	bool unchecked;
	/*
	 * For fuzzing, in place of a directory or an archive: returns the bytes
	 * of a file; false: no such file.
	 */
	bool (*find)(void *priv, const char *name, const void **bytes,
		     size_t *size);
	void *priv;
};

/* "sha256:" or "sha512:" and lower-case hexadecimal digits. */
struct digest {
	char text[8 + 2 * SHA512_DIGEST_SIZE];
	bool is_512;
};

/* Whether @text is a digest; sets @d. */
bool digest_parse(struct digest *d, const char *text);

/* Writes the file name of the digest in an image layout to @name. */
#define BLOB_NAME_LEN (sizeof(struct digest) + 8)
void digest_name(const struct digest *d, char name[BLOB_NAME_LEN]);

/* An open file. */
struct blob {
	const struct store *s;
	const char *name;
	const struct digest *digest;	/* NULL: no digest */
	uint64_t size;			/* required size; UINT64_MAX: any */
	uint64_t got;
	int fd;
	struct archive *in;		/* archive that contains the file */
	struct archive *plain;		/* decompressor */
	const void *mem;
	char *buf;
	union {
		struct sha256_ctx c256;
		struct sha512_ctx c512;
	};
	bool ended, failed;
};

/*
 * Opens the file @name, which must have the digest and the size.  @unpacks: the
 * digest and size are of the uncompressed data.  Returns false after printing
 * an error; with @may_lack, also false, without an error, if the file does not
 * exist.  Call blob_close() in any case.
 */
bool blob_open(struct blob *b, const struct store *s, const char *name,
	       const struct digest *digest, uint64_t size, bool unpacks,
	       bool may_lack);

/*
 * Returns the next bytes, as the member read() of struct tar_input does.  The
 * end is reached only if digest and size match.
 */
ssize_t blob_read(void *blob, const void **buf);

/* Reads to the end. Returns false after printing an error. */
bool blob_finish(struct blob *b);
void blob_close(struct blob *b);

/*
 * Returns a whole document, which the caller frees, and its size.  NULL after
 * printing an error.
 */
char *blob_text(const struct store *s, const char *name,
		const struct digest *digest, uint64_t size, size_t *len);

#endif
