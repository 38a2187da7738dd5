/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the blobs of a container image from a directory or an archive, and
 * verifies their digests.
 */
#ifndef MKE4FS_BLOB_H
#define MKE4FS_BLOB_H

#include <nettle/sha2.h>
#include "mke4fs_source.h"

/* The directory or archive that contains the blobs of a container image. */
struct store {
	const struct load *l;
	const char *path;
	bool is_archive;
	/* do not verify digests (for fuzzing) */
	bool unchecked;
	/*
	 * For fuzzing: sets *@bytes to the content of file @name, so that @path
	 * is not read.  If there is no file @name, returns false.  If find() is
	 * NULL, @path is read.
	 */
	bool (*find)(void *priv, const char *name, const void **bytes,
		     size_t *size);
	void *priv;
};

/* "sha256:" or "sha512:", followed by lower-case hexadecimal digits. */
struct digest {
	char text[8 + 2 * SHA512_DIGEST_SIZE];
	bool is_512;
};

/* If @text is a valid digest, sets @d and returns true. */
bool digest_parse(struct digest *d, const char *text);

/*
 * Sets @name to the path, in an OCI image layout, of the file with digest @d.
 */
#define BLOB_NAME_LEN (sizeof(struct digest) + 8)
void digest_name(const struct digest *d, char name[BLOB_NAME_LEN]);

/* A file that is being read. */
struct blob {
	const struct store *s;
	const char *name;
	const struct digest *digest;	/* NULL: no digest */
	uint64_t size;			/* required size; UINT64_MAX: any */
	uint64_t got;
	int fd;
	struct archive *in;		/* archive that contains the file */
	struct archive *plain;		/* decompressor of the file */
	const void *mem;
	char *buf;
	union {
		struct sha256_ctx c256;
		struct sha512_ctx c512;
	};
	bool ended, failed;
};

/*
 * Opens the file @name, which must have @digest and @size.  If @unpacks is
 * true, unpacks the file, and @digest and @size refer to the unpacked data.
 * Returns false after printing an error.  If @may_lack is true and the file
 * does not exist, returns false without an error.  Call blob_close() in any
 * case.
 */
bool blob_open(struct blob *b, const struct store *s, const char *name,
	       const struct digest *digest, uint64_t size, bool unpacks,
	       bool may_lack);

/*
 * Implements read() of struct tar_input: sets *@buf to the next bytes of the
 * file, and returns their number.  At the end of the file, returns 0 if the
 * digest and the size match.  If the digest or the size differs, or on failure,
 * prints an error and returns -1.
 */
ssize_t blob_read(void *blob, const void **buf);

/*
 * Reads the file to the end, so that its digest is verified.  Returns false
 * after printing an error.
 */
bool blob_finish(struct blob *b);
void blob_close(struct blob *b);

/*
 * Reads a whole document, and sets *@len to its size.  Returns the text, which
 * the caller frees, or NULL after printing an error.
 */
char *blob_text(const struct store *s, const char *name,
		const struct digest *digest, uint64_t size, size_t *len);

#endif
