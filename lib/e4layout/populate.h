/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* populate: planning and writing an image. */
#ifndef E4LAYOUT_POPULATE_H
#define E4LAYOUT_POPULATE_H

#include <e4layout/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: an image that is planned to the last block. */
struct e4l_populate;

#define E4L_WINDOW_EXACT UINT32_MAX

struct e4l_populate_options {
	uint64_t offset_bytes;	/* of the filesystem on the device */
	uint32_t window;	/* as e4l_place_new(), or E4L_WINDOW_EXACT */
	unsigned int threads;	/* from 1; at most 24 are used; 2 MiB each; */
				/* with a data file one for each 8 begun, */
				/* with 16 MiB */
	int64_t now;		/* of what the image itself needs */
	bool clamp_times;	/* no time after now, and reproducible ones */
	uint64_t reserved[8];
};

/* Where the image goes. */
struct e4l_populate_target {
	int fd;			/* for writing */
	int direct_fd;		/* the same with O_DIRECT, or -1 */
	/* Blocks done of all; from any thread, one at a time; may be NULL. */
	void (*progress)(uint64_t done, uint64_t total, void *priv);
	void *priv;
	uint64_t reserved[4];
};

struct e4l_populate_stats {
	uint64_t wanted_blocks, free_blocks;
	uint64_t wanted_inodes, free_inodes;	/* with the root's */
	uint64_t roomy_inodes;		/* a filesystem of so many has room */
					/* for what the window asks for */
	uint64_t writes;		/* calls */
	uint64_t written_blocks;
	uint64_t far_times;		/* files with a time that inodes */
					/* cannot say: it is the nearest */
	uint64_t cut_times;		/* with a fraction of a second that */
					/* they have no room for */
	uint64_t reserved[8];
};

/*
 * Plans how @e's filesystem, new from mke2fs, opened for writing, its bitmaps
 * loaded, gets the content of @t.  Nothing is written; the bitmaps and counts
 * of the filesystem change in memory, so that after an error, or without
 * e4l_populate_write(), it must be closed without flushing (ext2fs_free()).
 * Both are borrowed until e4l_populate_free(), which *@ret needs after an
 * error too (it may be NULL); @t can be planned again then.
 * Errors: E4L_ET_NO_SPACE, E4L_ET_NO_INODES (after either, the statistics have
 * both counts), E4L_ET_CANNOT_POPULATE, E4L_ET_NOT_EMPTY, E4L_ET_NEEDS_FEATURE,
 * E4L_ET_DUPLICATE_NAME, E4L_ET_DIR_TOO_LARGE, E4L_ET_TOO_MANY_LINKS,
 * E4L_ET_FILE_TOO_LARGE, E4L_ET_XATTR_TOO_LARGE (the values need EA inodes),
 * E4L_ET_XATTR_TOO_MANY, E4L_ET_SYMLINK_BLOCK,
 * E4L_ET_LOST_FOUND, ENOMEM.
 */
errcode_t e4l_populate_plan(struct e4l *e, struct e4l_tree *t,
			    const struct e4l_populate_options *options,
			    struct e4l_populate **ret);

/*
 * Writes all content, directories and inodes with large writes to @target;
 * closing the filesystem then writes its bitmaps, descriptors and superblocks.
 * Nothing is synced.  After an error the device's content is useless.
 */
errcode_t e4l_populate_write(struct e4l_populate *p,
			     const struct e4l_populate_target *target);

void e4l_populate_get_stats(const struct e4l_populate *p,
			    struct e4l_populate_stats *stats);
void e4l_populate_free(struct e4l_populate *p);

#ifdef __cplusplus
}
#endif
#endif
