/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree: what goes into an image. */
#ifndef E4LAYOUT_TREE_H
#define E4LAYOUT_TREE_H

#include <sys/stat.h>
#include <time.h>
#include <e4layout/tunables.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opaque: what will be in an image; entries are told apart by the numbers that
 * e4l_tree_add() and the like give.  With another number a function changes
 * nothing, and if it has a result, that is E4L_ET_BAD_ARGUMENT.
 */
struct e4l_tree;

#define E4L_TREE_ROOT 1u	/* always there; 0 is no entry */

/*
 * A stretch of a file's content.  What is between stretches is a hole.  What is
 * written ends where the file does, but in a file from ext4.
 */
struct e4l_stretch {
	uint64_t offset;	/* in the file, bytes; ascending, no overlaps */
	uint64_t bytes;
	uint64_t pos;		/* in the data file: e4l_tree_set_data_fd() */
	bool unwritten;		/* preallocated: has a place, reads as zeroes */
};

/*
 * @name as getxattr(2) has it; ACLs in that function's format, or as ext4
 * stores them.
 */
struct e4l_tree_xattr {
	const char *name;
	const void *value;
	size_t size;
};

/* Since 1970; 64 bits, whatever time_t has. */
struct e4l_time {
	int64_t tv_sec;
	uint32_t tv_nsec;
};

/* One file of any kind.  Everything that is pointed to is copied. */
struct e4l_entry {
	uint32_t mode;		/* as in stat(2), the file type as well */
	uint32_t uid, gid;
	uint64_t size;		/* regular file, symlink */
	uint64_t rdev;		/* device */
	uint64_t pos;		/* regular file without stretches: in the data */
	struct e4l_time mtime, atime, ctime;
	const char *target;	/* symlink: size bytes */
	const struct e4l_stretch *stretches;	/* NULL: all is data */
	size_t n_stretches;
	const struct e4l_tree_xattr *xattrs;	/* other namespaces than ext4's
						 * are left out; of one name,
						 * the first counts */
	size_t n_xattrs;
	bool from_ext4;		/* the values up to projid count */
	struct e4l_time crtime;
	uint32_t flags;		/* EXT2_*_FL, EXT4_*_FL: the user's own */
	uint32_t generation;
	uint32_t projid;
	const char *path;	/* regular file in a layer from a directory: of
				 * the content, below that; NULL: its own */
	uint64_t reserved[7];
};

/* Creates a tree with a root that has no owner, time or attribute yet. */
errcode_t e4l_tree_new(struct e4l_tree **ret);
void e4l_tree_free(struct e4l_tree *t);

/*
 * Adds @name, of @len bytes, to the directory @parent; *@id is the new entry.
 * Whether the name is there already is not looked at: see e4l_tree_find();
 * planning refuses duplicates.  Memory: 104 bytes, the name, and what an image
 * needs of it.  Errors: E4L_ET_NAME_TOO_LONG, E4L_ET_BAD_NAME (empty, dots, a
 * slash), E4L_ET_NOT_DIR (@parent is none), E4L_ET_BAD_ARGUMENT (its mode or its
 * stretches make no sense), E4L_ET_BAD_SYMLINK, E4L_ET_BAD_ACL,
 * E4L_ET_XATTR_LIMIT, E4L_ET_TREE_TOO_LARGE, ENOMEM; the tree stays as it
 * was, and e4l_tree_where() says which entry it was.
 */
errcode_t e4l_tree_add(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/* Replaces all but the name; directories stay such, others never become one. */
errcode_t e4l_tree_set(struct e4l_tree *t, uint32_t id,
		       const struct e4l_entry *entry);

/* Adds a further name of @id, which is not a directory. */
errcode_t e4l_tree_link(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t id);

/* *@id is the entry called @name in @parent, 0 when there is none. */
errcode_t e4l_tree_find(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t *id);

/* Flags for e4l_tree_load_dir(). */
#define E4L_DIR_NO_XATTRS	0x1	/* do not ask for extended attributes */
#define E4L_DIR_ONE_FS		0x2	/* do not enter what is mounted below */

struct e4l_dir_options {
	unsigned int threads;		/* 1 to 64 */
	unsigned int flags;		/* E4L_DIR_* */
	/* Leaves out the file with this st_dev and st_ino; NULL: none. */
	const struct stat *exclude;
	/*
	 * Called for each file that is left out, and for each directory that is
	 * not entered, by one thread at a time; may be NULL.  @why:
	 * E4L_ET_IS_IMAGE, E4L_ET_MOUNTED_FILE or E4L_ET_MOUNTED_ON.
	 */
	void (*left_out)(const char *path, errcode_t why, void *priv);
	void *priv;
	uint64_t reserved[4];
};

/*
 * Loads the directory @path into a new tree, or as all of the layer at hand.  The
 * content of files is read when the image is written, at the sizes that they
 * have now: what a file has grown by is left out, one that has shrunk is an
 * error (E4L_ET_FILE_SHRANK).  Sockets, fifos, devices, hard links, holes,
 * extended attributes and ACLs are kept, but not the attributes of which
 * e4l_xattr_is_private() is true.  Errors are errno's, or E4L_ET_LOCKED for an
 * encrypted directory without its key; e4l_tree_where() returns the file, and
 * e4l_tree_attribute() the attribute.
 */
errcode_t e4l_tree_load_dir(struct e4l_tree *t, const char *path,
			    const struct e4l_dir_options *options);

/* Flags for e4l_tree_load_fs(). */
#define E4L_LOAD_GENERATION	0x1	/* keep the inodes' generations */
#define E4L_LOAD_NO_XATTRS	0x2	/* do not read extended attributes */

/* How to load a filesystem that is damaged: without what cannot be copied. */
struct e4l_load_damage {
	ext2fs_inode_bitmap inodes;	/* that are left out */
	ext2fs_inode_bitmap sharing;	/* whoever has a block of these, too */
	/* Called for each name that is left out, and why. */
	void (*left_out)(const char *path, errcode_t why, void *priv);
	void *priv;
	uint64_t reserved[4];
};

/*
 * Loads @e's filesystem, which begins @offset_bytes into its device, into a new
 * tree: everything that ext4 keeps of a file, preallocated stretches and those
 * behind the end of file included.  The device itself is then the data, for
 * e4l_tree_set_data_fd(), and must not change.  Memory, beside the tree: 4
 * bytes for each inode of the filesystem.
 * Errors: those of e4l_tree_add() and of libext2fs, E4L_ET_DIR_CORRUPT,
 * E4L_ET_ENCRYPTED (with @damage, too), E4L_ET_TRANSLATOR,
 * E4L_ET_DANGLING, E4L_ET_EXTENT_RANGE, E4L_ET_EXTENT_ORDER,
 * E4L_ET_INTERRUPTED; e4l_tree_where() says which file.  With @damage (may be
 * NULL) what fails so is left out: a file, a directory with all below it, or
 * the rest of a directory; the root must be sound.
 */
errcode_t e4l_tree_load_fs(struct e4l_tree *t, struct e4l *e,
			   uint64_t offset_bytes, unsigned int flags,
			   const struct e4l_load_damage *damage);

/*
 * Where the layer at hand has the content of files, when that is not in a
 * directory; borrowed.
 */
void e4l_tree_set_data_fd(struct e4l_tree *t, int fd);

/* Calls @map for the owner and group of each entry. */
void e4l_tree_map_owners(struct e4l_tree *t,
			 void (*map)(uint32_t *uid, uint32_t *gid, void *priv),
			 void *priv);

/*
 * Calls @map for the users and groups that ACLs name, one at a time (the other
 * number counts for nothing), and for the users that file capabilities belong
 * to.  Errors, after which nothing is mapped: E4L_ET_BAD_ACL,
 * E4L_ET_ACL_MERGED, ENOMEM; e4l_tree_where() says which file.
 */
errcode_t e4l_tree_map_ids(struct e4l_tree *t,
			   void (*map)(uint32_t *uid, uint32_t *gid,
				       void *priv), void *priv);

/*
 * Files of a higher priority (-32767 to 32767; 0 for those that get none) come
 * first on the disk; a directory's is that of all it holds.
 * Errors: E4L_ET_NO_PATH, E4L_ET_BAD_ARGUMENT.
 */
errcode_t e4l_tree_set_priority(struct e4l_tree *t, const char *path,
				int priority);

/*
 * Stores @tunables (borrowed) in the image, as an attribute of the root.  No
 * tunables: removes the attribute.  Errors: ENOMEM, E4L_ET_XATTR_LIMIT; the tree
 * is unchanged.
 */
errcode_t e4l_tree_set_tunables(struct e4l_tree *t,
				const struct e4l_tunables *tunables);

/*
 * Returns the path in the source that the last failure was about, or "".  The
 * text belongs to the tree and is valid until the next call on the tree.
 */
const char *e4l_tree_where(const struct e4l_tree *t);

#ifdef __cplusplus
}
#endif
#endif
