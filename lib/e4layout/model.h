/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model: the layout of a whole filesystem in one structure. */
#ifndef E4LAYOUT_MODEL_H
#define E4LAYOUT_MODEL_H

#include <e4layout/dirs.h>
#include <e4layout/free_space.h>
#include <e4layout/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which inodes are files here: those in use from the first that is not
 * reserved (s_first_ino), and the root directory.  The journal, resize, quota,
 * orphan-file and bad-blocks inodes are not, wherever they are; they count
 * only in e2fsck's own figures, as they do there.
 */
static inline bool e4l_is_file(ext2_filsys fs, ext2_ino_t ino)
{
	const struct ext2_super_block *sb = fs->super;

	if (ino == EXT2_ROOT_INO)
		return true;
	return ino >= EXT2_FIRST_INO(sb) && ino != sb->s_journal_inum &&
	       ino != sb->s_usr_quota_inum && ino != sb->s_grp_quota_inum &&
	       ino != sb->s_prj_quota_inum && ino != sb->s_orphan_file_inum;
}

/* One file, as handed to e4l_model_options.file. */
struct e4l_file {
	ext2_ino_t ino;
	const struct ext2_inode_large *inode;	/* see struct e4l_piece */
	enum e4l_map map;
	unsigned int depth;
	bool damaged;
	struct e4l_file_score score;
	const char *path;	/* see e4l_names_path(); NULL if not asked for */
};

/* By what the worst files are the worst; equal ones by inode number. */
enum e4l_sort {
	E4L_SORT_EXCESS,	/* extents - ideal_extents */
	E4L_SORT_EXTENTS,
	E4L_SORT_FRAGMENTS,
	E4L_SORT_SIZE,		/* size in bytes */
};

/* Flags for e4l_model_options. */
#define E4L_MODEL_GROUPS	0x1	/* a row for each block group */
#define E4L_MODEL_FILE_PATHS	0x2	/* file() gets paths; see e4l_names */

/* What e4l_model_build() is to do.  All zeroes are valid: totals only. */
struct e4l_model_options {
	unsigned int flags;
	/*
	 * Restricts files and directories (not the free space, nor e2fsck's
	 * unused inodes) to an inode bitmap, as e4l_subtree() makes it; NULL:
	 * everything.  Borrowed.
	 */
	ext2fs_inode_bitmap only;
	size_t top;		/* how many worst files to keep */
	enum e4l_sort sort;
	uint64_t min_extents;	/* others are not among the worst, nor given
				 * to file(); they are in the totals */
	size_t max_damaged;	/* how many damages to keep; all are counted */
	/* Called for each file in inode order; see e4l_scan_ops.piece. */
	errcode_t (*file)(const struct e4l_file *file, void *priv);
	void (*progress)(dgrp_t group, dgrp_t groups, void *priv);
	void *priv;
	/*
	 * What the model is made of, for somebody else, with @sees: pieces (with
	 * the last of an inode its score, else NULL) and directories, then free
	 * runs.  NULL: nobody.  A result other than 0 ends the scan with that
	 * result.
	 */
	errcode_t (*piece)(const struct e4l_piece *piece,
			   const struct e4l_file_score *score, void *sees);
	errcode_t (*free_run)(const struct e4l_block_run *run, void *sees);
	void *sees;
	errcode_t (*locality)(const struct e4l_dir_locality *dir, void *sees);
	uint64_t reserved[4];
};

struct e4l_worst_file {
	ext2_ino_t ino;
	uint16_t mode;
	enum e4l_map map;
	uint64_t size_bytes;
	struct e4l_file_score score;
	char *path;		/* NULL: it has none */
	uint64_t reserved[2];
};

struct e4l_group_row {
	uint64_t blocks;		/* fewer in the last group */
	struct e4l_free_histogram free_space;	/* runs cut at its borders */
	uint32_t inodes_used;		/* by its descriptor */
	uint32_t unused_inodes_read_by_fsck;
	/* of the files whose inode is in the group */
	uint64_t files, directories;
	uint64_t fragmented, extents, fragments, ideal_extents;
	uint64_t reserved[2];
};

struct e4l_model {
	struct {
		uint64_t count;
		uint64_t regular;
		uint64_t directories;
		/* more fragments than logical runs */
		uint64_t fragmented;
		/* sums of what struct e4l_file_score has */
		uint64_t blocks;
		uint64_t unwritten_blocks;
		uint64_t extents;
		uint64_t unwritten_extents;
		uint64_t fragments;
		uint64_t ideal_extents;
		uint64_t excess_extents;	/* extents - ideal_extents */
		uint64_t splits;
		uint64_t mergeable;
		uint64_t tree_blocks;
		uint64_t ideal_tree_blocks;
		uint64_t indirect_mapped;	/* files */
		uint64_t inline_data;		/* files */
		uint64_t logical_runs;		/* the fewest fragments */
	} files;
	struct {
		uint64_t count;			/* whose contents were read */
		/* sums of struct e4l_dir_locality */
		uint64_t inodes;
		uint64_t itable_blocks;
		uint64_t itable_blocks_ideal;
		/*
		 * What e2fsck reads in vain, over all groups: inodes before
		 * itable_unused (without that field: all) that are not in use.
		 */
		uint64_t unused_inodes_read_by_fsck;
	} directories;
	struct e4l_free_histogram free_space;
	/* The peers' figures for the same files (filefrag and e4defrag, which
	 * walk names, count a file with two names twice). */
	struct {
		/* filefrag, over regular files and directories */
		uint64_t filefrag_extents;
		uint64_t filefrag_fragmented;	/* files with more than one */
		/* e4defrag -c, over regular files that are not empty */
		uint64_t e4defrag_extents;
		/* e2fsck -v */
		uint64_t e2fsck_files, e2fsck_directories;
	} peers;
	struct e4l_worst_file *worst;	/* the worst first */
	size_t n_worst;
	struct e4l_damage *damaged;	/* the first, as they were met */
	size_t n_damaged;
	uint64_t damaged_count;		/* all */
	struct e4l_group_row *groups;	/* NULL unless asked for */
	dgrp_t n_groups;
	/* Of files, what indirect-mapped ones have beyond the ideal. */
	struct {
		uint64_t excess_extents;
		uint64_t excess_tree_blocks;
	} indirect;
	uint64_t reserved[14];
};

/*
 * Reads the whole filesystem and fills *@model, whose content the caller frees
 * with e4l_model_free(), after an error too.  @options may be NULL.  Memory is
 * bounded as for e4l_scan() and e4l_dirs_add_piece(), but for what @options ask
 * for.
 */
errcode_t e4l_model_build(struct e4l *e,
			  const struct e4l_model_options *options,
			  struct e4l_model *model);

/* Frees what @model holds and clears it. */
void e4l_model_free(struct e4l_model *model);

#ifdef __cplusplus
}
#endif
#endif
