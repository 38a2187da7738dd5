/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of zip archives that libarchive does not make. */
#ifndef MKE4FS_ZIP_H
#define MKE4FS_ZIP_H

#include "mke4fs_stream.h"

/*
 * If a zip archive begins at the position of @s, prints an error about @name
 * and returns true.  A stream is not sufficient, because only the directory at
 * the end of a zip archive has the types and modes of its files.
 */
bool zip_refuse(struct stream *s, const char *name);

/*
 * Returns whether a file of @bytes consists of a single zip archive, without
 * another archive before it or data after it.
 */
bool zip_is_whole(int fd, uint64_t bytes);

#endif
