/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * xattr: decodes the extended attributes in an inode or in a block, and
 * verifies their bounds.  Format: Documentation/filesystems/ext4/attributes.rst
 * in Linux.
 */
#ifndef E4L_XATTR_H
#define E4L_XATTR_H

#include "e4layout/base/internal.h"

/* EXT4_XATTR_INDEX_* in Linux: indexes of name prefixes. */
#define XATTR_INDEX_USER	1
#define XATTR_INDEX_TRUSTED	4
#define XATTR_INDEX_SECURITY	6
#define XATTR_INDEX_SYSTEM	7
#define XATTR_INDEX_ENCRYPTION	9

/* The name and the value point into the walked bytes. */
struct e4l_xattr {
	uint8_t index;
	const char *name;	/* not terminated */
	size_t name_len;
	const char *value;	/* NULL: in an EA inode, or damaged */
	size_t len;
};

struct e4l_xattr_walk {
	const char *at, *end;	/* the remaining entries */
	const char *values;	/* origin of value offsets */
	bool on_disk;		/* numbers are little-endian, as on disk */
};

/*
 * Starts a walk over the attributes in @inode, which has @bytes and is in host
 * byte order.  The walk is empty if @inode has no attributes.
 */
struct e4l_xattr_walk e4l_xattr_inode(const struct ext2_inode_large *inode,
				      size_t bytes);
/*
 * Starts a walk over the attributes in @block, which has @bytes, is as on disk,
 * and may be invalid.
 */
struct e4l_xattr_walk e4l_xattr_block(const char *block, size_t bytes);

/* Finds the next attribute; false: no more attributes, or invalid entry. */
bool e4l_xattr_next(struct e4l_xattr_walk *w, struct e4l_xattr *x);

/*
 * Whether the attribute has the prefix @index and the name @name; a NUL ends
 * the attribute's name, as in libext2fs.
 */
bool e4l_xattr_is(const struct e4l_xattr *x, uint8_t index, const char *name);

#endif
