/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --only asks for, done by the library. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4repack.h"

/* Of the words of --only and --move, in the same order. */
static const unsigned int only_flags[] = {
	E4L_PLAN_MERGE, E4L_PLAN_ZEROOUT, E4L_PLAN_MOVE, E4L_REPACK_DIRS, 0, 0,
	E4L_PLAN_ROOM | E4L_PLAN_MOVE, E4L_PLAN_FREE,
};
static const unsigned int move_flags[] = {
	E4L_REPACK_MOVE_IMMUTABLE, E4L_REPACK_MOVE_SWAP,
};

/* ------------------------------------------------- what the library asks for */

static bool should_stop(bool inside, void *priv)
{
	return repairing_stop(&((struct e4repack *)priv)->repairing);
}

static bool is_enough(void *priv)
{
	return repairing_enough(&((struct e4repack *)priv)->repairing);
}

static void on_progress(bool writing, uint64_t done, uint64_t total,
			void *priv)
{
	repairing_progress(&((struct e4repack *)priv)->repairing, writing,
			   done, total);
}

static void on_skipped(ext2_ino_t ino, const char *why, uint64_t extents,
		       void *priv)
{
	struct e4repack *r = priv;

	if (e4l_grow(&r->skipped, r->n_skipped, sizeof(*r->skipped))) {
		r->no_memory = true;
		return;
	}
	r->skipped[r->n_skipped] = (struct skipped) {
		.ino = ino, .extents = extents,
		.reason = reasons_add(&r->reasons, why, extents),
	};
	r->n_skipped++;
}

/* --------------------------------------------------------------------- work */

static unsigned int flags_of(unsigned int bits, const unsigned int *flags)
{
	unsigned int sum = 0, i;

	for (i = 0; bits >> i; i++)
		if (bits >> i & 1)
			sum |= flags[i];
	return sum;
}

/* Whole blocks of a budget. */
static uint64_t budget(const struct e4repack *r,
		       const struct units_share *share)
{
	uint64_t bs = r->target.fs->blocksize;
	uint64_t all = ext2fs_blocks_count(r->target.fs->super) * bs;

	return share->bytes == NOT_GIVEN ? E4L_NO_LIMIT :
					   units_share_of(share, all) / bs;
}

/* What is left of a budget of which @spent blocks were. */
static uint64_t rest_of(uint64_t most, uint64_t spent)
{
	return most == E4L_NO_LIMIT ? most : most > spent ? most - spent : 0;
}

/* What is left of --max-bytes. */
static uint64_t copy_budget(const struct e4repack *r)
{
	return rest_of(budget(r, &r->max_copy), r->spent_blocks);
}

/* What has been done by then stays done, whatever ends this. */
static errcode_t stop_instead(const struct e4repack *r, errcode_t err,
			      bool *stopped)
{
	if (err != E4L_ET_INTERRUPTED || !r->sum.transactions)
		return err;
	*stopped = true;
	return 0;
}

/* The longest run to zero: as given, as the filesystem says, or the default. */
static errcode_t find_zeroout(struct e4repack *r, uint32_t *blocks)
{
	errcode_t err = 0;

	if (r->zeroout_bytes == NOT_GIVEN)
		err = repairing_zeroout(r->e, &r->zeroout_bytes);
	*blocks = repairing_blocks(r->e, r->zeroout_bytes);
	return err;
}

static uint64_t mem_bytes(const struct e4repack *r)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * size :
					       UINT64_MAX;

	return units_share_of(&r->mem, all);
}

/* As many blocks as hold what was asked for; 0: as many as can be. */
static uint64_t free_run_blocks(const struct e4repack *r)
{
	uint64_t bs = r->target.fs->blocksize;

	return r->free_run / bs + !!(r->free_run % bs);
}

/* Whatever --mem is, a plan may take so much, and so may one file. */
#define MEM_ANYWAY	(16u << 20)

/* Gives files and directories better maps, and free space longer runs. */
static errcode_t repack(struct e4repack *r)
{
	struct e4l_repack_options opt = {
		.flags = flags_of(r->only, only_flags) |
			 flags_of(r->move, move_flags),
		.dry_run = r->dry_run, .changing = r->target.mount_point,
		.zeroout_budget_blocks = rest_of(budget(r, &r->zeroout_budget),
						 r->zeroed_blocks),
		.copy_budget_blocks = copy_budget(r),
		.min_excess = r->min_excess,
		.only = r->only_inodes, .exclude = r->exclude_inodes,
		.skipped = on_skipped, .progress = on_progress,
		.stop = should_stop, .enough = is_enough, .priv = r,
		.discard = r->discard,
		.most_free_runs = r->most_free_runs,
		.longest_kept_blocks = r->longest_kept_blocks,
		.bounds_at_end = r->bounds_at_end,
		.longest_stays = r->longest_stays,
		.files_follow = r->files_follow, .free_follows = r->free_follows,
		/* long runs are what this part is for */
		.long_kept_blocks = r->only == ONLY_FREE ? UINT64_MAX :
				    r->long_kept_blocks,
	};
	uint64_t mem = mem_bytes(r);
	errcode_t err = find_zeroout(r, &opt.zeroout_max_blocks);

	if (!err && r->online)
		return e4repack_online(r, &opt);
	opt.plan_bytes = opt.file_bytes = MEM_ANYWAY + mem / 4;
	/* where everything is */
	if (r->only & (ONLY_ROOM | ONLY_FREE))
		opt.room_bytes = mem / 4;
	opt.free_run_blocks = free_run_blocks(r);
	if (!err)
		err = e4l_es_new(mem / 2 - opt.room_bytes, &r->cache);
	if (err)
		return err;
	opt.cache = r->cache;
	/* what stays in pieces is another part's */
	if (r->all && r->only == ONLY_FREE)
		opt.skipped = NULL;
	progress_start(&r->progress, &r->args, "scanning");
	err = e4l_repack(r->e, &opt, &r->result);
	progress_end(&r->progress);
	err = stop_instead(r, err, &r->result.stopped);
	r->sum.transactions += r->result.transactions;
	r->spent_blocks += r->dry_run ? r->result.planned_copy_blocks :
					r->result.copied_blocks;
	r->zeroed_blocks += r->result.zeroed_blocks;
	return err ? err : r->no_memory ? ENOMEM : 0;
}

static void on_dir_skipped(ext2_ino_t ino, const char *why, uint64_t blocks,
			   void *priv)
{
	struct e4repack *r = priv;

	reasons_add(&r->dir_reasons, why, blocks);
}

/* Builds directories anew, with what is left of the budget. */
static errcode_t compact(struct e4repack *r)
{
	struct e4l_compact_options opt = {
		.dry_run = r->dry_run,
		.move_immutable = flags_of(r->move, move_flags) &
				  E4L_REPACK_MOVE_IMMUTABLE,
		.mem_bytes = mem_bytes(r),
		.write_budget_blocks = copy_budget(r),
		.only = r->only_inodes, .exclude = r->exclude_inodes,
		.skipped = on_dir_skipped, .progress = on_progress,
		.stop = should_stop, .priv = r, .discard = r->discard,
		.most_free_runs = r->most_free_runs,
		.longest_kept_blocks = r->longest_kept_blocks,
	};
	errcode_t err;

	r->repairing.writing = false;
	progress_start(&r->progress, &r->args, "scanning");
	err = e4l_compact_dirs(r->e, &opt, &r->dirs);
	r->result.longest_free_blocks = r->dirs.longest_free_blocks;
	progress_end(&r->progress);
	err = stop_instead(r, err, &r->dirs.stopped);
	r->sum.transactions += r->dirs.transactions;
	r->spent_blocks += r->dry_run ? r->dirs.planned_blocks :
					r->dirs.done_blocks;
	return err;
}

static void on_inodes_skipped(ext2_ino_t ino, const char *why, uint64_t blocks,
			      void *priv)
{
	struct e4repack *r = priv;

	reasons_add(&r->inode_reasons, why, blocks);
}

/* Moves inodes to where their directories' other ones are. */
static errcode_t regroup(struct e4repack *r)
{
	struct e4l_regroup_options opt = {
		.dry_run = r->dry_run, .renumber_anyway = r->renumber_anyway,
		.mem_bytes = mem_bytes(r),
		.only = r->only_inodes, .exclude = r->exclude_inodes,
		.skipped = on_inodes_skipped, .progress = on_progress,
		.stop = should_stop, .enough = is_enough, .priv = r,
	};
	errcode_t err;

	r->repairing.writing = false;
	progress_start(&r->progress, &r->args, "scanning");
	err = e4l_regroup_inodes(r->e, &opt, &r->inodes);
	progress_end(&r->progress);
	err = stop_instead(r, err, &r->inodes.stopped);
	r->sum.transactions += r->inodes.transactions;
	return err;
}

/* What was built anew first had other maps before that. */
static void count_dirs(struct e4repack *r)
{
	const struct e4l_map_size *old = &r->dirs.done_old_maps;
	const struct e4l_map_size *new = &r->dirs.done_maps;

	r->result.extents_before += old->extents - new->extents;
	r->result.fragments_before += old->fragments - new->fragments;
	r->result.tree_blocks_before += old->tree_blocks - new->tree_blocks;
}

/*
 * Directories first: where they were, there is room for files, and free space
 * that the plan for it should see.
 */
errcode_t e4repack_part(struct e4repack *r)
{
	errcode_t err = 0;

	if (r->only & ONLY_INDEX)
		err = compact(r);
	if (!err && r->only & ONLY_MAPS && !r->dirs.stopped) {
		err = repack(r);
		count_dirs(r);
	}
	if (!err && r->only & ONLY_INODES && !r->result.stopped &&
	    !r->dirs.stopped)
		err = regroup(r);
	return err;
}

void e4repack_forget(struct e4repack *r)
{
	free(r->skipped);
	r->skipped = NULL;
	r->n_skipped = 0;
	e4l_es_free(r->cache);
	r->cache = NULL;
	r->result = (struct e4l_repack_result) { 0 };
	r->dirs = (struct e4l_compact_result) { 0 };
	r->inodes = (struct e4l_regroup_result) { 0 };
	r->reasons = r->dir_reasons = r->inode_reasons =
		(struct reasons) { .n = 0 };
}
