/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tunables: changes single tunables, and reads the attribute that stores all
 * tunables.
 */
#ifndef E4L_TUNABLES_INTERNAL_H
#define E4L_TUNABLES_INTERNAL_H

#include <e4layout/tunables.h>

/*
 * Parses @value: a decimal number without sign and without leading zeros, or
 * one of the tunable's words.  If the value is invalid or out of range, returns
 * E4L_ET_TUNABLE_RANGE.
 */
errcode_t e4l_tunable_number(const struct e4l_tunable_info *info,
			     const char *value, uint32_t *number);

/*
 * Sets the tunable @name to @value.  The value of a known tunable is stored as
 * a decimal number.  If the tunable is unknown and @force is set, @value is
 * stored unchanged; without @force, an unknown tunable is an error.
 *
 * Errors: E4L_ET_TUNABLE_UNKNOWN, E4L_ET_TUNABLE_RANGE, E4L_ET_TUNABLE_SYNTAX,
 * E4L_ET_TUNABLES_LONG, ENOMEM.  After an error, @t is unchanged.
 */
errcode_t e4l_tunables_set(struct e4l_tunables *t, const char *name,
			   const char *value, bool force);

/* Returns the table row of the tunable @name, or NULL if @name is unknown. */
const struct e4l_tunable_info *e4l_tunable_find(const char *name);

/*
 * Parses @len bytes of the attribute's text.  Keeps entries with an unknown
 * name, with the member info NULL, and entries with an invalid value, with the
 * member valid false.  The caller frees *@ret.
 *
 * Errors: E4L_ET_TUNABLES_LONG, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLE_TWICE,
 * ENOMEM.  After an error, *@ret is NULL.
 */
errcode_t e4l_tunables_parse(const void *text, size_t len,
			     struct e4l_tunables **ret);

/*
 * Writes the canonical text and a terminating null byte to @buf, which must
 * have at least E4L_TUNABLES_MAX + 1 bytes.  Returns the length of the text.
 */
size_t e4l_tunables_text(const struct e4l_tunables *t, char *buf);

/*
 * Reads the stored number of @name.  If no valid number is stored, *@number
 * does not change; the caller sets *@number to the default before the call.
 * Errors: those of e4l_tunables_read().
 */
errcode_t e4l_tunables_get(struct e4l *e, const char *name, uint32_t *number);

struct ext2_xattr_handle;

/*
 * Reads all attributes of the root directory.  After success, the caller closes
 * *@handle with ext2fs_xattrs_close().  Errors: EXT2_ET_MISSING_EA_FEATURE, and
 * read errors.
 */
errcode_t e4l_root_attributes(ext2_filsys fs,
			      struct ext2_xattr_handle **handle);

/* Removes @name.  If @name was not set, returns false. */
bool e4l_tunables_remove(struct e4l_tunables *t, const char *name);

#endif
