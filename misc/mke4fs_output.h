/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that mke4fs writes besides the image. */
#ifndef MKE4FS_OUTPUT_H
#define MKE4FS_OUTPUT_H

#include "mke4fs.h"

struct output {
	const char *option, *path;
	const char *what;		/* name of the file in messages */
};

#define MAX_OUTPUTS 2

/* Stores the outputs that the user asked for, and returns their number. */
static inline unsigned int list_outputs(const struct config *c,
					struct output outputs[MAX_OUTPUTS])
{
	unsigned int n = 0;

	if (c->oci_config)
		outputs[n++] = (struct output) {
			"--oci-config", c->oci_config, "configuration file",
		};
	if (c->dm_verity && *c->dm_verity)
		outputs[n++] = (struct output) {
			"--dm-verity", c->dm_verity, "hash file",
		};
	return n;
}

/*
 * Checks that the outputs can be created or replaced, and that all outputs and
 * the image are different files.  Returns false after printing an error.
 */
bool outputs_allowed(const struct config *c);

/*
 * If an output is the image, prints an error and returns false.  Call this
 * function again after writing a new image: if the name of the image is a
 * symbolic link, the link had no target before.
 */
bool outputs_apart(const struct config *c);

#endif
