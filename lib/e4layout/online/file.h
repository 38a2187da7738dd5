/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file: an open file of a mounted filesystem, and the map of its blocks. */
#ifndef E4L_ONLINE_FILE_H
#define E4L_ONLINE_FILE_H

#include <sys/stat.h>
#include <e4layout/repack.h>

struct e4l_open_file {
	int fd;			/* open for reading and writing */
	struct stat st;		/* status when the file was opened */
	uint32_t blocksize;
	/* last map from e4l_file_map(); freed by e4l_file_close() */
	struct e4l_extent *ex;
	size_t n, max;
	int failure; /* errno of an examination after the open, or 0 */
	bool unsettled;	/* some data has no blocks yet (delayed allocation) */
	/* an unfinished part uses the open file description of @fd */
	bool shared;
};

/*
 * Opens @path, below the directory @root_fd and on its filesystem, without
 * following links.  @path must be the regular file @ino with @generation.
 * Returns E4L_SKIP_NONE, or the reason why the file is not opened.  If a system
 * call fails after the open, the reason is E4L_SKIP_NOT_OPENED, and
 * ret->failure is the errno.
 */
enum e4l_skip e4l_file_open(int root_fd, const char *path, ext2_ino_t ino,
			  uint32_t generation, uint32_t blocksize,
			  struct e4l_open_file *ret);
/*
 * Creates a file without a name in the directory @dir below @root_fd.  Returns
 * a descriptor, or -1 with errno set.
 */
int e4l_file_unnamed(int root_fd, const char *dir);
void e4l_file_close(struct e4l_open_file *f);

/*
 * Reads the map of the file from the kernel.  If @settle is true, the kernel
 * first writes out dirty pages, so that all data has blocks.  FIEMAP can report
 * several adjacent extents as one.  Returns an errno.
 */
int e4l_file_map(int fd, bool settle, struct e4l_open_file *f);

/*
 * Returns the number of extents that FIEMAP reports for the @len bytes from
 * byte @at on, or UINT32_MAX if FIEMAP fails.
 */
uint32_t e4l_file_count(int fd, off_t at, off_t len);

/*
 * Writes out the dirty pages of the @len bytes from byte @at on and waits,
 * without a cache flush.  Returns an errno.  A write error of the file that
 * occurred after @fd was opened is also returned.
 */
int e4l_file_write_out(int fd, off_t at, off_t len);

#endif
