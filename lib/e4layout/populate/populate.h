/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * populate: writes a tree as an image.
 *
 *  populate.c defines public functions, and checks the tree and the filesystem
 *  pop_plan.c orders all items, and assigns inode numbers
 *  pop_blocks.c assigns blocks to items
 *  pop_dir.c builds directory blocks
 *  pop_inode.c builds inodes and extent trees
 *  pop_xattr.c places and builds extended attributes
 *  pop_quota.c builds quota files
 *  pop_source.c reads the source, by path or in the order of a device
 *  pop_write.c writes the image, once, in disk order
 *
 * The whole plan is made before the first write.  The content of each block
 * depends only on the plan, so that any thread can write any part.
 */
#ifndef E4L_POPULATE_H
#define E4L_POPULATE_H

#include <e4layout/populate.h>
#include "e4layout/format/dir_build.h"
#include "e4layout/format/quota.h"
#include "tree.h"

/* Kind of content in the blocks of an item, with the meaning of item.ref. */
enum item_kind {
	/* ref: node of a file whose content is one run */
	ITEM_FILE,
	ITEM_SEG,		/* ref: index in e4l_populate.segs */
	ITEM_DIR,		/* ref: node of the directory */
	ITEM_SYMLINK,		/* ref: node of the symbolic link */
	/* ref: index of the map to which the extent tree belongs */
	ITEM_TREE,
	ITEM_XATTR,		/* ref: index in e4l_populate.xplaces */
	ITEM_BLOB,		/* ref: node with NODE_BLOB */
	ITEM_ITABLE,		/* inode table; ref: group number */
};

struct item {
	uint64_t pblk : 48;
	uint64_t kind : 8;
	uint32_t len;		/* in blocks */
	uint32_t ref;
};

/* Content that no source has: the value of an EA inode, or a quota file. */
struct blob {
	const char *bytes;
	/* allocated content; NULL: @bytes is not to be freed */
	char *owned;
};

/* The location of a set of extended attributes, shared by up to 1024 inodes. */
struct xplace {
	uint32_t set;
	uint32_t refs;
	/* attribute block; 0: all attributes are in the inodes */
	uint64_t pblk;
	uint32_t ea_node;	/* node of the first EA inode */
	uint32_t ea_inodes;
	uint64_t ea_blocks;	/* blocks of EA inodes that count for quota */
	/* bytes for attributes in the inode, without the magic number */
	uint16_t in_inode;
};

/* A free extent of the new filesystem, as mke2fs has left it. */
struct free_run {
	/* blocks that the plan has not used yet, at the end of the extent */
	uint64_t pblk, len;
	uint64_t start;		/* first block of the extent */
};

/*
 * The division of the entries of a large directory into blocks.  The plan
 * stores the division, because the directory may be written in several parts.
 */
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
	uint32_t ratio;			/* blocks per cluster */
	uint32_t isize;
	uint16_t extra_isize;
	bool csum, filetype;
	/* time of the image, see e4l_pack_time() */
	uint64_t now;
	uint32_t lost_found;		/* node of lost+found; 0: none */
	uint32_t lost_found_blocks;

	uint32_t *order; /* nodes of all children, directory by directory */
	VEC(uint32_t) dirs;	/* nodes of directories, parents first */
	/* divisions of large directories into blocks */
	VEC(struct kept_shape) shapes;
	uint32_t *by_ino;		/* [inode number]: node; 0: no node */
	ext2_ino_t max_ino;
	uint8_t *old; /* [inode number]: inode was allocated by mke2fs */
	ext2_ino_t max_old;
	uint32_t first_hidden;		/* first node without a name */
	/*
	 * index in t->maps of the first map, and index in t->extras of the
	 * first element, that the plan has added
	 */
	size_t first_map, first_extra;

	VEC(struct item) items;
	VEC(struct seg) segs;
	VEC(struct xplace) xplaces;
	/*
	 * [set of extended attributes]: index in @xplaces of the location that
	 * the next inode with this set uses; 0: no location yet
	 */
	uint32_t *xplace_of;
	VEC(struct blob) blobs;

	VEC(struct free_run) runs;
	/*
	 * binary tree over @runs, as an array: largest len of the runs below
	 * each node
	 */
	uint64_t *longest;
	uint32_t leaves;		/* number of leaves in @longest */
	/*
	 * number of blocks allocated so far, and number of blocks that all
	 * items need
	 */
	uint64_t taken, wanted;
	uint64_t wanted_inodes;

	struct e4l_populate_stats stats;
};

/*
 * Whether the node represents its inode.  Exactly one node represents each
 * inode.
 */
static inline bool stands(const struct node *n)
{
	return !(n->flags & NODE_ALIAS);
}

static inline uint64_t blocks_of(const struct e4l_populate *p, uint64_t bytes)
{
	return bytes / p->bs + (bytes % p->bs != 0);
}

/* Defined in populate.c. */
errcode_t e4l_pop_fail(struct e4l_populate *p, errcode_t err, const char *doing,
		       uint32_t node);
void e4l_pop_set_up(struct e4l_populate *p, struct e4l *e, struct e4l_tree *t,
		    const struct e4l_populate_options *o);
/* Makes times reproducible, as e4l_populate_options.clamp_times requests. */
void e4l_pop_clamp_times(struct e4l_populate *p);
/*
 * Checks that the filesystem can store all files of the tree.  Sets the
 * features large_file and ext_attr if the files need them.
 */
errcode_t e4l_pop_check_tree(struct e4l_populate *p);
/* Counts the files with times that do not fit into the inode. */
void e4l_pop_count_times(struct e4l_populate *p);

/*
 * Defined in pop_plan.c.  Makes the plan.  Changes the bitmaps of p->fs, but
 * only in memory.
 */
errcode_t e4l_pop_plan(struct e4l_populate *p);
/*
 * Sorts the children of all directories into p->order, lists the directories in
 * p->dirs, and counts links.
 */
errcode_t e4l_pop_order(struct e4l_populate *p);

/* Defined in pop_blocks.c. */
errcode_t e4l_pop_load_free(struct e4l_populate *p);
/*
 * Allocates @len blocks, rounded up to clusters, in the first free extent that
 * is large enough.  If no free extent is large enough, allocates the largest
 * free extent.  Sets *@pblk to the first block.  Returns the number of
 * allocated blocks, or 0 if no block is free.
 */
uint64_t e4l_pop_take(struct e4l_populate *p, uint64_t len, uint64_t *pblk);
/*
 * Converts the data ranges (struct e4l_stretch) of the content of node @id into
 * runs of blocks in p->segs.  The runs have no physical blocks yet.
 */
errcode_t e4l_pop_cut_segs(struct e4l_populate *p, uint32_t id);
errcode_t e4l_pop_place_blocks(struct e4l_populate *p);
/* Assigns blocks to the blob of the node @id, which has the flag NODE_BLOB. */
errcode_t e4l_pop_place_blob(struct e4l_populate *p, uint32_t id);
errcode_t e4l_pop_commit_blocks(struct e4l_populate *p);

/* Defined in pop_dir.c. */
/* Returns the file type in directory entries for @mode. */
uint8_t e4l_pop_file_type(const struct e4l_populate *p, uint16_t mode);
void e4l_pop_free_shapes(struct e4l_populate *p);
errcode_t e4l_pop_size_dir(struct e4l_populate *p, struct node *n);
errcode_t e4l_pop_fill_dir(struct e4l_populate *p, uint32_t id, uint32_t first,
			   uint32_t len, char *buf);
/*
 * Stores a directory's entries in the @bytes bytes at @buf, which are part of
 * an inode.  If @buf is NULL, stores nothing.  If the entries do not fit,
 * returns false.
 */
bool e4l_pop_inline_dir(struct e4l_populate *p, const struct node *n, char *buf,
			unsigned int bytes);

/* Defined in pop_inode.c. */
/* Returns the number of extents that can map the @n runs @seg. */
uint64_t e4l_pop_extents(const struct seg *seg, uint32_t n);
/*
 * Builds the extent tree of @map: the root for i_block in @root, and
 * map->n_tree blocks in @blocks.
 */
errcode_t e4l_pop_make_tree(struct e4l_populate *p, const struct map *map,
			    char *root, char *blocks);
/* Returns the number of 512-byte sectors for i_blocks of @n. */
uint64_t e4l_pop_inode_sectors(const struct e4l_populate *p,
			       const struct node *n);
/*
 * Writes the inode of node @id to @buf, which must have p->isize zero bytes.
 * @content is the content of a file with inline data.
 */
errcode_t e4l_pop_fill_inode(struct e4l_populate *p, uint32_t id,
			     const char *content, char *buf);

/* Defined in pop_xattr.c. */
/*
 * Decides where the attributes of node @id are stored.  Can add nodes for EA
 * inodes, which can move the array of nodes.
 */
errcode_t e4l_pop_place_xattrs(struct e4l_populate *p, uint32_t id);
/*
 * Returns one more than the number of bytes for inline data in the attribute
 * area of the inode.  If the attribute "system.data" does not fit even without
 * data, returns 0.
 */
unsigned int e4l_pop_inline_room(const struct e4l_populate *p,
				 const struct node *n);
errcode_t e4l_pop_fill_xattr_block(struct e4l_populate *p, uint32_t xplace,
				   char *buf);
/*
 * Fills @area, the attribute area of @n's inode.  @data is the inline data
 * without the first 60 bytes.
 */
void e4l_pop_fill_ibody(struct e4l_populate *p, const struct node *n,
			char *area, unsigned int area_bytes,
			const char *data, size_t data_len);

/*
 * Defined in pop_quota.c.  If the filesystem has quota files, fills the quota
 * files with the usage of the planned image.
 */
errcode_t e4l_pop_quota(struct e4l_populate *p);

/* An entry of a quota file, as on disk. */
struct e4l_quota_entry {
	char raw[QUOTA_ENTRY_BYTES];
};

/*
 * Builds a quota file with the @n entries @e, which are sorted by ID, and with
 * the magic number and the grace times of the file header @old.  The length is
 * a multiple of @blocksize.  The caller frees *@bytes.
 */
errcode_t e4l_pop_quota_bytes(const struct e4l_quota_entry *e, size_t n,
			      const char *old, uint32_t blocksize,
			      char **bytes, size_t *len);

/* Defined in pop_write.c. */
errcode_t e4l_pop_write(struct e4l_populate *p);

#endif
