/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* repack: a whole repair. */
#ifndef E4LAYOUT_REPACK_H
#define E4LAYOUT_REPACK_H

#include <e4layout/journal.h>
#include <e4layout/plan.h>
#include <e4layout/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/* E4L_PLAN_* are for files; this is to merge and move directories. */
#define E4L_REPACK_DIRS		0x10
/*
 * Files of these kinds are left alone unless these say otherwise: boot loaders
 * record where immutable files lie, hibernation where a swap file does.
 */
#define E4L_REPACK_MOVE_IMMUTABLE 0x20
#define E4L_REPACK_MOVE_SWAP	0x40

struct e4l_repack_options {
	unsigned int flags;	/* E4L_PLAN_* and E4L_REPACK_* */
	bool dry_run;		/* plan only: nothing is written */
	/*
	 * Others write to it meanwhile: with dry_run, what looks damaged is
	 * passed over.
	 */
	bool changing;
	uint32_t zeroout_max_blocks;	/* see struct e4l_plan_options */
	uint64_t zeroout_budget_blocks;	/* E4L_NO_LIMIT: none */
	uint64_t copy_budget_blocks;	/* E4L_NO_LIMIT: none */
	/* Files with fewer excess extents and splits than this are left. */
	uint64_t min_excess;
	/*
	 * Only these inodes, and not those; NULL: all, none.  Borrowed.  With
	 * E4L_PLAN_ROOM all but those are moved out of the way of these; with
	 * E4L_PLAN_FREE only these are, out of that of long free runs.
	 */
	ext2fs_inode_bitmap only, exclude;
	/* The journal device's channel, see <e4layout/journal.h>. */
	io_channel journal;
	/*
	 * Keeps the extents of files that could be better, within its limit,
	 * until there is a plan; what it forgets is read again, and the result
	 * is the same.  It knows nothing of a file that is in the plan then.
	 * Borrowed; NULL: one without limit.
	 */
	struct e4l_es_cache *cache;
	/*
	 * A file that could have as many @extents less is left alone, or so
	 * far; @why is static text.  A file may be left for several reasons.
	 * NULL is allowed, as for the next two.
	 */
	void (*skipped)(ext2_ino_t ino, const char *why, uint64_t extents,
			void *priv);
	/* @done of @total groups scanned, or blocks written. */
	void (*progress)(bool writing, uint64_t done, uint64_t total,
			 void *priv);
	/*
	 * Asked between steps: true ends the work after the transaction.  Asked
	 * before a file is read again, room or a zone is sought, or many are
	 * planned, too: E4L_ET_INTERRUPTED, no plan.  Asked @inside a transaction only if
	 * that copies and zeroes more than 16 parts, whenever it has done one or
	 * 2 s have passed: true drops it, of which nothing but free and
	 * unwritten blocks has been written.
	 */
	bool (*stop)(bool inside, void *priv);
	/* The plan's part_blocks, as whole clusters; 0: 16 MiB. */
	uint64_t part_blocks;
	void *priv;
	/*
	 * Blocks that the run has used and that are free when it ends are
	 * discarded once all of it is durable: an image file gets holes there.
	 * No undo file can bring them back.
	 */
	bool discard;
	/*
	 * See struct e4l_plan_options; used with E4L_PLAN_ROOM and
	 * E4L_PLAN_FREE only.
	 */
	uint64_t room_bytes;
	uint64_t plan_bytes;	/* see struct e4l_plan_options */
	/*
	 * Memory for one file, E4L_REPACK_EXTENT_BYTES for each of its extents: one
	 * that has more stays as it is.  0: there is no limit.
	 */
	uint64_t file_bytes;
	/*
	 * Asked while the plan is made, unless nothing is in it yet: true, and
	 * what is in it is done; other files are left.  NULL is allowed.
	 */
	bool (*enough)(void *priv);
	/* See struct e4l_plan_options; with E4L_PLAN_FREE only; at most 2^62. */
	uint64_t free_run_blocks;
	uint64_t most_free_runs, longest_kept_blocks;	/* likewise, with any */
	/*
	 * With most_free_runs: so many blocks in runs of E4L_LONG_RUN_BYTES and
	 * more are enough, should there be more of them now.
	 */
	uint64_t long_kept_blocks;
	/* see struct e4l_plan_options */
	bool bounds_at_end, longest_stays, files_follow, free_follows;
	uint64_t reserved[6];
};

struct e4l_repack_result {
	uint64_t files_planned, files_done;
	uint64_t files_skipped;		/* calls of skipped() */
	uint64_t longest_free_blocks;	/* a run, when the plan is done */
	/* Of all files asked for, also those that stay as they are; what the
	 * plan, or what has been done of it, leaves. */
	uint64_t extents_before, extents_after;
	uint64_t fragments_before, fragments_after;
	uint64_t tree_blocks_before, tree_blocks_after;
	uint64_t planned_copy_blocks, planned_zero_blocks;
	uint64_t copied_blocks, zeroed_blocks;
	uint64_t transactions;
	uint64_t files_reread;	/* to make the plan */
	bool stopped;		/* by stop(): another run goes on */
	struct e4l_discarded discarded;
	/* Of what was planned: see struct e4l_plan_room. */
	uint64_t room_runs, room_fragments, room_files, room_blocks;
	/* Extents left for want of a free run: without E4L_PLAN_ROOM, which
	 * may help. */
	uint64_t no_room_extents;
	/* Of what was planned: see struct e4l_plan_free. */
	uint64_t zones, zone_files, zone_blocks;
	uint64_t free_runs_before, free_runs_after;
	uint64_t longest_free_before_blocks;
	/* Of a mounted filesystem: of those that were skipped, how many because
	 * something failed, and the last such errno. */
	uint64_t files_failed, failure;
	/* Of files that are left since no free run is long enough: the shortest
	 * run that one lacks, and the longest of these; or 0. */
	uint64_t least_lacking_blocks, most_lacking_blocks;
	/* Extents left since free space would be in more, shorter runs. */
	uint64_t free_runs_extents;
	/* What was planned gives back so much, some of which it may take again. */
	uint64_t planned_given_blocks;
	uint64_t long_blocks_lacking;	/* likewise: see struct e4l_plan_free */
	uint64_t free_for_files;	/* likewise */
	/* What a run that was stopped has left, in place of what was planned. */
	uint64_t stopped_free_runs, stopped_longest_blocks;
	uint64_t reserved[2];
};

/*
 * What repairing a file takes of memory for each of its extents, beside the cache:
 * these, its tree, the steps that move it, and what they give.
 */
#define E4L_REPACK_EXTENT_BYTES 60

/*
 * Repairs the layout of a filesystem that is open for writing, exclusively
 * (or, with dry_run, for reading): checks it, unless the last e4l_check() found
 * no errors or this is a dry run; scans, makes a plan, and carries it out in
 * transactions of the filesystem's own journal.  Before anything is written,
 * every block of every inode must have been found to belong to it alone and to
 * be in use; anything that cannot be read or believed ends the run.
 * Contents, sizes, times, owners, attributes and unwritten ranges stay as they
 * are.
 * Errors: E4L_ET_DAMAGED, E4L_ET_BLOCK_SHARED, E4L_ET_BLOCK_NOT_IN_USE: the
 * filesystem must be checked first; E4L_ET_QUOTA: so must its quota files, which
 * follow what trees take less; E4L_ET_CHANGED: a file was not the same when it
 * was read again.  Otherwise those of the journal, of reading and
 * writing.  After an error *@result tells what was done before, and the caller
 * must let go of the filesystem by e4l_close() or ext2fs_free().
 */
errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_options *options,
		     struct e4l_repack_result *result);

/*
 * What e4l_repack() would do, for who scans anyway: nothing is read but the
 * files that could be swap, unless these may be moved, and what the cache has
 * forgotten.  Opaque.
 */
struct e4l_forecast;

/*
 * @options and @result are borrowed until e4l_forecast_free(); dry_run and
 * progress are not heeded, nor is that blocks may have two owners.  Errors:
 * E4L_ET_BAD_ARGUMENT (see e4l_plan_new()), ENOMEM.
 */
errcode_t e4l_forecast_new(struct e4l *e,
			   const struct e4l_repack_options *options,
			   struct e4l_repack_result *result,
			   struct e4l_forecast **ret);
/* NULL is allowed. */
void e4l_forecast_free(struct e4l_forecast *f);

/*
 * Takes a piece as e4l_scan() gives it, and with the last piece of an inode the
 * score of all of them: e4l_model_options.piece.  Errors: those of
 * e4l_plan_add_file().
 */
errcode_t e4l_forecast_piece(const struct e4l_piece *piece,
			     const struct e4l_file_score *score,
			     void *forecast);
/* Takes free space: e4l_model_options.free_run.  Errors: ENOMEM. */
errcode_t e4l_forecast_free_run(const struct e4l_block_run *run, void *forecast);

/*
 * After all of these, once: *@result is what e4l_repack() would say of a dry run.
 * Errors: E4L_ET_DAMAGED (a piece was), those of e4l_plan_make(), and of
 * reading.
 */
errcode_t e4l_forecast_make(struct e4l_forecast *f);

#ifdef __cplusplus
}
#endif
#endif
