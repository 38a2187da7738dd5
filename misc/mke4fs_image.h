/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that make, plan and write the filesystem, and search for its size.
 */
#ifndef MKE4FS_IMAGE_H
#define MKE4FS_IMAGE_H

#include "mke4fs.h"
#include "mke4fs_merkle.h"

/* The hash tree that --dm-verity made. */
struct dm_verity {
	/* sizes in blocks; 0: no hash tree */
	uint64_t data_blocks, hash_blocks;
	uint64_t at_bytes;		/* offset of dm-verity's superblock */
	uint8_t uuid[16], salt[32];
	uint8_t root[SHA256_DIGEST_SIZE];
};

/*
 * A filesystem made by mke2fs.  A prototype is in memory, so that a failure
 * changes nothing on the disk.  A new image is a copy of the last prototype.
 */
struct image {
	const char *name;
	char path[64];		/* path of the prototype's file in memory */
	/* file in memory of a prototype; -1: @fs is on the device */
	int proto_fd;
	ext2_filsys fs;
	struct e4l *e;
	struct e4l_populate *plan;
	struct e4l_populate_stats stats;
	/* @hash_seed is set to the seed of the first prototype */
	bool has_seed;
	uint32_t hash_seed[4];
	struct dm_verity verity;
};

/* --------------------------------------------------------- mke4fs_mke2fs.c */

/*
 * Runs mke2fs on @path.  @bytes is the size of the filesystem.  If @bytes is 0,
 * the filesystem has the size that the user gave or, if the user gave no size,
 * the size of @path.  @inodes is the number of inodes; if @inodes is 0, mke2fs
 * chooses the number.  If mke2fs fails, sets *@failed to true and returns
 * false; unless @silent is true, prints the error.  If mke2fs cannot be run,
 * prints the error and returns false.
 */
bool run_mke2fs(const struct config *c, const char *path, uint64_t bytes,
		uint64_t inodes, bool silent, bool *failed);

/* ----------------------------------------------------------- mke4fs_size.c */

/*
 * If --grow-to was given, sets c->growth.  @device_bytes is the size of the
 * device, or 0 for a new image.  If the filesystem cannot grow to the size of
 * --grow-to, prints the reason and returns false.
 */
bool find_growth(struct config *c, uint64_t device_bytes);

/*
 * Makes and plans a prototype (a filesystem made by mke2fs in memory).  If the
 * user gave a size, the prototype has the given size.  Otherwise, the prototype
 * has @device_bytes or, if @device_bytes is 0, the smallest size that fits.
 * Returns false after printing an error.
 */
bool make_prototype(const struct config *c, struct e4l_tree *t,
		    uint64_t device_bytes, struct image *im);

/* ---------------------------------------------------------- mke4fs_image.c */

/*
 * Opens the filesystem that mke2fs made in @path.  Returns false after printing
 * an error.
 */
bool open_image(const struct config *c, struct image *im, const char *path);

/* Plans the location of the files of @t in the open @im, and sets im->stats. */
errcode_t plan_image(const struct config *c, struct e4l_tree *t,
		     struct image *im);

/* Prints the error of plan_image(). */
void say_plan(const struct config *c, struct e4l_tree *t,
	      const struct image *im, errcode_t err);

/* Runs mke2fs on the device of @c.  Returns false after printing an error. */
bool format_device(const struct config *c);

/*
 * Opens the formatted device of @c, and plans the location of the files of @t.
 * Call drop_image() for @im before this function.  Returns false after printing
 * an error.
 */
bool plan_device(const struct config *c, struct e4l_tree *t, struct image *im);

/*
 * Writes the bitmaps, the group descriptors and the superblocks, and then the
 * MMP block, which allows other hosts to use the device.  Returns false after
 * printing an error.
 */
bool flush_image(const struct config *c, struct image *im);

/* Closes @im. Changes that libext2fs has cached are not written. */
void drop_image(struct image *im);

/* --------------------------------------------------------- mke4fs_verity.c */

/*
 * If --verity is not possible with the prototype @im (a filesystem in memory),
 * prints an error and returns false.
 */
bool verity_allowed(const struct config *c, const struct image *im);

/* ----------------------------------------------------------- mke4fs_fill.c */

/*
 * Writes the planned image @im to a new or empty file.  After an error, prints
 * the error, removes a new file, empties a file that was empty before, and
 * returns false.
 */
bool fill_new(const struct config *c, struct e4l_tree *t, struct image *im);

/*
 * Formats the device or existing file that @own locks, plans the location of
 * the files, and writes them.  Closes @im first, and opens it again on the
 * device.  Returns false after printing an error.  After an error, the
 * superblock has been overwritten, unless mke2fs failed or another program uses
 * the device.
 */
bool fill_device(const struct config *c, struct e4l_tree *t, struct image *im,
		 const struct target *own);

struct e4l_like;

/*
 * Writes the plan of --like to a new file.  After an error, removes the file,
 * and returns false after printing the error.
 */
bool fill_like(const struct config *c, struct e4l_tree *t, struct e4l_like *l,
	       const struct target *old, struct image *im);

/* --------------------------------------------------------- mke4fs_report.c */

/* Reports timestamps that the inodes cannot store. */
void warn_of_times(const struct image *im);

/*
 * Prints the report.  @left_out has the paths that --skip-damaged omitted.
 * Returns false after printing an error.
 */
bool report(const struct config *c, struct e4l_tree *t, const struct image *im,
	    uint32_t blocksize, json_t *left_out);

#endif
