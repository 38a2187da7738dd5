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
	char *root;	/* mounted directory, as a path in the filesystem */
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
 * Finds a mount point of the block device @dev in our own mount namespace
 * (*@pid is 0), or in the namespace of the process *@pid.  The caller frees
 * *@point; NULL: not mounted.  Prefers writable mounts of the root directory of
 * the filesystem.  Errors: ENOMEM, EMFILE, ENFILE: not everything was examined.
 */
errcode_t e4l_mount_point_anywhere(dev_t dev, char **point, pid_t *pid);

/*
 * Returns the errno @error if memory or descriptors are missing, so that the
 * use of a device is unknown, and 0 if a file does not exist or is not
 * accessible.
 */
errcode_t e4l_unseen(int error);

/*
 * Returns the next entry of @d; NULL: the end or a read error.  After a read
 * error, sets *@err, unless it is set already, to e4l_unseen(errno).
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
