/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a directory, without the image that is being made. */
#include "config.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/loop.h>
#include "e4layout/base/stat.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_source.h"
#include "support/say.h"

/* The file behind a loop device, or behind a partition of one. */
static bool find_looped(const char *device, struct stat *st)
{
	struct loop_info64 info = { 0 };
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && !ioctl(fd, LOOP_GET_STATUS64, &info);

	if (fd >= 0)
		close(fd);
	/* The kernel encodes the number as stat(2) does, but in 32 bits. */
	st->st_dev = makedev(info.lo_device >> 8 & 0xfff,
			     (info.lo_device & 0xff) |
			     (info.lo_device >> 12 & 0xfff00));
	st->st_ino = info.lo_inode;
	return found;
}

/* The file that will hold the image, if there is one already. */
static bool find_image(const struct config *c, struct stat *st)
{
	if (e4l_stat(c->device, st))
		return false;
	return S_ISBLK(st->st_mode) ? find_looped(c->device, st) :
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

bool refuse_image(const struct load *l, const struct stat *st)
{
	if (!is_image(l->c, st))
		return false;
	say("%s: the source is the same file as the image %s: name another "
	    "image", l->name, l->c->device);
	return true;
}

static void note_left_out(const char *path, errcode_t why, void *priv)
{
	const struct load *l = priv;

	if (why == E4L_ET_MOUNTED_ON && !l->c->common.quiet)
		say("%s: %s: the directory is taken without its content: %s",
		    l->name, path, error_message(why));
	else if (why == E4L_ET_IS_IMAGE || !l->c->common.quiet)
		say("%s: %s: is left out: %s", l->name, path,
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
		say("%s: %s: its attribute %s cannot be read: %s: "
		    "-E no_copy_xattrs leaves all attributes out", l->name,
		    e4l_tree_where(l->t), attr, error_message(err));
		return false;
	}
	return !err || say_source(l->name, l->t, err);
}
