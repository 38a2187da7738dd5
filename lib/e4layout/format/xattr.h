/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * xattr: decodes the extended attributes in an inode or in a block, and
 * verifies their bounds.  Format: Documentation/filesystems/ext4/attributes.rst
 * in Linux.
 */
#ifndef E4L_XATTR_H
#define E4L_XATTR_H

#include "e4layout/base/internal.h"

/* Numbers that stand for prefixes of names, EXT4_XATTR_INDEX_* in Linux. */
#define XATTR_INDEX_USER	1
#define XATTR_INDEX_TRUSTED	4
#define XATTR_INDEX_SECURITY	6
#define XATTR_INDEX_SYSTEM	7
#define XATTR_INDEX_ENCRYPTION	9

/*
 * An extended attribute.  @name and @value point into the buffer with the
 * entries.
 */
struct e4l_xattr {
	uint8_t index;
	const char *name;	/* not terminated with NUL */
	size_t name_len;
	/* NULL if the value is in an EA inode, or out of bounds */
	const char *value;
	size_t len;
};

struct e4l_xattr_walk {
	const char *at, *end;	/* the remaining entries */
	/* address to which the offsets of values are relative */
	const char *values;
	bool on_disk;		/* numbers are little-endian */
};

/*
 * Starts a walk over the attributes in @inode, which has @bytes bytes in host
 * byte order.  If @inode has no attributes, the walk is empty.
 */
struct e4l_xattr_walk e4l_xattr_inode(const struct ext2_inode_large *inode,
				      size_t bytes);
/*
 * Starts a walk over the attributes in @block, which has @bytes bytes in the
 * byte order of the disk.  If @block is not an attribute block, the walk is
 * empty.
 */
struct e4l_xattr_walk e4l_xattr_block(const char *block, size_t bytes);

/*
 * Finds the next attribute.  Returns false if there are no more attributes, or
 * if the next entry is invalid.
 */
bool e4l_xattr_next(struct e4l_xattr_walk *w, struct e4l_xattr *x);

/*
 * Returns whether the attribute @x has the prefix @index and the name @name.
 * As in libext2fs, a NUL byte ends the attribute's name.
 */
bool e4l_xattr_is(const struct e4l_xattr *x, uint8_t index, const char *name);

#endif
