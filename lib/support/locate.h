/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locate: resolves a target's name to a device or image, and an offset. */
#ifndef SUPPORT_LOCATE_H
#define SUPPORT_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "target.h"

/*
 * Sets all members of @t that the name determines, up to @is_dir.  @partition
 * is the kernel's number of a partition, from 1; 0: none.  Returns false after
 * printing an error.
 */
bool locate(struct target *t, uint64_t partition);

/*
 * Sets @t->device to the mounted filesystem on which the file or directory
 * @t->name lies, and @t->subtree to its path there, or @t->is_dir if @t->name is
 * the mount point.  Returns false after printing an error.
 */
bool locate_around(struct target *t);

/*
 * Returns the device of a tag @name, which begins with LABEL=, UUID= or the
 * like; the caller frees it.  NULL: @name is not a tag, or *@ok is false, after
 * printing an error.
 */
char *locate_tag(const char *name, bool *ok);

/*
 * Sets @t->device and @t->offset_bytes from @t->name, for a file that is to be
 * created or overwritten.  Returns false after printing an error.
 */
bool locate_new(struct target *t);

/*
 * Lists the partition numbers of @device, "1, 2, 5"; "..." replaces numbers
 * that do not fit.  False: @device has no partitions.
 */
bool locate_partitions(const char *device, char *list, size_t size);

/*
 * Returns the part of @path below the directory @dir, "/" for the directory
 * itself, or NULL if @path is not below it.
 */
const char *path_below(const char *path, const char *dir);

#endif
