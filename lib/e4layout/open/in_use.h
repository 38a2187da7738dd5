/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * in_use: finds other users of a range of bytes of a device or an image: mounts
 * in each visible mount namespace, loop devices, partitions, the devices above
 * and below, and programs that lock images as qemu does.
 */
#ifndef E4L_IN_USE_H
#define E4L_IN_USE_H

#include <et/com_err.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct e4l_in_use;

/* Free the strings with e4l_in_use_by_free(). */
struct e4l_in_use_by {
	char *mount_point;	/* NULL: not mounted */
	pid_t pid;	/* process whose namespace has the mount; 0: our own */
	/* the mounted filesystem begins with the first byte of the range */
	bool same;
	char *loop;	/* loop device with bytes of the range, or NULL */
};

/*
 * Describes the bytes from @start to @end (UINT64_MAX: to the end) of the block
 * device or file @st.  Errors, with *@ret NULL:  ENOMEM, EMFILE, ENFILE.
 */
errcode_t e4l_in_use_new(const struct stat *st, uint64_t start, uint64_t end,
			 struct e4l_in_use **ret);
void e4l_in_use_free(struct e4l_in_use *u);	/* NULL is allowed */

/* Whether the lowest device whose type is known is a rotating disk. */
bool e4l_in_use_rotates(const struct e4l_in_use *u);

/*
 * Notes that the first device of @u is open exclusively.  Neither the device
 * nor the disk of a partition can then be mounted, so that e4l_in_use_find()
 * need not examine all processes.
 */
void e4l_in_use_hold(struct e4l_in_use *u);

/*
 * Finds users of the bytes, except the loop devices and partitions through
 * which e4l_in_use_new() has reached the bytes.  Errors: ENOMEM, EMFILE,
 * ENFILE: not everything was examined, but @by is valid and must be freed.
 */
errcode_t e4l_in_use_find(const struct e4l_in_use *u, struct e4l_in_use_by *by);
void e4l_in_use_by_free(struct e4l_in_use_by *by);

/*
 * Takes the locks that qemu takes on its images: exclusively if @write,
 * otherwise against writers.  The locks are on @fd, which is open on the device
 * or file, and on all files and devices below; they end when @fd is closed and
 * @u is freed.  Errors: E4L_ET_IN_USE: another program has a conflicting lock;
 * ENOMEM, EMFILE, ENFILE.
 */
errcode_t e4l_in_use_lock(struct e4l_in_use *u, int fd, bool write);

#endif
