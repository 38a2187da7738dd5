/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree_edit: changes a loaded tree, for mke4fs. */
#ifndef E4L_TREE_EDIT_H
#define E4L_TREE_EDIT_H

#include <e4layout/tree.h>

/*
 * Adds the entry @name.  If @parent already has an entry @name, replaces the
 * old entry:
 *
 * - If the old and the new entry are directories, the entries of the old
 *   directory stay.
 * - If neither the old nor the new entry is a directory, only @name changes;
 *   other names of the old file stay.
 * - If only one of the two entries is a directory, removes the old entry as
 *   e4l_tree_remove() does.
 */
errcode_t e4l_tree_put(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/*
 * Sets *@id to the entry at @path, which begins at the root.  If no entry has
 * the path, sets *@id to 0.  Symbolic links are not followed.  Errors: ENOMEM.
 */
errcode_t e4l_tree_find_path(struct e4l_tree *t, const char *path,
			     uint32_t *id);

/*
 * Removes the entry @id and all entries below @id.  The root cannot be removed.
 * Other names of the same file stay.  Planning renumbers the remaining entries.
 */
void e4l_tree_remove(struct e4l_tree *t, uint32_t id);


/*
 * Sets the content of the regular file @id, for all names of the file, to the
 * content of @entry (size, pos or path, stretches).  Other members of @entry
 * are ignored.
 */
errcode_t e4l_tree_set_content(struct e4l_tree *t, uint32_t id,
			       const struct e4l_entry *entry);


/*
 * Whether the attribute @name must not be copied, because the attribute belongs
 * to the filesystem or the kernel.  Examples are XFS's copies of ACLs, and an
 * EVM checksum, which is valid for one inode only.
 */
bool e4l_xattr_is_private(const char *name, const void *value, size_t size);


/*
 * Sets the mode, owner, size and modification time in *@entry.  For a symbolic
 * link, also sets the target; for a device, the device number.  Pointers are
 * valid until the tree changes.
 */
errcode_t e4l_tree_get(const struct e4l_tree *t, uint32_t id,
		       struct e4l_entry *entry);

/*
 * e4l_tree_set_owner() changes the owner and the group of an entry.
 * e4l_tree_set_mtime() changes the modification time.  All names of a
 * hard-linked file change.  Errors: ENOMEM.
 */
errcode_t e4l_tree_set_owner(struct e4l_tree *t, uint32_t id, uint32_t uid,
			     uint32_t gid);
errcode_t e4l_tree_set_mtime(struct e4l_tree *t, uint32_t id,
			     const struct e4l_time *mtime);

/*
 * Changes the permissions (07777) and the ACL of an entry, like chmod(2).
 * After an error (ENOMEM) the entry is unchanged.
 */
errcode_t e4l_tree_set_perms(struct e4l_tree *t, uint32_t id, uint32_t perms);

/*
 * Sets an extended attribute of an entry and of all other names of the file.
 * If the value is empty, removes the attribute.  Errors: the errors of
 * e4l_tree_add() for attributes.
 */
errcode_t e4l_tree_set_xattr(struct e4l_tree *t, uint32_t id,
			     const struct e4l_tree_xattr *x);

/*
 * Sets the EXT4_*_FL flags @flags for an entry and all other names of the file.
 * If the entry has no creation time, sets the creation time to @crtime.
 * Errors: ENOMEM.
 */
errcode_t e4l_tree_add_flags(struct e4l_tree *t, uint32_t id, uint32_t flags,
			     const struct e4l_time *crtime);
uint32_t e4l_tree_flags(const struct e4l_tree *t, uint32_t id);

/*
 * Returns the next entry after @id that is a regular file.  If there are no
 * more regular files, returns 0.
 */
uint32_t e4l_tree_next_file(const struct e4l_tree *t, uint32_t id);

/*
 * Reads @len bytes of a regular file from byte @at on, with zeroes for holes
 * and beyond the end of the file.  Errors: errno values, E4L_ET_FILE_SHRANK.
 * After an error, e4l_tree_where() returns the path.
 */
errcode_t e4l_tree_read(struct e4l_tree *t, uint32_t id, uint64_t at,
			size_t len, char *buf);

/* Removes all extended attributes from all entries. */
void e4l_tree_drop_xattrs(struct e4l_tree *t);

/*
 * Reads the tunables of the future image.  The caller frees *@ret with
 * e4l_tunables_free().  If the tunables of the source are damaged, returns an
 * error of e4l_tunables_parse() and sets *@ret to NULL.
 */
errcode_t e4l_tree_get_tunables(const struct e4l_tree *t,
				struct e4l_tunables **ret);

/*
 * Returns the number of entries of the tree, including the root directory.
 * Each name of a hard-linked file counts.  Removed entries also count.
 */
uint32_t e4l_tree_entries(const struct e4l_tree *t);

/*
 * Returns the name of the extended attribute that the last failure concerns. If
 * the names of the attributes could not be read, returns "list".  If the
 * failure concerns no attribute, returns "".
 */
const char *e4l_tree_attribute(const struct e4l_tree *t);

/*
 * Returns the name of the layer that the last failure concerns, or NULL if the
 * layer has no name.
 */
const char *e4l_tree_where_source(const struct e4l_tree *t);

#endif
