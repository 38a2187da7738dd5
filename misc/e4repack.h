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

/* A file that was left alone. */
struct skipped {
	ext2_ino_t ino;
	unsigned int reason;		/* index in e4repack.reasons */
	uint64_t extents;		/* that it could have less */
};

struct e4repack {
	/* what was asked for */
	struct args_common args;	/* must be first: see support/args.h */
	bool map;
	bool dry_run, verify, discard, renumber_anyway, idle;
	uint64_t rate;			/* bytes a second; UINT64_MAX: any */
	unsigned int only, move;	/* a bit for each word */
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
	uint64_t paced_bytes;		/* written since then */
	struct timespec paced;
	struct e4l *e;
	struct e4l_es_cache *cache;	/* of extents */
	ext2fs_inode_bitmap only_inodes, exclude_inodes;
	struct progress progress;
	struct repairing repairing;
	char first[200], second[400];	/* answers to signals */
	/* the result */
	struct block_map *before, *after;	/* NULL: not asked for */
	bool no_after;			/* it could not be made */
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

/*
 * Makes the block map if it was asked for, else *@ret stays NULL.  @progress:
 * shows some, and can be interrupted.
 */
errcode_t e4repack_map(struct e4repack *r, bool progress,
		       struct block_map **ret);

/* Whether @name is a directory, so that what is mounted there is meant. */
bool e4repack_is_online(const char *name);

/* Does what r->only asks for; the result is in @r. */
errcode_t e4repack_part(struct e4repack *r);

/* Opens what is mounted there; false after saying why not. */
bool e4repack_open_online(struct e4repack *r, const char *name);

/* e4l_online() with what @opt says and the user asked for. */
errcode_t e4repack_online(struct e4repack *r,
			  const struct e4l_repack_options *opt);

/* Prints the report for people. */
void e4repack_print_text(const struct e4repack *r);

/* Prints the object e4repack/1.  False after saying what failed. */
bool e4repack_print_json(const struct e4repack *r);

#endif
