/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e4repack's main file and its report writers share. */
#ifndef E4REPACK_H
#define E4REPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/block_map.h"
#include "support/interrupt.h"
#include "support/pace.h"
#include "support/progress.h"
#include "support/repacking.h"
#include "support/target.h"

#define NOT_GIVEN	UINT64_MAX	/* an option that is a number */

struct e4repack {
	/* what was asked for */
	struct args_common args;	/* must be first: see support/args.h */
	bool map;
	bool all, inodes, no_move;
	bool dry_run, verify, discard, renumber_anyway, idle;
	uint64_t rate;			/* bytes a second; UINT64_MAX: any */
	unsigned int only, move;	/* a bit for each word; 0: none */
	uint64_t zeroout_bytes;		/* NOT_GIVEN: as the filesystem says */
	struct units_share zeroout_budget, max_copy;	/* likewise */
	uint64_t max_seconds, min_excess;
	uint64_t free_run;		/* bytes of the longest region; 0: any */
	struct units_share mem;		/* of the machine's */
	struct args_texts exclude;
	struct target_undo undo;
	const char **paths;
	size_t n_paths;
	/* the work */
	unsigned int flags;		/* E4L_REPACK_* */
	struct interrupt interrupt;
	struct target target;
	bool online;			/* it is mounted, and stays so */
	struct pace pace;		/* of --rate */
	unsigned int busy_naps;		/* of --idle, on a busy machine */
	struct e4l *e;
	ext2fs_inode_bitmap only_inodes, exclude_inodes;
	struct progress progress;
	struct repacking repacking;
	char first[200], second[400];	/* answers to signals */
	bool planned;			/* there was something to do */
	/* the result */
	struct block_map *before, *after;	/* NULL: not asked for */
	bool failed;			/* something that did not end the run */
	struct e4l_repack_result result;
	struct e4l_skipped *skipped;	/* for JSON */
	size_t n_skipped;
	bool no_memory;			/* for one more of these */
	double seconds;
};

/* Words of --only, and the flags that they stand for. */
extern const char *const e4repack_only_words[];
extern const unsigned int e4repack_only_flags[];

static inline uint64_t e4repack_bytes(const struct e4repack *r, uint64_t blocks)
{
	return blocks * r->target.fs->blocksize;
}

/* What was done or, in a dry run, what is planned. */
static inline const struct e4l_repack_cost *
e4repack_cost(const struct e4repack *r)
{
	return r->dry_run ? &r->result.planned : &r->result.done;
}

/*
 * Makes the block map if it was asked for, else *@ret stays NULL.  @progress:
 * shows some, and can be interrupted.
 */
errcode_t e4repack_map(struct e4repack *r, bool progress,
		       struct block_map **ret);

/* Whether @name is a directory, so that what is mounted there is meant. */
bool e4repack_is_online(const char *name);

/* Opens what is mounted there; false after saying why not. */
bool e4repack_open_online(struct e4repack *r, const char *name);

/* e4l_online() with these arguments, as fast as the user allows. */
errcode_t e4repack_online(struct e4repack *r,
			  const struct e4l_repack_what *what,
			  const struct e4l_repack_limits *limits,
			  const struct e4l_repack_callbacks *callbacks);

/* The plan's cost, before the work begins. */
void e4repack_print_planned(const struct e4repack *r,
			    const struct e4l_repack_result *result);

/* The report for people. */
void e4repack_print(const struct e4repack *r);

/* Prints the object e4repack/1.  False after saying what failed. */
bool e4repack_print_json(const struct e4repack *r);

#endif
