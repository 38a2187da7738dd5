/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --dm-verity: a hash tree of the whole image, in the format of veritysetup(8).
 */
#ifndef MKE4FS_DM_VERITY_H
#define MKE4FS_DM_VERITY_H

#include "mke4fs_image.h"
#include "support/interrupt.h"

/*
 * Checks whether --dm-verity is possible with the other options, with the
 * prototype @im (a filesystem in memory), and with the size of the device.
 * @device_bytes is the size of the existing device or image, or 0 for a new
 * image.  If --dm-verity is not possible, prints an error and returns false.
 * If --dm-verity was not given, returns true.
 */
bool dm_verity_allowed(const struct config *c, const struct image *im,
		       uint64_t device_bytes);

/*
 * Reads the complete image from @fd, writes the hash tree, and sets
 * im->verity.  If --dm-verity was not given, only returns true.  Returns false
 * after printing an error.
 */
bool dm_verity_write(const struct config *c, struct image *im, int fd,
		     struct interrupt *in);

/*
 * Returns the object "dm_verity" of the report.  Without a hash tree, returns
 * JSON's null.
 */
json_t *dm_verity_json(const struct config *c, const struct image *im);

/* Prints the root hash, and the command that opens the image. */
void dm_verity_report(const struct config *c, const struct image *im);

#endif
