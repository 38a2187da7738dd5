/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * like: plans and writes an image that differs little from an older image.
 *
 *  pop_like.c matches files by path and type; the order of the work
 *  pop_like_map.c compares contents; assigns blocks
 *  pop_like_dir.c changes directories, leaf by leaf
 *  pop_like_inode.c inodes and extended attributes
 *  pop_like_quota.c quota files
 *  like_copy.c writes the new image
 *
 * The plan changes a copy of the old filesystem in memory.  The old image is
 * only read.
 */
#ifndef E4L_LIKE_H
#define E4L_LIKE_H

#include "e4layout/format/quota.h"
#include "pop_source.h"
#include "populate.h"

/* A run of a file's blocks.  @pblk is 0 until blocks are assigned. */
struct like_run {
	uint64_t pblk;
	uint32_t lblk, len;
	bool unwritten;
	bool fill;		/* the content comes from the source */
};

/* The map of an inode in the old image. */
struct like_map {
	VEC(struct like_run) runs;
	VEC(blk64_t) tree;	/* blocks of the extent tree */
	bool extents;
};

/* The future runs of the regular file @node: a part of like.runs. */
struct like_file {
	uint32_t node;
	size_t first, n;
};

/* The change of the usage of a user, group or project. */
struct like_usage {
	uint32_t id;
	int64_t inodes, bytes;
};

/* State of a node. */
enum like_state {
	LIKE_KEPT,		/* the inode exists in the old image */
	/* the inode number is kept, but content and attributes are new */
	LIKE_AGAIN,
	LIKE_NEW,
};

/* number of blocks that are compared at once */
#define LIKE_WINDOW 64

struct e4l_like {
	struct e4l *old;	/* borrowed */
	struct e4l *e;		/* the copy in memory */
	ext2_filsys fs;		/* the filesystem of @e */
	struct e4l_tree *t;
	struct e4l_populate *p;
	int fd;			/* the old image; borrowed */
	ext2fs_block_bitmap was; /* blocks allocated in the old image */
	/* blocks allocated after blocks were freed, before others are taken */
	ext2fs_block_bitmap kept;
	uint8_t *state;		/* [node]: enum like_state */
	uint8_t *seen;		/* [node]: the old directory has the name */
	uint32_t *node_of;	/* [inode number]: node, or 0 */
	bool keep_lost_found;	/* the source has no lost+found */
	uint32_t features[3];	/* features of the old image */
	struct e4l_source source;
	char *new_buf, *old_buf;
	VEC(struct like_run) runs;
	VEC(struct like_file) files;
	/* runs to write from the source; fill_of.v[i]: node of writes.v[i] */
	VEC(struct like_run) writes;
	VEC(uint32_t) fill_of;
	/* runs of old files that may hold removed content: to be zeroed */
	VEC(struct like_run) zeroes;
	VEC(struct like_usage) usage[QUOTA_TYPES];
	uint64_t missing;	/* blocks that could not be assigned */
	bool changed;
	struct e4l_populate_stats stats;
};

/*
 * Plans an image with the files of @t that is like the filesystem of @old.
 * @old must have been checked, must not change until e4l_like_free(), and has
 * its data at offset 0 of @fd.  Nothing is written.  Errors: as
 * e4l_populate_plan(), and errors of reading.
 */
errcode_t e4l_like_plan(struct e4l *old, int fd, struct e4l_tree *t,
			const struct e4l_populate_options *options,
			struct e4l_like **ret);

/*
 * Writes the image to the empty file target->fd.  The superblock is written
 * last, after fsync(2).  Errors: as e4l_populate_write().
 */
errcode_t e4l_like_write(struct e4l_like *l,
			 const struct e4l_populate_target *target);

void e4l_like_get_stats(const struct e4l_like *l,
			struct e4l_populate_stats *stats);
/* Frees @l.  NULL is allowed. */
void e4l_like_free(struct e4l_like *l);

/* Defined in pop_like_map.c. */

errcode_t e4l_like_read_map(struct e4l_like *l, ext2_ino_t ino,
			    struct ext2_inode_large *inode,
			    struct like_map *map);
void e4l_like_free_map(struct like_map *map);

/* Appends a run to l->runs, or extends the last run of @file. */
errcode_t e4l_like_add_run(struct e4l_like *l, struct like_file *file,
			   struct like_run run);

/*
 * Compares the regular file @file->node with its inode in the old image, and
 * sets the future runs of @file.  Frees old blocks that no future run has.
 */
errcode_t e4l_like_compare(struct e4l_like *l, struct like_file *file,
			   struct ext2_inode_large *inode);

/* Sets the runs of a file without an inode in the old image. */
errcode_t e4l_like_new_runs(struct e4l_like *l, struct like_file *file);

/*
 * Frees the blocks of @map that @file does not use.  If @file is NULL, frees
 * all blocks of @map and the blocks of the extent tree.
 */
errcode_t e4l_like_drop(struct e4l_like *l, ext2_ino_t ino,
			struct ext2_inode_large *inode,
			const struct like_map *map,
			const struct like_file *file);

/*
 * Assigns blocks to the runs of @file that have none, and updates the map and
 * i_blocks of @inode.  If the runs of @file are the last of l->runs, they are
 * replaced by runs with blocks.
 */
errcode_t e4l_like_settle(struct e4l_like *l, ext2_ino_t ino,
			  struct ext2_inode_large *inode,
			  const struct like_map *map, struct like_file *file);

/*
 * Allocates one cluster and sets *@pblk to its first block.  If no cluster is
 * free, increases l->missing; the plan is then not used.
 */
errcode_t e4l_like_take_one(struct e4l_like *l, blk64_t *pblk);

/* Writes metadata to the copy in memory. */
errcode_t e4l_like_put_block(struct e4l_like *l, blk64_t pblk,
			     const void *buf);

/* Defined in pop_like_dir.c. */

/*
 * Sets *@same to whether the old inline directory of @node has the same entries
 * as @node in the tree.
 */
errcode_t e4l_like_same_names(struct e4l_like *l, uint32_t node, bool *same);

/*
 * Changes the blocks of the directory @node to have the entries of the tree,
 * and updates @inode.
 */
errcode_t e4l_like_put_dir(struct e4l_like *l, uint32_t node,
			   struct ext2_inode_large *inode);

/* Defined in pop_like_inode.c. */

struct ext2_inode_large *e4l_like_new_inode(const struct e4l_like *l);
errcode_t e4l_like_read_inode(struct e4l_like *l, ext2_ino_t ino,
			      struct ext2_inode_large *inode);

/*
 * Sets *@same to whether the content in @inode (inline data, or the target of a
 * symbolic link) equals the content of @node.
 */
errcode_t e4l_like_same_inside(struct e4l_like *l, uint32_t node,
			       struct ext2_inode_large *inode, bool *same);

/* Frees blocks and attributes of @ino.  The inode stays allocated. */
errcode_t e4l_like_release(struct e4l_like *l, ext2_ino_t ino,
			   struct ext2_inode_large *inode);

/* Writes the inode of @node and its attributes, if they change. */
errcode_t e4l_like_finish(struct e4l_like *l, uint32_t node,
			  struct like_file *file);

/* Defined in pop_like_quota.c. */

/*
 * Adds the usage of @inode to l->usage of its owners.  If @sign is -1,
 * subtracts the usage.
 */
errcode_t e4l_like_count(struct e4l_like *l, ext2_ino_t ino,
			 const struct ext2_inode_large *inode, int sign);
errcode_t e4l_like_put_quota(struct e4l_like *l);

#endif
