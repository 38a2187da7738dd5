/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of zip archives that libarchive does not make. */
#ifndef MKE4FS_ZIP_H
#define MKE4FS_ZIP_H

#include "mke4fs_stream.h"

/*
 * Moves @s from the start of a zip archive's central directory to its end.
 * False: an error of @s.
 */
bool zip_skip_directory(struct stream *s);

/*
 * Whether a file of @bytes consists of one zip archive, without another archive
 * before it or data after it.
 */
bool zip_is_whole(int fd, uint64_t bytes);

#endif
