/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "e4layout/read/scan.h"
#include "own.h"
#include "room.h"

struct room {
	struct e4l *e;		/* must be first, for e4l_refuse_damage() */
	const struct e4l_size *size;
	blk64_t ratio;
	struct e4l_own walls;	/* clusters of metadata and of the journal */
	/* free extents below the new end of the filesystem */
	struct e4l_block_run *free;
	size_t n_free;
	blk64_t log;	/* number of blocks up to the end of the journal file */
	blk64_t len;		/* @log, rounded up to whole clusters */
	/* the journal has blocks above the new end of the filesystem */
	bool above;
	errcode_t err;
};

static int note_journal(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
			blk64_t ref_blk, int ref_offset, void *priv)
{
	struct room *r = priv;

	(void)fs, (void)ref_blk, (void)ref_offset;
	r->above |= *blk >= r->size->blocks && lblk < (e2_blkcnt_t)r->log;
	r->err = e4l_grow(&r->walls.v, r->walls.n, sizeof(*r->walls.v));
	if (r->err)
		return BLOCK_ABORT;
	r->walls.v[r->walls.n++] = (struct e4l_own_run) { *blk, 1 };
	return 0;
}

static errcode_t read_journal(struct room *r)
{
	ext2_filsys fs = r->e->fs;
	struct ext2_inode inode;
	errcode_t err;

	err = ext2fs_read_inode(fs, fs->super->s_journal_inum, &inode);
	if (err)
		return err;
	r->log = EXT2_I_SIZE(&inode) / fs->blocksize;
	err = ext2fs_block_iterate3(fs, fs->super->s_journal_inum,
				    BLOCK_FLAG_READ_ONLY, NULL, note_journal,
				    r);
	r->len = (r->log + r->ratio - 1) / r->ratio * r->ratio;
	return err ? err : r->err;
}

static errcode_t note_free(const struct e4l_block_run *run, void *priv)
{
	struct room *r = priv;
	struct e4l_block_run cut = *run;
	errcode_t err;

	if (run->pblk >= r->size->blocks)
		return 0;
	if (cut.pblk + cut.len > r->size->blocks)
		cut.len = r->size->blocks - cut.pblk;
	err = e4l_grow(&r->free, r->n_free, sizeof(*r->free));
	if (!err)
		r->free[r->n_free++] = cut;
	return err;
}

static blk64_t largest(const struct room *r)
{
	blk64_t most = 0;
	size_t i;

	for (i = 0; i < r->n_free; i++)
		if (r->free[i].len > most)
			most = r->free[i].len;
	return most;
}

/*
 * Whether the r->len blocks from block @start on can be evacuated.  The blocks
 * must be below the new end and must have no walls.
 */
static bool is_movable(const struct room *r, blk64_t start)
{
	const struct e4l_size *size = r->size;

	return start + r->len <= size->blocks &&
	       !e4l_own_meets(&r->walls, start, r->len);
}

/*
 * Chooses a range of r->len blocks that can be evacuated and begins with a free
 * extent.  Of all such ranges, takes the range with the most free blocks.
 * Returns false if there is no such range.
 */
static bool choose(const struct room *r, struct e4l_block_run *range)
{
	const struct e4l_block_run *v = r->free;
	blk64_t most = 0, sum = 0, start, end, all;
	size_t i, k = 0;

	/*
	 * @sum is the number of blocks of the free extents @i to @k - 1.  These
	 * extents end at or before @end, the end of the range from @start on.
	 */
	for (i = 0; i < r->n_free; i++) {
		start = (v[i].pblk + r->ratio - 1) / r->ratio * r->ratio;
		end = start + r->len;
		for (; k < r->n_free && v[k].pblk + v[k].len <= end; k++)
			sum += v[k].len;
		all = sum + (k < r->n_free && v[k].pblk < end ?
			     end - v[k].pblk : 0);
		if (all > most && is_movable(r, start)) {
			most = all;
			*range = (struct e4l_block_run) { start, r->len };
		}
		if (k > i)
			sum -= v[i].len;
		else
			k = i + 1;
	}
	return most;
}

static errcode_t learn(struct room *r)
{
	ext2_filsys fs = r->e->fs;
	errcode_t err = read_journal(r);

	if (err || !r->above)
		return err;
	err = e4l_own_add(fs, 0, fs->group_desc_count, &r->walls);
	if (!err)
		err = e4l_free_space(r->e, note_free, e4l_refuse_damage, r);
	e4l_own_sort(&r->walls);
	return err;
}

errcode_t e4l_shrink_room(struct e4l *e, struct e4l_repack_run *run,
			  const struct e4l_size *size,
			  const struct e4l_evacuation *what,
			  struct e4l_evacuated *result)
{
	struct room r = {
		.e = e, .size = size, .ratio = EXT2FS_CLUSTER_RATIO(e->fs),
	};
	struct e4l_evacuation all = *what;
	errcode_t err;

	*result = (struct e4l_evacuated) { 0 };
	if (!ext2fs_has_feature_journal(e->fs->super) ||
	    e4l_has_external_journal(e->fs->super))
		return 0;
	err = learn(&r);
	if (!err && r.above && largest(&r) < r.len && choose(&r, &all.empty)) {
		err = e4l_evacuate(e, run, &all, result);
		if (err == E4L_ET_SHRINK_PINNED) {
			e4l_fail(e, 0, NULL, 0, 0);
			err = 0;
		}
	}
	e4l_own_free(&r.walls);
	free(r.free);
	return err;
}
