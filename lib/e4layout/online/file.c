/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "failure.h"
#include "file.h"

#define MAP_AT_ONCE	512	/* extents per call of FIEMAP */

/* --------------------------------------------------------------------- open */

/*
 * Opens the file @path below the directory @root_fd.  O_NONBLOCK: do not wait
 * for a program that holds a lease on the file.  A device file would also be
 * opened, but only privileged programs can create a device file.
 */
static int open_below(int root_fd, const char *path, uint64_t more)
{
	struct open_how how = {
		.flags = O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC |
			 O_NOCTTY | more,
		.mode = (more & O_TMPFILE) == O_TMPFILE ? 0600 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_XDEV,
	};

	return syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

int e4l_file_unnamed(int root_fd, const char *dir)
{
	return open_below(root_fd, dir, O_TMPFILE);
}

static const struct e4l_reason reasons[] = {
	{ ETXTBSY, E4L_SKIP_EXECUTED },
	{ EWOULDBLOCK, E4L_SKIP_LEASED },
	{ ENOENT, E4L_SKIP_CHANGED },
	{ ELOOP, E4L_SKIP_CHANGED },
	{ ENOTDIR, E4L_SKIP_CHANGED },
	{ EXDEV, E4L_SKIP_HIDDEN },
	{ EACCES, E4L_SKIP_PERMISSION },
	{ EPERM, E4L_SKIP_PERMISSION },
	{ 0, E4L_SKIP_NOT_OPENED },
};

/*
 * Checks that the opened file is a regular file with inode number @ino and
 * @generation.  Returns 0 or an errno.  If another file was opened, returns
 * ESTALE.
 */
static int look(struct e4l_open_file *f, ext2_ino_t ino, uint32_t generation)
{
	unsigned int version = 0;

	if (e4l_fstat(f->fd, &f->st))
		return errno;
	if (!S_ISREG(f->st.st_mode) || f->st.st_ino != ino)
		return ESTALE;
	if (ioctl(f->fd, FS_IOC_GETVERSION, &version))
		return errno;
	return version == generation ? 0 : ESTALE;
}

enum e4l_skip e4l_file_open(int root_fd, const char *path, ext2_ino_t ino,
			  uint32_t generation, uint32_t blocksize,
			  struct e4l_open_file *ret)
{
	int err;

	*ret = (struct e4l_open_file) { .fd = -1, .blocksize = blocksize };
	while (*path == '/')
		path++;
	ret->fd = open_below(root_fd, path, O_NOATIME);
	if (ret->fd < 0 && errno == EPERM)
		ret->fd = open_below(root_fd, path, 0);
	if (ret->fd < 0)
		return e4l_reason_skip(errno, reasons);
	err = look(ret, ino, generation);
	if (!err)
		return E4L_SKIP_NONE;
	e4l_file_close(ret);
	ret->failure = err == ESTALE ? 0 : err;
	return err == ESTALE ? E4L_SKIP_CHANGED :
			       E4L_SKIP_NOT_OPENED;
}

void e4l_file_close(struct e4l_open_file *f)
{
	e4l_close_fd(f->fd);
	f->fd = -1;
	free(f->ex);
	f->ex = NULL;
	f->n = f->max = 0;
}

/* ---------------------------------------------------------------------- map */

static int add_extent(struct e4l_open_file *f, const struct fiemap_extent *x)
{
	uint64_t bs = f->blocksize, last = (x->fe_logical + x->fe_length) / bs;
	struct e4l_extent ex = {
		.pblk = x->fe_physical / bs, .lblk = x->fe_logical / bs,
		.len = x->fe_length / bs,
		.unwritten = !!(x->fe_flags & FIEMAP_EXTENT_UNWRITTEN),
	};

	if (x->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
			   FIEMAP_EXTENT_DATA_INLINE |
			   FIEMAP_EXTENT_NOT_ALIGNED) || !ex.len ||
	    last > UINT32_MAX) {
		f->unsettled = true;
		return 0;
	}
	return e4l_append(&f->ex, &f->n, &f->max, &ex, 1, sizeof(ex));
}

static int map_some(int fd, struct fiemap *map, struct e4l_open_file *f)
{
	unsigned int i;
	int err;

	map->fm_length = FIEMAP_MAX_OFFSET - map->fm_start;
	map->fm_extent_count = MAP_AT_ONCE;
	if (ioctl(fd, FS_IOC_FIEMAP, map))
		return errno;
	for (i = 0; i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *x = &map->fm_extents[i];

		err = add_extent(f, x);
		if (err)
			return err;
		map->fm_start = x->fe_logical + x->fe_length;
		if (x->fe_flags & FIEMAP_EXTENT_LAST)
			map->fm_mapped_extents = 0;
	}
	return 0;
}

int e4l_file_map(int fd, bool settle, struct e4l_open_file *f)
{
	struct fiemap *map = calloc(1, sizeof(*map) +
				    MAP_AT_ONCE * sizeof(struct fiemap_extent));
	int err = map ? 0 : ENOMEM;

	f->n = 0;
	f->unsettled = false;
	while (!err) {
		map->fm_flags = settle ? FIEMAP_FLAG_SYNC : 0;
		settle = false;
		err = map_some(fd, map, f);
		if (!map->fm_mapped_extents)
			break;
	}
	free(map);
	return err;
}

uint32_t e4l_file_count(int fd, off_t at, off_t len)
{
	struct fiemap map = { .fm_start = at, .fm_length = len };

	return ioctl(fd, FS_IOC_FIEMAP, &map) ? UINT32_MAX :
						map.fm_mapped_extents;
}

int e4l_file_write_out(int fd, off_t at, off_t len)
{
	return sync_file_range(fd, at, len, SYNC_FILE_RANGE_WAIT_BEFORE |
			       SYNC_FILE_RANGE_WRITE |
			       SYNC_FILE_RANGE_WAIT_AFTER) ? errno : 0;
}
