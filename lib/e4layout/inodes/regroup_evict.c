/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * regroup_evict: plans new numbers for all inodes above a limit; see regroup.c.
 * Moves of directories are planned before moves of files, so that files can
 * follow their directories into another group.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "regroup_work.h"
#include "windows.h"

struct eviction {
	struct regroup *r;
	ext2_ino_t limit;
	ext2_ino_t next;		/* no inode before @next is free */
	size_t n_dirs; /* number of planned moves of directories */
	/* inodes above @limit for which no new number is planned yet */
	ext2fs_inode_bitmap left;
};

errcode_t e4l_regroup_has_above(struct e4l *e, ext2_ino_t limit, bool *any)
{
	ext2_ino_t last = e->fs->super->s_inodes_count, ino;
	errcode_t err = 0;

	*any = false;
	if (!e->fs->inode_map)
		err = ext2fs_read_inode_bitmap(e->fs);
	if (err)
		return e4l_fail(e, err, "reading the inode bitmaps", 0, 0);
	*any = limit < last &&
	       !ext2fs_find_first_set_inode_bitmap2(e->fs->inode_map,
						    limit + 1, last, &ino);
	return 0;
}

static errcode_t must_stay(struct eviction *v, ext2_ino_t ino)
{
	return e4l_fail(v->r->e, E4L_ET_SHRINK_NUMBER, "renumbering an inode",
			ino, 0);
}

/*
 * Finds a free inode up to v->limit, and sets *@to to its number.  Tries the
 * inodes of @near's group, from @near on, and then all inodes.
 */
static errcode_t find_target(struct eviction *v, ext2_ino_t near,
			     ext2_ino_t *to)
{
	ext2_filsys fs = v->r->e->fs;
	uint32_t per_group = fs->super->s_inodes_per_group;
	ext2_ino_t first = (near - 1) / per_group * per_group + 1;

	*to = near > v->limit ? 0 :
	      e4l_inode_free_in(fs, v->r->map, near, first + per_group);
	if (!*to) {
		*to = e4l_inode_free_in(fs, v->r->map, v->next, v->limit + 1);
		v->next = *to;
	}
	return *to ? 0 : e4l_fail(v->r->e, ENOSPC, "renumbering an inode", 0,
				  0);
}

static errcode_t add_move(struct eviction *v, struct e4l_inode_move *move,
			  ext2_ino_t near)
{
	struct regroup *r = v->r;
	errcode_t err = e4l_grow(&r->moves, r->n_moves, sizeof(*r->moves));

	if (!err)
		err = e4l_grow(&r->groups, r->n_groups, sizeof(*r->groups));
	if (!err && e4l_numbers_why(r->numbers, move->from))
		err = must_stay(v, move->from);
	if (!err)
		err = find_target(v, near, &move->to);
	if (err)
		return err;
	move->first = move->from;
	r->moves[r->n_moves++] = *move;
	r->groups[r->n_groups++] = (struct group) { .end = r->n_moves };
	ext2fs_mark_inode_bitmap2(r->map, move->to);
	ext2fs_unmark_inode_bitmap2(v->left, move->from);
	return 0;
}

/*
 * Returns the inode number that directory @dir has after the planned moves.
 * The first v->n_dirs moves are those of directories, sorted by the old inode
 * number.
 */
static ext2_ino_t number_of(const struct eviction *v, uint32_t dir)
{
	ext2_ino_t ino = map_of(v->r, dir)->ino;
	const struct e4l_inode_move *move = NULL;

	if (v->n_dirs)
		move = bsearch(&ino, v->r->moves, v->n_dirs, sizeof(*move),
			       e4l_u32_cmp);
	return move ? move->to : ino;
}

static errcode_t plan_dir(struct eviction *v, uint32_t dir)
{
	const struct e4l_named_dir *d = &v->r->g.dirs[dir];
	struct e4l_inode_move move = { .from = d->map.ino, .self = dir };
	errcode_t err;

	if (d->map.ino <= v->limit)
		return 0;
	if (e4l_regroup_dir_fixed(v->r, dir))
		return must_stay(v, d->map.ino);
	err = add_move(v, &move, number_of(v, d->parent));
	v->n_dirs += !err;
	return err;
}

static errcode_t collect_entry(struct regroup *r, uint32_t dir,
			       const struct e4l_dirent *entry, uint32_t lblk)
{
	errcode_t err;

	if (entry->ino <= r->evict_limit ||
	    e4l_regroup_find(r, entry->ino) != E4L_NO_DIR)
		return 0;
	err = e4l_grow(&r->m, r->n_m, sizeof(*r->m));
	if (!err)
		r->m[r->n_m++] = (struct member) {
			.ino = entry->ino, .lblk = lblk,
		};
	(void)dir;
	return err;
}

/* Plans the moves of the files in directory @dir. */
static errcode_t plan_files(struct eviction *v, uint32_t dir)
{
	struct regroup *r = v->r;
	ext2_ino_t near = number_of(v, dir);
	errcode_t err;
	size_t i;

	r->n_m = 0;
	err = e4l_regroup_read(r, dir, collect_entry);
	for (i = 0; i < r->n_m && !err; i++) {
		struct e4l_inode_move move = {
			.from = r->m[i].ino, .self = E4L_NO_DIR,
			.dir = dir, .lblk = r->m[i].lblk,
		};

		/* a file with several names is planned only once */
		if (!ext2fs_test_inode_bitmap2(v->left, move.from))
			continue;
		err = add_move(v, &move, near);
	}
	return err;
}

/* Marks all used inodes above the limit in v->left. */
static errcode_t begin(struct eviction *v)
{
	ext2_filsys fs = v->r->e->fs;
	ext2_ino_t last = fs->super->s_inodes_count, ino = v->limit;
	errcode_t err = ext2fs_allocate_inode_bitmap(fs, "evicted inodes",
						     &v->left);

	while (!err && ino < last &&
	       !ext2fs_find_first_set_inode_bitmap2(fs->inode_map, ino + 1,
						    last, &ino))
		ext2fs_mark_inode_bitmap2(v->left, ino);
	return err;
}

/*
 * Checks that each inode above v->limit has a planned number.  An inode that is
 * in no directory cannot get a new number.
 */
static errcode_t check_left(struct eviction *v)
{
	ext2_ino_t last = v->r->e->fs->super->s_inodes_count, ino;

	if (ext2fs_find_first_set_inode_bitmap2(v->left, v->limit + 1, last,
						&ino))
		return 0;
	return must_stay(v, ino);
}

/* ------------------------------------------------------------- inode tables */

/*
 * Zeroes inodes of @group's inode table: from index @used on, up to the end of
 * the block that contains index @end - 1.  According to the group descriptor,
 * these inodes are not in use.
 */
static errcode_t zero_table(struct regroup *r, dgrp_t group, uint32_t used,
			    uint32_t end, char *buf)
{
	ext2_filsys fs = r->e->fs;
	blk64_t table = ext2fs_inode_table_loc(fs, group);
	uint32_t blk = used / r->per_block, part = used % r->per_block;
	errcode_t err = 0;

	for (; blk * r->per_block < end && !err; blk++, part = 0) {
		size_t from = (size_t)part * EXT2_INODE_SIZE(fs->super);

		if (part)
			err = e4l_read(r->e, table + blk, 1, buf);
		memset(buf + from, 0, fs->blocksize - from);
		if (!err)
			err = e4l_write(r->e, table + blk, 1, buf);
	}
	return err ? e4l_fail_group(r->e, err, "zeroing the inode table",
				    group, table + blk) : 0;
}

/*
 * Returns the number of inodes at the start of @group's inode table that may be
 * in use.  The inode table beyond may contain garbage.
 */
static uint32_t table_used(ext2_filsys fs, dgrp_t group)
{
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint32_t unused = ext2fs_bg_itable_unused(fs, group);

	if (!ext2fs_has_group_desc_csum(fs) ||
	    ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_ZEROED))
		return per_group;
	if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT) ||
	    unused > per_group)
		return 0;
	return per_group - unused;
}

errcode_t e4l_regroup_zero_tables(struct regroup *r, struct e4l_journal *j)
{
	ext2_filsys fs = r->e->fs;
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint32_t *end = calloc(fs->group_desc_count, sizeof(*end));
	char *buf = malloc(fs->blocksize);
	errcode_t err = end && buf ? 0 : ENOMEM;
	dgrp_t group;
	size_t i;

	for (i = 0; i < r->n_moves && !err; i++) {
		uint32_t index = (r->moves[i].to - 1) % per_group;

		group = (r->moves[i].to - 1) / per_group;
		if (end[group] <= index)
			end[group] = index + 1;
	}
	for (group = 0; group < fs->group_desc_count && !err; group++) {
		if (table_used(fs, group) >= end[group])
			continue;
		/*
		 * stop if a kernel has mounted the image, because the kernel
		 * may use the inode table
		 */
		err = e4l_journal_check(j);
		if (!err)
			err = zero_table(r, group, table_used(fs, group),
					 end[group], buf);
	}
	free(end);
	free(buf);
	return err;
}

errcode_t e4l_regroup_evict(struct regroup *r, ext2_ino_t limit)
{
	struct eviction v = { .r = r, .limit = limit, .next = 1 };
	errcode_t err = e4l_regroup_start_plan(r);
	uint32_t i;

	r->evict_limit = limit;
	if (!err && r->names_cut)
		err = ENOMEM;
	if (!err)
		err = begin(&v);
	for (i = 0; i < r->g.n_dirs && !err; i++)
		err = plan_dir(&v, i);
	for (i = 0; i < r->g.n_dirs && !err; i++)
		err = plan_files(&v, i);
	if (!err)
		err = check_left(&v);
	if (v.left)
		ext2fs_free_inode_bitmap(v.left);
	r->result->inodes_planned = r->n_moves;
	return err;
}
