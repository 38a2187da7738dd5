/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of mkaged.  A recipe (recipe.c) is run in memory (image.c), where a
 * file is a list of extents and a directory is a list of entries.  The result
 * is written in inode order (emit.c).
 *
 * Every failure ends the program and prints the recipe's line, so functions
 * return no errors.
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#define LAB_TIME 1700000000 /* every timestamp in an image */

/*
 * The maximum length of a leaf entry (see EXT_INIT_MAX_LEN in ext3_extents.h).
 */
#define MAX_WRITTEN_BLKS 32768
#define MAX_UNWRITTEN_BLKS 32767

/*
 * Size of an inline directory's entries in i_block, after the parent's number.
 */
#define INLINE_DIR_BYTES 56

struct extent {
	__u32 lblk;
	__u32 len_blks : 31;
	__u32 unwritten : 1;
	blk64_t pblk;
};

struct xattr {
	struct xattr *next;
	char *name;
	void *value;
	size_t value_bytes;
};

/* Rare properties of an inode. */
struct extra {
	/*
	 * shape of the extent tree: minimum depth, maximum entries per leaf and
	 * per index block (0: no limit)
	 */
	unsigned int min_depth, leaf_max, index_max;
	/* the extent tree's blocks, or the indirect blocks */
	blk64_t *meta_blks;
	__u32 n_meta;
	__u32 uid, gid, projid, dev;
	char *target; /* target of a symbolic link */
	struct xattr *xattrs;
	/* inode whose attribute block this inode shares; 0: not shared */
	ext2_ino_t xattrs_of;
	bool is_inline;
	/* blocks of a directory, in host byte order */
	char *dir;
	size_t dir_bytes;
	size_t last_off; /* offset of the last entry */
	__u32 serial;	 /* number of generated names in the directory */
	ext2_ino_t parent;
};

/* An inode of the recipe, or the root; links == 0: not in use. */
struct node {
	struct extent *extents; /* in logical order */
	__u32 n_extents;
	__u32 iflags; /* EXT4_*_FL */
	struct extra *x;
	__u64 size_bytes;
	__u32 links;
	__u16 mode;
	bool has_contents;
};

struct lab {
	const char *recipe_name, *image_name;
	unsigned int line; /* line of the recipe; 0: none */
	__u64 seed, random_state;
	__u64 size_bytes;
	__u64 journal_bytes; /* size of the external journal; 0: no journal */
	char *mke2fs_args;
	ext2_filsys fs;	    /* NULL until first used */
	struct node *nodes; /* by inode number */
	blk64_t goal_blk;   /* the search for free blocks begins at this block */
	ext2_ino_t goal_ino;
	bool no_contents, with_htree;
	/* derived from fs */
	__u32 block_bytes, ratio_blks, dir_area_bytes;
	blk64_t end_blk; /* end of the blocks to allocate */
};

/* mkaged.c */
noreturn void lab_fail(const struct lab *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void lab_check(const struct lab *l, errcode_t err, const char *doing);
void *lab_alloc(const struct lab *l, size_t bytes); /* returns zeroed memory */
void *lab_realloc(const struct lab *l, void *p, size_t bytes);
char *lab_strdup(const struct lab *l, const char *s);
/* Returns a pseudo-random number from 0 to @below - 1. */
__u64 lab_random(struct lab *l, __u64 below);

/* e2fsprogs.c */
void make_filesystem(const struct lab *l);
/* Makes an external journal for the image, in the file @name. */
void make_journal(const struct lab *l, const char *name);
/* Makes the quota files of @types (tune2fs -Q) in the closed image. */
void count_quota(const struct lab *l, const char *types);
/* Builds htree indexes in the closed image. */
void index_directories(const struct lab *l);

/* recipe.c: runs a recipe, from a file or (-) from standard input. */
void recipe_run(struct lab *l, const char *path);

/* image.c */
void image_open(struct lab *l);
void image_close(struct lab *l);

static inline __u64 div_up(__u64 n, __u64 by)
{
	return (n + by - 1) / by;
}

static inline bool node_is_dir(const struct node *n)
{
	return LINUX_S_ISDIR(n->mode);
}

static inline ext2_ino_t node_ino(const struct lab *l, const struct node *n)
{
	return n - l->nodes;
}

struct extra *node_extra(struct lab *l, struct node *n);
/* Returns the last mapped logical block of @n plus 1; 0: no block is mapped. */
__u32 node_end_lblk(const struct node *n);

typedef void run_fn(struct lab *l, blk64_t blk, blk64_t len, void *arg);
/* Calls @fn for each run of clusters that the data of @n occupies. */
void node_each_run(struct lab *l, const struct node *n, run_fn *fn, void *arg);

#define GROW_UNWRITTEN 1
/* use free extents of any length; without this flag, prefer one free extent */
#define GROW_HOLES 2
/* merge new blocks with the last extent if possible, like the kernel */
#define GROW_MERGE 4
/*
 * Appends @len_blks logical blocks, from @lblk on, to @n.  Allocates free
 * blocks from l->goal_blk on, and advances l->goal_blk.  @lblk must be after
 * all mapped blocks of @n.
 */
void node_grow(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
	       int flags);
/*
 * Like node_grow(), but allocates the blocks from @pblk on, which must be free.
 * The new extents are not merged with the last extent of @n.
 */
void node_grow_at(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
		  int flags, blk64_t pblk);
/*
 * Appends @len_blks blocks to @n, from the already allocated block @pblk on, as
 * separate extents.
 */
void node_push(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
	       int flags, blk64_t pblk);
/*
 * Allocates contiguous blocks, and returns the first block.  Rounds @len_blks
 * up to whole clusters.  Searches from l->goal_blk on, and then from the start
 * of the filesystem.
 */
blk64_t take_run(struct lab *l, blk64_t len_blks);

/*
 * Returns the number of blocks that map @n, without its inode.  *@depth is the
 * depth of the tree.
 */
__u32 node_meta_needed(struct lab *l, const struct node *n, int *depth);
/* Returns the number of entries in each leaf or index block of @n's tree. */
__u32 tree_fanout(const struct lab *l, const struct node *n, bool leaf);
/* Allocates the extent-tree or indirect blocks that @n still needs. */
void node_settle(struct lab *l, struct node *n);

/*
 * Adds an inode without a name.  The inode has the first free number from @goal
 * on or, if @goal is 0, the next free number.
 */
struct node *node_new(struct lab *l, __u16 mode, ext2_ino_t goal);
void node_encrypt(struct lab *l, struct node *n);
/* Makes @dir an empty directory. */
void dir_init(struct lab *l, struct node *dir, struct node *parent);
void dir_add(struct lab *l, struct node *dir, const char *name,
	     struct node *child);
/* Returns the inode of the entry @name in @dir; 0: @dir has no such entry. */
ext2_ino_t dir_find(struct lab *l, const struct node *dir, const char *name,
		    size_t name_len);
/*
 * dir_each() calls @fn for each entry of @dir except "." and "..".  If @fn
 * returns true, dir_each() removes the entry.
 */
typedef bool entry_fn(struct lab *l, struct ext2_dir_entry *de, void *arg);
void dir_each(struct lab *l, struct node *dir, entry_fn *fn, void *arg);
/* Removes a name of @n; the last name also frees the inode and its contents. */
void drop_link(struct lab *l, struct node *n);

/* emit.c */
void emit_image(struct lab *l);
/*
 * Fills @bytes (a multiple of 8) with pseudo-random data of @key, without long
 * runs of zeroes.
 */
void emit_fill(void *buf, size_t bytes, __u64 key);
/* Returns a unique number for each block of each file. */
__u64 emit_key(const struct lab *l, ext2_ino_t ino, __u64 lblk);

/* extras.c */

/*
 * Writes an encryption context to inode @ino.  @slot points to the inode in its
 * inode table.
 */
void extra_encryption(struct lab *l, ext2_ino_t ino, char *slot);
/* Changes a few inodes with libext2fs.  Call after all inodes are written. */
void extra_inodes(struct lab *l);
/* Writes the MMP block and the external journal. */
void extra_blocks(struct lab *l);

#endif
