/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the readers of sources share. */
#ifndef MKE4FS_SOURCE_H
#define MKE4FS_SOURCE_H

#include <sys/stat.h>
#include "mke4fs.h"

/*
 * An unlinked file for the contents of archives.  The contents must be stored,
 * because the location of a file in the image is known only after all sources
 * have been read.
 */
struct spool {
	int fd;				/* -1: the file has not been created */
	uint64_t end;			/* number of bytes in the file */
	/* extents of the current file */
	struct e4l_stretch *stretches;
	size_t n_stretches;
	/* end of the last data in the current file, as a byte offset */
	uint64_t taken_end;
	/* end of the last zeroes in the current file, as a byte offset */
	uint64_t zero_end;
};

/* A source, or a layer of a source, that is being loaded. */
struct load {
	const struct config *c;
	struct e4l_tree *t;
	struct spool *spool;
	const char *name;		/* name of the source in messages */
	/* directory of the tree into which the source is loaded; NULL: root */
	const char *below;
	/* path of the current entry; NULL: none */
	const char *path;
	/* an entry of the source can be a whiteout */
	bool is_layer;
	/* receives the configuration of a container image */
	char **config_text;
	size_t *config_len;
	/* number of bytes unpacked from all archives so far */
	uint64_t *taken;
};

/* Prints @what about the current entry. Returns false. */
bool complain(const struct load *l, const char *what);

/*
 * Prints the error @err, which adding the current entry to the tree has
 * returned.  Returns false.
 */
bool complain_tree(const struct load *l, errcode_t err);

/*
 * Begins a layer of the tree.  If @spooled is true, the contents of the layer's
 * files are in the spool file.  Returns false after printing an error.
 */
bool begin_layer(const struct load *l, bool spooled);

/*
 * In mke4fs_spool.c.  If the spool file does not exist yet, creates it.
 * Returns false after printing an error.
 */
bool spool_open(const struct load *l);

/*
 * Begins the contents of a new file in the spool (a temporary file).  Returns
 * false after printing an error.
 */
bool spool_begin(const struct load *l);

/*
 * Stores @len bytes at @offset of the current file.  Zeroes become holes.
 * Returns false after printing an error.
 */
bool spool_take(const struct load *l, const char *buf, size_t len,
		uint64_t offset);

/*
 * Appends bytes to the spool without adding them to the current file.  Returns
 * false after printing an error.
 */
bool spool_append(struct spool *s, const char *buf, size_t len);

/*
 * Sets the contents of @e to the bytes of the current file, which begin at @pos
 * of the spool.  e->size must be set.
 */
void spool_describe(const struct spool *s, uint64_t pos, struct e4l_entry *e);

void spool_free(struct spool *s);

/*
 * In mke4fs_xattr.c.  Checks the attribute @x for a file of mode @mode.  If
 * Linux accepts the attribute, returns NULL.  Otherwise, returns the text of an
 * error.
 */
const char *xattr_check(const struct e4l_tree_xattr *x, uint32_t mode);

/*
 * Checks @x like xattr_check(), and also refuses names that ext4 cannot store.
 * Accepts an attribute without a value, because the attribute will be removed.
 */
const char *xattr_check_change(const struct e4l_tree_xattr *x, uint32_t mode);

/*
 * In mke4fs_dir.c.  Loads the directory @path.  Returns false after printing an
 * error.
 */
bool load_dir(struct load *l, const char *path);

/*
 * Returns whether two paths are the same file or device, directly or through
 * loop devices or an overlayfs.  If one of the paths does not exist, returns
 * false.
 */
bool same_storage(const char *one, const char *other);

/*
 * If @path is the image or another output file, prints an error about the
 * source @name and returns true.
 */
bool refuse_image(const struct config *c, const char *name, const char *path);

/* The input of load_tar(): a file, or bytes that a function returns. */
struct tar_input {
	/* file; "-": standard input; NULL: use @read */
	const char *path;
	/*
	 * Sets *@buf to the next bytes, and returns their number; 0 means the
	 * end.  On failure, prints the error and returns a negative number.
	 */
	ssize_t (*read)(void *priv, const void **buf);
	void *priv;
};

/*
 * In mke4fs_tar.c.  Loads the archive @in as a layer.  Returns false after
 * printing an error.
 */
bool load_tar(struct load *l, const struct tar_input *in);

/*
 * In mke4fs_fs_config.c.  Sets owners, permissions and capabilities as the file
 * @path specifies.  Returns false after printing an error.
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
 * In mke4fs_whiteout.c.  Returns whether the current entry is a whiteout of a
 * layer, or an entry for internal use of AUFS.
 */
bool whiteout_is(const struct load *l);

/*
 * Applies a whiteout.  Ignores an entry for internal use of AUFS.  If a
 * whiteout of one file hides nothing, prints a message and returns true.
 * Returns false after printing an error.
 */
bool whiteout_take(const struct load *l);

/*
 * In mke4fs_mtree.c.  Applies the manifest @path to the loaded sources.
 * Returns false after printing an error.
 */
bool load_manifest(struct load *l, const char *path);

#endif
