/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stat: stat(2) for files with 64-bit times.  time_t must have the same size as
 * in libext2fs, because struct struct_ext2_filsys contains a time_t.  If time_t
 * has 32 bits, as on Debian's i386, stat(2) fails for files that are dated
 * after January 2038.  statx(2) always has 64-bit times.
 */
#ifndef E4L_STAT_H
#define E4L_STAT_H

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/*
 * Like fstatat(2), but does not set st_atim and st_mtim, and truncates st_ctim
 * to the size of time_t.  If @stx is not NULL, *@stx gets all times.  On error,
 * returns -1 and sets errno.
 */
static inline int e4l_fstatat(int dir, const char *path, int flags,
			      struct stat *st, struct statx *stx)
{
	struct statx own;

	if (!stx)
		stx = &own;
	if (statx(dir, path, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, stx))
		return -1;
	memset(st, 0, sizeof(*st));
	st->st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	st->st_ino = stx->stx_ino;
	st->st_mode = stx->stx_mode;
	st->st_nlink = stx->stx_nlink;
	st->st_uid = stx->stx_uid;
	st->st_gid = stx->stx_gid;
	st->st_rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor);
	st->st_size = (off_t)stx->stx_size;
	st->st_blksize = (blksize_t)stx->stx_blksize;
	st->st_blocks = (blkcnt_t)stx->stx_blocks;
	st->st_ctim.tv_sec = (time_t)stx->stx_ctime.tv_sec;
	st->st_ctim.tv_nsec = stx->stx_ctime.tv_nsec;
	return 0;
}

static inline int e4l_stat(const char *path, struct stat *st)
{
	return e4l_fstatat(AT_FDCWD, path, 0, st, NULL);
}

static inline int e4l_lstat(const char *path, struct stat *st)
{
	return e4l_fstatat(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, st, NULL);
}

static inline int e4l_fstat(int fd, struct stat *st)
{
	return e4l_fstatat(fd, "", AT_EMPTY_PATH, st, NULL);
}

/*
 * Returns whether @path is on an overlayfs.  Returns false if statfs(2) fails.
 */
static inline bool e4l_is_overlaid(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) &&
	       (uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Returns whether @a and @b are the same file.  If @a or @b is on an overlayfs,
 * @overlaid must be true.  An overlayfs changes the st_dev of a file, but not
 * st_ino, st_size, st_blocks and st_ctim.
 */
static inline bool e4l_same_file(const struct stat *a, const struct stat *b,
				 bool overlaid)
{
	return a->st_ino == b->st_ino &&
	       (a->st_dev == b->st_dev ||
		(overlaid && a->st_size == b->st_size &&
		 a->st_blocks == b->st_blocks &&
		 a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
		 a->st_ctim.tv_nsec == b->st_ctim.tv_nsec));
}

#endif
