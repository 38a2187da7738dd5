/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that e4repack's main file and report writers share. */
#ifndef E4REPACK_H
#define E4REPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/block_map.h"
#include "support/interrupt.h"
#include "support/json_line.h"
#include "support/pace.h"
#include "support/progress.h"
#include "support/repacking.h"
#include "support/target.h"

/* value of a numeric option that was not given */
#define NOT_GIVEN	UINT64_MAX

struct e4repack {
	/* Values of the options. */
	struct args_common args;	/* must be first: see support/args.h */
	bool map;
	bool all, inodes, no_move;
	bool dry_run, verify, discard, renumber_anyway, idle;
	/* bytes per second; UINT64_MAX: no limit */
	uint64_t rate;
	/* one bit for each keyword of --only and --move; 0: not given */
	unsigned int only, move;
	/* NOT_GIVEN: use the tunable of the filesystem */
	uint64_t zeroout_bytes;
	/* limits of the zeroed and of the copied bytes */
	struct units_share zeroout_budget, max_copy;
	uint64_t max_seconds, min_excess;
	/* maximum size of a target region in bytes; 0: no limit */
	uint64_t free_run;
	/* new size in bytes; 0: smallest size; NOT_GIVEN: do not shrink */
	uint64_t shrink_bytes;
	/* --free: free bytes after the shrink; NOT_GIVEN: no minimum */
	uint64_t free_bytes;
	/* --journal: maximum journal size in bytes; NOT_GIVEN: keep the size */
	uint64_t journal_bytes;
	/* memory limit, in bytes or as a fraction of the RAM */
	struct units_share mem;
	struct args_texts exclude;
	struct target_undo undo;
	const char **paths;
	size_t n_paths;
	/*
	 * If the target is a file or directory of a mounted filesystem, this
	 * array has the target, @paths and @exclude as paths from the
	 * filesystem's root.  Set by e4repack_resolve().
	 */
	char **inside;
	size_t n_inside;
	/* State of the run. */
	unsigned int flags;		/* E4L_REPACK_* */
	struct interrupt interrupt;
	struct target target;
	bool online;			/* the filesystem is mounted */
	struct pace pace;		/* state of the rate limit (--rate) */
	unsigned int busy_naps;		/* number of waits because of --idle */
	struct e4l *e;
	ext2fs_inode_bitmap only_inodes, exclude_inodes;
	struct progress progress;
	struct repacking repacking;
	/* messages to print when the first and the second signal arrive */
	char *first, *second;
	bool planned;			/* the plan was not empty */
	uint64_t planned_blocks;	/* planned size of the filesystem */
	bool truncated;			/* the image was truncated */
	/* Results of the run. */
	struct block_map *before, *after;	/* NULL: not requested */
	/* a failure occurred that did not end the run */
	bool failed;
	struct e4l_repack_result result;
	struct e4l_skipped *skipped;	/* skipped files for JSON */
	size_t n_skipped;
	/* there was no memory for an element of @skipped */
	bool no_memory;
	double seconds;
};

/* The words of --only, and their flags. */
extern const char *const e4repack_only_words[];
extern const unsigned int e4repack_only_flags[];

static inline uint64_t e4repack_bytes(const struct e4repack *r, uint64_t blocks)
{
	return blocks * r->target.fs->blocksize;
}

/* Returns the cost of the run or, in a dry run, of the plan. */
static inline const struct e4l_repack_cost *
e4repack_cost(const struct e4repack *r)
{
	return r->dry_run ? &r->result.planned : &r->result.done;
}

/*
 * If --map was given without --quiet, makes the block map *@ret; otherwise,
 * does not change *@ret.  If @progress is true, shows progress, and a signal
 * ends the scan.
 */
errcode_t e4repack_map(struct e4repack *r, bool progress,
		       struct block_map **ret);

/*
 * Returns whether @name is a directory, or a file that is not an image.  Such a
 * name selects the mounted filesystem that contains the directory or file.
 */
bool e4repack_is_mounted(const struct e4repack *r, const char *name);

/*
 * Opens the mounted filesystem that contains @name.  Returns false after
 * printing an error.
 */
bool e4repack_open_online(struct e4repack *r, const char *name);

/*
 * Converts the names of the target and the paths in @r->paths and @r->exclude
 * to paths from the root of the mounted filesystem, and stores the results in
 * @r->inside.  Returns false after printing an error.
 */
bool e4repack_resolve(struct e4repack *r);
void e4repack_free_resolved(struct e4repack *r);

/* Calls e4l_online(), which waits as --rate and --idle require. */
errcode_t e4repack_online(struct e4repack *r,
			  const struct e4l_repack_what *what,
			  const struct e4l_repack_limits *limits,
			  const struct e4l_repack_callbacks *callbacks);

/* ------------------------------------------------------- e4repack_shrink.c */

/* Returns whether --shrink was given. */
bool e4repack_shrinks(const struct e4repack *r);
/*
 * If the given options cannot be combined with --shrink or --free, returns a
 * message about the options.  Otherwise, returns NULL.
 */
const char *e4repack_shrink_contradiction(const struct e4repack *r);
/*
 * If --shrink or --journal is not possible for the open filesystem, prints the
 * reason and returns true.
 */
bool e4repack_shrink_refuses(const struct e4repack *r, const char *name);
/*
 * If @err is a failure of --shrink, prints the failure and returns true.
 * Otherwise, returns false.
 */
bool e4repack_say_shrink_failure(const struct e4repack *r, errcode_t err);
/* If the image contains only the filesystem, truncates it to the new size. */
void e4repack_truncate(struct e4repack *r);
/* Returns the value of e4l_repack_what.shrink_blocks for --shrink. */
uint64_t e4repack_shrink_blocks(const struct e4repack *r);
/* If an inode or the journal's size limits the new size, prints a message. */
void e4repack_say_limit(const struct e4repack *r);
/* If the filesystem is larger than planned, prints a message. */
void e4repack_say_larger(const struct e4repack *r);
/*
 * If --shrink has changed the size, prints the rows of the result table with
 * the old and the new numbers of bytes, blocks and inodes.
 */
void e4repack_print_new_size(const struct e4repack *r);
/* Prints the commands that the user must run after --shrink. */
void e4repack_print_next(const struct e4repack *r);
json_t *e4repack_shrink_json(const struct e4repack *r);

/* Prints the planned cost before writing begins. */
void e4repack_print_planned(const struct e4repack *r,
			    const struct e4l_repack_result *result);

/*
 * Prints messages about the run: a failed discard, the number of failed files,
 * the reason if the run ended early, a size larger than planned, and the limit
 * of the new size.  Sets @r->failed if the discard or a file failed.  A device
 * without discard support is not a failure.
 */
void e4repack_say_result(struct e4repack *r);

/* Prints the text report. */
void e4repack_print(const struct e4repack *r);

/*
 * Prints the report as the JSON object of --json, which e4repack(8) describes.
 * Returns false after printing an error.
 */
bool e4repack_print_json(const struct e4repack *r);

#endif
