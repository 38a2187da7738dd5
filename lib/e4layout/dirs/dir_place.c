/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "dir_place.h"
#include "e4layout/apply/cost.h"

#define ROOT_EXTENTS	4	/* number of extents that fit into an inode */
/*
 * A rebuild outside the directory's own blocks may shorten the largest free
 * extent by up to 1/LITTLE of its length, but only if no such rebuild leaves
 * the free space as good as before.
 */
#define LITTLE		16

/* -------------------------------------------- current blocks of a directory */

static int by_start(const void *va, const void *vb)
{
	const struct e4l_block_run *a = va, *b = vb;

	return a->pblk < b->pblk ? -1 : a->pblk > b->pblk;
}

/*
 * Joins overlapping and adjacent runs of @v, which must be sorted by start.
 * Returns the number of runs after joining.
 */
static size_t join_runs(struct e4l_block_run *v, size_t n)
{
	struct e4l_block_run *last = v;
	size_t i;

	for (i = 1; i < n; i++) {
		blk64_t end = v[i].pblk + v[i].len;

		if (v[i].pblk > last->pblk + last->len)
			*++last = v[i];
		else if (end > last->pblk + last->len)
			last->len = end - last->pblk;
	}
	return n ? last - v + 1 : 0;
}

/*
 * Sets *@ret to the clusters that a directory occupies, as sorted runs without
 * duplicates.  The array *@ret has space for one more run, which keep_run() may
 * append.
 */
static errcode_t list_clusters(const struct e4l_dir_seek *seek,
			       const struct e4l_dir_map *map,
			       struct e4l_block_run **ret, size_t *n_ret)
{
	blk64_t ratio = seek->disk.geo->cluster_blocks, end, all;
	struct e4l_block_run *v, *last;
	size_t i, n = 0;

	all = ext2fs_blocks_count(seek->fs->super);
	v = calloc(map->n_extents + map->n_tree + 2, sizeof(*v));
	if (!v)
		return ENOMEM;
	for (i = 0; i < map->n_extents; i++) {
		const struct e4l_extent *x = seek->maps->extents +
					     map->extent + i;

		end = (x->pblk + x->len + ratio - 1) / ratio * ratio;
		v[n].pblk = x->pblk / ratio * ratio;
		v[n].len = end - v[n].pblk;
		n++;
	}
	for (i = 0; i < map->n_tree; i++, n++) {
		v[n].pblk = seek->maps->tree[map->tree + i].pblk / ratio *
			    ratio;
		v[n].len = ratio;
	}
	qsort(v, n, sizeof(*v), by_start);
	*n_ret = join_runs(v, n);
	last = &v[n ? *n_ret - 1 : 0];
	if (last->pblk + last->len > all)
		last->len = all - last->pblk;
	*ret = v;
	return 0;
}

/*
 * Removes the @len blocks that begin at block @pblk from @step->give, because
 * the directory keeps these blocks.  All @len blocks must lie within one run of
 * @step->give.
 */
static void keep_run(struct e4l_step *step, blk64_t pblk, uint64_t len)
{
	struct e4l_block_run *v = step->give;
	size_t i = 0, n = 0;

	while (v[i].pblk + v[i].len <= pblk)
		i++;
	/*
	 * append a run for the blocks after the kept blocks; runs need not be
	 * sorted
	 */
	v[step->n_give].pblk = pblk + len;
	v[step->n_give].len = v[i].pblk + v[i].len - (pblk + len);
	v[i].len = pblk - v[i].pblk;
	step->n_give++;
	for (i = 0; i < step->n_give; i++)
		if (v[i].len)
			v[n++] = v[i];
	step->n_give = n;
}

/* ----------------------------------------------------- step for a directory */

static uint64_t clusters_of(const struct e4l_dir_seek *seek, uint64_t blocks)
{
	uint32_t ratio = seek->disk.geo->cluster_blocks;

	return (blocks + ratio - 1) / ratio;
}

void e4l_dir_step_free(struct e4l_step *step)
{
	free(step->new_extents);
	free(step->take);
	free(step->give);
}

/*
 * Sets step->new_extents to extents for the @blocks blocks from block @to on.
 * MAX_BLOCKS in compact.c limits the directory to ROOT_EXTENTS extents.
 */
static void put_extents(struct e4l_step *step, blk64_t to, uint32_t blocks)
{
	uint32_t done, len;

	for (done = 0; done < blocks; done += len) {
		len = blocks - done;
		if (len > E4L_WRITTEN_MAX_BLOCKS)
			len = E4L_WRITTEN_MAX_BLOCKS;
		step->new_extents[step->n_new++] = (struct e4l_extent) {
			.pblk = to + done, .lblk = done, .len = len,
		};
	}
}

errcode_t e4l_dir_step(const struct e4l_dir_seek *seek,
		       const struct e4l_dir_map *map, uint32_t blocks,
		       const struct e4l_dir_place *place,
		       struct e4l_step *step)
{
	uint64_t len = clusters_of(seek, blocks) *
		       seek->disk.geo->cluster_blocks;
	errcode_t err;

	*step = (struct e4l_step) {
		.ino = map->ino, .n_old = map->n_extents,
		.new_extents = calloc(ROOT_EXTENTS, sizeof(struct e4l_extent)),
		.take = calloc(1, sizeof(*step->take)),
	};
	if (!step->new_extents || !step->take)
		return ENOMEM;
	put_extents(step, place->to, blocks);
	err = list_clusters(seek, map, &step->give, &step->n_give);
	if (err)
		return err;
	if (place->own) {
		keep_run(step, place->to, len);
	} else {
		step->n_take = 1;
		step->take[0] = (struct e4l_block_run) {
			.pblk = place->to, .len = len,
		};
	}
	return 0;
}

/* --------------------------------------------------- places for a directory */

struct seeking {
	const struct e4l_dir_seek *seek;
	const struct e4l_dir_map *map;
	uint32_t blocks;
	struct e4l_outlook before;
	/* longest run of the directory's current blocks, in clusters */
	struct e4l_run own;
	enum e4l_skip why;
};

static errcode_t find_own(struct seeking *s)
{
	uint32_t ratio = s->seek->disk.geo->cluster_blocks;
	struct e4l_block_run *v;
	size_t n, i;
	errcode_t err = list_clusters(s->seek, s->map, &v, &n);

	if (err)
		return err;
	for (i = 0; i < n; i++)
		if (v[i].len / ratio > s->own.len)
			s->own = (struct e4l_run) {
				.start = v[i].pblk / ratio,
				.len = v[i].len / ratio,
			};
	free(v);
	return 0;
}

static bool near_inode(const struct seeking *s, uint64_t n, uint64_t *start)
{
	const struct e4l_geometry *geo = s->seek->disk.geo;
	ext2_filsys fs = s->seek->fs;
	struct e4l_run near = {
		.start = ext2fs_group_first_block2(fs, ext2fs_group_of_ino(fs,
					s->map->ino)) / geo->cluster_blocks,
		.len = geo->group_blocks / geo->cluster_blocks,
	};

	return e4l_space_fit(s->seek->disk.space, n, &near, start);
}

/*
 * Chooses the start of the free extent directly before the directory's longest
 * run.  When the rebuild frees the run, the run merges with the remainder of
 * the free extent.  Returns false if the free extent has fewer than @n
 * clusters.
 */
static bool before_own(const struct seeking *s, uint64_t n, uint64_t *start)
{
	uint64_t len = e4l_space_before(s->seek->disk.space, s->own.start);

	*start = s->own.start - len;
	return len >= n;
}

static bool behind_own(const struct seeking *s, uint64_t n, uint64_t *start)
{
	uint64_t end = s->own.start + s->own.len;
	uint64_t len = e4l_space_after(s->seek->disk.space, end);

	*start = end + len - n;
	return len >= n;
}

static bool own_first(const struct seeking *s, uint64_t n, uint64_t *start)
{
	*start = s->own.start;
	return s->own.len >= n;
}

static bool own_last(const struct seeking *s, uint64_t n, uint64_t *start)
{
	*start = s->own.start + s->own.len - n;
	return s->own.len >= n;
}

static bool tightest(const struct seeking *s, uint64_t n, uint64_t *start)
{
	return e4l_space_fit(s->seek->disk.space, n, NULL, start);
}

static bool end_of_longest(const struct seeking *s, uint64_t n,
			   uint64_t *start)
{
	uint64_t len = e4l_space_largest(s->seek->disk.space, start);

	*start += len - n;
	return len >= n;
}

/*
 * Functions that propose a location, in order of preference.  @own: the
 * location consists of the directory's current blocks.
 */
static const struct {
	bool (*find)(const struct seeking *s, uint64_t n, uint64_t *start);
	bool own;
} places[] = {
	{ near_inode, false },
	{ before_own, false }, { behind_own, false },
	{ own_first, true }, { own_last, true },
	{ tightest, false }, { end_of_longest, false },
};

/*
 * Fills in @step, which rebuilds the directory at @place.  Sets *@good to
 * whether the step fits into a transaction, and the free space after the step
 * is within the limits of @disk.
 */
static errcode_t judge(struct seeking *s, const struct e4l_disk *disk,
		       const struct e4l_dir_place *place,
		       struct e4l_step *step, bool *good)
{
	uint64_t cost = 0;
	errcode_t err = e4l_dir_step(s->seek, s->map, s->blocks, place, step);

	*good = false;
	if (!err)
		err = e4l_step_cost(disk->geo, step, &cost);
	if (err)
		return err;
	if (place->own)
		cost += s->blocks;
	if (cost > disk->geo->txn_blocks) {
		if (!place->own)
			s->why = E4L_SKIP_JOURNAL;
		return 0;
	}
	err = e4l_disk_allows(disk, &s->before, step, good);
	if (!err && !*good)
		s->why = E4L_SKIP_FREE_SPACE;
	return err;
}

/*
 * If judge() permits a rebuild at @place, plans the rebuild and sets *@good to
 * true.
 */
static errcode_t try_place(struct seeking *s, const struct e4l_disk *disk,
			   struct e4l_dir_place *place, bool *good)
{
	uint32_t ratio = disk->geo->cluster_blocks;
	uint64_t start = place->to / ratio, n = clusters_of(s->seek, s->blocks);
	struct e4l_step step;
	errcode_t err = place->own ? 0 : e4l_space_take(disk->space, start, n);

	if (err)
		return err;
	err = judge(s, disk, place, &step, good);
	place->given = e4l_step_gives(&step);
	/*
	 * Only e4l_space_outlook() counts the blocks that the step frees as
	 * free: this run must not use these blocks for another directory.
	 */
	if (!err && *good)
		err = e4l_disk_give(disk, &step);
	else if (!err && !place->own)
		err = e4l_space_add(disk->space, start, n);
	e4l_dir_step_free(&step);
	return err;
}

/*
 * Tries the locations of places[] in turn, until a rebuild is possible.  Sets
 * *@place to the location that was tried last, and *@good to whether a rebuild
 * is possible there.  If @own is false, skips the directory's current blocks.
 */
static errcode_t try_places(struct seeking *s, const struct e4l_disk *disk,
			    bool own, struct e4l_dir_place *place, bool *good)
{
	uint64_t n = clusters_of(s->seek, s->blocks), start;
	errcode_t err = 0;
	size_t i;

	*good = false;
	for (i = 0; i < sizeof(places) / sizeof(*places) && !err && !*good;
	     i++) {
		if ((places[i].own && !own) || !places[i].find(s, n, &start))
			continue;
		*place = (struct e4l_dir_place) {
			.to = start * disk->geo->cluster_blocks,
			.own = places[i].own,
		};
		err = try_place(s, disk, place, good);
	}
	return err;
}

/*
 * Tries the following limits on the free space after the rebuild, until the
 * rebuild is possible:
 *  1. The number of free extents does not grow, and the largest free extent
 *     does not shrink.  The directory gets other blocks.
 *  2. As 1, but the largest free extent may shrink a little.
 *  3. As 1, but the directory may keep current blocks.  Limit 2 is tried before
 *     limit 3, because a directory that keeps its location can separate free
 *     extents.
 *  4. The caller's limits.  The directory may keep current blocks.
 */
static errcode_t try_all(struct seeking *s, struct e4l_dir_place *place,
			 bool *good)
{
	struct e4l_disk asked = s->seek->disk, strict = asked, kind;
	/*
	 * Without a journal, a crash would leave a half-written directory if
	 * the new content replaced the old content in the same blocks.
	 */
	bool own = ext2fs_has_feature_journal(s->seek->fs->super);
	uint64_t longest = s->seek->longest;
	errcode_t err;

	/*
	 * if no block is free, the blocks that the step frees may become a free
	 * extent
	 */
	strict.most_runs = s->before.runs ? s->before.runs : 1;
	strict.least_longest = s->before.longest;
	kind = strict;
	kind.least_longest = longest - longest / LITTLE;
	if (kind.least_longest < asked.least_longest)
		kind.least_longest = asked.least_longest;
	err = try_places(s, &strict, false, place, good);
	if (!err && !*good)
		err = try_places(s, &kind, false, place, good);
	if (!err && !*good)
		err = try_places(s, &strict, own, place, good);
	if (!err && !*good)
		err = try_places(s, &asked, own, place, good);
	return err;
}

errcode_t e4l_dir_place(const struct e4l_dir_seek *seek,
			const struct e4l_dir_map *map, uint32_t blocks,
			struct e4l_dir_place *place, enum e4l_skip *why)
{
	struct seeking s = {
		.seek = seek, .map = map, .blocks = blocks, .why = E4L_SKIP_NO_SPACE,
		.before = e4l_space_outlook(seek->disk.space),
	};
	bool good = false;
	errcode_t err = find_own(&s);

	if (!err)
		err = try_all(&s, place, &good);
	*why = good ? E4L_SKIP_NONE : s.why;
	return err;
}
