/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <e4layout/extents.h>
#include "e4layout/base/array.h"
#include "csum.h"
#include "extent_tree.h"

/* The structures of an extent tree on disk, little-endian. */
struct disk_header {
	uint16_t magic, entries, max, depth;
	uint32_t generation;
};
struct disk_leaf {
	uint32_t lblk;
	uint16_t len, pblk_hi;
	uint32_t pblk_lo;
};
struct disk_index {
	uint32_t lblk, child_lo;
	uint16_t child_hi, unused;
};

bool e4l_token_grow(struct e4l_token_vec *vec, size_t n)
{
	return !e4l_reserve(&vec->v, vec->n, &vec->max, n, sizeof(*vec->v));
}

static struct e4l_token damage(blk64_t blk, errcode_t why)
{
	return (struct e4l_token) {
		.kind = TOKEN_DAMAGE, .pblk = blk,
		.arg = why - ERROR_TABLE_BASE_e4l,
	};
}

/*
 * Valid block numbers for data and tree blocks: greater than @first and less
 * than @end.
 */
struct bounds {
	blk64_t first, end;
};

static struct bounds bounds_of(ext2_filsys fs)
{
	return (struct bounds) {
		.first = fs->super->s_first_data_block,
		.end = ext2fs_blocks_count(fs->super),
	};
}

static bool within(const struct bounds *b, blk64_t pblk, blk64_t len)
{
	return pblk > b->first && len <= b->end && pblk <= b->end - len;
}

static uint64_t join_pblk(uint32_t lo, uint16_t hi)
{
	return ext2fs_le32_to_cpu(lo) | (uint64_t)ext2fs_le16_to_cpu(hi) << 32;
}

/*
 * Checks the extent @run, which must not begin before logical block @next.
 * Returns the error of the extent; 0: the extent is valid.  @next can be 2^32.
 */
static errcode_t check_run(const struct e4l_token *run, uint64_t next,
			   const struct e4l_node_pos *pos,
			   const struct bounds *bounds)
{
	uint64_t last = (uint64_t)run->lblk + run->arg - 1;

	if (run->arg && run->lblk >= next && last > FILE_LAST_LBLK)
		return E4L_ET_EXTENT_END;
	if (!run->arg || run->lblk < next || last > pos->last)
		return E4L_ET_EXTENT_ORDER;
	return within(bounds, run->pblk, run->arg) ? 0 : E4L_ET_EXTENT_RANGE;
}

static errcode_t check_node(const struct e4l_token *node, uint64_t next,
			    const struct e4l_node_pos *pos,
			    const struct bounds *bounds)
{
	if (node->lblk < next || node->lblk > pos->last)
		return E4L_ET_EXTENT_ORDER;
	return within(bounds, node->pblk, 1) ? 0 : E4L_ET_BLOCK_RANGE;
}

static errcode_t decode_leaf(ext2_filsys fs, const struct disk_leaf *leaf,
			     unsigned int n, const struct e4l_node_pos *pos,
			     struct e4l_token_vec *out)
{
	const struct bounds bounds = bounds_of(fs);
	/* first logical block after the previous entry; can be 2^32 */
	uint64_t next = pos->first;
	unsigned int i;

	if (!e4l_token_grow(out, n))
		return ENOMEM;
	for (i = 0; i < n; i++) {
		unsigned int len = ext2fs_le16_to_cpu(leaf[i].len);
		bool unwritten = len > E4L_WRITTEN_MAX_BLOCKS;
		struct e4l_token run = {
			.kind = unwritten ? TOKEN_UNWRITTEN : TOKEN_WRITTEN,
			.pblk = join_pblk(leaf[i].pblk_lo, leaf[i].pblk_hi),
			.lblk = ext2fs_le32_to_cpu(leaf[i].lblk),
			.arg = unwritten ? len - E4L_WRITTEN_MAX_BLOCKS : len,
		};
		errcode_t why = check_run(&run, next, pos, &bounds);

		if (!why)
			next = (uint64_t)run.lblk + run.arg;
		out->v[out->n++] = why ? damage(pos->blk, why) : run;
	}
	return 0;
}

static errcode_t decode_index(ext2_filsys fs, const struct disk_index *index,
			      unsigned int n, const struct e4l_node_pos *pos,
			      struct e4l_token_vec *out)
{
	const struct bounds bounds = bounds_of(fs);
	uint64_t next = pos->first;
	unsigned int i;

	if (!e4l_token_grow(out, n))
		return ENOMEM;
	for (i = 0; i < n; i++) {
		uint32_t lblk = ext2fs_le32_to_cpu(index[i].lblk);
		uint32_t after = i + 1 < n ?
				 ext2fs_le32_to_cpu(index[i + 1].lblk) : 0;
		struct e4l_token node = {
			.kind = TOKEN_NODE, .level = pos->level - 1,
			.pblk = join_pblk(index[i].child_lo,
					  index[i].child_hi),
			.lblk = lblk,
			.arg = after > lblk && after <= pos->last ?
			       after - 1 : pos->last,
		};
		errcode_t why = check_node(&node, next, pos, &bounds);

		if (!why)
			next = (uint64_t)lblk + 1;
		out->v[out->n++] = why ? damage(pos->blk, why) : node;
	}
	return 0;
}

errcode_t e4l_decode_extent_node(ext2_filsys fs, const void *node, size_t bytes,
				 const struct e4l_node_pos *pos,
				 struct e4l_token_vec *out)
{
	const struct disk_header *h = node;
	unsigned int n = ext2fs_le16_to_cpu(h->entries);
	unsigned int max = ext2fs_le16_to_cpu(h->max);

	if (ext2fs_le16_to_cpu(h->magic) != EXTENT_MAGIC)
		return E4L_ET_EXTENT_MAGIC;
	if (!pos->trusted && ext2fs_le16_to_cpu(h->depth) != pos->level)
		return E4L_ET_EXTENT_DEPTH;
	if (n > max || (max + 1) * EXTENT_ENTRY_BYTES > bytes)
		return E4L_ET_EXTENT_COUNT;
	if (pos->blk && !pos->trusted &&
	    !e4l_extent_block_csum_ok(fs, pos->seed, node))
		return E4L_ET_EXTENT_CSUM;
	return pos->level ?
	       decode_index(fs, (const void *)(h + 1), n, pos, out) :
	       decode_leaf(fs, (const void *)(h + 1), n, pos, out);
}

errcode_t e4l_decode_extent_root(ext2_filsys fs, const void *i_block,
				 unsigned int *depth,
				 struct e4l_token_vec *out)
{
	const struct disk_header *h = i_block;
	struct e4l_node_pos pos = { .last = FILE_LAST_LBLK };

	*depth = 0;
	pos.level = ext2fs_le16_to_cpu(h->depth);
	if (ext2fs_le16_to_cpu(h->magic) == EXTENT_MAGIC) {
		if (pos.level > EXTENT_MAX_DEPTH)
			return E4L_ET_EXTENT_DEPTH;
		*depth = pos.level;
	}
	return e4l_decode_extent_node(fs, i_block, I_BLOCK_BYTES, &pos, out);
}

/* ----------------------------------------------------------------- indirect */

/*
 * If the data block @pblk is contiguous with the last token after index @base,
 * extends the last token.  If @pblk is not contiguous, appends a token.
 * Returns false if there is no memory.
 */
static bool push_data_block(struct e4l_token_vec *out, size_t base,
			    blk64_t pblk, uint32_t lblk)
{
	struct e4l_token *last = out->n > base ? &out->v[out->n - 1] : NULL;

	if (last && last->kind == TOKEN_WRITTEN &&
	    last->pblk + last->arg == pblk &&
	    (uint64_t)last->lblk + last->arg == lblk && last->arg < INT32_MAX) {
		last->arg++;
		return true;
	}
	return e4l_token_push(out, (struct e4l_token) {
		.kind = TOKEN_WRITTEN, .pblk = pblk, .lblk = lblk, .arg = 1,
	});
}

errcode_t e4l_decode_indirect(ext2_filsys fs, const uint32_t *entries, size_t n,
			      const struct e4l_node_pos *pos,
			      struct e4l_token_vec *out)
{
	const struct bounds bounds = bounds_of(fs);
	size_t base = out->n;
	uint64_t lblk = pos->first, span = 1;
	unsigned int i;

	for (i = 0; i < pos->level; i++)
		span *= fs->blocksize / 4;
	for (; n && lblk <= pos->last; n--, entries++, lblk += span) {
		blk64_t pblk = ext2fs_le32_to_cpu(*entries);
		uint64_t last = lblk + span - 1;
		bool ok;

		if (!pblk)
			continue;
		if (!within(&bounds, pblk, 1))
			ok = e4l_token_push(out, damage(pos->blk,
							E4L_ET_BLOCK_RANGE));
		else if (!pos->level)
			ok = push_data_block(out, base, pblk, lblk);
		else
			ok = e4l_token_push(out, (struct e4l_token) {
				.kind = TOKEN_NODE, .level = pos->level - 1,
				.pblk = pblk, .lblk = lblk,
				.arg = last < pos->last ? last : pos->last,
			});
		if (!ok)
			return ENOMEM;
	}
	return 0;
}

errcode_t e4l_decode_indirect_root(ext2_filsys fs, const void *i_block,
				   unsigned int *depth,
				   struct e4l_token_vec *out)
{
	const uint32_t *entry = i_block;
	struct e4l_node_pos pos = { .last = FILE_LAST_LBLK };
	uint64_t first = EXT2_NDIR_BLOCKS, span = 1;
	unsigned int level;
	errcode_t err;

	*depth = 0;
	err = e4l_decode_indirect(fs, entry, EXT2_NDIR_BLOCKS, &pos, out);
	for (level = 1; level <= 3 && !err && first <= FILE_LAST_LBLK; level++) {
		span *= fs->blocksize / 4;
		pos.level = level;
		pos.first = first;
		entry = (const uint32_t *)i_block + EXT2_NDIR_BLOCKS + level - 1;
		if (*entry)
			*depth = level;
		err = e4l_decode_indirect(fs, entry, 1, &pos, out);
		first += span;
	}
	return err;
}
