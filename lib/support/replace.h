/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces a file atomically while other programs read it. */
#ifndef SUPPORT_REPLACE_H
#define SUPPORT_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Replaces the content of the file @path by the @n bytes @bytes.  A reader sees
 * the complete old or the complete new content, also after a power failure.
 * @path need not exist.  An existing @path must be a regular file and not a
 * symbolic link.  The new file has the permissions of the old file, and the
 * caller as its owner.
 *
 * On failure, prints an error and returns false.  The old file is then
 * unchanged, unless only the flush of the directory failed.
 */
bool replace_file(const char *path, const char *bytes, size_t n);

/*
 * If replace_file() can create its temporary file in the directory of @path,
 * returns 0.  Otherwise, returns an errno.  The name of the temporary file is
 * longer than the name of @path.  Creates no file.
 */
int replace_prevented(const char *path);

/*
 * Replaces the file @path like replace_file().  @write writes the new content
 * to the empty file @fd; on failure, @write prints an error and returns false.
 */
bool replace_file_by(const char *path, bool (*write)(int fd, void *priv),
		     void *priv);

#endif
