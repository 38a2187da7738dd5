/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file: an open file of a mounted filesystem, and where its blocks are. */
#ifndef E4L_ONLINE_FILE_H
#define E4L_ONLINE_FILE_H

#include <sys/stat.h>
#include <e4layout/repack.h>

struct e4l_open_file {
	int fd;			/* to read and write */
	struct stat st;		/* when it was opened */
	uint32_t blocksize;
	struct e4l_extent *ex;	/* as the kernel said last; freed by close */
	size_t n, max;
	int failure;		/* the errno of what must not fail, or 0 */
	bool unsettled;		/* some of it has no place on the disk yet */
};

/*
 * Opens @path, below the directory @root_fd and on its filesystem, without
 * following links, if it is the regular file @ino of @generation.  Returns why
 * not, or E4L_SKIP_NONE; @ret->failure says whether that is a refusal.
 */
enum e4l_skip e4l_file_open(int root_fd, const char *path, ext2_ino_t ino,
			  uint32_t generation, uint32_t blocksize,
			  struct e4l_open_file *ret);
/* Makes a file without a name in the directory @dir; -1: an errno. */
int e4l_file_unnamed(int root_fd, const char *dir);
void e4l_file_close(struct e4l_open_file *f);

/*
 * Asks where its blocks are, after what is dirty has been written if @settle.
 * Entries are as FIEMAP joins them.  Returns an errno.
 */
int e4l_file_map(int fd, bool settle, struct e4l_open_file *f);

/* How many extents FIEMAP has of @len bytes from @at on; UINT32_MAX: unknown. */
uint32_t e4l_file_count(int fd, off_t at, off_t len);

/*
 * Writes out what is dirty of a range, and waits; no flush.  Returns an errno,
 * also of what others have written of the file since @fd was opened.
 */
int e4l_file_write_out(int fd, off_t at, off_t len);

#endif
