/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounted filesystems, from mountinfo. */
#ifndef E4L_MOUNTS_H
#define E4L_MOUNTS_H

#include <dirent.h>
#include <et/com_err.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct e4l_mount {
	dev_t dev;
	char *root;	/* directory of the filesystem that is mounted */
	char *point;
	char *type;
	char *source;
	char *options;	/* options of the filesystem; NULL: not listed */
};

/*
 * Parses a line of mountinfo.  The strings of @m point into @line, which is
 * modified.  False: the line has another format.
 */
bool e4l_mount_parse(char *line, struct e4l_mount *m);

/* Whether @m is an ext2, ext3 or ext4 filesystem. */
bool e4l_mount_is_ext(const struct e4l_mount *m);

/*
 * Finds a mount point of the block device @dev (*@point, to be freed), or NULL:
 * in our own mount namespace (*@pid is 0), or in that of the process *@pid.
 * Prefers mounts of the whole filesystem that are writable.  Errors: ENOMEM,
 * EMFILE, ENFILE: not everything was examined.
 */
errcode_t e4l_mount_point_anywhere(dev_t dev, char **point, pid_t *pid);

/*
 * Returns @error if memory or descriptors are missing, so that the result is
 * unknown; 0: the file does not exist, or is not accessible.
 */
errcode_t e4l_unseen(int error);

/*
 * Returns the next entry of @d; NULL: none.  If *@err is 0, sets it to
 * e4l_unseen() of a read error.
 */
struct dirent *e4l_next_entry(DIR *d, errcode_t *err);

/* The device node of a mounted filesystem (to be freed); NULL: no memory. */
char *e4l_mount_device(const struct e4l_mount *m);

/*
 * Finds the mount that contains @path.  The strings of @m point into *@line,
 * which must be freed even on failure.  False: not found.
 */
bool e4l_mount_around(const char *path, struct e4l_mount *m, char **line);

#endif
