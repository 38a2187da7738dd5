/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refuses archives and container images in a build without libarchive. */
#include "config.h"
#include "support/say.h"
#include "mke4fs_oci.h"

static bool refuse(const struct load *l, const char *what, const char *remedy)
{
	say("%s: cannot read %s: mke4fs was built without libarchive; %s",
	    l->name, what, remedy);
	return false;
}

bool load_tar(struct load *l, const struct tar_input *in)
{
	return refuse(l, "an archive",
		      "extract the archive and give the directory to -d");
}

static bool refuse_container(const struct load *l)
{
	return refuse(l, "a container image",
		      "unpack the image and give the directory to -d");
}

bool load_oci(struct load *l, const char *path)
{
	return refuse_container(l);
}

bool load_oci_archive(struct load *l, const char *path)
{
	return refuse_container(l);
}

bool load_docker_archive(struct load *l, const char *path)
{
	return refuse_container(l);
}
