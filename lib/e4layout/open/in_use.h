/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * in_use: finds other users of a range of bytes of a device or an image.  Users
 * are mounts in each visible mount namespace, loop devices, and programs that
 * lock images like qemu, also through partitions and loop devices.
 */
#ifndef E4L_IN_USE_H
#define E4L_IN_USE_H

#include <et/com_err.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct e4l_in_use;

/*
 * Other users of a range of bytes.  The caller frees the strings with
 * e4l_in_use_by_free().
 */
struct e4l_in_use_by {
	char *mount_point;	/* NULL: not mounted */
	pid_t pid; /* a process that sees the mount; 0: this process */
	/* the mounted filesystem begins with the first byte of the range */
	bool same;
	/* a loop device that maps bytes of the range; NULL: no loop device */
	char *loop;
};

/*
 * Creates a search for users of the bytes from @start to @end of the block
 * device or file @st.  If @end is UINT64_MAX, the range extends to the end of
 * @st.  Errors, with *@ret NULL: ENOMEM, EMFILE, ENFILE.
 */
errcode_t e4l_in_use_new(const struct stat *st, uint64_t start, uint64_t end,
			 struct e4l_in_use **ret);
void e4l_in_use_free(struct e4l_in_use *u);	/* NULL is allowed */

/*
 * Returns whether the range of @u is on a rotating disk, according to the
 * lowest device for which the kernel reports this property.
 */
bool e4l_in_use_rotates(const struct e4l_in_use *u);

/*
 * Records that the caller has opened the device exclusively.  Other programs
 * can mount neither the device nor, for a partition, the whole disk.  Therefore
 * e4l_in_use_find() does not search for mounts of the device and the disk.
 */
void e4l_in_use_hold(struct e4l_in_use *u);

/*
 * Finds users of the range of @u, except the loop devices and partitions
 * through which e4l_in_use_new() has reached the lowest device.  Errors:
 * ENOMEM, EMFILE, ENFILE: some devices or processes were not examined.  Even
 * after an error, *@by is valid and must be freed.
 */
errcode_t e4l_in_use_find(const struct e4l_in_use *u, struct e4l_in_use_by *by);
void e4l_in_use_by_free(struct e4l_in_use_by *by);

/*
 * Takes the locks that qemu takes on its images.  If @write is true, the locks
 * exclude all other programs.  If @write is false, other programs can still
 * read.  @fd is open on the device or file.  Locks @fd and all files below the
 * range of @u.  For devices below the range, only tests for conflicting locks.
 * The locks are held until the caller closes @fd and frees @u.  Errors:
 * E4L_ET_IN_USE (another program has a conflicting lock), ENOMEM, EMFILE,
 * ENFILE.
 */
errcode_t e4l_in_use_lock(struct e4l_in_use *u, int fd, bool write);

#endif
