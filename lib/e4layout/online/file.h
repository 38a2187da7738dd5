/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file: an open file of a mounted filesystem, and the map of its blocks. */
#ifndef E4L_ONLINE_FILE_H
#define E4L_ONLINE_FILE_H

#include <sys/stat.h>
#include <e4layout/repack.h>

struct e4l_open_file {
	int fd;			/* open for reading and writing */
	struct stat st; /* result of fstat(2) when the file was opened */
	uint32_t blocksize;
	/* extents of the last e4l_file_map(); e4l_file_close() frees them */
	struct e4l_extent *ex;
	size_t n, max;
	/* 0, or errno of a system call that failed after the open */
	int failure;
	/* some data has no blocks yet, because of delayed allocation */
	bool unsettled;
	/*
	 * the descriptor of an earlier moved part of the file has the same open
	 * file description as @fd; the next part needs another description
	 */
	bool shared;
};

/*
 * Opens the file @path without following symbolic links.  @path is relative to
 * @root_fd, and must be on the same filesystem.  The file must be a regular
 * file with inode number @ino and @generation.
 *
 * Returns E4L_SKIP_NONE, or the reason why the file is not opened.  If a system
 * call fails after the open, returns E4L_SKIP_NOT_OPENED and sets ret->failure
 * to the errno.
 */
enum e4l_skip e4l_file_open(int root_fd, const char *path, ext2_ino_t ino,
			  uint32_t generation, uint32_t blocksize,
			  struct e4l_open_file *ret);
/*
 * Creates a file without a name in the directory @dir, a path relative to
 * @root_fd.  Returns a descriptor, or -1 with errno set.
 */
int e4l_file_unnamed(int root_fd, const char *dir);
void e4l_file_close(struct e4l_open_file *f);

/*
 * Reads the map of the file @fd from the kernel into @f.  If @settle is true,
 * the kernel first writes out dirty pages, so that all data has blocks.  FIEMAP
 * can report several adjacent extents as one extent.  Returns 0 or an errno.
 */
int e4l_file_map(int fd, bool settle, struct e4l_open_file *f);

/*
 * Returns the number of extents that FIEMAP reports for the @len bytes of the
 * file from byte @at on.  If FIEMAP fails, returns UINT32_MAX.
 */
uint32_t e4l_file_count(int fd, off_t at, off_t len);

/*
 * Writes out the dirty pages of the @len bytes of the file from byte @at on,
 * and waits, without a flush of the device's cache.  Returns 0 or an errno.  If
 * a write error of the file occurred after @fd was opened, returns the errno of
 * the write error.
 */
int e4l_file_write_out(int fd, off_t at, off_t len);

#endif
