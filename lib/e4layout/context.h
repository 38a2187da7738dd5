/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* context: the handle of an open filesystem, and the last failure. */
#ifndef E4LAYOUT_CONTEXT_H
#define E4LAYOUT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <e4layout/e4l_err.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers, for conditional compilation. */
#define E4L_VERSION_MAJOR	0
#define E4L_VERSION_MINOR	1
#define E4L_VERSION_PATCH	0
/*
 * Converts a version to a number, so that versions can be compared, for example
 * E4L_VERSION >= E4L_VERSION_CODE(1, 2, 0).
 */
#define E4L_VERSION_CODE(major, minor, patch) \
	((major) << 16 | (minor) << 8 | (patch))
#define E4L_VERSION \
	E4L_VERSION_CODE(E4L_VERSION_MAJOR, E4L_VERSION_MINOR, \
			 E4L_VERSION_PATCH)

/*
 * Returns the E4L_VERSION of the library that the program runs with, which can
 * be newer than the headers.  Unless @text is NULL, *@text is set to the
 * version as static text such as "1.2.0".
 */
unsigned int e4l_version(const char **text);

/* The context of an open filesystem.  The members are private. */
struct e4l;

/* The last failed operation on a context, and the location of the failure. */
struct e4l_detail {
	const char *doing;	/* e.g. "reading the inode table"; static text */
	ext2_ino_t ino;		/* 0: no inode */
	blk64_t blk;		/* 0: no block */
	dgrp_t group;		/* valid if has_group is set */
	bool has_group;
	uint64_t reserved[2];
};

/*
 * Creates a context for an open filesystem.  e4l_new() does not test whether
 * the filesystem is mounted, in use, or in a state that makes changes unsafe.
 * Programs that change a filesystem should call e4l_open() instead.
 *
 * @fs is borrowed until e4l_free(): the caller must keep @fs open, and must not
 * use @fs while a function of this library runs.  @fs must have been opened
 * with EXT2_FLAG_64BITS, and not from a backup superblock.  With
 * EXT2_FLAG_THREADS, reads run in parallel.  e4l_new() checks the geometry, and
 * checks that the device is large enough for ext2fs_blocks_count() blocks.
 *
 * Errors: E4L_ET_TRUNCATED, E4L_ET_BAD_GEOMETRY, ENOMEM, and errors of reading.
 * After an error, *@ret is NULL or a context.  The caller can pass this context
 * only to e4l_detail(), e4l_detail_text() and e4l_free(), and must free it.
 */
errcode_t e4l_new(ext2_filsys fs, struct e4l **ret);

/*
 * Frees a context that e4l_new() has created.  Does not close the filesystem.
 * @e may be NULL.
 */
void e4l_free(struct e4l *e);

/*
 * Returns the filesystem of @e.  If e4l_open() created @e, the filesystem
 * belongs to @e.  If e4l_new() created @e, the filesystem belongs to the caller
 * of e4l_new().
 */
ext2_filsys e4l_fs(const struct e4l *e);

/*
 * Returns the operation, inode, block and group of the last failure.  The
 * result belongs to @e and is valid until the next call with @e.
 */
const struct e4l_detail *e4l_detail(const struct e4l *e);

/*
 * Writes "OPERATION (inode N, block N, group N)" of the last failure to @buf of
 * @size bytes, always terminated with NUL.  Returns @buf.
 */
const char *e4l_detail_text(const struct e4l *e, char *buf, size_t size);

/*
 * Sets the largest number of threads that work at the same time, 1 to 64.  The
 * default is the number of processors, but at least 2 and at most 64.  If
 * @threads is out of range, returns E4L_ET_BAD_ARGUMENT and changes nothing.
 */
errcode_t e4l_set_threads(struct e4l *e, unsigned int threads);

/*
 * Makes the running function and all later functions on @e fail with
 * E4L_ET_INTERRUPTED, until e4l_clear_interrupt() is called.  e4l_interrupt()
 * can be called from any thread and any signal handler.
 */
void e4l_interrupt(struct e4l *e);
/* Ends the effect of e4l_interrupt(), so that functions on @e can run again. */
void e4l_clear_interrupt(struct e4l *e);

#ifdef __cplusplus
}
#endif
#endif
