/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash tree of a whole image for dm-verity, in veritysetup(8)'s format. */
#ifndef MKE4FS_DM_VERITY_H
#define MKE4FS_DM_VERITY_H

#include "mke4fs_image.h"
#include "support/interrupt.h"

/*
 * Whether the options and the place of the hash tree suit --dm-verity and the
 * prototype @im.  @device_bytes: size of the existing device or image; 0: none.
 * Returns false after printing an error.
 */
bool dm_verity_allowed(const struct config *c, const struct image *im,
		       uint64_t device_bytes);

/*
 * Reads the complete image from @fd, writes the hash tree, and sets im->verity.
 * Does nothing without --dm-verity.  Returns false after printing an error.
 */
bool dm_verity_write(const struct config *c, struct image *im, int fd,
		     struct interrupt *in);

/* Returns the members of "dm_verity" in the report, or JSON's null. */
json_t *dm_verity_json(const struct config *c, const struct image *im);

/* Prints the root hash, and the command that opens the image. */
void dm_verity_report(const struct config *c, const struct image *im);

#endif
