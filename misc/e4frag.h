/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e4frag's main file and its report writers share. */
#ifndef E4FRAG_H
#define E4FRAG_H

#include <stdbool.h>
#include <stdint.h>
#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/json_line.h"
#include "support/progress.h"
#include "support/target.h"
#include "e4frag_dirs.h"
#include "e4frag_look.h"

struct e4frag {
	/* what was asked for */
	struct args_common args;	/* must be first: see support/args.h */
	unsigned int files_form;	/* of --files */
	bool files, table, groups, map, by_dir;
	const char *prometheus;		/* a file, or - */
	const char *html, *compare;	/* files, or NULL */
	uint64_t top, min_extents;
	unsigned int sort;		/* enum e4l_sort */
	const char **paths;
	size_t n_paths;
	/* the work */
	struct target target;
	struct e4l *e;
	ext2fs_inode_bitmap only;	/* NULL: everything */
	struct progress progress;
	dgrp_t groups_done, groups_all;
	struct json_line line;		/* of --files */
	struct dirs *dirs;		/* NULL: not asked for */
	bool failure_said;
	/* the result */
	struct e4l_model model;
	struct look look;
	json_t *before;			/* to compare with, or NULL */
	bool before_cut;		/* its paths are */
	size_t n_worst;			/* of the model's, those that are bad */
	struct {
		/* beyond the fewest that copying and zeroing could leave */
		uint64_t files, fragments, tree_blocks;
	} improvable;
	struct {
		uint64_t count, blocks, spare_blocks;
	} sparse;			/* directories: see e4l_dir_locality */
	uint64_t linear;		/* others that want an index */
	struct {
		uint64_t count, itable_blocks, spare_blocks;
	} spread;			/* directories, likewise */
};

/* The words of --sort, in the order of enum e4l_sort. */
extern const char *const e4frag_sorts[];

/*
 * Each prints all that it has to, with inodes where there was no memory for
 * their paths, which makes it false.
 */

/* Prints the summary for people to @out. */
bool e4frag_print_text(FILE *out, const struct e4frag *frag);

/* Prints its tables: files, and the directories and groups asked for. */
bool e4frag_print_tables(FILE *out, const struct e4frag *frag);

/* Prints the table of the worst files without a title. */
bool e4frag_print_worst(FILE *out, const struct e4frag *frag);

/* Prints the object e4frag/1.  False after saying what failed. */
bool e4frag_print_json(const struct e4frag *frag);

/* The same object; NULL: no memory. */
json_t *e4frag_report(const struct e4frag *frag);

/*
 * Before the work: what is --html compared with?  False after saying what is
 * wrong.
 */
bool e4frag_begin_html(struct e4frag *frag);

/* Replaces the page.  False after saying what failed. */
bool e4frag_write_html(const struct e4frag *frag);

/* Prints one line of --files.  False after saying what failed. */
bool e4frag_print_file(struct json_line *line, const struct e4l_file *file);

/*
 * Prints the report as metrics, or replaces the file that was asked for.  False
 * after saying what failed.
 */
bool e4frag_print_prometheus(const struct e4frag *frag);

/* Whether it can be that file; false after saying why not. */
bool e4frag_can_write_prometheus(const struct e4frag *frag);

/* How many inodes are in use, as the superblock says. */
static inline uint32_t e4frag_used_inodes(const struct e4frag *frag)
{
	const struct ext2_super_block *sb = frag->target.fs->super;

	return sb->s_inodes_count - sb->s_free_inodes_count;
}

static inline uint64_t e4frag_excess(const struct e4l_file_score *score)
{
	return score->extents - score->ideal_extents;
}

#endif
