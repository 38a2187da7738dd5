/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the readers of sources share. */
#ifndef MKE4FS_SOURCE_H
#define MKE4FS_SOURCE_H

#include <sys/stat.h>
#include "mke4fs.h"

/*
 * An unlinked file for the contents of archives, because the place of a file in
 * the image is known only after all sources have been read.
 */
struct spool {
	int fd;				/* -1: not needed yet */
	uint64_t end;			/* bytes in the file */
	/* extents of the current file */
	struct e4l_stretch *stretches;
	size_t n_stretches;
	/* end of the data of the current file */
	uint64_t taken_end;
	/* end of the last zeroes of the current file */
	uint64_t zero_end;
};

/* A source, or a layer of a source, that is being loaded. */
struct load {
	const struct config *c;
	struct e4l_tree *t;
	struct spool *spool;
	const char *name;		/* name of the source in messages */
	/* target directory in the tree; NULL: root */
	const char *below;
	/* path of the current entry; NULL: none */
	const char *path;
	bool is_layer;			/* the source can contain whiteouts */
	char **config_text;		/* configuration of a container image */
	size_t *config_len;
	/* unpacked bytes of all archives so far */
	uint64_t *taken;
};

/* Prints @what about the current entry. Returns false. */
bool complain(const struct load *l, const char *what);

/* Prints an error of the tree about the current entry. Returns false. */
bool complain_tree(const struct load *l, errcode_t err);

/*
 * Begins a layer of the tree.  @spooled: its contents are in the spool.
 * Returns false after printing an error.
 */
bool begin_layer(const struct load *l, bool spooled);

/*
 * In mke4fs_spool.c.  Creates the file if necessary.  Returns false after
 * printing an error.
 */
bool spool_open(const struct load *l);

/* Begins with the contents of a file. */
bool spool_begin(const struct load *l);

/* Appends @len bytes at @offset of the file; zeroes become holes. */
bool spool_take(const struct load *l, const char *buf, size_t len,
		uint64_t offset);

/*
 * Appends bytes that belong to no file yet.  Returns false after printing an
 * error.
 */
bool spool_append(struct spool *s, const char *buf, size_t len);

/* Sets the contents of @e, with e->size bytes, to the appended bytes. */
void spool_describe(const struct spool *s, uint64_t pos, struct e4l_entry *e);

void spool_free(struct spool *s);

/*
 * In mke4fs_xattr.c.  Returns NULL if Linux accepts the attribute for a file with
 * the type of @mode, otherwise the text of an error.
 */
const char *xattr_check(const struct e4l_tree_xattr *x, uint32_t mode);

/* In mke4fs_dir.c. Loads the directory @path. */
bool load_dir(struct load *l, const char *path);

/*
 * Whether the file or device @path is the image itself, possibly through loop
 * devices or an overlayfs.
 */
bool is_image(const struct config *c, const char *path);

/*
 * Returns true, after printing an error about the source @name, if
 * is_image(@path).
 */
bool refuse_image(const struct config *c, const char *name, const char *path);

/* An archive: a file, or bytes from a function. */
struct tar_input {
	/* NULL: use @read; "-": standard input */
	const char *path;
	/*
	 * Sets *@buf to the next bytes.  Returns their number, 0 at the end, or
	 * a negative number after printing an error.
	 */
	ssize_t (*read)(void *priv, const void **buf);
	void *priv;
};

/* In mke4fs_tar.c. Loads an archive as a layer. */
bool load_tar(struct load *l, const struct tar_input *in);

/*
 * In mke4fs_fs_config.c.  Sets the owners, permissions and capabilities in the
 * file @path.  Returns false after printing an error.
 */
bool apply_fs_config(const struct config *c, const char *path,
		     struct e4l_tree *t);

/*
 * In mke4fs_verity.c.  Adds fs-verity's metadata to the files of --verity.
 * Returns false after printing an error.
 */
bool add_verity(const struct config *c, struct e4l_tree *t,
		struct spool *spool);

/*
 * In mke4fs_whiteout.c.  Whether the current entry is a whiteout of a layer, or
 * belongs to AUFS.
 */
bool whiteout_is(const struct load *l);

/*
 * Applies the whiteout, or omits an entry of AUFS.  Returns false after printing
 * an error.
 */
bool whiteout_take(const struct load *l);

/* In mke4fs_mtree.c. Applies the manifest @path to the loaded sources. */
bool load_manifest(struct load *l, const char *path);

#endif
