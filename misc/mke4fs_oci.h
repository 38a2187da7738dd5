/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Container images as sources. */
#ifndef MKE4FS_OCI_H
#define MKE4FS_OCI_H

#include "mke4fs_blob.h"

/*
 * Load a container image as a source.  @path is DIR[:TAG|@DIGEST] for
 * load_oci(), FILE[:TAG|@DIGEST] for load_oci_archive() and FILE[:NAME] for
 * load_docker_archive().  Return false after printing an error.
 */
bool load_oci(struct load *l, const char *path);
bool load_oci_archive(struct load *l, const char *path);
bool load_docker_archive(struct load *l, const char *path);

/*
 * Loads the image @ref of an image layout or, if @is_docker is true, of an
 * archive of docker save.  If @ref is NULL, there must be only one suitable
 * image.
 */
bool load_stored(struct load *l, const struct store *store, const char *ref,
		 bool is_docker);

#endif
