/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* populate: fills a new filesystem with a tree of files. */
#ifndef E4LAYOUT_POPULATE_H
#define E4LAYOUT_POPULATE_H

#include <e4layout/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The plan of an image.  The members are private. */
struct e4l_populate;

/*
 * Value for e4l_populate_options.window: reserve exactly as many inodes for
 * each directory as the directory has files.
 */
#define E4L_WINDOW_EXACT UINT32_MAX

struct e4l_populate_options {
	/* start of the filesystem on the device, in bytes */
	uint64_t offset_bytes;
	/*
	 * number of inodes reserved for each directory: 0, a power of two from
	 * 16 to 4096, or E4L_WINDOW_EXACT
	 */
	uint32_t window;
	/* 1 or more; at most 24 are used, each with 2 MiB of memory */
	unsigned int threads;
	int64_t now;		/* time of new inodes, seconds since 1970 */
	bool clamp_times;	/* replace times later than @now by @now */
	uint64_t reserved[8];
};

/* The device or file that gets the image. */
struct e4l_populate_target {
	int fd;			/* open for writing; borrowed */
	int direct_fd;	/* the same file, opened with O_DIRECT; -1: none */
	/*
	 * Called during the write, when @done of @total blocks are written.
	 * Calls never overlap.  progress() may be NULL.
	 */
	void (*progress)(uint64_t done, uint64_t total, void *priv);
	void *priv;
	uint64_t reserved[4];
};

struct e4l_populate_stats {
	uint64_t wanted_blocks, free_blocks;
	uint64_t wanted_inodes, free_inodes;	/* including the root */
	/*
	 * number of inodes that the filesystem needs so that each directory can
	 * reserve the inodes of e4l_populate_options.window
	 */
	uint64_t roomy_inodes;
	uint64_t writes;		/* number of write calls */
	uint64_t written_blocks;
	/*
	 * number of files with a time that ext4 cannot store; the image has the
	 * nearest valid time
	 */
	uint64_t far_times;
	/*
	 * number of files with times that the image stores without fractions of
	 * a second
	 */
	uint64_t cut_times;
	uint64_t reserved[8];
};

/*
 * Plans where the files of @t go in @e's filesystem.  mke2fs must have just
 * created the filesystem, which must be open for writing, with loaded bitmaps.
 * A new filesystem is not checked.  If the filesystem may be damaged, call
 * e4l_check() first.
 * Nothing is written, but bitmaps and counts in memory change.  After an error,
 * or if e4l_populate_write() is not called, the caller must close the
 * filesystem without flushing (ext2fs_free()).  @e and @t are borrowed until
 * e4l_populate_free(), which the caller must call also after an error.  After
 * e4l_populate_free(), @t can be planned again.
 *
 * Errors: E4L_ET_NO_SPACE, E4L_ET_NO_INODES: the filesystem is too small, see
 * e4l_populate_get_stats(); E4L_ET_CANNOT_POPULATE, E4L_ET_NOT_EMPTY,
 * E4L_ET_NEEDS_FEATURE, E4L_ET_LOST_FOUND: the filesystem is not suitable;
 * E4L_ET_DUPLICATE_NAME, E4L_ET_DIR_TOO_LARGE, E4L_ET_TOO_MANY_LINKS,
 * E4L_ET_FILE_TOO_LARGE, E4L_ET_XATTR_TOO_LARGE, E4L_ET_XATTR_TOO_MANY,
 * E4L_ET_SYMLINK_BLOCK: a file does not fit, see e4l_tree_where();
 * E4L_ET_BAD_ARGUMENT: threads or window is out of range; E4L_ET_OPTION;
 * ENOMEM.
 */
errcode_t e4l_populate_plan(struct e4l *e, struct e4l_tree *t,
			    const struct e4l_populate_options *options,
			    struct e4l_populate **ret);

/*
 * Writes contents, directories and inodes to @target.  After
 * e4l_populate_write(), the caller writes bitmaps, descriptors and superblocks
 * with ext2fs_flush(), and calls fsync(2).  Errors: E4L_ET_FILE_SHRANK,
 * E4L_ET_OPTION, E4L_ET_INTERRUPTED, ENOMEM, and errors of reading and writing.
 * After an error, the device must be formatted again.
 */
errcode_t e4l_populate_write(struct e4l_populate *p,
			     const struct e4l_populate_target *target);

/* Fills *@stats, also after an error of e4l_populate_plan(). */
void e4l_populate_get_stats(const struct e4l_populate *p,
			    struct e4l_populate_stats *stats);
/* Frees @p.  NULL is allowed. */
void e4l_populate_free(struct e4l_populate *p);

#ifdef __cplusplus
}
#endif
#endif
