/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a zip archive libarchive does not look at. */
#ifndef MKE4FS_ZIP_H
#define MKE4FS_ZIP_H

#include "mke4fs_stream.h"

/*
 * Moves @s from the central directory of a zip archive to the end of it.
 * False: an error of @s.
 */
bool zip_skip_directory(struct stream *s);

/*
 * Whether the zip archive at the end of a file of @bytes is all there is: no
 * other archive before it, and nothing behind it.
 */
bool zip_is_whole(int fd, uint64_t bytes);

#endif
