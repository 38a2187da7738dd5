/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the readers of sources share. */
#ifndef MKE4FS_SOURCE_H
#define MKE4FS_SOURCE_H

#include <sys/stat.h>
#include "mke4fs.h"

/*
 * An unlinked file for the content of archives: where a file goes in the image
 * is known only when all sources have been read.
 */
struct spool {
	int fd;				/* -1: not needed so far */
	uint64_t end;			/* bytes in it */
	/* of the file at hand */
	struct e4l_stretch *stretches;
	size_t n_stretches;
	uint64_t taken_end;		/* in the file, of the data so far */
	uint64_t zero_end;		/* in the file, of the last zeroes */
};

/* A source, or a layer of one, that is being loaded. */
struct load {
	const struct config *c;
	struct e4l_tree *t;
	struct spool *spool;
	const char *name;		/* of the source, for messages */
	const char *below;		/* where it goes in the tree; NULL: root */
	const char *path;		/* of the entry at hand; NULL: none */
	bool is_layer;			/* some names are whiteouts */
	char **config_text;		/* of a container image, kept here */
	size_t *config_len;
	uint64_t *taken;		/* bytes so far of all archives, unpacked */
};

/* Reports @what about the entry at hand.  False. */
bool complain(const struct load *l, const char *what);

/* The same of an error of the tree or of a layer. */
bool complain_tree(const struct load *l, errcode_t err);

/* Begins a layer of the tree; with @spooled its content is in the spool. */
bool begin_layer(const struct load *l, bool spooled);

/* mke4fs_spool.c: makes the file if need be.  False after a message. */
bool spool_open(const struct load *l);

/* Begins with the content of a file. */
bool spool_begin(const struct load *l);

/* Takes @len bytes of the file from @offset on; zeroes become holes. */
bool spool_take(const struct load *l, const char *buf, size_t len,
		uint64_t offset);

/* Sets the content of @e, of e->size bytes, to the taken bytes. */
void spool_describe(const struct spool *s, uint64_t pos, struct e4l_entry *e);

void spool_free(struct spool *s);

/* mke4fs_dir.c: loads the directory @path. */
bool load_dir(struct load *l, const char *path);

/* Whether the source with @st is the image that is being made; says so. */
bool refuse_image(const struct load *l, const struct stat *st);

/* An archive that is read: from a file, or piece by piece by a function. */
struct tar_input {
	const char *path;		/* NULL: @read gives it; "-": stdin */
	/* Bytes at *@buf, 0 at the end; negative after a message. */
	ssize_t (*read)(void *priv, const void **buf);
	void *priv;
};

/* mke4fs_tar.c: loads an archive as a layer. */
bool load_tar(struct load *l, const struct tar_input *in);

/* mke4fs_mtree.c: applies the manifest @path over all sources. */
bool load_manifest(struct load *l, const char *path);

#endif
