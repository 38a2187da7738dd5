/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mkaged's parts. A recipe (recipe.c) is carried out in memory (image.c),
 * where a file is a list of extents and a directory a list of entries; what
 * came of it is then written in inode order (emit.c).
 *
 * Every failure ends the program with the recipe's line, so nothing here
 * returns an error.
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

/* What a leaf entry can hold (see EXT_INIT_MAX_LEN in ext3_extents.h). */
#define MAX_WRITTEN_BLKS 32768
#define MAX_UNWRITTEN_BLKS 32767

/* An inline directory's entries in i_block, behind its parent's number. */
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

/* What few inodes have. */
struct extra {
	/* the extent tree's shape: its least depth, the most entries per
	 * leaf and per index block (0: as many as fit) */
	unsigned int min_depth, leaf_max, index_max;
	/* the extent tree's blocks, or the indirect blocks */
	blk64_t *meta_blks;
	__u32 n_meta;
	__u32 uid, gid, projid, dev;
	char *target; /* of a symbolic link */
	struct xattr *xattrs;
	ext2_ino_t xattrs_of; /* whose block of them it shares, or 0 */
	bool is_inline;
	/* a directory: its blocks' contents, in the host's byte order */
	char *dir;
	size_t dir_bytes;
	size_t last_off; /* of its last entry */
	__u32 serial;	 /* how many names the tool has given in it */
	ext2_ino_t parent;
};

/* An inode that the recipe made, or the root; links == 0: no such inode. */
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
	unsigned int line; /* of the recipe; 0: none */
	__u64 seed, random_state;
	__u64 size_bytes;
	__u64 journal_bytes; /* of an external journal, or 0 */
	char *mke2fs_args;
	ext2_filsys fs;	    /* NULL until something needs it */
	struct node *nodes; /* by inode number */
	blk64_t goal_blk;   /* where to look for free blocks next */
	ext2_ino_t goal_ino;
	bool no_contents, with_htree;
	/* derived from fs */
	__u32 block_bytes, ratio_blks, dir_area_bytes;
	blk64_t end_blk; /* one past the last block to give out */
};

/* mkaged.c */
noreturn void lab_fail(const struct lab *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void lab_check(const struct lab *l, errcode_t err, const char *doing);
void *lab_alloc(const struct lab *l, size_t bytes); /* zeroed */
void *lab_realloc(const struct lab *l, void *p, size_t bytes);
char *lab_strdup(const struct lab *l, const char *s);
/* The next number of the sequence that the seed gives. */
__u64 lab_random(struct lab *l, __u64 below);

/* e2fsprogs.c */
void make_filesystem(const struct lab *l);
/* Makes an external journal for the image, in the file @name. */
void make_journal(const struct lab *l, const char *name);
/* On the closed image: makes the quota files of @types (tune2fs -Q) anew. */
void count_quota(const struct lab *l, const char *types);
/* On the closed image: gives directories htree indexes. */
void index_directories(const struct lab *l);

/* recipe.c: carries out a recipe, from a file or (-) from the input. */
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
/* One past the last logical block that @n maps. */
__u32 node_end_lblk(const struct node *n);

typedef void run_fn(struct lab *l, blk64_t blk, blk64_t len, void *arg);
/* Calls @fn for each run of clusters that the data of @n occupies. */
void node_each_run(struct lab *l, const struct node *n, run_fn *fn, void *arg);

#define GROW_UNWRITTEN 1
#define GROW_HOLES 2 /* any free run will do; else one run if there is one */
#define GROW_MERGE 4 /* into what the file already has, as the kernel does */
/*
 * Appends logical blocks to @n on free blocks from the goal on; the goal
 * moves behind them. @lblk is behind all that @n maps.
 */
void node_grow(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
	       int flags);
/* The same on the free blocks from @pblk on, as entries of their own. */
void node_grow_at(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
		  int flags, blk64_t pblk);
/* Entries of their own for blocks that are taken already. */
void node_push(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
	       int flags, blk64_t pblk);
/* Takes at least @len_blks free blocks in one run, from the goal on. */
blk64_t take_run(struct lab *l, blk64_t len_blks);

/* The blocks that map @n, beside its inode; *@depth is its tree's depth. */
__u32 node_meta_needed(struct lab *l, const struct node *n, int *depth);
/* The entries that each leaf, or index block, of @n's tree gets. */
__u32 tree_fanout(const struct lab *l, const struct node *n, bool leaf);
/* Takes what blocks @n needs for its map and does not have. */
void node_settle(struct lab *l, struct node *n);

/* A new inode at or after @goal, or the next one (0); it has no name yet. */
struct node *node_new(struct lab *l, __u16 mode, ext2_ino_t goal);
void node_encrypt(struct lab *l, struct node *n);
/* Makes @dir an empty directory. */
void dir_init(struct lab *l, struct node *dir, struct node *parent);
void dir_add(struct lab *l, struct node *dir, const char *name,
	     struct node *child);
/* The inode that @name has in @dir, or 0. */
ext2_ino_t dir_find(struct lab *l, const struct node *dir, const char *name,
		    size_t name_len);
/* Calls @fn for each name but "." and ".."; true from it removes the name. */
typedef bool entry_fn(struct lab *l, struct ext2_dir_entry *de, void *arg);
void dir_each(struct lab *l, struct node *dir, entry_fn *fn, void *arg);
/* Takes a name from @n; the last one takes the inode and all in it away. */
void drop_link(struct lab *l, struct node *n);

/* emit.c */
void emit_image(struct lab *l);
/* Some @bytes (a multiple of 8), none of them zero for long, by @key. */
void emit_fill(void *buf, size_t bytes, __u64 key);
/* A number of its own for each block of each file. */
__u64 emit_key(const struct lab *l, ext2_ino_t ino, __u64 lblk);

/* extras.c */

/* Puts an encryption context into @slot, an inode in its table. */
void extra_encryption(struct lab *l, ext2_ino_t ino, char *slot);
/* What libext2fs does for a few inodes, when all are written. */
void extra_inodes(struct lab *l);
/* MMP's block, and the external journal. */
void extra_blocks(struct lab *l);

#endif
