// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * end: shrinks a filesystem that has no file blocks above the new end.  Makes
 * the metadata of the new size in memory, and passes them to the journal.
 * journal/switch.c explains the writes.
 */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "e4layout/base/io_pool.h"
#include "e4layout/journal/journal.h"
#include "end.h"
#include "own.h"
#include "place.h"

/* The members of the filesystem handle that depend on the filesystem's size. */
struct state {
	struct ext2_super_block *super;
	struct opaque_ext2_group_desc *descs;
	ext2fs_block_bitmap blocks;
	ext2fs_inode_bitmap inodes;
	dgrp_t groups;
	unsigned long desc_blocks;
};

struct end {
	struct e4l *e;
	ext2_filsys fs;
	struct e4l_journal *j;
	struct e4l_size size;
	struct state old;
	/*
	 * Sets of own blocks.  @now has the own blocks of the old size, and
	 * @kept has those of the new size.  @gone has the blocks below the new
	 * end that are only in @now, and @new has the blocks that are only in
	 * @kept.
	 */
	struct e4l_own now, kept, gone, new;
	/* two metadata structures of the new size share a block */
	bool overlap;
};

/* ------------------------------------------------------ is the tail empty? */

/*
 * Checks that the blocks [@from, @to), which are between own blocks, are free.
 */
static errcode_t check_gap(struct end *s, blk64_t from, blk64_t to)
{
	blk64_t blk;

	if (from >= to ||
	    ext2fs_find_first_set_block_bitmap2(s->fs->block_map, from, to - 1,
						&blk))
		return 0;
	return e4l_fail(s->e, E4L_ET_BLOCK_IN_USE, "changing the size", 0, blk);
}

static errcode_t check_tail(struct end *s)
{
	blk64_t blk = s->size.blocks;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < s->now.n && !err; i++) {
		const struct e4l_own_run *r = &s->now.v[i];

		if (r->blk + r->len <= blk)
			continue;
		err = check_gap(s, blk, r->blk);
		blk = r->blk + r->len;
	}
	return err ? err : check_gap(s, blk,
				     ext2fs_blocks_count(s->fs->super));
}

static errcode_t check_inodes(struct end *s)
{
	ext2_ino_t ino;

	if (s->size.inodes >= s->fs->super->s_inodes_count ||
	    ext2fs_find_first_set_inode_bitmap2(s->fs->inode_map,
						s->size.inodes + 1,
						s->fs->super->s_inodes_count,
						&ino))
		return 0;
	return e4l_fail(s->e, E4L_ET_NO_INODES, "changing the size", ino, 0);
}

static errcode_t check_tables(struct end *s)
{
	ext2_filsys fs = s->fs;
	dgrp_t g;

	for (g = 0; g < s->size.groups; g++)
		if (ext2fs_block_bitmap_loc(fs, g) >= s->size.blocks ||
		    ext2fs_inode_bitmap_loc(fs, g) >= s->size.blocks ||
		    ext2fs_inode_table_loc(fs, g) +
		    fs->inode_blocks_per_group > s->size.blocks)
			return e4l_fail_group(s->e, E4L_ET_BAD_ARGUMENT,
					      "changing the size", g, 0);
	return 0;
}

/* ----------------------------------------------------------- the new state */

static struct state state_of(ext2_filsys fs)
{
	return (struct state) {
		fs->super, fs->group_desc, fs->block_map, fs->inode_map,
		fs->group_desc_count, fs->desc_blocks,
	};
}

static void set_state(ext2_filsys fs, const struct state *s)
{
	fs->super = s->super;
	fs->group_desc = s->descs;
	fs->block_map = s->blocks;
	fs->inode_map = s->inodes;
	fs->group_desc_count = s->groups;
	fs->desc_blocks = s->desc_blocks;
}

static void free_state(struct state *s)
{
	ext2fs_free_block_bitmap(s->blocks);
	ext2fs_free_inode_bitmap(s->inodes);
	ext2fs_free_mem(&s->descs);
	ext2fs_free_mem(&s->super);
}

/* Returns @part * @blocks / @of, without an overflow. */
static blk64_t in_proportion(blk64_t part, blk64_t of, blk64_t blocks)
{
	return (blk64_t)((long double)part * blocks / of);
}

static void fill_super(struct end *s, struct ext2_super_block *sb)
{
	const struct e4l_size *size = &s->size;
	blk64_t was = ext2fs_blocks_count(sb);
	int64_t overhead = sb->s_overhead_clusters;
	blk64_t own_now = e4l_own_count(&s->now);
	blk64_t own_kept = e4l_own_count(&s->kept);

	ext2fs_r_blocks_count_set(sb, in_proportion(ext2fs_r_blocks_count(sb),
						    was, size->blocks));
	e4l_size_set_super(size, sb);
	overhead -= EXT2FS_NUM_B2C(s->fs, own_now - own_kept);
	sb->s_overhead_clusters = overhead > 0 ? overhead : 0;
}

/*
 * Copies the old block bitmap up to the new end of the filesystem: marks each
 * block in @to that is in use.
 */
static void copy_block_bits(struct end *s, ext2fs_block_bitmap to)
{
	ext2fs_block_bitmap from = s->old.blocks;
	blk64_t end = s->size.blocks, blk, stop;
	blk64_t start = s->fs->super->s_first_data_block;

	for (; start < end; start = stop) {
		if (ext2fs_find_first_set_block_bitmap2(from, start, end - 1,
							&blk))
			break;
		if (ext2fs_find_first_zero_block_bitmap2(from, blk, end - 1,
							 &stop))
			stop = end;
		ext2fs_mark_block_bitmap_range2(to, blk, stop - blk);
	}
}

static void copy_inode_bits(struct end *s, ext2fs_inode_bitmap to)
{
	ext2_ino_t ino, next = 1;

	while (next <= s->size.inodes &&
	       !ext2fs_find_first_set_inode_bitmap2(s->old.inodes, next,
						    s->size.inodes, &ino)) {
		ext2fs_mark_inode_bitmap2(to, ino);
		next = ino + 1;
	}
}

/*
 * Subtracts the free clusters above the new end from the last group's count of
 * free clusters.
 */
static void cut_last_group(struct end *s)
{
	ext2_filsys fs = s->fs;
	dgrp_t last = s->size.groups - 1;
	blk64_t end = ext2fs_group_first_block2(fs, last) +
		      fs->super->s_blocks_per_group, blk;
	uint32_t clusters = ext2fs_bg_free_blocks_count(fs, last);

	if (end > ext2fs_blocks_count(s->old.super))
		end = ext2fs_blocks_count(s->old.super);
	for (blk = s->size.blocks; blk < end; blk += EXT2FS_CLUSTER_RATIO(fs))
		clusters -= !ext2fs_test_block_bitmap2(s->old.blocks, blk);
	ext2fs_bg_free_blocks_count_set(fs, last, clusters);
	ext2fs_bg_flags_clear(fs, last, EXT2_BG_BLOCK_UNINIT);
}

/*
 * Replaces all size-dependent members of the handle by copies with the new
 * size.  The old members stay in s->old.
 */
static errcode_t copy_state(struct end *s)
{
	ext2_filsys fs = s->fs;
	size_t bytes = (size_t)s->size.desc_blocks * fs->blocksize;
	struct state new = { .groups = s->size.groups,
			     .desc_blocks = s->size.desc_blocks };
	errcode_t err;

	s->old = state_of(fs);
	err = ext2fs_get_mem(SUPERBLOCK_SIZE, &new.super);
	if (!err)
		err = ext2fs_get_mem(bytes, &new.descs);
	if (err) {
		ext2fs_free_mem(&new.super);
		return err;
	}
	memcpy(new.super, fs->super, SUPERBLOCK_SIZE);
	memset(new.descs, 0, bytes);
	memcpy(new.descs, fs->group_desc,
	       (size_t)s->size.groups * EXT2_DESC_SIZE(fs->super));
	fill_super(s, new.super);
	set_state(fs, &new);
	err = ext2fs_allocate_block_bitmap(fs, "blocks", &fs->block_map);
	if (!err)
		err = ext2fs_allocate_inode_bitmap(fs, "inodes",
						   &fs->inode_map);
	if (!err) {
		copy_block_bits(s, fs->block_map);
		copy_inode_bits(s, fs->inode_map);
		cut_last_group(s);
	}
	return err;
}

static void drop_new_state(struct end *s)
{
	struct state new = state_of(s->fs);

	set_state(s->fs, &s->old);
	free_state(&new);
}

/* -------------------------------------------------------- the transaction */

/*
 * If the MMP block is above the new end, chooses another MMP block below the
 * end.
 */
static errcode_t place_mmp(struct end *s, struct e4l_shape *shape)
{
	ext2_filsys fs = s->fs;
	blk64_t blk;
	errcode_t err;

	if (!ext2fs_has_feature_mmp(fs->super) ||
	    fs->super->s_mmp_block < s->size.blocks)
		return 0;
	err = e4l_place_find(fs, 0, s->size.blocks,
			     EXT2FS_CLUSTER_RATIO(fs), &blk);
	if (err)
		return e4l_fail(s->e, err, "moving the MMP block", 0, 0);
	shape->sb.s_mmp_block = blk;
	return 0;
}

/* Copies the MMP block to block @to, which is still free. */
static errcode_t copy_mmp(struct end *s, blk64_t to)
{
	ext2_filsys fs = s->fs;
	blk64_t from = fs->super->s_mmp_block;
	errcode_t err;
	void *buf;

	if (from == to)
		return 0;
	err = e4l_journal_check(s->j);
	if (!err)
		err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(fs->io, from, -(int)fs->blocksize, buf);
	if (!err)
		err = io_channel_write_blk64(fs->io, to, -(int)fs->blocksize,
					     buf);
	ext2fs_free_mem(&buf);
	return err ? e4l_fail(s->e, err, "moving the MMP block", 0, from) : 0;
}

/* Whether all blocks of @own are free. */
static bool all_free(struct end *s, const struct e4l_own *own)
{
	blk64_t blk;
	size_t i;

	for (i = 0; i < own->n; i++)
		if (!ext2fs_find_first_set_block_bitmap2(s->fs->block_map,
				own->v[i].blk,
				own->v[i].blk + own->v[i].len - 1, &blk))
			return false;
	return true;
}

static errcode_t fill_sets(struct end *s, struct e4l_shape *shape)
{
	errcode_t err;
	blk64_t sum;

	e4l_own_free(&s->kept);
	e4l_own_free(&s->gone);
	e4l_own_free(&s->new);
	err = e4l_own_add(&shape->fs, 0, s->size.groups, &s->kept);
	if (err)
		return err;
	sum = e4l_own_count(&s->kept);
	e4l_own_sort(&s->kept);
	/*
	 * with bigalloc, an overlap is not an error: the metadata of several
	 * groups can share a cluster
	 */
	s->overlap = EXT2FS_CLUSTER_RATIO(s->fs) == 1 &&
		     sum != e4l_own_count(&s->kept);
	err = e4l_own_minus(&s->now, &s->kept, &s->gone);
	if (!err)
		err = e4l_own_minus(&s->kept, &s->now, &s->new);
	e4l_own_cut(&s->gone, s->size.blocks);
	return err;
}

/*
 * Finds the filesystem's own blocks (see own.h) at the old size and at the new
 * size.
 */
static errcode_t find_sets(struct end *s, struct e4l_shape *shape)
{
	errcode_t err = e4l_own_add(s->fs, 0, s->fs->group_desc_count, &s->now);

	if (err)
		return err;
	e4l_own_sort(&s->now);
	e4l_size_shape(s->fs, &s->size, shape);
	err = fill_sets(s, shape);
	if (!err)
		err = place_mmp(s, shape);
	if (!err)
		err = fill_sets(s, shape);
	if (!err && (s->overlap || !all_free(s, &s->new)))
		err = e4l_fail(s->e, E4L_ET_BAD_ARGUMENT, "changing the size", 0,
			       0);
	return err;
}

static errcode_t change_own(struct end *s, struct e4l_txn *t)
{
	errcode_t err = e4l_txn_add_group(t, s->size.groups - 1);
	size_t i;

	for (i = 0; i < s->new.n && !err; i++)
		err = e4l_txn_alloc(t, s->new.v[i].blk, s->new.v[i].len);
	for (i = 0; i < s->gone.n && !err; i++)
		err = e4l_txn_free(t, s->gone.v[i].blk, s->gone.v[i].len);
	return err;
}

/* ------------------------------------------------------ the resize inode */

/*
 * The reserved GDT blocks, and the backup groups that have copies of these
 * blocks.
 */
struct reserved {
	blk64_t first;		/* first reserved GDT block in group 0 */
	uint32_t n;
	dgrp_t *groups;
	uint32_t n_groups;
};

static uint32_t count_backups(ext2_filsys fs, uint32_t max, dgrp_t *groups)
{
	uint32_t n = 0;
	dgrp_t g;

	for (g = 1; g < fs->group_desc_count && n < max; g++) {
		if (!ext2fs_bg_has_super(fs, g))
			continue;
		if (groups)
			groups[n] = g;
		n++;
	}
	return n;
}

static blk64_t first_reserved(ext2_filsys fs)
{
	struct ext2_super_block *sb = fs->super;

	return sb->s_first_data_block + 1 + fs->desc_blocks +
	       (!sb->s_first_data_block && fs->blocksize == 1024);
}

/*
 * Makes @list, an array of block numbers, the content of block @blk.  If @blk
 * already has this content, adds nothing to the transaction.
 */
static errcode_t put_list(struct end *s, struct e4l_txn *t, blk64_t blk,
			  const uint32_t *list)
{
	ext2_filsys fs = s->fs;
	errcode_t err;
	void *buf, *data;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(fs->io, blk, -(int)fs->blocksize, buf);
	if (!err && memcmp(buf, list, fs->blocksize)) {
		err = e4l_txn_new_block(t, blk, &data);
		if (!err)
			memcpy(data, list, fs->blocksize);
	}
	ext2fs_free_mem(&buf);
	return err;
}

static errcode_t put_reserved(struct end *s, struct e4l_txn *t,
			      const struct reserved *r, uint32_t *list)
{
	uint32_t per_group = s->fs->super->s_blocks_per_group, i, k;
	errcode_t err = 0;

	for (i = 0; i < r->n && !err; i++) {
		memset(list, 0, s->fs->blocksize);
		for (k = 0; k < r->n_groups; k++)
			list[k] = ext2fs_cpu_to_le32(r->first + i +
					(blk64_t)r->groups[k] * per_group);
		err = put_list(s, t, r->first + i, list);
	}
	return err;
}

static errcode_t put_dind(struct end *s, struct e4l_txn *t,
			  const struct reserved *r, blk64_t dind,
			  uint32_t *list)
{
	uint32_t most = s->fs->blocksize / sizeof(*list), i;

	memset(list, 0, s->fs->blocksize);
	for (i = 0; i < r->n; i++)
		list[(s->fs->desc_blocks + i) % most] =
			ext2fs_cpu_to_le32(r->first + i);
	return put_list(s, t, dind, list);
}

/*
 * Changes i_blocks of the resize inode by the number of reserved GDT blocks
 * that were added or removed.
 */
static errcode_t put_inode(struct end *s, struct e4l_txn *t,
			   const struct reserved *r, uint8_t *inode)
{
	struct ext2_inode *in = (struct ext2_inode *)inode;
	uint32_t was = s->old.super->s_reserved_gdt_blocks;
	struct e4l_shape old = { .fs = *s->fs };
	blk64_t before, after;
	errcode_t err;

	old.fs.super = s->old.super;
	old.fs.group_desc_count = s->old.groups;
	before = (blk64_t)was * (1 + count_backups(&old.fs, UINT32_MAX, NULL));
	after = (blk64_t)r->n * (1 + r->n_groups);
	if (before == after)
		return 0;
	if (after < before)
		err = ext2fs_iblk_sub_blocks(s->fs, in, before - after);
	else
		err = ext2fs_iblk_add_blocks(s->fs, in, after - before);
	return err ? err : e4l_txn_put_inode(t, EXT2_RESIZE_INO, inode);
}

static errcode_t put_resize(struct end *s, struct e4l_txn *t,
			    struct reserved *r, uint8_t *inode)
{
	struct ext2_inode *in = (struct ext2_inode *)inode;
	errcode_t err = e4l_txn_read_inode(t, EXT2_RESIZE_INO, inode);
	uint32_t *list;

	if (err || !in->i_block[EXT2_DIND_BLOCK])
		return err;
	err = ext2fs_get_mem(s->fs->blocksize, &list);
	if (err)
		return err;
	err = put_reserved(s, t, r, list);
	if (!err)
		err = put_dind(s, t, r, in->i_block[EXT2_DIND_BLOCK], list);
	if (!err)
		err = put_inode(s, t, r, inode);
	ext2fs_free_mem(&list);
	return err;
}

/*
 * Changes the resize inode so that it has the reserved GDT blocks of the new
 * size.
 */
static errcode_t change_resize(struct end *s, struct e4l_txn *t)
{
	ext2_filsys fs = s->fs;
	struct reserved r = {
		.first = first_reserved(fs),
		.n = fs->super->s_reserved_gdt_blocks,
	};
	uint32_t most = fs->blocksize / sizeof(uint32_t);
	uint8_t *inode = NULL;
	errcode_t err;

	if (!ext2fs_has_feature_resize_inode(fs->super) || !r.n)
		return 0;
	err = ext2fs_get_array(most, sizeof(*r.groups), &r.groups);
	if (err)
		return err;
	r.n_groups = count_backups(fs, most, r.groups);
	err = ext2fs_get_mem(EXT2_INODE_SIZE(fs->super), &inode);
	if (!err)
		err = put_resize(s, t, &r, inode);
	ext2fs_free_mem(&inode);
	ext2fs_free_mem(&r.groups);
	return err;
}

/* ------------------------------------------------------------- the switch */

/*
 * Commits the new size.  Sets *@switched to true if the device can already have
 * the new size.
 */
static errcode_t change_size(struct end *s, bool *switched)
{
	struct e4l_txn *t;
	errcode_t err = e4l_txn_begin(s->j, &t);

	if (err)
		return err;
	err = change_own(s, t);
	if (!err)
		err = change_resize(s, t);
	if (!err)
		return e4l_txn_switch(t, switched);
	e4l_txn_abort(t);
	return err;
}

static errcode_t switch_size(struct end *s, blk64_t mmp)
{
	bool switched = false;
	errcode_t err = copy_mmp(s, mmp);

	if (err)
		return err;
	err = copy_state(s);
	if (!err) {
		s->fs->super->s_mmp_block = mmp;
		err = change_size(s, &switched);
	} else if (s->fs->super == s->old.super) {
		return err;
	}
	if (!switched)
		drop_new_state(s);
	else
		free_state(&s->old);
	return err ? err : e4l_journal_write_backups(s->j);
}

static errcode_t move_end(struct end *s)
{
	struct e4l_shape shape;
	errcode_t err = 0;

	if (!s->fs->inode_map)
		err = ext2fs_read_inode_bitmap(s->fs);
	if (!err)
		err = find_sets(s, &shape);
	if (!err)
		err = check_tables(s);
	if (!err)
		err = check_inodes(s);
	if (!err)
		err = check_tail(s);
	return err ? err : switch_size(s, shape.sb.s_mmp_block);
}

errcode_t e4l_shrink_end(struct e4l *e, io_channel external,
			 const struct e4l_size *size)
{
	struct end s = { .e = e, .fs = e->fs, .size = *size };
	errcode_t err, err2;

	if (size->blocks >= ext2fs_blocks_count(e->fs->super))
		return e4l_fail(e, E4L_ET_BAD_ARGUMENT, "changing the size", 0, 0);
	err = e4l_journal_open(e, external, &s.j);
	if (err)
		return err;
	err = move_end(&s);
	err2 = e4l_journal_close(s.j);
	e4l_own_free(&s.now);
	e4l_own_free(&s.kept);
	e4l_own_free(&s.gone);
	e4l_own_free(&s.new);
	if (!err && err2)
		e4l_fail(e, err2, "changing the size", 0, 0);
	return err ? err : err2;
}

/* --------------------------------------------------------- is it possible? */

/*
 * Whether the numbers of descriptor blocks and of backup groups stay the same
 * with the new size.
 */
static bool same_backups(struct e4l *e, const struct e4l_size *size)
{
	struct e4l_shape shape;

	e4l_size_shape(e->fs, size, &shape);
	return size->desc_blocks == e->fs->desc_blocks &&
	       count_backups(&shape.fs, UINT32_MAX, NULL) ==
	       count_backups(e->fs, UINT32_MAX, NULL);
}

errcode_t e4l_shrink_probe(struct e4l *e, io_channel external,
			   const struct e4l_size *size)
{
	struct ext2_super_block *sb = e->fs->super;
	uint32_t room, blocks = 6;
	errcode_t err = e4l_journal_probe(e, external);

	if (err)
		return err;
	if (size->blocks >= ext2fs_blocks_count(sb))
		err = E4L_ET_BAD_ARGUMENT;
	else if (ext2fs_has_feature_shared_blocks(sb) ||
		 sb->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_HAS_SNAPSHOT)
		err = E4L_ET_UNKNOWN_FEATURE;
	room = e4l_journal_room(e, external);
	if (ext2fs_has_feature_resize_inode(sb) && !same_backups(e, size))
		blocks += size->reserved_gdt;
	if (!err && room < blocks)
		err = E4L_ET_TXN_FULL;
	return err ? e4l_fail(e, err, "changing the size", 0, 0) : 0;
}
