/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <string.h>
#include "xattr.h"
#include <ext2fs/ext2_ext_attr.h>	/* requires ext2fs.h */

struct e4l_xattr_walk e4l_xattr_inode(const struct ext2_inode_large *inode,
				      size_t bytes)
{
	struct e4l_xattr_walk w = { 0 };
	const char *p = (const char *)inode;

	if (bytes <= EXT2_GOOD_OLD_INODE_SIZE ||
	    EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize + 4u > bytes ||
	    inode->i_extra_isize % 4)
		return w;
	p += EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize;
	if (*(const uint32_t *)p != EXT2_EXT_ATTR_MAGIC)
		return w;
	w.at = w.values = p + 4;
	w.end = (const char *)inode + bytes;
	return w;
}

struct e4l_xattr_walk e4l_xattr_block(const char *block, size_t bytes)
{
	const struct ext2_ext_attr_header *head = (const void *)block;
	struct e4l_xattr_walk w = { 0 };

	if (ext2fs_le32_to_cpu(head->h_magic) != EXT2_EXT_ATTR_MAGIC)
		return w;
	w.at = block + sizeof(*head);
	w.values = block;
	w.on_disk = true;
	w.end = block + bytes;
	return w;
}

bool e4l_xattr_next(struct e4l_xattr_walk *w, struct e4l_xattr *x)
{
	const struct ext2_ext_attr_entry *e = (const void *)w->at;
	uint32_t ino, size, offset;
	size_t room;

	if (w->end - w->at < (ptrdiff_t)sizeof(*e) ||
	    !*(const uint32_t *)w->at ||
	    w->end - w->at < (ptrdiff_t)EXT2_EXT_ATTR_LEN(e->e_name_len))
		return false;
	*x = (struct e4l_xattr) {
		.index = e->e_name_index, .name = w->at + sizeof(*e),
		.name_len = e->e_name_len,
	};
	w->at += EXT2_EXT_ATTR_LEN(e->e_name_len);
	ino = w->on_disk ? ext2fs_le32_to_cpu(e->e_value_inum) :
			   e->e_value_inum;
	size = w->on_disk ? ext2fs_le32_to_cpu(e->e_value_size) :
			    e->e_value_size;
	offset = w->on_disk ? ext2fs_le16_to_cpu(e->e_value_offs) :
			      e->e_value_offs;
	room = w->end - w->values;
	if (ino || offset > room || size > room - offset)
		return true;
	x->value = w->values + offset;
	x->len = size;
	return true;
}

bool e4l_xattr_is(const struct e4l_xattr *x, uint8_t index, const char *name)
{
	size_t len = strlen(name);

	return x->index == index &&
	       strnlen(x->name, x->name_len) == len &&
	       !memcmp(x->name, name, len);
}
