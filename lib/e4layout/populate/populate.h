/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * populate: from a tree to an image.
 *
 *  populate.c       the public functions; filesystems that are refused
 *  pop_plan.c       the order of things, inode numbers
 *  pop_blocks.c     what goes to which block
 *  pop_dir.c        directory blocks
 *  pop_inode.c      inodes and extent trees
 *  pop_xattr.c      extended attributes
 *  pop_quota.c      quota files
 *  pop_source.c     reads the source, by path or in the order of a device
 *  pop_write.c      writes the image, once, in disk order
 *
 * Everything is decided before anything is written; what is written is then a
 * function of the plan, so that any thread can write any part.
 */
#ifndef E4L_POPULATE_H
#define E4L_POPULATE_H

#include <e4layout/populate.h>
#include "e4layout/format/dir_build.h"
#include "tree.h"

/* What a stretch of blocks in the image holds. */
enum item_kind {
	ITEM_FILE,		/* ref: node with one run */
	ITEM_SEG,		/* ref: seg */
	ITEM_DIR,		/* ref: node */
	ITEM_SYMLINK,		/* ref: node */
	ITEM_TREE,		/* ref: map; extent tree blocks */
	ITEM_XATTR,		/* ref: xplace */
	ITEM_BLOB,		/* ref: node */
	ITEM_ITABLE,		/* ref: group */
};

struct item {
	uint64_t pblk : 48;
	uint64_t kind : 8;
	uint32_t len;		/* blocks */
	uint32_t ref;
};

/* Content that is made here: values of attributes, quota files. */
struct blob {
	const char *bytes;
	char *owned;		/* to be freed, or NULL */
};

/* Where an attribute set is stored for up to 1024 inodes. */
struct xplace {
	uint32_t set;
	uint32_t refs;
	uint64_t pblk;		/* 0: all of it is in the inodes */
	uint32_t ea_node;	/* the first of its EA inodes' nodes */
	uint32_t ea_inodes;
	uint64_t ea_bytes;
	uint64_t ea_blocks;	/* that the quota counts, in blocks */
	uint16_t in_inode;	/* bytes, without the magic number */
};

struct free_run {
	uint64_t pblk, len;	/* what is still free of it */
	uint64_t start;		/* where it began */
};

/* How a directory is divided that is written in several parts. */
struct kept_shape {
	uint32_t node;
	struct e4l_dir_shape shape;
};

struct e4l_populate {
	struct e4l *e;
	ext2_filsys fs;
	struct e4l_tree *t;
	struct e4l_populate_options o;
	struct e4l_populate_target target;
	uint32_t bs;
	uint32_t ratio;			/* blocks in a cluster */
	uint32_t isize;
	uint16_t extra_isize;
	bool csum, filetype;
	uint64_t now;			/* packed */
	uint32_t lost_found;		/* its node; 0: there is none */
	uint32_t lost_found_blocks;

	uint32_t *order;		/* children, directory by directory */
	VEC(uint32_t) dirs;		/* in the order of the walk */
	VEC(struct kept_shape) shapes;	/* of large directories */
	uint32_t *by_ino;		/* node of each inode */
	ext2_ino_t max_ino;
	uint8_t *old;			/* [inode]: in use before */
	ext2_ino_t max_old;
	uint32_t first_hidden;		/* nodes from here on have no name */
	size_t first_map, first_extra;	/* those from here on are the plan's */

	VEC(struct item) items;
	VEC(struct seg) segs;
	VEC(struct xplace) xplaces;
	uint32_t *xplace_of;		/* [set]: the one being filled */
	VEC(struct blob) blobs;

	VEC(struct free_run) runs;
	uint64_t *longest;		/* tree of maxima over runs */
	uint32_t leaves;		/* its width */
	uint64_t taken, wanted;		/* blocks */
	uint64_t wanted_inodes;

	struct e4l_populate_stats stats;
};

/* True for the node that stands for an inode, false for a further name. */
static inline bool stands(const struct node *n)
{
	return !(n->flags & NODE_ALIAS);
}

static inline uint64_t blocks_of(const struct e4l_populate *p, uint64_t bytes)
{
	return bytes / p->bs + (bytes % p->bs != 0);
}

/* populate.c */
errcode_t e4l_pop_fail(struct e4l_populate *p, errcode_t err, const char *doing,
		       uint32_t node);

/* pop_plan.c: decides everything; changes the bitmaps of p->fs in memory. */
errcode_t e4l_pop_plan(struct e4l_populate *p);

/* pop_blocks.c */
errcode_t e4l_pop_load_free(struct e4l_populate *p);
errcode_t e4l_pop_place_blocks(struct e4l_populate *p);
/* Gives @id, a blob, its blocks; called after the others. */
errcode_t e4l_pop_place_blob(struct e4l_populate *p, uint32_t id);
errcode_t e4l_pop_commit_blocks(struct e4l_populate *p);

/* pop_dir.c */
void e4l_pop_free_shapes(struct e4l_populate *p);
errcode_t e4l_pop_size_dir(struct e4l_populate *p, struct node *n);
errcode_t e4l_pop_fill_dir(struct e4l_populate *p, uint32_t id, uint32_t first,
			   uint32_t len, char *buf);
/* A directory's entries in @bytes bytes of an inode.  False: no room. */
bool e4l_pop_inline_dir(struct e4l_populate *p, const struct node *n, char *buf,
			unsigned int bytes);

/* pop_inode.c */
/* Extents that @n runs are, one after another. */
uint64_t e4l_pop_extents(const struct seg *seg, uint32_t n);
/* Makes @map's whole tree: the root, and n_tree blocks. */
errcode_t e4l_pop_make_tree(struct e4l_populate *p, const struct map *map,
			    char *root, char *blocks);
/* Sectors that i_blocks counts for @n. */
uint64_t e4l_pop_inode_sectors(const struct e4l_populate *p,
			       const struct node *n);
/* Writes @n's inode to @buf, isize bytes of zeroes.  @content: of inline. */
errcode_t e4l_pop_fill_inode(struct e4l_populate *p, uint32_t id,
			     const char *content, char *buf);

/* pop_xattr.c */
/* Decides where @id's attributes go; may add EA inodes' nodes. */
errcode_t e4l_pop_place_xattrs(struct e4l_populate *p, uint32_t id);
/* Bytes that the inode has for inline data beside i_block, plus 1; 0: none. */
unsigned int e4l_pop_inline_room(const struct e4l_populate *p,
				 const struct node *n);
errcode_t e4l_pop_fill_xattr_block(struct e4l_populate *p, uint32_t xplace,
				   char *buf);
/* @area: the attribute space of @n's inode; @data: inline data past 60. */
void e4l_pop_fill_ibody(struct e4l_populate *p, const struct node *n,
			char *area, unsigned int area_bytes,
			const char *data, size_t data_len);

/* pop_quota.c: quota files, when there are any, with what will be in use. */
errcode_t e4l_pop_quota(struct e4l_populate *p);

/* pop_write.c */
errcode_t e4l_pop_write(struct e4l_populate *p);

#endif
