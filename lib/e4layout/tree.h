/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree: the files of a new image. */
#ifndef E4LAYOUT_TREE_H
#define E4LAYOUT_TREE_H

#include <sys/stat.h>
#include <time.h>
#include <e4layout/tunables.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The files of a new image.  The members are private.  Each entry has a number,
 * which e4l_tree_add() and e4l_tree_find() return.  Functions return
 * E4L_ET_BAD_ARGUMENT for a number without an entry.
 */
struct e4l_tree;

#define E4L_TREE_ROOT 1u	/* the root directory; 0 is never an entry */

/*
 * A range of a file that is not a hole.  The ranges of a file are in ascending
 * order and do not overlap.  Only unwritten ranges, and ranges of files with
 * from_ext4, may extend beyond the end of the file.
 */
struct e4l_stretch {
	uint64_t offset;	/* start of the range in the file, bytes */
	uint64_t bytes;
	/*
	 * byte offset of the data in the file or device of
	 * e4l_tree_set_data_fd()
	 */
	uint64_t pos;
	/* the range is preallocated and reads as zeroes */
	bool unwritten;
};

/*
 * An extended attribute.  @name includes the namespace, as for getxattr(2).
 * The value of an ACL has the format of getxattr(2) or of ext4.
 */
struct e4l_tree_xattr {
	const char *name;
	const void *value;
	size_t size;
};

/* Time since 1970, with 64 bits on all systems. */
struct e4l_time {
	int64_t tv_sec;
	uint32_t tv_nsec;
};

/* A file of any type.  Functions copy all data to which the pointers refer. */
struct e4l_entry {
	uint32_t mode;		/* file type and permissions, as st_mode */
	uint32_t uid, gid;
	uint64_t size;		/* of a regular file or symlink, in bytes */
	uint64_t rdev;		/* of a device file: device number */
	/* byte offset of the data in the source, if stretches is NULL */
	uint64_t pos;
	struct e4l_time mtime, atime, ctime;
	const char *target;	/* target of a symlink, @size bytes */
	/* data ranges of a regular file; NULL: the file has no holes */
	const struct e4l_stretch *stretches;
	size_t n_stretches;
	/*
	 * Attributes in namespaces that ext4 does not have are skipped.  If two
	 * attributes have the same name, the first attribute is used.
	 */
	const struct e4l_tree_xattr *xattrs;
	size_t n_xattrs;
	bool from_ext4;	/* the members from crtime to projid are valid */
	struct e4l_time crtime;
	uint32_t flags;		/* EXT2_*_FL, EXT4_*_FL that users can set */
	uint32_t generation;
	uint32_t projid;
	/*
	 * the file that contains the data, as a path below the directory of
	 * e4l_tree_load_dir(); NULL: the path of this entry
	 */
	const char *path;
	uint64_t reserved[7];
};

/*
 * Creates a tree that has only a root directory.  The caller frees *@ret with
 * e4l_tree_free().  Error: ENOMEM; *@ret is then NULL.
 */
errcode_t e4l_tree_new(struct e4l_tree **ret);
/* Frees @t.  NULL is allowed. */
void e4l_tree_free(struct e4l_tree *t);

/*
 * Adds @name of @len bytes to the directory @parent.  Sets *@id to the number
 * of the new entry.  e4l_tree_add() does not check whether the name exists
 * already; e4l_populate_plan() refuses duplicate names.  An entry needs 104
 * bytes of memory, and memory for the name.  Errors: E4L_ET_NAME_TOO_LONG,
 * E4L_ET_BAD_NAME (empty, ".", "..", or with '/'), E4L_ET_NOT_DIR,
 * E4L_ET_BAD_ARGUMENT (wrong mode, flags or stretches), E4L_ET_BAD_SYMLINK,
 * E4L_ET_BAD_ACL, E4L_ET_XATTR_LIMIT, E4L_ET_TREE_TOO_LARGE, E4L_ET_OPTION,
 * ENOMEM.  After an error, the tree is unchanged, and e4l_tree_where() returns
 * the path.
 */
errcode_t e4l_tree_add(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/*
 * Replaces all properties of the entry @id except the name.  If only the old or
 * only the new file type is a directory, returns E4L_ET_NOT_DIR.  Other errors:
 * as for e4l_tree_add().  After an error, the entry is unchanged.
 */
errcode_t e4l_tree_set(struct e4l_tree *t, uint32_t id,
		       const struct e4l_entry *entry);

/*
 * Adds a hard link to @id, which must not be a directory.  The name of the link
 * is @name of @len bytes in the directory @parent.  Errors: as for
 * e4l_tree_add().  After an error, the tree is unchanged.
 */
errcode_t e4l_tree_link(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t id);

/*
 * Finds @name of @len bytes in the directory @parent.  Sets *@id to the number
 * of the entry or, if the directory has no such entry, to 0.  Errors:
 * E4L_ET_NOT_DIR, ENOMEM.
 */
errcode_t e4l_tree_find(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t *id);

/* Flags for e4l_tree_load_dir(). */
#define E4L_DIR_NO_XATTRS	0x1	/* do not read extended attributes */
#define E4L_DIR_ONE_FS		0x2	/* do not enter mount points */
/* E4L_DIR_OVERLAID: the file e4l_dir_options.exclude is on an overlayfs. */
#define E4L_DIR_OVERLAID	0x4

struct e4l_dir_options {
	unsigned int threads;		/* number of threads, 1 to 64 */
	unsigned int flags;		/* E4L_DIR_* */
	/*
	 * The regular file to skip; NULL: skip no file.  A file is compared by
	 * st_dev and st_ino or, if one of the two files is on an overlayfs, by
	 * st_ino, st_size, st_blocks and st_ctim.
	 */
	const struct stat *exclude;
	/*
	 * Called for each skipped file and each directory that is not entered;
	 * @why is E4L_ET_IS_IMAGE, E4L_ET_MOUNTED_FILE or E4L_ET_MOUNTED_ON.
	 * Calls never overlap.  left_out() may be NULL.
	 */
	void (*left_out)(const char *path, errcode_t why, void *priv);
	void *priv;
	uint64_t reserved[4];
};

/*
 * Loads the directory @path into a new tree.  Sockets, fifos, devices, hard
 * links, holes, extended attributes and ACLs are kept, except attributes that
 * belong to the filesystem or the kernel.  e4l_populate_write() reads the
 * contents of files.  Data that is appended to a file before the read is
 * ignored.  If a file has become shorter, e4l_populate_write() returns
 * E4L_ET_FILE_SHRANK.  Errors: errno values, E4L_ET_LOCKED (an encrypted
 * directory without its key), E4L_ET_OPTION, and errors of e4l_tree_add();
 * e4l_tree_where() returns the file.  After an error, @t can only be freed.
 */
errcode_t e4l_tree_load_dir(struct e4l_tree *t, const char *path,
			    const struct e4l_dir_options *options);

/* Flags for e4l_tree_load_fs(). */
#define E4L_LOAD_GENERATION	0x1	/* keep the inodes' generations */
#define E4L_LOAD_NO_XATTRS	0x2	/* do not read extended attributes */

/*
 * The files to skip in a damaged filesystem.  Bitmaps are borrowed.  Neither
 * the bitmaps nor left_out() may be NULL.
 */
struct e4l_load_damage {
	ext2fs_inode_bitmap inodes;	/* damaged files to skip */
	/* files with blocks that other files also use */
	ext2fs_inode_bitmap sharing;
	/* Called for each skipped name with the reason. */
	void (*left_out)(const char *path, errcode_t why, void *priv);
	void *priv;
	uint64_t reserved[4];
};

/*
 * Loads the files of @e's filesystem into a new tree, with all properties that
 * ext4 stores, and with preallocated extents.  The filesystem begins at byte
 * @offset_bytes of its device.  e4l_tree_load_fs() does not read the data of
 * files.  The caller passes a descriptor of the device to
 * e4l_tree_set_data_fd(), and the device must not change until the image is
 * written.  Loading needs 4 bytes of memory for each inode of the filesystem,
 * besides the memory for the tree.  If @damage is not NULL, damaged files,
 * everything below damaged directories, and damaged parts of directories are
 * skipped.  e4l_tree_load_fs() does not check the filesystem.  If e4l_check()
 * would find errors and @damage is NULL, the new filesystem can have errors,
 * too.  Errors: as for e4l_tree_add() and functions of libext2fs;
 * E4L_ET_DIR_CORRUPT, E4L_ET_ENCRYPTED (even if @damage is not NULL),
 * E4L_ET_TRANSLATOR, E4L_ET_DANGLING, E4L_ET_EXTENT_RANGE, E4L_ET_EXTENT_ORDER,
 * E4L_ET_OPTION, E4L_ET_INTERRUPTED; e4l_tree_where() returns the file.  After
 * an error, @t can only be freed.
 */
errcode_t e4l_tree_load_fs(struct e4l_tree *t, struct e4l *e,
			   uint64_t offset_bytes, unsigned int flags,
			   const struct e4l_load_damage *damage);

/*
 * Sets the file or device that contains the data of all entries, except the
 * entries of e4l_tree_load_dir().  @fd is borrowed until the image is written.
 */
void e4l_tree_set_data_fd(struct e4l_tree *t, int fd);

/*
 * Calls @map with the user ID and the group ID of the owner of each entry.
 * @map can change both IDs.
 */
void e4l_tree_map_owners(struct e4l_tree *t,
			 void (*map)(uint32_t *uid, uint32_t *gid, void *priv),
			 void *priv);

/*
 * Calls @map for each user and each group in ACLs, and for the root user ID of
 * each file capability.  @map can change the ID.  For a user, @map must use
 * only @uid.  For a group, @map must use only @gid.  Errors: E4L_ET_BAD_ACL,
 * E4L_ET_ACL_MERGED, ENOMEM.  After an error, all entries are unchanged, and
 * e4l_tree_where() returns the file.
 */
errcode_t e4l_tree_map_ids(struct e4l_tree *t,
			   void (*map)(uint32_t *uid, uint32_t *gid,
				       void *priv), void *priv);

/*
 * Sets the priority of the file or directory @path, from -32767 to 32767.  The
 * default is 0.  Files of a higher priority are nearer to the start of the
 * device.  The priority of a directory applies to all files below the
 * directory.  Errors: E4L_ET_NO_PATH, E4L_ET_BAD_ARGUMENT.
 */
errcode_t e4l_tree_set_priority(struct e4l_tree *t, const char *path,
				int priority);

/*
 * Stores a copy of @tunables in the image, as an attribute of the root
 * directory.  If @tunables is empty, the attribute is removed.  Errors: ENOMEM,
 * E4L_ET_XATTR_LIMIT.  After an error, the tree is unchanged.
 */
errcode_t e4l_tree_set_tunables(struct e4l_tree *t,
				const struct e4l_tunables *tunables);

/*
 * Returns the path, in the source, of the file that caused the last failure.
 * If no file caused the failure, returns "".  The text belongs to @t and is
 * valid until the next call with @t.
 */
const char *e4l_tree_where(const struct e4l_tree *t);

#ifdef __cplusplus
}
#endif
#endif
