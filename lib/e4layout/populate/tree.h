/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree: the content of a future image, in memory, in a compact form.  The
 * number of a node is its index in e4l_tree.nodes; 1 is the root, and 0 means
 * no node.  The arena is an array with all names and other strings.  Nodes
 * refer to a string by the byte offset in the arena.
 */
#ifndef E4L_TREE_H
#define E4L_TREE_H

#include <limits.h>
#include <linux/limits.h>
#include <e4layout/tree.h>
#include "e4layout/base/internal.h"
#include "e4layout/format/format.h"
#include "layer.h"
#include "tree_edit.h"

/* flags of struct node */
#define NODE_GROUPED	0x01	/* @child is the index of a struct link_group */
/* the inode has several names, and another node represents the inode */
#define NODE_ALIAS	0x02
#define NODE_INLINE	0x04	/* the content is stored in the inode */
#define NODE_INDEXED	0x08	/* the directory gets an htree */
#define NODE_BLOB	0x10	/* the content is a struct blob */
#define NODE_EA_INODE	0x20	/* the content is an attribute's value */
/* @xattr is the index of a struct xplace (populate.h), not of an xset */
#define NODE_PLACED	0x40
#define NODE_REMOVED	0x80	/* to be deleted by e4l_tree_drop_removed() */

#define PRIORITY_NONE	INT16_MIN

/* Inode flags that describe a file, not the storage of its content. */
#define KEPT_FLAGS (EXT2_SYNC_FL | EXT2_IMMUTABLE_FL | EXT2_APPEND_FL |	\
		    EXT2_NODUMP_FL | EXT2_NOATIME_FL | EXT3_JOURNAL_DATA_FL | \
		    EXT2_NOTAIL_FL | EXT2_DIRSYNC_FL | EXT2_TOPDIR_FL |	\
		    FS_DAX_FL | EXT4_PROJINHERIT_FL | EXT4_VERITY_FL |	\
		    EXT4_ENCRYPT_FL | EXT4_CASEFOLD_FL)

struct node {
	uint64_t size;
	uint64_t mtime, atime, ctime;	/* see e4l_pack_time() */
	/*
	 * Depends on the type of the node:
	 *  - regular file: byte offset in the source's data; if the source is a
	 *    directory: path in the arena, or 0 for the node's own path; with
	 *    NODE_BLOB: index of the blob;
	 *  - symbolic link: offset of the target in the arena;
	 *  - device: device number.
	 */
	uint64_t pos;
	uint64_t pblk;	/* first block, if the content is one run */
	uint32_t name;		/* offset of the name in the arena */
	uint32_t parent;
	/*
	 * directory: index of the first child in e4l_populate.order; other
	 * types, with NODE_GROUPED: index of a struct link_group
	 */
	uint32_t child;
	uint32_t n_child;
	union {
		uint32_t hash;	/* after planning: hash of the name */
		/* before planning: number of the layer that added the node */
		uint32_t layer;
	};
	uint32_t uid, gid;
	uint32_t ino;
	uint32_t links;
	/*
	 * index of a struct xset (a set of attributes) or, with NODE_PLACED, of
	 * a struct xplace
	 */
	uint32_t xattr;
	uint32_t map; /* index of a struct map; 0: the content is one run */
	uint32_t extra;		/* index of a struct extra; 0: none */
	uint16_t mode;
	int16_t priority;
	uint16_t source;	/* index in e4l_tree.sources */
	uint8_t name_len;
	uint8_t flags;
};

/* Inode fields that only ext4 sources have. */
struct extra {
	uint64_t crtime;
	uint32_t flags, generation, projid;
};

/* Contiguous blocks of a file in the image. */
struct seg {
	uint64_t pblk;
	uint32_t lblk, len;
	uint32_t node;
	bool unwritten;
};

/*
 * The stretches in the source, and the runs in the image, of a file whose
 * content is not one run.
 */
struct map {
	uint32_t stretch, n_stretch;
	uint32_t seg, n_seg;
	/* first of @n_tree tree blocks, which are one cluster apart */
	uint64_t tree_pblk;
	uint64_t clusters;	/* number of clusters of the content */
	uint32_t n_tree;
	uint32_t node;
};

/* An inode with several names. */
struct link_group {
	uint32_t owner;		/* node that represents the inode */
	uint32_t links;
	uint32_t changed;	/* index in e4l_tree.changed; 0: unchanged */
};

/* The source of the content of a layer's files. */
struct source {
	int fd;			/* directory, or file with the data; -1: none */
	bool by_path;	/* the source is a directory; the tree owns fd */
	uint32_t depth;		/* depth of the layer's directory in the tree */
	/* name for messages, as an offset in the arena; 0: no name */
	uint32_t name;
};

/*
 * A set of extended attributes, which inodes may share: see e4l_tree_intern().
 */
struct xset {
	size_t at, len; /* offset and length of the records in xbytes */
	uint64_t hash;
};

/*
 * An attribute in a set.  The name and the value follow the record in xbytes.
 * Sets are compared as bytes, so the structure must not have padding.
 */
struct xrecord {
	uint32_t value_len;
	uint16_t index;		/* EXT4_XATTR_INDEX_* */
	uint16_t name_len;	/* at most 255 */
};
_Static_assert(sizeof(struct xrecord) == 8, "struct xrecord has padding");

/* A growing array. */
#define VEC(type) struct { type *v; size_t n, room; }

struct e4l_tree {
	VEC(struct node) nodes;
	VEC(char) names;	/* the arena: all names and other strings */
	VEC(struct e4l_stretch) stretches;
	VEC(struct map) maps;
	VEC(struct extra) extras;
	VEC(struct link_group) groups;
	VEC(struct node) changed; /* nodes that e4l_tree_change() returns */
	VEC(struct xset) sets;
	VEC(char) xbytes;
	/*
	 * Hash table of the sets, with @set_mask + 1 slots: index in @sets; 0:
	 * the slot is empty.
	 */
	uint32_t *set_table;
	size_t set_mask;
	/*
	 * Hash table by parent and name of the first @named nodes, with
	 * @name_mask + 1 slots: index in @nodes; 0: the slot is empty.
	 */
	uint32_t *name_table;
	size_t name_mask, named;
	bool has_removed;
	/* one source for each layer; the last source is the current layer's */
	VEC(struct source) sources;
	uint32_t base; /* node of the current layer's directory */
	struct node missing; /* template for directories that a layer lacks */
	/*
	 * whiteouts of the current layer hide the nodes in @hidden, and the
	 * older entries of the directories in @emptied
	 */
	VEC(uint32_t) hidden, emptied;
	pthread_mutex_t lock;
	char where[PATH_MAX];		/* path of the last failure */
	char attr[XATTR_NAME_MAX + 1];	/* attribute of the last failure */
	/* name of the last failure's source, as an offset in the arena */
	uint32_t where_name;
};

/* Makes space for @more additional elements of @size bytes in @vec. */
errcode_t e4l_vec_grow(void *vec, size_t size, size_t more);
#define vec_room(vec, more) e4l_vec_grow((vec), sizeof(*(vec)->v), (more))

uint64_t e4l_tree_hash(const char *p, size_t len, uint64_t h);

/*
 * Packs a time into 64 bits: 34 bits of seconds since 1901, 30 bits of
 * nanoseconds.  A time that ext4 or e2fsck cannot represent becomes the nearest
 * valid time, and is marked.
 */
uint64_t e4l_pack_time(int64_t sec, uint32_t nsec);
uint64_t e4l_pack_stamp(const struct e4l_time *t);
bool e4l_time_is_marked(uint64_t packed);
int64_t e4l_time_sec(uint64_t packed);
uint32_t e4l_time_nsec(uint64_t packed);

/*
 * Finds the set of the @n attributes @attrs in the tree, or adds a new set.
 * Sets *@set to the index of the set, or to 0 if there are no attributes.
 */
errcode_t e4l_tree_intern(struct e4l_tree *t,
			  const struct e4l_tree_xattr *attrs,
			  size_t n, uint32_t *set);

/* Whether ext4 can store the attribute @name. */
bool e4l_tree_stores_xattr(const char *name);

/*
 * Returns the prefix of attribute names with the name index @index, such as
 * "user.".  For the index of an ACL, returns the whole name.
 */
const char *e4l_tree_xattr_prefix(uint8_t index);

/* Doubles the hash table of the sets of extended attributes. */
errcode_t e4l_tree_grow_sets(struct e4l_tree *t);

/*
 * Reads the extended attribute at offset @at in t->xbytes.  *@name and *@value
 * point into t->xbytes.  Returns the offset of the next attribute.
 */
size_t e4l_tree_record(const struct e4l_tree *t, size_t at, struct xrecord *rec,
		       const char **name, const char **value);

/*
 * Appends the @len bytes @bytes and a NUL to the arena, and sets *@at to the
 * offset of the first byte.
 */
errcode_t e4l_tree_keep(struct e4l_tree *t, const char *bytes, size_t len,
			uint32_t *at);

/* Whether @id is a valid node number. */
static inline bool e4l_tree_has(const struct e4l_tree *t, uint32_t id)
{
	return id >= E4L_TREE_ROOT && id < t->nodes.n;
}

/*
 * Adds a directory that the layer's paths need, with the attributes
 * e4l_layer.missing of the current layer.
 */
errcode_t e4l_tree_make_dir(struct e4l_tree *t, uint32_t parent,
			    const char *name, size_t len, uint32_t *id);

/* Adds a node without a name, for an EA inode or a quota file. */
errcode_t e4l_tree_add_hidden(struct e4l_tree *t, const struct node *proto,
			      uint32_t *id);

/*
 * Writes the path of @node, relative to the root, to @buf.  If the path is too
 * long, returns false.
 */
bool e4l_tree_path(const struct e4l_tree *t, uint32_t node, char *buf,
		   size_t size);

/*
 * Returns the path of @node, relative to the root.  The path can have any
 * length.  The caller frees the path.  If memory runs out, returns NULL.
 */
char *e4l_tree_long_path(const struct e4l_tree *t, uint32_t node);

/*
 * Returns the path of @node in its source.  The caller frees the path.  If
 * memory runs out, returns NULL.
 */
char *e4l_tree_source_path(const struct e4l_tree *t, uint32_t node);

/*
 * Opens the directory @path below the directory @root.  @path may be longer
 * than PATH_MAX.  The call changes @path.  On failure, returns -1 and sets
 * errno.
 */
int e4l_tree_open_dir(int root, char *path, int flags);

/*
 * Deletes all nodes with NODE_REMOVED and all nodes below a node with
 * NODE_REMOVED.  Renumbers the remaining nodes.
 */
errcode_t e4l_tree_drop_removed(struct e4l_tree *t);

/*
 * Sets *@ret to the node through which the inode of @id must be changed.  If
 * the inode has one name, *@ret is the node @id.  If the inode has several
 * names, *@ret is a node in t->changed that represents all names.  Errors:
 * E4L_ET_BAD_ARGUMENT if there is no node @id; ENOMEM.
 */
errcode_t e4l_tree_change(struct e4l_tree *t, uint32_t id, struct node **ret);

/*
 * Copies the changed members of inodes with several names from t->changed to
 * all nodes with these names.
 */
void e4l_tree_share_changes(struct e4l_tree *t);

/*
 * Copies the changed members of the inode of node @id from t->changed to @id
 * only, not to the nodes of other names of the inode.
 */
void e4l_tree_share_change(struct e4l_tree *t, uint32_t id);

/*
 * Sets the detail of a failure, and returns @err.  The failure concerns the
 * entry @name of the directory @node or, if @name is NULL, @node itself.
 */
errcode_t e4l_tree_fail(struct e4l_tree *t, errcode_t err, uint32_t node,
			const char *name, size_t name_len);

/* Whether the sources of all files are directories. */
bool e4l_tree_is_by_path(const struct e4l_tree *t);

static inline struct source *tree_source(const struct e4l_tree *t)
{
	return &t->sources.v[t->sources.n - 1];
}

/* Returns the number of the current layer, counted from 0. */
static inline uint32_t tree_layer(const struct e4l_tree *t)
{
	return t->sources.n - 1;
}

/* Whether the tree has more than one layer. */
static inline bool tree_is_merged(const struct e4l_tree *t)
{
	return tree_layer(t) > 0;
}

/* Returns the node that represents the inode of the node @node. */
static inline uint32_t tree_owner(const struct e4l_tree *t, uint32_t node)
{
	const struct node *n = &t->nodes.v[node];

	return n->flags & NODE_ALIAS ? t->groups.v[n->child].owner : node;
}

static inline const char *node_name(const struct e4l_tree *t,
				    const struct node *n)
{
	return t->names.v + n->name;
}

#endif
