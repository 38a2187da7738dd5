/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Container images as sources. */
#ifndef MKE4FS_OCI_H
#define MKE4FS_OCI_H

#include "mke4fs_blob.h"

/*
 * Load a container image: @path is DIR[:TAG|@DIGEST], FILE[:TAG|@DIGEST] or
 * FILE[:NAME].  Return false after printing an error.
 */
bool load_oci(struct load *l, const char *path);
bool load_oci_archive(struct load *l, const char *path);
bool load_docker_archive(struct load *l, const char *path);

/* Loads an image layout, or an archive of docker save; @ref may be NULL. */
bool load_stored(struct load *l, const struct store *store, const char *ref,
		 bool is_docker);

#endif
