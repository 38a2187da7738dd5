/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces a file atomically while other programs read it. */
#ifndef SUPPORT_REPLACE_H
#define SUPPORT_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Replaces the content of the file @path by the @n bytes @bytes.  A reader sees
 * the complete old or the complete new content, also after a power failure.
 * @path need not exist; if it exists, it must be a regular file and not a
 * symbolic link.  The new file has the permissions of the old file, and the
 * caller as its owner.  Returns false after printing an error.  The old file is
 * then unchanged, unless only the flush of the directory failed.
 */
bool replace_file(const char *path, const char *bytes, size_t n);

/*
 * Returns 0 if replace_file() can create its temporary file, which has a longer
 * name, in the directory of @path.  Otherwise, returns an error.  Creates no
 * file.
 */
int replace_prevented(const char *path);

/*
 * Like replace_file(), but calls @write, which writes the new content to the
 * empty file @fd.  @write returns false after printing an error.
 */
bool replace_file_by(const char *path, bool (*write)(int fd, void *priv),
		     void *priv);

#endif
