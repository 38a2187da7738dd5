/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree: what will be in an image, in memory, as compactly as it can be.  Nodes
 * are told apart by their index; 1 is the root, 0 is none.
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

/* struct node: flags */
#define NODE_GROUPED	0x01	/* has several names: see link_group() */
#define NODE_ALIAS	0x02	/* another name of its group's owner */
#define NODE_INLINE	0x04	/* the content is in the inode */
#define NODE_INDEXED	0x08	/* a directory with an htree */
#define NODE_BLOB	0x10	/* the content is in memory */
#define NODE_EA_INODE	0x20	/* holds an attribute's value */
#define NODE_PLACED	0x40	/* xattr is a placement, not a set */
#define NODE_REMOVED	0x80	/* until e4l_tree_drop_removed() */

#define PRIORITY_NONE	INT16_MIN

struct node {
	uint64_t size;
	uint64_t mtime, atime, ctime;	/* see e4l_pack_time() */
	/*
	 * The content: a position in a source's data, or, of a source that is a
	 * directory, the path in the arena (0: the node's own); a blob's number;
	 * a symlink's target in the arena; a device's number.
	 */
	uint64_t pos;
	uint64_t pblk;		/* where the content goes, when in one run */
	uint32_t name;		/* in the arena */
	uint32_t parent;
	uint32_t child;		/* directory: first in order[]; or link group */
	uint32_t n_child;
	union {
		uint32_t hash;	/* of the name in its directory, once planned */
		uint32_t layer;	/* that the name is from, until then */
	};
	uint32_t uid, gid;
	uint32_t ino;
	uint32_t links;
	uint32_t xattr;		/* attribute set; once planned, its place */
	uint32_t map;		/* struct map, 0: one run, all of it data */
	uint32_t extra;		/* struct extra, 0: none */
	uint16_t mode;
	int16_t priority;
	uint16_t source;	/* of the content */
	uint8_t name_len;
	uint8_t flags;
};

/* What only another ext4 filesystem knows of a file. */
struct extra {
	uint64_t crtime;
	uint32_t flags, generation, projid;
};

/* A run of a file's blocks in the image. */
struct seg {
	uint64_t pblk;
	uint32_t lblk, len;
	uint32_t node;
	bool unwritten;
};

/* Of a file that is not one run: its stretches in the source, then its runs. */
struct map {
	uint32_t stretch, n_stretch;
	uint32_t seg, n_seg;
	uint64_t tree_pblk;	/* of n_tree tree blocks, a cluster each */
	uint64_t clusters;	/* of the content */
	uint32_t n_tree;
	uint32_t node;
};

struct link_group {
	uint32_t owner;		/* the node that stands for the inode */
	uint32_t links;
	uint32_t changed;	/* what the inode has become; 0: unchanged */
};

/* Where the content of a layer's files is. */
struct source {
	int fd;			/* a directory or a file with data; -1: none */
	bool by_path;		/* a directory; the fd is the tree's own */
	uint32_t depth;		/* depth of the parent directory */
	uint32_t name;		/* for messages, in the arena; 0: none */
};

/* Extended attributes, which many inodes may share: see e4l_tree_intern(). */
struct xset {
	size_t at, len;		/* of the records in xbytes */
	uint64_t hash;
};

/* One attribute in a set; its name and its value follow. */
struct xrecord {
	uint32_t value_len;
	uint8_t index;		/* EXT4_XATTR_INDEX_* */
	uint8_t name_len;
};

/* A growing array. */
#define VEC(type) struct { type *v; size_t n, room; }

struct e4l_tree {
	VEC(struct node) nodes;
	VEC(char) names;		/* the arena */
	VEC(struct e4l_stretch) stretches;
	VEC(struct map) maps;
	VEC(struct extra) extras;
	VEC(struct link_group) groups;
	VEC(struct node) changed;	/* inodes: see e4l_tree_share_changes() */
	VEC(struct xset) sets;
	VEC(char) xbytes;
	uint32_t *set_table;		/* by hash: set index */
	size_t set_mask;
	uint32_t *name_table;		/* by parent and name: node index */
	size_t name_mask, named;
	bool has_removed;
	VEC(struct source) sources;	/* one for each layer; the last counts */
	uint32_t base;			/* the directory that the layer is in */
	struct node missing;		/* a directory that a layer left out */
	VEC(uint32_t) hidden, emptied;	/* by the layer: whiteouts */
	pthread_mutex_t lock;
	char where[PATH_MAX];		/* what the last failure was about */
	char attr[XATTR_NAME_MAX + 1];	/* and which of its attributes */
	uint32_t where_name;		/* of its source, in the arena */
};

/* Makes room for one more element of @size bytes; keeps what there is. */
errcode_t e4l_vec_grow(void *vec, size_t size, size_t more);
#define vec_room(vec, more) e4l_vec_grow((vec), sizeof(*(vec)->v), (more))

uint64_t e4l_tree_hash(const char *p, size_t len, uint64_t h);

/*
 * 34 bits of seconds from 1901 on, 30 of nanoseconds.  A time that ext4 and
 * e2fsck cannot keep becomes the nearest that they can, and is marked.
 */
uint64_t e4l_pack_time(int64_t sec, uint32_t nsec);
uint64_t e4l_pack_stamp(const struct e4l_time *t);
bool e4l_time_is_marked(uint64_t packed);
int64_t e4l_time_sec(uint64_t packed);
uint32_t e4l_time_nsec(uint64_t packed);

/* The attribute set of @n attributes; *@set is 0 for none. */
errcode_t e4l_tree_intern(struct e4l_tree *t,
			  const struct e4l_tree_xattr *attrs,
			  size_t n, uint32_t *set);

/* Whether ext4 has a place for the attribute @name. */
bool e4l_tree_stores_xattr(const char *name);

/* Makes the table of sets larger. */
errcode_t e4l_tree_grow_sets(struct e4l_tree *t);

/* Reads the record at @at in xbytes; returns where the next one is. */
size_t e4l_tree_record(const struct e4l_tree *t, size_t at, struct xrecord *rec,
		       const char **name, const char **value);

/* Appends bytes to the arena.  *@at is their place; they are terminated. */
errcode_t e4l_tree_keep(struct e4l_tree *t, const char *bytes, size_t len,
			uint32_t *at);

/* Whether @id is the number of an entry. */
static inline bool e4l_tree_has(const struct e4l_tree *t, uint32_t id)
{
	return id >= E4L_TREE_ROOT && id < t->nodes.n;
}

/* Adds a directory that a layer left out. */
errcode_t e4l_tree_make_dir(struct e4l_tree *t, uint32_t parent,
			    const char *name, size_t len, uint32_t *id);

/* A node without a name, for what the image itself needs. */
errcode_t e4l_tree_add_hidden(struct e4l_tree *t, const struct node *proto,
			      uint32_t *id);

/* Writes the path of @node below the root to @buf.  False: too long. */
bool e4l_tree_path(const struct e4l_tree *t, uint32_t node, char *buf,
		   size_t size);

/* The same of any length, to be freed.  NULL: out of memory. */
char *e4l_tree_long_path(const struct e4l_tree *t, uint32_t node);

/* The path of @node in its source, to be freed.  NULL: out of memory. */
char *e4l_tree_source_path(const struct e4l_tree *t, uint32_t node);

/*
 * Opens the directory @path below @root, however long that is; cuts @path up.
 * -1: errno says why not.
 */
int e4l_tree_open_dir(int root, char *path, int flags);

/* Takes out what was removed, with all below: others are renumbered. */
errcode_t e4l_tree_drop_removed(struct e4l_tree *t);

/*
 * Where a change to the inode of @id is made: in its node, or, if it has several
 * names, in a node that stands for all of them.  Errors: ENOMEM.
 */
errcode_t e4l_tree_change(struct e4l_tree *t, uint32_t id, struct node **ret);

/* Gives all names of an inode the changes that were made by one of them. */
void e4l_tree_share_changes(struct e4l_tree *t);

/* Notes what a failure was about: @name in @node (may be NULL), or @node. */
errcode_t e4l_tree_fail(struct e4l_tree *t, errcode_t err, uint32_t node,
			const char *name, size_t name_len);

/* Whether all content is found by path. */
bool e4l_tree_is_by_path(const struct e4l_tree *t);

static inline struct source *tree_source(const struct e4l_tree *t)
{
	return &t->sources.v[t->sources.n - 1];
}

/* The number of the layer at hand, from 0 on. */
static inline uint32_t tree_layer(const struct e4l_tree *t)
{
	return t->sources.n - 1;
}

/* Whether there is something that a name could be in the way of. */
static inline bool tree_is_merged(const struct e4l_tree *t)
{
	return tree_layer(t) > 0;
}

/* The node that stands for @node's inode. */
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
