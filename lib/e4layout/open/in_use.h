/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who else uses the bytes of a device or an image: mounts in every mount
 * namespace that can be seen, loop devices, partitions, and what lies above or
 * beneath these; and programs that lock images as qemu does.
 */
#ifndef E4L_IN_USE_H
#define E4L_IN_USE_H

#include <et/com_err.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct e4l_in_use;

/* Strings are freed by e4l_in_use_by_free(). */
struct e4l_in_use_by {
	char *mount_point;	/* NULL: not mounted */
	pid_t pid;		/* sees it there; 0: we do ourselves */
	bool same;		/* what is mounted begins where our bytes do */
	char *loop;		/* a loop device over them, or NULL */
};

/*
 * The bytes from @start up to @end (UINT64_MAX: all there are) of the block
 * device or the file that @st describes.
 * Errors: as e4l_in_use_find(); *@ret is NULL then.
 */
errcode_t e4l_in_use_new(const struct stat *st, uint64_t start, uint64_t end,
			 struct e4l_in_use **ret);
void e4l_in_use_free(struct e4l_in_use *u);	/* NULL is allowed */

/*
 * Whether the device that has these bytes in the end says that it rotates; of
 * the lowest that says anything.
 */
bool e4l_in_use_rotates(const struct e4l_in_use *u);

/*
 * The device, the first of @u's, is open exclusively from now on: neither it
 * nor the disk that it is a partition of can be mounted, so that
 * e4l_in_use_find() need not look at all processes for that.
 */
void e4l_in_use_hold(struct e4l_in_use *u);

/*
 * Finds out who uses these bytes, beside the devices that they are reached
 * through.
 * Errors: ENOMEM, EMFILE, ENFILE, where not all was looked at; what @by has is
 * true then, too, and is freed as well.
 */
errcode_t e4l_in_use_find(const struct e4l_in_use *u, struct e4l_in_use_by *by);
void e4l_in_use_by_free(struct e4l_in_use_by *by);

/*
 * Locks them as qemu locks its images, to @write or to have nobody else do so,
 * through @fd, which is open on the device or the file, and what lies beneath;
 * until @fd is closed and @u freed.
 * Errors: E4L_ET_IN_USE when somebody holds a lock against that; as
 * e4l_in_use_find().
 */
errcode_t e4l_in_use_lock(struct e4l_in_use *u, int fd, bool write);

#endif
