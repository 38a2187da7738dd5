/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who else uses the bytes of a device or an image: mounts in every mount
 * namespace that can be seen, loop devices, partitions, and what lies above or
 * beneath these; and programs that lock images as qemu does.
 */
#ifndef SUPPORT_IN_USE_H
#define SUPPORT_IN_USE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct in_use;

/* Strings are freed by in_use_by_free(). */
struct in_use_by {
	char *mount_point;	/* NULL: not mounted */
	pid_t pid;		/* sees it there; 0: we do ourselves */
	bool same;		/* what is mounted begins where our bytes do */
	char *loop;		/* a loop device over them, or NULL */
};

/*
 * The bytes from @start up to @end (UINT64_MAX: all there are) of the block
 * device or the file that @st describes.  NULL: out of memory.
 */
struct in_use *in_use_new(const struct stat *st, uint64_t start, uint64_t end);
void in_use_free(struct in_use *u);

/*
 * The device, the first of @u's, is open exclusively from now on: neither it nor
 * the disk that it is a partition of can be mounted, so that in_use_find() need
 * not look at all processes for that.
 */
void in_use_hold(struct in_use *u);

/*
 * Finds out who uses these bytes, beside the devices that they are reached
 * through.  False when nobody does.
 */
bool in_use_find(const struct in_use *u, struct in_use_by *by);
void in_use_by_free(struct in_use_by *by);

/*
 * Locks them as qemu locks its images, to @write or to have nobody else do so,
 * through @fd, which is open on the device or the file, and what lies beneath;
 * until @fd is closed and @u freed.  False when somebody holds a lock against
 * that.
 */
bool in_use_lock(struct in_use *u, int fd, bool write);

#endif
