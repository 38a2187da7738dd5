/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e4repack's main file and its report writers share. */
#ifndef E4REPACK_H
#define E4REPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <jansson.h>
#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/block_map.h"
#include "support/interrupt.h"
#include "support/pace.h"
#include "support/progress.h"
#include "support/reasons.h"
#include "support/repairing.h"
#include "support/target.h"

#define NOT_GIVEN	UINT64_MAX	/* an option that is a number */

/* Bits of --only, in the order of its words. */
#define ONLY_DEFAULT	0x0f
#define ONLY_INDEX	0x10		/* of e4l_compact_dirs() */
#define ONLY_INODES	0x20		/* of e4l_regroup_inodes() */
#define ONLY_ROOM	0x40
#define ONLY_FREE	0x80
#define ONLY_MAPS	(ONLY_DEFAULT | ONLY_ROOM | ONLY_FREE)	/* e4l_repack() */

#define E4REPACK_PARTS	4		/* of --all, in turns */
#define E4REPACK_TURNS	64		/* at most, should there be no end */

/* A file that was left alone. */
struct skipped {
	ext2_ino_t ino;
	unsigned int reason;		/* index in e4repack.reasons */
	uint64_t extents;		/* that it could have less */
};

/* Of all that one run has done. */
struct e4repack_sum {
	uint64_t bytes_copied, bytes_zeroed, bytes_discarded;
	uint64_t extents_saved;
	uint64_t transactions;
	uint64_t free_runs_before, free_runs_after;	/* of --all */
	bool free_runs_counted;
};

struct e4repack {
	/* what was asked for */
	struct args_common args;	/* must be first: see support/args.h */
	bool map;
	bool all;
	bool dry_run, verify, discard, renumber_anyway, idle;
	uint64_t rate;			/* bytes a second; UINT64_MAX: any */
	unsigned int only, move;	/* a bit for each word; only: 0, none
					 * was given, until the work begins */
	uint64_t zeroout_bytes;		/* NOT_GIVEN: as the filesystem says */
	struct units_share zeroout_budget, max_copy;	/* likewise */
	uint64_t max_seconds, min_excess;
	uint64_t free_run;		/* bytes that are enough; 0: none are */
	struct units_share mem;		/* of the machine's */
	struct args_texts exclude;
	struct target_undo undo;
	const char **paths;
	size_t n_paths;
	/* the work */
	struct timespec start;
	struct interrupt interrupt;
	struct target target;
	bool online;			/* it is mounted, and is repaired so */
	struct pace pace;		/* of --rate */
	unsigned int busy_naps;		/* of --idle, on a busy machine */
	struct e4l *e;
	struct e4l_es_cache *cache;	/* of extents */
	ext2fs_inode_bitmap only_inodes, exclude_inodes;
	struct progress progress;
	struct repairing repairing;
	char first[200], second[400];	/* answers to signals */
	uint64_t spent_blocks;		/* of --max-bytes; planned, for -n */
	uint64_t zeroed_blocks;		/* of --zeroout-budget */
	/* the result */
	struct block_map *before, *after;	/* NULL: not asked for */
	bool failed;			/* in what was not to end the work */
	struct e4repack_sum sum;
	unsigned int parts_done;	/* of --all */
	bool all_done;			/* and there is nothing left to do */
	bool turns_over;		/* there may be, after the last turn */
	uint64_t most_free_runs, longest_kept_blocks;	/* likewise; or 0 */
	uint64_t long_kept_blocks;	/* likewise, with most_free_runs */
	/* these are, of the part at hand; but the longest stays as long */
	bool bounds_at_end, longest_stays;
	bool files_follow, free_follows;	/* likewise */
	bool part_failed;		/* the next one */
	json_t *parts;			/* reports; NULL: there was no memory */
	/* of --only, or of one part: see e4repack_forget() */
	struct e4l_repack_result result;
	struct skipped *skipped;
	size_t n_skipped;
	struct reasons reasons;
	struct e4l_compact_result dirs;
	struct reasons dir_reasons;
	struct e4l_regroup_result inodes;
	struct reasons inode_reasons;
	bool no_memory;			/* for one more of these */
	double seconds;
};

extern const char *const e4repack_only_words[];

static inline bool e4repack_is_stopped(const struct e4repack *r)
{
	return r->result.stopped || r->dirs.stopped || r->inodes.stopped;
}

static inline uint64_t e4repack_bytes(const struct e4repack *r, uint64_t blocks)
{
	return blocks * r->target.fs->blocksize;
}

/* What was done or, for a dry run, what would be. */
static inline uint64_t e4repack_copy_bytes(const struct e4repack *r)
{
	return e4repack_bytes(r, r->dry_run ? r->result.planned_copy_blocks :
					      r->result.copied_blocks);
}

static inline uint64_t e4repack_zero_bytes(const struct e4repack *r)
{
	return e4repack_bytes(r, r->dry_run ? r->result.planned_zero_blocks :
					      r->result.zeroed_blocks);
}

static inline uint64_t e4repack_discarded_bytes(const struct e4repack *r)
{
	return e4repack_bytes(r, r->result.discarded.blocks +
				 r->dirs.discarded.blocks);
}

/* At most: what is free only for a while counts. */
static inline uint64_t e4repack_bytes_to_discard(const struct e4repack *r)
{
	return r->discard ?
	       e4repack_bytes(r, r->result.planned_given_blocks +
				 r->dirs.planned_given_blocks) : 0;
}

/*
 * Makes the block map if it was asked for, else *@ret stays NULL.  @progress:
 * shows some, and can be interrupted.
 */
errcode_t e4repack_map(struct e4repack *r, bool progress,
		       struct block_map **ret);

/* Whether @name is a directory, so that what is mounted there is meant. */
bool e4repack_is_online(const char *name);

/* Does what r->only asks for; the result is in @r, until it is forgotten. */
errcode_t e4repack_part(struct e4repack *r);
void e4repack_forget(struct e4repack *r);

/*
 * Does all parts one after another, until something stops one, or none has
 * anything to do.
 */
errcode_t e4repack_all(struct e4repack *r);

/* Adds up what a part has done, and reports it. */
void e4repack_end_part(struct e4repack *r);

/* Opens what is mounted there; false after saying why not. */
bool e4repack_open_online(struct e4repack *r, const char *name);

/* e4l_online() with what @opt says and the user asked for. */
errcode_t e4repack_online(struct e4repack *r,
			  const struct e4l_repack_options *opt);

/*
 * The report for people: what r->only asked for, and the end of all.  A part of
 * --all has a heading.
 */
void e4repack_print_part(const struct e4repack *r);
void e4repack_print_end(const struct e4repack *r);

/* Keeps an object e4repack/1 of what r->only asked for. */
void e4repack_keep_object(struct e4repack *r);

/* Prints that, or for --all e4repack-all/1.  False after saying what failed. */
bool e4repack_print_json(const struct e4repack *r);

#endif
