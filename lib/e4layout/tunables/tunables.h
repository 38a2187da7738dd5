/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tunables: single changes, and the attributes that keep the list. */
#ifndef E4L_TUNABLES_INTERNAL_H
#define E4L_TUNABLES_INTERNAL_H

#include <e4layout/tunables.h>

/*
 * The number that @value stands for: a decimal number without sign and
 * without leading zeros, or one of the words.
 * Error: E4L_ET_TUNABLE_RANGE, for a number that is out of the range too.
 */
errcode_t e4l_tunable_number(const struct e4l_tunable_info *info,
			     const char *value, uint32_t *number);

/*
 * Sets @name, whether it was set or not.  A known one is stored as a decimal
 * number; an unknown one is refused unless @force, and then stored as it is.
 * Errors, after which nothing has changed: E4L_ET_TUNABLE_UNKNOWN,
 * E4L_ET_TUNABLE_RANGE, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLES_LONG, ENOMEM.
 */
errcode_t e4l_tunables_set(struct e4l_tunables *t, const char *name,
			   const char *value, bool force);

/* The row for @name, NULL when it is not known. */
const struct e4l_tunable_info *e4l_tunable_find(const char *name);

/*
 * Reads @len bytes of the attribute's text.  Unknown names, and known ones
 * with a value that is out of the range, are kept and can be told apart.
 * Errors: E4L_ET_TUNABLES_LONG, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLE_TWICE,
 * ENOMEM; then *@ret is NULL.  Otherwise the caller frees it.
 */
errcode_t e4l_tunables_parse(const void *text, size_t len,
			     struct e4l_tunables **ret);

/*
 * Writes the canonical text to @buf, of at least E4L_TUNABLES_MAX + 1 bytes,
 * terminated.  Returns its length.
 */
size_t e4l_tunables_text(const struct e4l_tunables *t, char *buf);

/*
 * The number that the filesystem keeps for @name.  *@number stays as it is
 * when there is none or none that is valid, so let it hold the default.
 * Errors: as e4l_tunables_read().
 */
errcode_t e4l_tunables_get(struct e4l *e, const char *name, uint32_t *number);

struct ext2_xattr_handle;

/*
 * Reads all attributes of the root directory; the caller closes *@handle by
 * ext2fs_xattrs_close().  Errors: EXT2_ET_MISSING_EA_FEATURE, those of reading.
 */
errcode_t e4l_root_attributes(ext2_filsys fs,
			      struct ext2_xattr_handle **handle);

/* Removes @name; true when it was set. */
bool e4l_tunables_remove(struct e4l_tunables *t, const char *name);

#endif
