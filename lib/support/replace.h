/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that others read while it is replaced. */
#ifndef SUPPORT_REPLACE_H
#define SUPPORT_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes the @n bytes @bytes the content of the file @path: whoever reads it
 * has all of the old or all of the new one, also after a power cut.  There may
 * be none; what is there and no regular file, or a symbolic link, is refused.
 * The new file has the old one's permissions, and the caller as its owner.
 * False after saying what failed; the old file is what it was then.
 */
bool replace_file(const char *path, const char *bytes, size_t n);

#endif
