/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the name that a user gives to where a filesystem begins. */
#ifndef SUPPORT_LOCATE_H
#define SUPPORT_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "target.h"

/*
 * Sets all of @t that its name says, up to @is_dir.  @partition of a disk is
 * numbered as the kernel does, from 1; 0: none was asked for.  False after
 * saying what is wrong.
 */
bool locate(struct target *t, uint64_t partition);

/*
 * Sets @t->device to the mounted filesystem on which the file or directory
 * @t->name lies, and @t->subtree to its path there, or @t->is_dir if @t->name is
 * the mount point.  Returns false after printing an error.
 */
bool locate_around(struct target *t);

/*
 * The device that @name means, which begins with LABEL=, UUID= or the like.
 * The caller frees it.  NULL: @name is no tag, or *@ok is false, after saying
 * what is wrong.
 */
char *locate_tag(const char *name, bool *ok);

/*
 * The same for what is made: sets @t->device and @t->offset_bytes by @t->name,
 * of a file that need not be there yet.
 */
bool locate_new(struct target *t);

/*
 * The numbers of the partitions of @device, "1, 2, 5"; "..." is for those that
 * do not fit.  False when it has none.
 */
bool locate_partitions(const char *device, char *list, size_t size);

/*
 * Returns the part of @path below the directory @dir, "/" for the directory
 * itself, or NULL if @path is not below it.
 */
const char *path_below(const char *path, const char *dir);

#endif
