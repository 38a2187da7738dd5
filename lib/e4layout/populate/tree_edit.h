/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree_edit: changing a tree that has been loaded, for mke4fs. */
#ifndef E4L_TREE_EDIT_H
#define E4L_TREE_EDIT_H

#include <e4layout/tree.h>

/*
 * Adds @name, or replaces what has it: a directory in place of a directory
 * keeps what is in it; otherwise the old entry goes as in e4l_tree_remove().
 */
errcode_t e4l_tree_put(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/*
 * Takes a name, not the root's, and all below it out of the tree.  Other names
 * of the same file stay.  Planning renumbers the entries that are left.
 */
void e4l_tree_remove(struct e4l_tree *t, uint32_t id);


/*
 * Gives @id, a regular file, and all its other names the content that @entry
 * says (size, pos or path, stretches); the rest of @entry is not looked at.
 */
errcode_t e4l_tree_set_content(struct e4l_tree *t, uint32_t id,
			       const struct e4l_entry *entry);


/*
 * Returns whether the attribute @name belongs to the filesystem or the kernel
 * that keeps it, and not to the user, so that a copy must not have it: XFS's
 * copies of ACLs, or an EVM checksum, which is valid for one inode only.
 */
bool e4l_xattr_is_private(const char *name, const void *value, size_t size);


/*
 * Describes an entry: its mode, owner, size, time of modification, and a
 * symbolic link's target or a device's number.  Pointers are the tree's until it
 * changes.
 */
errcode_t e4l_tree_get(const struct e4l_tree *t, uint32_t id,
		       struct e4l_entry *entry);

/*
 * Changes the owner and group, or the time of modification, of an entry and its
 * other names.  Errors: ENOMEM.
 */
errcode_t e4l_tree_set_owner(struct e4l_tree *t, uint32_t id, uint32_t uid,
			     uint32_t gid);
errcode_t e4l_tree_set_mtime(struct e4l_tree *t, uint32_t id,
			     const struct e4l_time *mtime);

/*
 * Changes one entry's permissions (07777) and its ACL, as chmod(2) does; after
 * an error (ENOMEM) it is as it was.
 */
errcode_t e4l_tree_set_perms(struct e4l_tree *t, uint32_t id, uint32_t perms);

/*
 * Gives an entry an attribute, or takes it away when the value is empty.
 * Errors: those of e4l_tree_add() on attributes.
 */
errcode_t e4l_tree_set_xattr(struct e4l_tree *t, uint32_t id,
			     const struct e4l_tree_xattr *x);

/* No entry has attributes any more. */
void e4l_tree_drop_xattrs(struct e4l_tree *t);

/*
 * Reads the tunables that the image gets.  The caller frees *@ret with
 * e4l_tunables_free().  Errors, with *@ret NULL: those of e4l_tunables_parse(),
 * if the tunables of the source are damaged.
 */
errcode_t e4l_tree_get_tunables(const struct e4l_tree *t,
				struct e4l_tunables **ret);

/* The number of entries, with further names and removed entries. */
uint32_t e4l_tree_entries(const struct e4l_tree *t);

/*
 * The extended attribute that the last failure was about; "list" if the names of
 * the attributes could not be read; "" if it was about no attribute.
 */
const char *e4l_tree_attribute(const struct e4l_tree *t);

/* The name of the layer that e4l_tree_where() is from; NULL: the layer has none. */
const char *e4l_tree_where_source(const struct e4l_tree *t);

#endif
