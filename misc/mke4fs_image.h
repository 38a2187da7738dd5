/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filesystem that mke2fs makes: size search, planning and writing. */
#ifndef MKE4FS_IMAGE_H
#define MKE4FS_IMAGE_H

#include "mke4fs.h"
#include "mke4fs_merkle.h"

/* The hash tree that --dm-verity made. */
struct dm_verity {
	uint64_t data_blocks, hash_blocks;	/* 0: none */
	uint64_t at_bytes;		/* byte of dm-verity's superblock */
	uint8_t uuid[16], salt[32];
	uint8_t root[SHA256_DIGEST_SIZE];
};

/*
 * A filesystem made by mke2fs.  A prototype is in memory, where a failure
 * changes nothing; a new image is a copy of the last prototype.
 */
struct image {
	const char *name;
	char path[64];			/* path of a prototype */
	int proto_fd;			/* -1: the device itself */
	ext2_filsys fs;
	struct e4l *e;
	struct e4l_populate *plan;
	struct e4l_populate_stats stats;
	/* all prototypes use the same hash seed */
	bool has_seed;
	uint32_t hash_seed[4];
	struct dm_verity verity;
};

/* --------------------------------------------------------- mke4fs_mke2fs.c */

/*
 * Runs mke2fs on @path.  @bytes: the size of the filesystem; 0: as given by the
 * user, or all of @path.  @inodes: requested number; 0: mke2fs chooses.  Prints
 * why mke2fs failed unless @silent.  *@failed: mke2fs ran and failed.
 */
bool run_mke2fs(const struct config *c, const char *path, uint64_t bytes,
		uint64_t inodes, bool silent, bool *failed);

/* ----------------------------------------------------------- mke4fs_size.c */

/*
 * Fills c->growth for --grow-to and a device of @device_bytes (0: a new image).
 * Returns false, after printing the reason, if the filesystem cannot grow to
 * that size.
 */
bool find_growth(struct config *c, uint64_t device_bytes);

/*
 * Makes and plans a prototype of the size in @c, or else of @device_bytes, or,
 * if that is 0, of the smallest size that fits.  Returns false after printing
 * an error.
 */
bool make_prototype(const struct config *c, struct e4l_tree *t,
		    uint64_t device_bytes, struct image *im);

/* ---------------------------------------------------------- mke4fs_image.c */

/*
 * Opens the filesystem that mke2fs made in @path.  Returns false after printing
 * an error.
 */
bool open_image(const struct config *c, struct image *im, const char *path);

/* Plans the places of @t's files in the open @im, and fills im->stats. */
errcode_t plan_image(const struct config *c, struct e4l_tree *t,
		     struct image *im);

/* Prints the error of plan_image(). */
void say_plan(const struct config *c, struct e4l_tree *t,
	      const struct image *im, errcode_t err);

/* Runs mke2fs on the device of @c.  Returns false after printing an error. */
bool format_device(const struct config *c);

/*
 * Opens and plans the formatted device of @c.  Call drop_image() for @im
 * before.  Returns false after printing an error.
 */
bool plan_device(const struct config *c, struct e4l_tree *t, struct image *im);

/*
 * Writes bitmaps, descriptors and superblocks, then the MMP block, which
 * releases the device for other hosts.  Returns false after printing an error.
 */
bool flush_image(const struct config *c, struct image *im);

/* Closes everything, without writing libext2fs' cached changes. */
void drop_image(struct image *im);

/* --------------------------------------------------------- mke4fs_verity.c */

/*
 * Whether the prototype suits --verity.  Returns false after printing an error.
 */
bool verity_allowed(const struct config *c, const struct image *im);

/* ----------------------------------------------------------- mke4fs_fill.c */

/*
 * Writes the planned image @im to a new file, which is removed after an error.
 * Returns false after printing an error.
 */
bool fill_new(const struct config *c, struct e4l_tree *t, struct image *im);

/*
 * Formats, plans and writes the device or existing file that @own holds.  After
 * an error it has no superblock.  Drops @im, and opens it anew.  Returns false
 * after printing an error.
 */
bool fill_device(const struct config *c, struct e4l_tree *t, struct image *im,
		 const struct target *own);

/* --------------------------------------------------------- mke4fs_report.c */

/* Reports timestamps that the inodes cannot store. */
void warn_of_times(const struct image *im);

/*
 * Prints the report.  @left_out: paths that --skip-damaged omitted.  Returns
 * false after printing an error.
 */
bool report(const struct config *c, struct e4l_tree *t, const struct image *im,
	    uint32_t blocksize, json_t *left_out);

#endif
