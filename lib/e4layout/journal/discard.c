/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * discard: discards blocks that a session has allocated or freed.
 *
 * The device loses the content of discarded blocks.  Therefore blocks that
 * recovery may need are not discarded.  When a session has cleared
 * needs_recovery, the log is empty and will not be replayed.  The bitmaps on
 * the device are then equal to the bitmaps in memory.  Only then, the session
 * discards all free clusters that its transactions, including aborted
 * transactions, have allocated or freed.  A crash during the discards leaves a
 * clean filesystem, and free blocks with undefined content.
 */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "journal_internal.h"

/* maximum length of a discard request, in bytes */
#define DISCARD_BYTES (1ull << 30)

void e4l_journal_discard(struct e4l_journal *j, struct e4l_discarded *result)
{
	*result = (struct e4l_discarded) { 0 };
	j->discarded = result;
}

errcode_t e4l_discard_note(struct e4l_journal *j, struct range r)
{
	errcode_t err;

	if (!j->discarded)
		return 0;
	err = e4l_grow(&j->used.r, j->used.n, sizeof(*j->used.r));
	if (!err)
		j->used.r[j->used.n++] = r;
	return err;
}

/*
 * Discards the blocks of @r.  If the discard fails, stores the error in
 * j->discarded and returns 0, because a failed discard damages nothing.
 */
static errcode_t discard(struct e4l_journal *j, const struct range *r)
{
	errcode_t err;

	if (!r->count || j->discarded->err)
		return 0;
	err = e4l_journal_check(j);
	if (err)
		return err;
	j->discarded->err = io_channel_discard(j->e->fs->io, r->blk, r->count);
	if (!j->discarded->err)
		j->discarded->blocks += r->count;
	return 0;
}

/*
 * Adds the free clusters of @r to @next, the range that will be discarded next.
 * If a free cluster is not adjacent to @next, or @next has the maximum length,
 * discards @next and begins a new range.
 */
static errcode_t discard_free(struct e4l_journal *j, const struct range *r,
			      struct range *next)
{
	ext2_filsys fs = j->e->fs;
	blk64_t ratio = EXT2FS_CLUSTER_RATIO(fs);
	blk64_t end = r->blk + r->count, blk = r->blk;
	blk64_t max = DISCARD_BYTES / fs->blocksize;
	errcode_t err = 0;

	if (blk < next->blk + next->count)
		blk = next->blk + next->count;
	for (; blk < end && !err; blk += ratio) {
		if (ext2fs_test_block_bitmap2(fs->block_map, blk))
			continue;
		if (blk != next->blk + next->count || next->count >= max) {
			err = discard(j, next);
			*next = (struct range) { .blk = blk };
		}
		next->count += end - blk < ratio ? end - blk : ratio;
	}
	return err;
}

errcode_t e4l_discard_used(struct e4l_journal *j)
{
	struct range next = { 0 };
	errcode_t err = 0;
	size_t i;

	if (!j->used.n)
		return 0;
	/* struct range begins with the sort key */
	qsort(j->used.r, j->used.n, sizeof(*j->used.r), e4l_u64_cmp);
	for (i = 0; i < j->used.n && !err; i++)
		err = discard_free(j, &j->used.r[i], &next);
	return err ? err : discard(j, &next);
}
