/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tunables: changes single tunables, and reads the attribute that stores them.
 */
#ifndef E4L_TUNABLES_INTERNAL_H
#define E4L_TUNABLES_INTERNAL_H

#include <e4layout/tunables.h>

/*
 * Parses @value: a decimal number without sign and without leading zeros, or
 * one of the tunable's words.  E4L_ET_TUNABLE_RANGE: the value is invalid or
 * out of range.
 */
errcode_t e4l_tunable_number(const struct e4l_tunable_info *info,
			     const char *value, uint32_t *number);

/*
 * Sets @name, or changes its value.  A known tunable is stored as a decimal
 * number; an unknown one is refused unless @force, and then stored literally.
 * Errors, after which nothing has changed: E4L_ET_TUNABLE_UNKNOWN,
 * E4L_ET_TUNABLE_RANGE, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLES_LONG, ENOMEM.
 */
errcode_t e4l_tunables_set(struct e4l_tunables *t, const char *name,
			   const char *value, bool force);

/* The table row of @name; NULL: unknown. */
const struct e4l_tunable_info *e4l_tunable_find(const char *name);

/*
 * Parses @len bytes of the attribute's text.  Unknown names and values out of
 * range are kept, and are marked.  The caller frees *@ret.  Errors:
 * E4L_ET_TUNABLES_LONG, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLE_TWICE, ENOMEM;
 * *@ret is NULL then.
 */
errcode_t e4l_tunables_parse(const void *text, size_t len,
			     struct e4l_tunables **ret);

/*
 * Writes the canonical text to @buf, of at least E4L_TUNABLES_MAX + 1 bytes,
 * terminated.  Returns its length.
 */
size_t e4l_tunables_text(const struct e4l_tunables *t, char *buf);

/*
 * Reads the stored number of @name.  *@number is unchanged if no valid number
 * is stored: initialize it with the default.  Errors: as e4l_tunables_read().
 */
errcode_t e4l_tunables_get(struct e4l *e, const char *name, uint32_t *number);

struct ext2_xattr_handle;

/*
 * Reads all attributes of the root directory; the caller closes *@handle with
 * ext2fs_xattrs_close().  Errors: EXT2_ET_MISSING_EA_FEATURE, and read errors.
 */
errcode_t e4l_root_attributes(ext2_filsys fs,
			      struct ext2_xattr_handle **handle);

/* Removes @name; false: it was not set. */
bool e4l_tunables_remove(struct e4l_tunables *t, const char *name);

#endif
