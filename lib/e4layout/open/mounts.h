/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is mounted where, from mountinfo. */
#ifndef E4L_MOUNTS_H
#define E4L_MOUNTS_H

#include <dirent.h>
#include <et/com_err.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct e4l_mount {
	dev_t dev;
	char *root;	/* what of the filesystem is seen at the mount point */
	char *point;
	char *type;
	char *source;
	char *options;	/* the filesystem's own; NULL: none are listed */
};

/*
 * Reads one line of mountinfo.  The strings of @m point into @line, which is
 * changed.  False when the line is not of that format.
 */
bool e4l_mount_parse(char *line, struct e4l_mount *m);

/* Whether @m is an ext2, ext3 or ext4 filesystem. */
bool e4l_mount_is_ext(const struct e4l_mount *m);

/*
 * Where the block device @dev is mounted (*@point, to be freed), or NULL: in our
 * own mount namespace (*@pid is 0), or in that of the process *@pid.  Where all
 * of it is seen and can be written is better than elsewhere.
 * Errors: ENOMEM, EMFILE, ENFILE, where not all could be looked at.
 */
errcode_t e4l_mount_point_anywhere(dev_t dev, char **point, pid_t *pid);

/*
 * @error where it is for want of memory or descriptors, so that nothing is known
 * of what was to be opened; else 0: it is not there, or not for us to see.
 */
errcode_t e4l_unseen(int error);

/*
 * The next entry of @d; NULL: there is none, or it was not seen, which *@err tells
 * then as e4l_unseen() does, if it is 0 before.
 */
struct dirent *e4l_next_entry(DIR *d, errcode_t *err);

/* The device file of what is mounted (to be freed); NULL: no memory. */
char *e4l_mount_device(const struct e4l_mount *m);

/*
 * The mount that @path is seen through.  The strings of @m point into *@line,
 * which is to be freed whatever happens.  False when it cannot be found.
 */
bool e4l_mount_around(const char *path, struct e4l_mount *m, char **line);

#endif
