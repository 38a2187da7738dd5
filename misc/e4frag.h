/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that e4frag's main file and report writers share. */
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
	/* Values of the options. */
	struct args_common args;	/* must be first: see support/args.h */
	unsigned int files_form;	/* index of the word given to --files */
	bool files, table, groups, map, by_dir;
	const char *prometheus;		/* a file, or "-"; NULL: no metrics */
	/* names of files; NULL: the option was not given */
	const char *html, *compare;
	uint64_t top, min_extents;
	unsigned int sort;		/* enum e4l_sort */
	const char **paths;
	size_t n_paths;
	/* State of the run. */
	struct target target;
	struct e4l *e;
	ext2fs_inode_bitmap only;	/* inodes to report; NULL: all */
	struct progress progress;
	dgrp_t groups_done, groups_all;
	struct json_line line;		/* a line of --files */
	/* sums by directory; NULL: not requested */
	struct dirs *dirs;
	bool failure_said;
	/* Results of the run. */
	struct e4l_model model;
	struct look look;
	/* report to compare with; NULL: --compare was not given */
	json_t *before;
	bool before_cut;	/* some paths in @before are truncated */
	/* number of files in the table of worst files */
	size_t n_worst;
	struct {
		/*
		 * upper limits: number of files that a repack can improve, and
		 * numbers of fragments and tree blocks that a repack can save
		 */
		uint64_t files, fragments, tree_blocks;
	} improvable;
	struct {
		uint64_t count, blocks, spare_blocks;
	/* sparse directories (see e4l_dir_locality) */
	} sparse;
	/* number of large directories that have no index and are not sparse */
	uint64_t linear;
	struct {
		uint64_t count, itable_blocks, spare_blocks;
	} spread;			/* directories with scattered inodes */
};

/* The words of --sort, in the order of enum e4l_sort. */
extern const char *const e4frag_sorts[];

/*
 * If there is no memory for a path, the functions that print paths print the
 * inode number instead, and return false.
 */

/*
 * Prints the text summary to @out.  Returns false if there is no memory for a
 * path.
 */
bool e4frag_print_text(FILE *out, const struct e4frag *frag);

/*
 * Prints the block map and the tables of files, directories and groups, if they
 * are requested.  Returns false if there is no memory for a path.
 */
bool e4frag_print_tables(FILE *out, const struct e4frag *frag);

/*
 * Prints the table of the worst files without a title.  Returns false if there
 * is no memory for a path.
 */
bool e4frag_print_worst(FILE *out, const struct e4frag *frag);

/*
 * Prints the report as the JSON object of --json, which e4frag(8) describes.
 * Returns false after printing an error.
 */
bool e4frag_print_json(const struct e4frag *frag);

/*
 * Returns the report as the JSON object of --json, which e4frag(8) describes.
 * If there is no memory, returns NULL.
 */
json_t *e4frag_report(const struct e4frag *frag);

/*
 * Reads the report of --compare, if given.  Call this function before the
 * filesystem is read.  Returns false after printing an error.
 */
bool e4frag_begin_html(struct e4frag *frag);

/*
 * Writes the HTML page to the file of --html.  Returns false after printing an
 * error.
 */
bool e4frag_write_html(const struct e4frag *frag);

/* Prints one line of --files. Returns false after printing an error. */
bool e4frag_print_file(struct json_line *line, const struct e4l_file *file);

/*
 * Prints the metrics to stdout, or writes the metrics to the file of
 * --prometheus.  Returns false after printing an error.
 */
bool e4frag_print_prometheus(const struct e4frag *frag);

/*
 * If the file of --prometheus has an invalid name, prints an error and returns
 * false.
 */
bool e4frag_can_write_prometheus(const struct e4frag *frag);

/* Returns the number of used inodes according to the superblock. */
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
