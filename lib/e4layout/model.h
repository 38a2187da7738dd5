/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model: the layout of a whole filesystem. */
#ifndef E4LAYOUT_MODEL_H
#define E4LAYOUT_MODEL_H

#include <e4layout/dirs.h>
#include <e4layout/free_space.h>
#include <e4layout/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns whether @ino, which must be in use, counts as a file.  The root
 * directory counts, and all inodes from s_first_ino on, except the inodes of
 * the journal, the quota files and the orphan file.
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

/*
 * A file, as passed to e4l_model_options.file().  Pointers are valid only
 * during the call.
 */
struct e4l_file {
	ext2_ino_t ino;
	/* s_inode_size bytes in host byte order */
	const struct ext2_inode_large *inode;
	enum e4l_map map;
	unsigned int depth;
	bool damaged;
	struct e4l_file_score score;
	/* full path; NULL if E4L_MODEL_FILE_PATHS is not set */
	const char *path;
};

/*
 * The value by which the worst files are sorted.  Files with equal values are
 * sorted by inode number.
 */
enum e4l_sort {
	E4L_SORT_EXCESS,	/* extents - ideal_extents */
	E4L_SORT_EXTENTS,
	E4L_SORT_FRAGMENTS,
	E4L_SORT_SIZE,		/* size in bytes */
};

/* Flags for e4l_model_options. */
#define E4L_MODEL_GROUPS	0x1	/* fill e4l_model.groups */
#define E4L_MODEL_FILE_PATHS	0x2	/* pass the path to file() */

/*
 * Options of e4l_model_build().  If all members are 0, only totals are
 * computed.
 */
struct e4l_model_options {
	unsigned int flags;
	/*
	 * Inode bitmap of the files and directories to report, for example from
	 * e4l_subtree(); NULL: report all files.  The bitmap is borrowed.
	 * @only has no effect on the report of free space.
	 */
	ext2fs_inode_bitmap only;
	size_t top;		/* number of worst files to report */
	enum e4l_sort sort;
	/*
	 * Files with fewer than min_extents extents count in the totals.  Such
	 * files are neither reported as worst files nor passed to file().
	 */
	uint64_t min_extents;
	size_t max_damaged;	/* largest number of damage reports */
	/*
	 * Called for each file, in inode order; may be NULL.  If file() returns
	 * an error, the scan ends with this error.
	 */
	errcode_t (*file)(const struct e4l_file *file, void *priv);
	void (*progress)(dgrp_t group, dgrp_t groups, void *priv);
	void *priv;
	/*
	 * piece() is called for each piece of an inode; @score is NULL except
	 * for the last piece.  free_run() is called for each free extent, and
	 * locality() for each directory.  The last argument of these callbacks
	 * is the member @sees.  Each callback may be NULL.  If a callback
	 * returns an error, the scan ends with this error.
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
	char *path;		/* full path; NULL: no path */
	uint64_t reserved[2];
};

struct e4l_group_row {
	uint64_t blocks;		/* size of the group in blocks */
	/* free extents are counted as if split at group boundaries */
	struct e4l_free_histogram free_space;
	/* number of used inodes according to the group descriptor */
	uint32_t inodes_used;
	uint32_t unused_inodes_read_by_fsck;
	/*
	 * The members from files to ideal_extents are sums over the inodes of
	 * the group.
	 */
	uint64_t files, directories;
	uint64_t fragmented, extents, fragments, ideal_extents;
	uint64_t reserved[2];
};

struct e4l_model {
	struct {
		uint64_t count;
		uint64_t regular;
		uint64_t directories;
		/* number of files with more fragments than logical runs */
		uint64_t fragmented;
		/* sums over all files, see struct e4l_file_score */
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
		uint64_t indirect_mapped;	/* number of files */
		uint64_t inline_data;		/* number of files */
		/* smallest possible number of fragments of all files */
		uint64_t logical_runs;
	} files;
	struct {
		uint64_t count;			/* number of directories read */
		/* sums over all directories, see struct e4l_dir_locality */
		uint64_t inodes;
		uint64_t itable_blocks;
		uint64_t itable_blocks_ideal;
		/*
		 * Number of unused inodes of all groups that
		 * bg_itable_unused does not count, so that e2fsck has to scan
		 * these inodes.
		 */
		uint64_t unused_inodes_read_by_fsck;
	} directories;
	struct e4l_free_histogram free_space;
	/*
	 * The numbers that other programs print for a filesystem without hard
	 * links.  filefrag and e4defrag count a file once for each of its
	 * names.
	 */
	struct {
		/*
		 * sums over regular files and directories, as filefrag counts
		 */
		uint64_t filefrag_extents;
		/* number of files with several fragments */
		uint64_t filefrag_fragmented;
		/*
		 * sum over regular files that are not empty, as e4defrag -c
		 * counts
		 */
		uint64_t e4defrag_extents;
		/*
		 * numbers of all files and of directories, as e2fsck -v prints
		 */
		uint64_t e2fsck_files, e2fsck_directories;
	} peers;
	struct e4l_worst_file *worst;	/* sorted, worst file first */
	size_t n_worst;
	struct e4l_damage *damaged; /* the first max_damaged damage reports */
	size_t n_damaged;
	/* number of all damage reports, also beyond max_damaged */
	uint64_t damaged_count;
	struct e4l_group_row *groups;	/* NULL unless requested */
	dgrp_t n_groups;
	/*
	 * The part of files.excess_extents that belongs to indirect-mapped
	 * files.
	 */
	struct {
		uint64_t excess_extents;
	} indirect;
	uint64_t reserved[15];
};

/*
 * Reads the whole filesystem and fills *@model.  @options may be NULL.  The
 * caller frees the content of *@model with e4l_model_free(), even after an
 * error.  The scan needs 8 MiB of memory, a constant amount for each thread,
 * and memory for the requested reports.  Damage is counted in
 * model->damaged_count and does not end the scan.  Errors: the error of a
 * callback; E4L_ET_OPTION, E4L_ET_INTERRUPTED, ENOMEM.
 */
errcode_t e4l_model_build(struct e4l *e,
			  const struct e4l_model_options *options,
			  struct e4l_model *model);

/* Frees the content of @model and clears it. */
void e4l_model_free(struct e4l_model *model);

#ifdef __cplusplus
}
#endif
#endif
