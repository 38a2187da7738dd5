/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree_edit: changes a loaded tree, for mke4fs. */
#ifndef E4L_TREE_EDIT_H
#define E4L_TREE_EDIT_H

#include <e4layout/tree.h>

/*
 * Adds @name, or replaces the entry of that name.  A directory that replaces a
 * directory keeps its entries; any other replaced entry is removed as by
 * e4l_tree_remove().
 */
errcode_t e4l_tree_put(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/*
 * Sets *@id to the entry at @path from the root, or to 0.  Symbolic links are
 * not followed.  Errors: ENOMEM.
 */
errcode_t e4l_tree_find_path(struct e4l_tree *t, const char *path,
			     uint32_t *id);

/*
 * Removes a name, which must not be the root, and all entries below it.  Other
 * names of the same file stay.  Planning renumbers the remaining entries.
 */
void e4l_tree_remove(struct e4l_tree *t, uint32_t id);


/*
 * Sets the content of @id, a regular file, and of all its other names to the
 * content of @entry (size, pos or path, stretches).  Other members of @entry are
 * ignored.
 */
errcode_t e4l_tree_set_content(struct e4l_tree *t, uint32_t id,
			       const struct e4l_entry *entry);


/*
 * Whether the attribute @name belongs to the filesystem or the kernel and must
 * not be copied: XFS's copies of ACLs, or an EVM checksum, which is valid for
 * one inode only.
 */
bool e4l_xattr_is_private(const char *name, const void *value, size_t size);


/*
 * Describes an entry: mode, owner, size, modification time, and a symbolic
 * link's target or a device's number.  Pointers are valid until the tree
 * changes.
 */
errcode_t e4l_tree_get(const struct e4l_tree *t, uint32_t id,
		       struct e4l_entry *entry);

/*
 * Change the owner and group, or the modification time, of an entry and of all
 * its other names.  Errors: ENOMEM.
 */
errcode_t e4l_tree_set_owner(struct e4l_tree *t, uint32_t id, uint32_t uid,
			     uint32_t gid);
errcode_t e4l_tree_set_mtime(struct e4l_tree *t, uint32_t id,
			     const struct e4l_time *mtime);

/*
 * Changes an entry's permissions (07777) and its ACL, like chmod(2).  After an
 * error (ENOMEM) the entry is unchanged.
 */
errcode_t e4l_tree_set_perms(struct e4l_tree *t, uint32_t id, uint32_t perms);

/*
 * Sets an attribute of an entry, or removes it if the value is empty.  Errors:
 * the errors of e4l_tree_add() for attributes.
 */
errcode_t e4l_tree_set_xattr(struct e4l_tree *t, uint32_t id,
			     const struct e4l_tree_xattr *x);

/*
 * Adds EXT4_*_FL flags to an entry and all its other names.  @crtime is the
 * creation time of an entry that has none.  Errors: ENOMEM.
 */
errcode_t e4l_tree_add_flags(struct e4l_tree *t, uint32_t id, uint32_t flags,
			     const struct e4l_time *crtime);
uint32_t e4l_tree_flags(const struct e4l_tree *t, uint32_t id);

/* Returns the next name of a regular file after @id; 0: there is none. */
uint32_t e4l_tree_next_file(const struct e4l_tree *t, uint32_t id);

/*
 * Reads @len bytes of a regular file from the byte @at on, with zeroes for holes
 * and beyond the end.  Errors: errno values, E4L_ET_FILE_SHRANK, with the path
 * in e4l_tree_where().
 */
errcode_t e4l_tree_read(struct e4l_tree *t, uint32_t id, uint64_t at,
			size_t len, char *buf);

/* Removes all extended attributes from all entries. */
void e4l_tree_drop_xattrs(struct e4l_tree *t);

/*
 * Reads the tunables of the future image.  The caller frees *@ret with
 * e4l_tunables_free().  Errors, with *@ret NULL: the errors of
 * e4l_tunables_parse(), if the tunables of the source are damaged.
 */
errcode_t e4l_tree_get_tunables(const struct e4l_tree *t,
				struct e4l_tunables **ret);

/* The number of entries, including other names and removed entries. */
uint32_t e4l_tree_entries(const struct e4l_tree *t);

/*
 * The extended attribute of the last failure; "list" if the names of the
 * attributes could not be read; "" if the failure has no attribute.
 */
const char *e4l_tree_attribute(const struct e4l_tree *t);

/*
 * The name of the layer that e4l_tree_where() refers to; NULL: the layer has
 * none.
 */
const char *e4l_tree_where_source(const struct e4l_tree *t);

#endif
