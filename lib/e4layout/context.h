/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* context: a filesystem as this library sees it, and the last failure. */
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
/* Versions compare as numbers: E4L_VERSION >= E4L_VERSION_CODE(1, 2, 0). */
#define E4L_VERSION_CODE(major, minor, patch) \
	((major) << 16 | (minor) << 8 | (patch))
#define E4L_VERSION \
	E4L_VERSION_CODE(E4L_VERSION_MAJOR, E4L_VERSION_MINOR, \
			 E4L_VERSION_PATCH)

/*
 * Returns the E4L_VERSION of the library that the program runs with, which can be
 * newer than the headers.  *@text, unless @text is NULL, is the version as text,
 * "1.2.0": static.
 */
unsigned int e4l_version(const char **text);

/* Opaque: a filesystem as this library sees it. */
struct e4l;

/* Where the last failure on a context happened. */
struct e4l_detail {
	const char *doing;	/* e.g. "reading the inode table"; static text */
	ext2_ino_t ino;		/* 0: no inode is concerned */
	blk64_t blk;		/* 0: no block is concerned */
	dgrp_t group;		/* meaningful when has_group is set */
	bool has_group;
	uint64_t reserved[2];
};

/*
 * Creates a context over @fs, for who has one already: e4l_open() also refuses
 * what is mounted, attached, locked or held by anybody else, or not in a state
 * to be changed, and looks for who comes later.  Nothing of that is done here:
 * whoever changes @fs answers for it.  @fs is borrowed: it must stay open, and
 * must not be used by the caller while one of the functions below runs, until
 * e4l_free().  @fs must have been opened with EXT2_FLAG_64BITS; opened with
 * EXT2_FLAG_THREADS as well, reads run in parallel.  Checks the geometry and
 * the device's size: after this, every block number below
 * ext2fs_blocks_count() can be read.
 * Errors: E4L_ET_TRUNCATED, E4L_ET_BAD_GEOMETRY, ENOMEM.  On an error *@ret
 * is a context all the same when memory allowed (for e4l_detail()); it can
 * only be freed.  Otherwise it is NULL.
 */
errcode_t e4l_new(ext2_filsys fs, struct e4l **ret);

/*
 * Frees @e of e4l_new() and what it holds, but not its filesystem.  NULL is
 * allowed.
 */
void e4l_free(struct e4l *e);

/* The filesystem that was opened by e4l_open(), or given to e4l_new(). */
ext2_filsys e4l_fs(const struct e4l *e);

/* What the last failure was about; valid until the next call on @e. */
const struct e4l_detail *e4l_detail(const struct e4l *e);

/*
 * Writes "DOING (inode N, block N, group N)" for the last failure to @buf, of
 * @size bytes, always terminated.  Returns @buf.
 */
const char *e4l_detail_text(const struct e4l *e, char *buf, size_t size);

/*
 * How many threads may work at once, 1 to 64.  The default is the number of
 * processors, at least 2.  Many requests are in flight in any case, since
 * ranges are announced before they are read: more threads only get in each
 * other's way.
 */
errcode_t e4l_set_threads(struct e4l *e, unsigned int threads);

/*
 * Asks whatever runs on @e to stop soon with E4L_ET_INTERRUPTED.  Safe to call
 * from a signal handler and from any thread; stays in force until
 * e4l_clear_interrupt().
 */
void e4l_interrupt(struct e4l *e);
void e4l_clear_interrupt(struct e4l *e);

#ifdef __cplusplus
}
#endif
#endif
