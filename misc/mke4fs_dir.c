/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a directory, without the image that is being written. */
#include "config.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/loop.h>
#include "e4layout/base/stat.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_source.h"
#include "support/say.h"

#define MAX_STACKED	8	/* limit of stacked devices */

/* Finds the path of a block device by its number; false: it has none. */
static bool device_path(dev_t dev, char path[PATH_MAX])
{
	char link[64], target[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev),
		 minor(dev));
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	return snprintf(path, PATH_MAX, "/dev%s", strrchr(target, '/')) <
	       PATH_MAX;
}

/*
 * Decodes a device number, which the kernel encodes like stat(2), but in 32
 * bits.
 */
static dev_t decode_device(uint64_t encoded)
{
	return makedev(encoded >> 8 & 0xfff,
		       (encoded & 0xff) | (encoded >> 12 & 0xfff00));
}

static bool find_below(const char *device, struct stat *st, unsigned int depth);

/* Finds the file below a stacked device, such as one of device-mapper. */
static bool find_slave(dev_t dev, struct stat *st, unsigned int depth)
{
	char dir[64], path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *slaves;

	snprintf(dir, sizeof(dir), "/sys/dev/block/%u:%u/slaves", major(dev),
		 minor(dev));
	slaves = opendir(dir);
	while (slaves && !found && (entry = readdir(slaves))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		found = find_below(path, st, depth + 1);
	}
	if (slaves)
		closedir(slaves);
	return found;
}

/* Finds the file below a loop device, or below one of its partitions. */
static bool find_looped(int fd, struct stat *st, unsigned int depth)
{
	struct loop_info64 info = { 0 };
	char path[PATH_MAX];

	if (ioctl(fd, LOOP_GET_STATUS64, &info))
		return false;
	if (info.lo_rdevice)
		return device_path(decode_device(info.lo_rdevice), path) &&
		       find_below(path, st, depth + 1);
	st->st_dev = decode_device(info.lo_device);
	st->st_ino = info.lo_inode;
	return true;
}

/*
 * Finds the file below @device, through loop devices and other stacked devices.
 */
static bool find_below(const char *device, struct stat *st, unsigned int depth)
{
	struct stat own;
	bool found;
	int fd;

	if (depth > MAX_STACKED)
		return false;
	fd = open(device, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	found = !e4l_fstat(fd, &own) && S_ISBLK(own.st_mode) &&
		(find_looped(fd, st, depth) ||
		 find_slave(own.st_rdev, st, depth));
	close(fd);
	return found;
}

/* Finds the existing file of the new image. */
static bool find_image(const struct config *c, struct stat *st)
{
	if (e4l_stat(c->device, st))
		return false;
	return S_ISBLK(st->st_mode) ? find_below(c->device, st, 0) :
				      S_ISREG(st->st_mode);
}

static bool is_image(const struct config *c, const struct stat *st)
{
	struct stat image;

	if (S_ISBLK(st->st_mode))
		return !e4l_stat(c->device, &image) &&
		       S_ISBLK(image.st_mode) && image.st_rdev == st->st_rdev;
	return S_ISREG(st->st_mode) && find_image(c, &image) &&
	       image.st_ino == st->st_ino && image.st_dev == st->st_dev;
}

void say_is_image(const struct config *c, const char *name)
{
	say("%s: the source is the image %s itself: give another image", name,
	    c->device);
}

bool refuse_image(const struct load *l, const struct stat *st)
{
	if (!is_image(l->c, st))
		return false;
	say_is_image(l->c, l->name);
	return true;
}

static void note_left_out(const char *path, errcode_t why, void *priv)
{
	const struct load *l = priv;

	if (why == E4L_ET_MOUNTED_ON && !l->c->common.quiet)
		say("%s: %s: the contents of the directory are omitted: %s",
		    l->name, path, error_message(why));
	else if (why == E4L_ET_IS_IMAGE || !l->c->common.quiet)
		say("%s: %s: omitted: %s", l->name, path,
		    error_message(why));
}

bool load_dir(struct load *l, const char *path)
{
	const struct config *c = l->c;
	struct stat image;
	const struct e4l_dir_options options = {
		.threads = c->threads,
		.flags = (c->no_xattrs ? E4L_DIR_NO_XATTRS : 0) |
			 (c->one_fs ? E4L_DIR_ONE_FS : 0),
		.exclude = find_image(c, &image) ? &image : NULL,
		.left_out = note_left_out, .priv = l,
	};
	const char *attr;
	errcode_t err;

	if (!begin_layer(l, false))
		return false;
	err = e4l_tree_load_dir(l->t, path, &options);
	attr = e4l_tree_attribute(l->t);
	if (err && *attr) {
		say("%s: %s: cannot read the extended attribute %s: %s (-E "
		    "no_copy_xattrs omits all attributes)", l->name,
		    e4l_tree_where(l->t), attr, error_message(err));
		return false;
	}
	return !err || say_source(l->name, l->t, err);
}
