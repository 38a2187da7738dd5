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
	/* options of the filesystem; NULL if the line has no such options */
	char *options;
};

/*
 * Parses a line of mountinfo.  The strings of @m point into @line, which is
 * modified.  Returns false if the line has another format.
 */
bool e4l_mount_parse(char *line, struct e4l_mount *m);

/* Returns whether @m is a mount of an ext2, ext3 or ext4 filesystem. */
bool e4l_mount_is_ext(const struct e4l_mount *m);

/*
 * Finds a mount point of the block device @dev.  If the mount namespace of this
 * process has a mount of @dev, sets *@pid to 0.  If the namespace has no such
 * mount, searches the namespaces of all other processes, and sets *@pid to a
 * process that sees the mount.  Sets *@point to NULL if the device is not
 * mounted; the caller frees *@point.  Prefers a mount of the filesystem's root
 * directory, then a writable mount.  Errors: ENOMEM, EMFILE, ENFILE: some
 * mounts were not examined.
 */
errcode_t e4l_mount_point_anywhere(dev_t dev, char **point, pid_t *pid);

/*
 * Returns @error if @error is ENOMEM, EMFILE or ENFILE: a search for users of a
 * device may have missed a user.  Returns 0 for other errors, such as ENOENT
 * and EACCES.
 */
errcode_t e4l_unseen(int error);

/*
 * Returns the next entry of @d, or NULL at the end and after a read error.
 * After a read error, if *@err is 0, sets *@err to e4l_unseen(errno).
 */
struct dirent *e4l_next_entry(DIR *d, errcode_t *err);

/*
 * Returns the name of a device node of the mounted filesystem, or NULL if there
 * is no memory.  The caller frees the name.
 */
char *e4l_mount_device(const struct e4l_mount *m);

/*
 * Finds the mount that contains @path.  The strings of @m point into *@line,
 * which the caller must free even on failure.  Returns false if no mount was
 * found.
 */
bool e4l_mount_around(const char *path, struct e4l_mount *m, char **line);

#endif
