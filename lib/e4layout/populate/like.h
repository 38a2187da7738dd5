/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * like: plans and writes an image that differs little from an older image.
 *
 *  pop_like.c plans the image: matches files by path and type, calls the others
 *  pop_like_map.c compares contents, and assigns blocks
 *  pop_like_dir.c changes directories, leaf by leaf
 *  pop_like_inode.c changes inodes and extended attributes
 *  pop_like_quota.c changes quota files
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

/* Contiguous blocks of a file.  @pblk is 0 until blocks are assigned. */
struct like_run {
	uint64_t pblk;
	uint32_t lblk, len;
	bool unwritten;
	bool fill;		/* content is to be written from the source */
};

/* The map of an inode in the old image. */
struct like_map {
	VEC(struct like_run) runs;
	VEC(blk64_t) tree;	/* blocks of the extent tree */
	bool extents;
};

/*
 * The runs of the regular file @node in the new image: @n elements of
 * e4l_like.runs from index @first on.
 */
struct like_file {
	uint32_t node;
	size_t first, n;
};

/* The change of the quota usage of a user, group or project. */
struct like_usage {
	uint32_t id;
	int64_t inodes, bytes;
};

/* The parts of an inode of the old image that a node of the new image keeps. */
enum like_state {
	LIKE_KEPT,		/* the inode of the old image is kept */
	/*
	 * the inode number of the old image is kept, with new content and
	 * attributes
	 */
	LIKE_AGAIN,
	LIKE_NEW,		/* the node gets a free inode */
};

/* number of old and new blocks that are compared at once */
#define LIKE_WINDOW 64

struct e4l_like {
	struct e4l *old;	/* context of the old image; borrowed */
	struct e4l *e;		/* copy of @old in memory */
	ext2_filsys fs;		/* the filesystem of @e */
	struct e4l_tree *t;
	struct e4l_populate *p;
	int fd;			/* the old image; borrowed */
	ext2fs_block_bitmap was; /* blocks allocated in the old image */
	/*
	 * blocks of the old image that stay allocated: the block bitmap after
	 * unneeded blocks are freed, and before new blocks are allocated
	 */
	ext2fs_block_bitmap kept;
	uint8_t *state;		/* [node]: enum like_state */
	/*
	 * [node]: in the old image, the parent directory of the node has an
	 * entry with the node's name
	 */
	uint8_t *seen;
	uint32_t *node_of;	/* [inode number]: node; 0: no node */
	/*
	 * lost+found is from the old image, because the source has no
	 * lost+found
	 */
	bool keep_lost_found;
	/* feature words of the old image: compat, incompat, ro_compat */
	uint32_t features[3];
	struct e4l_source source;
	char *new_buf, *old_buf;
	VEC(struct like_run) runs;
	VEC(struct like_file) files;
	/*
	 * runs whose content is written from the source; fill_of.v[i] is the
	 * node of the run writes.v[i]
	 */
	VEC(struct like_run) writes;
	VEC(uint32_t) fill_of;
	/* runs to be zeroed, because the blocks may hold removed content */
	VEC(struct like_run) zeroes;
	VEC(struct like_usage) usage[QUOTA_TYPES];
	/* number of blocks that could not be allocated */
	uint64_t missing;
	bool changed;
	struct e4l_populate_stats stats;
};

/*
 * Plans an image that contains the files of @t, and differs as little as
 * possible from the filesystem of @old.  @old must have been checked, and must
 * not change until e4l_like_free().  @fd is the old image, with the filesystem
 * at offset 0.  Nothing is written.  Errors: as e4l_populate_plan(), and errors
 * of reading.
 */
errcode_t e4l_like_plan(struct e4l *old, int fd, struct e4l_tree *t,
			const struct e4l_populate_options *options,
			struct e4l_like **ret);

/*
 * Writes the image to the empty file target->fd.  The superblock is written
 * last, after fsync(2), so that an incomplete image has no valid primary
 * superblock.  Errors: as e4l_populate_write().
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

/*
 * Adds @run to @file: appends @run to l->runs or, if @run continues the last
 * run of @file, extends the last run.
 */
errcode_t e4l_like_add_run(struct e4l_like *l, struct like_file *file,
			   struct like_run run);

/*
 * Compares the regular file @file->node with @inode, the file's inode in the
 * old image.  Sets the runs of @file in the new image.  Frees the old blocks
 * that @file no longer uses.
 */
errcode_t e4l_like_compare(struct e4l_like *l, struct like_file *file,
			   struct ext2_inode_large *inode);

/*
 * Adds the runs of @file according to the data ranges in the source.  The old
 * image has no inode for @file.
 */
errcode_t e4l_like_new_runs(struct e4l_like *l, struct like_file *file);

/*
 * Frees the blocks of @map that @file does not use.  If @file is NULL, frees
 * all blocks of @map, including the blocks of the extent tree.
 */
errcode_t e4l_like_drop(struct e4l_like *l, ext2_ino_t ino,
			struct ext2_inode_large *inode,
			const struct like_map *map,
			const struct like_file *file);

/*
 * Allocates blocks for the runs of @file that have no blocks, and updates the
 * map and i_blocks of @inode.  If the runs of @file are at the end of l->runs,
 * replaces these runs by runs with blocks.
 */
errcode_t e4l_like_settle(struct e4l_like *l, ext2_ino_t ino,
			  struct ext2_inode_large *inode,
			  const struct like_map *map, struct like_file *file);

/*
 * Allocates one cluster and sets *@pblk to the first block of the cluster.  If
 * no cluster is free, increases l->missing, and planning fails later.
 */
errcode_t e4l_like_take_one(struct e4l_like *l, blk64_t *pblk);

/*
 * Writes the metadata block @buf to block @pblk of l->fs, which keeps changed
 * blocks in memory.  If blocks are missing (l->missing), writes nothing.
 */
errcode_t e4l_like_put_block(struct e4l_like *l, blk64_t pblk,
			     const void *buf);

/* Defined in pop_like_dir.c. */

/*
 * Sets *@same to whether the old inline directory of @node has the same entries
 * as @node in the tree.
 */
errcode_t e4l_like_same_names(struct e4l_like *l, uint32_t node, bool *same);

/*
 * Changes the blocks of the directory @node so that the directory has the
 * entries that the tree has, and updates @inode.
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

/*
 * Writes the inode and the extended attributes of @node, if the old image has
 * other values.
 */
errcode_t e4l_like_finish(struct e4l_like *l, uint32_t node,
			  struct like_file *file);

/* Defined in pop_like_quota.c. */

/*
 * Adds the blocks and the inode @inode to the quota usage of the inode's owners
 * in l->usage.  If @sign is -1, subtracts instead.
 */
errcode_t e4l_like_count(struct e4l_like *l, ext2_ino_t ino,
			 const struct ext2_inode_large *inode, int sign);
errcode_t e4l_like_put_quota(struct e4l_like *l);

#endif
