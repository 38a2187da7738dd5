/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads a directory.  If the directory contains the image that is being
 * written, does not load the image.
 */
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
#include "mke4fs_output.h"
#include "mke4fs_source.h"
#include "support/say.h"

#define MAX_STACKED	8	/* maximum depth of stacked devices */

/*
 * Finds the path of the block device @dev.  If @dev has no path, returns false.
 */
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

/* Decodes a device number in the 32-bit encoding of Linux. */
static dev_t decode_device(uint64_t encoded)
{
	return makedev(encoded >> 8 & 0xfff,
		       (encoded & 0xff) | (encoded >> 12 & 0xfff00));
}

/* A regular file, and whether it is on an overlayfs. */
struct file {
	struct stat st;
	bool overlaid;
};

static bool find_below(const char *device, struct file *f, unsigned int depth);

/*
 * Finds the file that is the backing store of a stacked device, such as a
 * device of device-mapper.  Returns false if there is no such file.
 */
static bool find_slave(dev_t dev, struct file *f, unsigned int depth)
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
		found = find_below(path, f, depth + 1);
	}
	if (slaves)
		closedir(slaves);
	return found;
}

/*
 * Reads the path of a loop device's backing file.  In the mount namespace of
 * this process, another file or no file may have this path.  Returns false if
 * there is no path.
 */
static bool backing_path(dev_t dev, char path[PATH_MAX])
{
	char name[64];
	ssize_t len = -1;
	int file;

	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/loop/backing_file",
		 major(dev), minor(dev));
	file = open(name, O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		len = read(file, path, PATH_MAX - 1);
		close(file);
	}
	if (len <= 0)
		return false;
	path[len - 1] = '\0';	/* replaces the newline */
	return true;
}

/*
 * Finds the backing file of a loop device, or of a partition of a loop device.
 * Returns false if there is no such file.
 */
static bool find_looped(int fd, dev_t dev, struct file *f, unsigned int depth)
{
	struct loop_info64 info = { 0 };
	char path[PATH_MAX];
	struct stat st;

	if (ioctl(fd, LOOP_GET_STATUS64, &info))
		return false;
	if (info.lo_rdevice)
		return device_path(decode_device(info.lo_rdevice), path) &&
		       find_below(path, f, depth + 1);
	*f = (struct file) {
		.st.st_dev = decode_device(info.lo_device),
		.st.st_ino = info.lo_inode,
	};
	/*
	 * Only for a file on an overlayfs, e4l_same_file() uses the size and
	 * the change time, which LOOP_GET_STATUS64 does not return.
	 */
	if (backing_path(dev, path) && !e4l_stat(path, &st) &&
	    e4l_same_file(&st, &f->st, false))
		*f = (struct file) { st, e4l_is_overlaid(path) };
	return true;
}

/*
 * Finds the file that is the backing store of @device, through loop devices and
 * other stacked devices.  Returns false if there is no such file.
 */
static bool find_below(const char *device, struct file *f, unsigned int depth)
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
		(find_looped(fd, own.st_rdev, f, depth) ||
		 find_slave(own.st_rdev, f, depth));
	close(fd);
	return found;
}

/*
 * Sets @f to the regular file at @path, which has the status @st.  If @path is
 * a block device, sets @f to the file that is the backing store of the device.
 * Returns false if there is no such file.
 */
static bool find_file(const char *path, const struct stat *st, struct file *f)
{
	if (S_ISBLK(st->st_mode))
		return find_below(path, f, 0);
	*f = (struct file) { *st, e4l_is_overlaid(path) };
	return S_ISREG(st->st_mode);
}

bool same_storage(const char *one, const char *other)
{
	struct file first, second;
	struct stat a, b;

	if (e4l_stat(one, &a) || e4l_stat(other, &b))
		return false;
	/* Two devices can be different parts of one file. */
	if (S_ISBLK(a.st_mode) && S_ISBLK(b.st_mode))
		return a.st_rdev == b.st_rdev;
	/* regular files with different inode numbers are different files */
	if (S_ISREG(a.st_mode) && S_ISREG(b.st_mode) && a.st_ino != b.st_ino)
		return false;
	return find_file(one, &a, &first) && find_file(other, &b, &second) &&
	       e4l_same_file(&first.st, &second.st,
			     first.overlaid || second.overlaid);
}

bool refuse_image(const struct config *c, const char *name, const char *path)
{
	struct output outputs[MAX_OUTPUTS];
	unsigned int n = list_outputs(c, outputs);

	if (same_storage(path, c->device)) {
		say("%s: the source is the image %s itself: give another image",
		    name, c->device);
		return true;
	}
	while (n--) {
		if (!same_storage(path, outputs[n].path))
			continue;
		say("%s: the source is the %s of %s: give another %s", name,
		    outputs[n].what, outputs[n].option, outputs[n].what);
		return true;
	}
	return false;
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
	struct file image = { 0 };
	struct stat st;
	bool exists = !e4l_stat(c->device, &st) &&
		      find_file(c->device, &st, &image);
	const struct e4l_dir_options options = {
		.threads = c->threads,
		.exclude = exists ? &image.st : NULL,
		.flags = (c->no_xattrs ? E4L_DIR_NO_XATTRS : 0) |
			 (c->one_fs ? E4L_DIR_ONE_FS : 0) |
			 (image.overlaid ? E4L_DIR_OVERLAID : 0),
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
