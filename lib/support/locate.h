/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the device or image, and the offset, for the name of a target. */
#ifndef SUPPORT_LOCATE_H
#define SUPPORT_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "target.h"

/*
 * Sets @device, @offset_bytes, @end_bytes, @subtree and @is_dir of @t from
 * @t->name.  @partition is the kernel's number of a partition, from 1; 0 means
 * no partition.  Returns false after printing an error.
 */
bool locate(struct target *t, uint64_t partition);

/*
 * Sets @t->device to the device of the mounted filesystem that contains the
 * file or directory @t->name.  If @t->name is the mount point, sets @t->is_dir;
 * otherwise, sets @t->subtree to the path of @t->name in that filesystem.
 * Returns false after printing an error.
 */
bool locate_around(struct target *t);

/*
 * If @name is a tag (LABEL=, UUID=, PARTLABEL= or PARTUUID=), returns its
 * device, which the caller frees.  If @name is not a tag, returns NULL and sets
 * *@ok to true.  On failure, prints an error, returns NULL and sets *@ok to
 * false.
 */
char *locate_tag(const char *name, bool *ok);

/*
 * Sets @t->device and @t->offset_bytes from @t->name, for a file that is to be
 * created or overwritten.  Returns false after printing an error.
 */
bool locate_new(struct target *t);

/*
 * Writes the partition numbers of @device to @list, such as "1, 2, 5".  If the
 * numbers do not fit, the list ends with "...".  If @device has no partitions,
 * returns false.
 */
bool locate_partitions(const char *device, char *list, size_t size);

/*
 * Returns the part of @path below the directory @dir.  Returns "/" if @path is
 * @dir, and NULL if @path is not in @dir.
 */
const char *path_below(const char *path, const char *dir);

#endif
