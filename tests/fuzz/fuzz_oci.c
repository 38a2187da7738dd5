/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: reads container images, their layers, a manifest and a fs_config
 * with any content.  The input is a list of files, each after a line "===
 * NAME".  A blob is the file whose name is the first character of the blob's
 * digest.  Digests are not verified, because no random input would match.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "e4layout/populate/layer.h"
#include "misc/mke4fs_oci.h"

#define BEGIN "\n=== "

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static bool find(void *priv, const char *name, const void **bytes, size_t *size)
{
	const struct input *in = priv;
	const uint8_t *at = in->data, *end = at + in->size, *next;
	size_t len;

	if (!strncmp(name, "blobs/sha256/", 13)) {
		name += 13;
		len = 1;
	} else {
		len = strlen(name);
	}
	while ((at = memmem(at, end - at, BEGIN, strlen(BEGIN)))) {
		at += strlen(BEGIN);
		if ((size_t)(end - at) <= len || memcmp(at, name, len) ||
		    at[len] != '\n')
			continue;
		at += len + 1;
		next = memmem(at, end - at, BEGIN, strlen(BEGIN));
		*bytes = at;
		*size = (next ? next : end) - at;
		return true;
	}
	return false;
}

/*
 * Writes the part @name of the fuzz input to a file in memory.  Sets @path to
 * the path of the file.  Returns -1 if the input has no part @name.
 */
static int open_file(struct input *in, const char *name, char path[40])
{
	const void *bytes;
	size_t size;
	int fd;

	if (!find(in, name, &bytes, &size))
		return -1;
	fd = memfd_create(name, 0);
	snprintf(path, 40, "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

static void apply_files(struct load *l, struct input *in)
{
	char path[40];
	int fd = open_file(in, "mtree", path);

	if (fd >= 0)
		load_manifest(l, path);
	close(fd);
	if (e4l_layer_end(l->t))
		abort();
	fd = open_file(in, "fs_config", path);
	if (fd >= 0)
		apply_fs_config(l->c, path, l->t);
	close(fd);
}

static void load(struct input *in, bool is_docker)
{
	struct config c = {
		.device = (char *)"/dev/fuzz", .max_bytes = 8 << 20,
		.numeric_acls = true, .threads = 1,
	};
	struct spool spool = { .fd = -1 };
	char *config_text = NULL;
	uint64_t taken = 0;
	size_t config_len;
	struct load l = {
		.c = &c, .spool = &spool, .name = "fuzz", .taken = &taken,
		.config_text = &config_text, .config_len = &config_len,
	};
	const struct store store = {
		.l = &l, .unchecked = true, .find = find, .priv = in,
	};

	if (e4l_tree_new(&l.t))
		abort();
	load_stored(&l, &store, NULL, is_docker);
	apply_files(&l, in);
	e4l_tree_free(l.t);
	spool_free(&spool);
	free(config_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	initialize_ext2_error_table();
	load(&in, false);
	load(&in, true);
	return 0;
}
