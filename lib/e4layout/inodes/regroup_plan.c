/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup_plan: plans the moves of inodes; see regroup.c. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "regroup_work.h"
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "e4layout/format/format.h"
#include "windows.h"

#define MAX_ROUNDS	8
/*
 * If files of a directory have names in other directories, these other
 * directories are read.  Limits: MAX_OTHERS directories, and MAX_OTHERS times
 * as many blocks as the directory has.
 */
#define MAX_OTHERS	64
/* largest number of consecutive free inodes that free_beside() counts */
#define MANY		256

/* ---------------------------------------------------- planned inode numbers */

static struct renamed *renamed_slot(const struct regroup *r, ext2_ino_t from)
{
	size_t i = from * 2654435761u & r->renamed_mask;

	while (r->renamed[i].from && r->renamed[i].from != from)
		i = (i + 1) & r->renamed_mask;
	return &r->renamed[i];
}

static errcode_t reserve_renamed(struct regroup *r, size_t more)
{
	struct renamed *old = r->renamed;
	size_t n = old ? r->renamed_mask + 1 : 0, room = n ? n : 1024, i;

	while ((r->n_renamed + more) * 2 > room)
		room *= 2;
	if (room == n)
		return 0;
	r->renamed = calloc(room, sizeof(*r->renamed));
	if (!r->renamed) {
		r->renamed = old;
		return ENOMEM;
	}
	r->renamed_mask = room - 1;
	for (i = 0; i < n; i++)
		if (old[i].from)
			*renamed_slot(r, old[i].from) = old[i];
	free(old);
	return 0;
}

ext2_ino_t e4l_regroup_number_of(const struct regroup *r, ext2_ino_t ino)
{
	const struct renamed *s = r->renamed ? renamed_slot(r, ino) : NULL;

	return s && s->from ? s->to : ino;
}

static void set_number(struct regroup *r, ext2_ino_t from, ext2_ino_t to)
{
	*renamed_slot(r, from) = (struct renamed) { from, to };
	r->n_renamed++;
}

/*
 * Undoes the last call of set_number(), which must have set the number of
 * @from.
 */
static void unset_number(struct regroup *r, ext2_ino_t from)
{
	*renamed_slot(r, from) = (struct renamed) { 0 };
	r->n_renamed--;
}

/* --------------------------------------------------- members of a directory */

static enum e4l_skip why_fixed(const struct regroup *r, ext2_ino_t ino,
			     bool no_links)
{
	enum e4l_skip why = e4l_numbers_why(r->numbers, ino);

	if (why)
		return why;
	if (!e4l_regroup_is_asked(r, ino))
		return E4L_SKIP_NOT_SELECTED;
	if (e4l_regroup_number_of(r, ino) != ino)
		return E4L_SKIP_LINKS;
	return (no_links || r->names_cut) && e4l_regroup_is_linked(r, ino) ?
	       E4L_SKIP_LINKS : E4L_SKIP_NONE;
}

static errcode_t add_member(struct regroup *r, ext2_ino_t ino, uint32_t hash,
			    uint32_t lblk)
{
	errcode_t err = e4l_grow(&r->m, r->n_m, sizeof(*r->m));

	if (err)
		return err;
	r->m[r->n_m] = (struct member) {
		.ino = ino, .hash = hash, .nth = r->n_m, .lblk = lblk,
		.to = e4l_regroup_number_of(r, ino),
	};
	r->n_m++;
	return 0;
}

static errcode_t learn_member(struct regroup *r, uint32_t dir,
			      const struct e4l_dirent *entry, uint32_t lblk)
{
	const struct e4l_dir_map *map = map_of(r, dir);
	const struct ext2_super_block *sb = r->e->fs->super;
	ext2_dirhash_t hash = 0;

	if (e4l_regroup_find(r, entry->ino) != E4L_NO_DIR)
		return 0;
	if (map->flags & EXT2_INDEX_FL &&
	    ext2fs_dirhash2(hash_version_of(sb, sb->s_def_hash_version),
			    entry->name, entry->name_len, r->e->fs->encoding,
			    map->flags & EXT4_CASEFOLD_FL, sb->s_hash_seed,
			    &hash, NULL))
		hash = 0;
	/* set bit 0, because hash 0 means the directory's own inode */
	return add_member(r, entry->ino, hash | 1, lblk);
}

/*
 * Returns the reason why directory @nr must keep its inode number, or
 * E4L_SKIP_NONE.  If the directory gets a new number, its blocks and the ".."
 * entries of its subdirectories change.  All changed blocks must fit in one
 * transaction.
 */
enum e4l_skip e4l_regroup_dir_fixed(const struct regroup *r, uint32_t nr)
{
	const struct e4l_named_dir *dir = &r->g.dirs[nr];
	const struct e4l_inode_move move = {
		.from = dir->map.ino, .first = dir->map.ino, .self = nr,
	};

	if (dir->parent == E4L_NO_DIR)
		return E4L_SKIP_OWN_INODES;
	return e4l_move_cost(&r->g, &move) + dir->map.n_tree > r->room ?
	       E4L_SKIP_JOURNAL : E4L_SKIP_NONE;
}

/*
 * Lists the inodes that should be close to each other: the inode of the current
 * directory, and the files in the directory.  A file with several names in the
 * directory is listed once.
 */
static errcode_t learn_members(struct regroup *r)
{
	size_t i, n = 0;
	errcode_t err;

	r->n_m = 0;
	err = add_member(r, map_of(r, r->dir)->ino, 0, 0);
	if (!err)
		err = e4l_regroup_read(r, r->dir, learn_member);
	if (err)
		return err;
	qsort(r->m, r->n_m, sizeof(*r->m), e4l_u32_cmp);
	for (i = 0; i < r->n_m; i++)
		if (!i || r->m[i].ino != r->m[i - 1].ino)
			r->m[n++] = r->m[i];
	r->n_m = n;
	return 0;
}

/*
 * For each inode in r->m, sets the member why to the reason why the inode must
 * not move, or to E4L_SKIP_NONE.  If @no_links is true, inodes with several
 * names must not move.
 */
static void judge_members(struct regroup *r, bool no_links)
{
	struct member *m;

	for (m = r->m; m < r->m + r->n_m; m++) {
		m->to = e4l_regroup_number_of(r, m->ino);
		m->why = why_fixed(r, m->ino, no_links);
		if (!m->why && m->ino == map_of(r, r->dir)->ino)
			m->why = e4l_regroup_dir_fixed(r, r->dir);
	}
}

/* ----------------------------------------------------- table blocks to keep */

static int by_number(const void *va, const void *vb)
{
	return e4l_u32_cmp(&((const struct member *)va)->to,
			   &((const struct member *)vb)->to);
}

uint16_t e4l_regroup_count_free(const struct regroup *r, uint32_t nr)
{
	ext2_ino_t first = nr * r->per_block + 1, end = first + r->per_block;
	uint16_t n = 0;

	while ((first = e4l_inode_free_in(r->e->fs, r->map, first, end))) {
		first++;
		n++;
	}
	return n;
}

/* Lists the inode-table blocks that contain inodes of the current directory. */
static errcode_t learn_blocks(struct regroup *r)
{
	const struct member *m;
	errcode_t err;

	r->n_tb = 0;
	qsort(r->m, r->n_m, sizeof(*r->m), by_number);
	for (m = r->m; m < r->m + r->n_m; m++) {
		uint32_t nr = block_of(r, m->to);

		if (!r->n_tb || r->tb[r->n_tb - 1].nr != nr) {
			err = e4l_grow(&r->tb, r->n_tb, sizeof(*r->tb));
			if (err)
				return err;
			r->tb[r->n_tb++] = (struct tblock) {
				.nr = nr, .free = e4l_regroup_count_free(r, nr),
			};
		}
		r->tb[r->n_tb - 1].own++;
		r->tb[r->n_tb - 1].fixed += m->why != E4L_SKIP_NONE;
	}
	return 0;
}

static uint32_t room_in(const struct tblock *b)
{
	return b->own + b->free;
}

/*
 * Returns whether the current directory should keep its inodes in block @b.  No
 * other directory may have inodes in the block.  Unless r->thrifty is set,
 * inodes of the directory must fill at least half of the block, or the block
 * must hold at least half of the directory's inodes.
 */
static bool is_good(const struct regroup *r, const struct tblock *b)
{
	uint32_t most = r->n_m < r->per_block ? r->n_m : r->per_block;

	return room_in(b) == r->per_block &&
	       (r->thrifty || b->own * 2 >= most);
}

/*
 * Sorts the inode-table blocks that hold inodes of the current directory, best
 * blocks first, by the following criteria:
 *  1. the block has inodes of the directory that must not move;
 *  2. the block satisfies is_good();
 *  3. the number of inodes of the directory that the block can hold;
 *  4. the number of inodes of the directory that the block holds.
 */
static int by_worth(const void *va, const void *vb)
{
	const struct tblock *a = va, *b = vb;

	if (!a->fixed != !b->fixed)
		return a->fixed ? -1 : 1;
	if (a->good != b->good)
		return a->good ? -1 : 1;
	if (room_in(a) != room_in(b))
		return room_in(a) > room_in(b) ? -1 : 1;
	if (a->own != b->own)
		return a->own > b->own ? -1 : 1;
	return e4l_u32_cmp(&a->nr, &b->nr);
}

static errcode_t add_target(struct regroup *r, ext2_ino_t ino)
{
	errcode_t err = e4l_grow(&r->targets, r->n_targets,
				 sizeof(*r->targets));

	if (err)
		return err;
	r->targets[r->n_targets++] = ino;
	ext2fs_mark_inode_bitmap2(r->map, ino);
	return 0;
}

/*
 * Returns the number of consecutive free inodes around inode @ino, including
 * @ino.  If the number is MANY or more, returns UINT32_MAX.
 */
static uint32_t free_beside(const struct regroup *r, ext2_ino_t ino)
{
	ext2_ino_t last = r->e->fs->super->s_inodes_count, i;
	uint32_t n = 0;

	for (i = ino; n < MANY && i && i <= last &&
	     !ext2fs_test_inode_bitmap2(r->map, i); i++)
		n++;
	for (i = ino - 1; n < MANY && i &&
	     !ext2fs_test_inode_bitmap2(r->map, i); i--)
		n++;
	return n < MANY ? n : UINT32_MAX;
}

static void widen(uint32_t *narrow, uint32_t run)
{
	if (*narrow <= run)
		*narrow = run < UINT32_MAX ? run + 1 : run;
}

/*
 * Marks inode @ino as free.  If longer ranges of free inodes may exist now,
 * raises r->narrow and r->narrowest.
 */
static void free_number(struct regroup *r, ext2_ino_t ino)
{
	dgrp_t group = ext2fs_group_of_ino(r->e->fs, ino);
	uint32_t run;

	ext2fs_unmark_inode_bitmap2(r->map, ino);
	run = free_beside(r, ino);
	widen(&r->narrow[0][group], run);
	widen(&r->narrow[1][group], run);
	widen(&r->narrowest, run);
}

/*
 * Keeps the directory's inodes in block @b.  Reserves the free inodes of the
 * block for inodes from other blocks.  Subtracts from *@left the number of
 * inodes for which the block has space.
 */
static errcode_t keep_block(struct regroup *r, struct tblock *b, uint32_t *left)
{
	ext2_ino_t first = b->nr * r->per_block + 1;
	ext2_ino_t end = first + r->per_block;
	errcode_t err = 0;

	b->keep = true;
	*left -= *left < room_in(b) ? *left : room_in(b);
	while (!err &&
	       (first = e4l_inode_free_in(r->e->fs, r->map, first, end)))
		err = add_target(r, first);
	return err;
}

/* --------------------------------------------------- windows of free inodes */

static ext2_ino_t window_in_group(struct regroup *r, dgrp_t group, uint32_t n,
				  bool ahead)
{
	uint32_t per_group = r->e->fs->super->s_inodes_per_group;
	uint64_t first = (uint64_t)group * per_group + 1;
	ext2_ino_t ino;

	if (n >= r->narrow[ahead][group])
		return 0;
	ino = e4l_inode_window(r->e->fs, r->map, first, first + per_group, n,
			       ahead);
	if (!ino)
		r->narrow[ahead][group] = n;
	return ino;
}

/*
 * Searches all groups, beginning with the directory's group, for @n consecutive
 * free inodes.  Within a group, prefers inodes that Linux reads with the fewest
 * requests.  If there are no @n consecutive free inodes, returns 0.
 */
static ext2_ino_t find_window(struct regroup *r, uint32_t n)
{
	dgrp_t groups = r->e->fs->group_desc_count, i;
	dgrp_t own = ext2fs_group_of_ino(r->e->fs, map_of(r, r->dir)->ino);
	ext2_ino_t ino = 0;

	if (n >= r->narrowest)
		return 0;
	for (i = 0; i < groups && !ino; i++) {
		ino = window_in_group(r, (own + i) % groups, n, true);
		if (!ino)
			ino = window_in_group(r, (own + i) % groups, n, false);
	}
	if (!ino)
		r->narrowest = n;
	return ino;
}

/*
 * Finds a block for the last @n inodes of the current directory in r->tb, from
 * index @first on.  Blocks whose member keep is true are not used.  Of the
 * blocks with space for @n inodes, returns the block with the most inodes of
 * the directory.  If no block has space, or if r->thrifty is false, returns
 * NULL.
 */
static struct tblock *find_tail(struct regroup *r, size_t first, uint32_t n)
{
	struct tblock *best = NULL, *b;

	if (!r->thrifty)
		return NULL;
	for (b = r->tb + first; n && b < r->tb + r->n_tb; b++)
		if (!b->keep && room_in(b) >= n &&
		    (!best || b->own > best->own))
			best = b;
	return best;
}

/*
 * Returns the first element of r->tb, from index @first on, whose member keep
 * is false.  If there is no such element, returns NULL.
 */
static struct tblock *find_rest(struct regroup *r, size_t first)
{
	for (; first < r->n_tb; first++)
		if (!r->tb[first].keep)
			return &r->tb[first];
	return NULL;
}

static errcode_t take_window(struct regroup *r, uint32_t *left, bool *found)
{
	uint32_t n = *left, i;
	ext2_ino_t first = find_window(r, n);
	errcode_t err = 0;

	while (!first && n > r->per_block) {
		n = (n / 2 + r->per_block - 1) / r->per_block * r->per_block;
		first = find_window(r, n);
	}
	*found = first;
	for (i = 0; first && i < n && !err; i++)
		err = add_target(r, first + i);
	if (first)
		*left -= n < *left ? n : *left;
	return err;
}

/*
 * Reserves free inodes for @left inodes of the current directory, if possible
 * in windows (ranges of free inodes).  If there is no window, or if one block
 * suffices for the last inodes, keep_block() keeps a block of the directory,
 * from r->tb[first] on.  If too few inodes are free, sets *@enough to false.
 */
static errcode_t take_windows(struct regroup *r, size_t first, uint32_t left,
			      bool *enough)
{
	errcode_t err = 0;
	struct tblock *b;
	bool found;

	*enough = true;
	while (left && !err) {
		uint32_t tail = left % r->per_block;

		b = find_tail(r, first, tail);
		if (b) {
			left -= tail;
			err = keep_block(r, b, &tail);
			continue;
		}
		err = take_window(r, &left, &found);
		if (err || found)
			continue;
		b = find_rest(r, first);
		*enough = b;
		if (!b)
			break;
		err = keep_block(r, b, &left);
	}
	return err;
}

/*
 * Returns how many of the directory's inode-table blocks, from index @first on,
 * are needed to hold @left inodes.  If all these blocks together are too small,
 * returns SIZE_MAX.
 */
static size_t own_needed(const struct regroup *r, size_t first, uint32_t left)
{
	size_t i;

	for (i = first; left && i < r->n_tb; i++)
		left -= left < room_in(&r->tb[i]) ? left : room_in(&r->tb[i]);
	return left ? SIZE_MAX : i - first;
}

/*
 * Chooses the blocks in which the directory's inodes stay, and reserves free
 * inodes for the directory's other inodes.  If too few inodes are free, sets
 * *@enough to false.
 */
static errcode_t choose(struct regroup *r, bool *enough)
{
	uint32_t left = r->n_m;
	uint32_t fresh;
	size_t i, own;
	errcode_t err = 0;

	*enough = true;
	r->n_targets = 0;
	for (i = 0; i < r->n_tb; i++)
		r->tb[i].good = is_good(r, &r->tb[i]);
	qsort(r->tb, r->n_tb, sizeof(*r->tb), by_worth);
	for (i = 0; i < r->n_tb && !err; i++) {
		struct tblock *b = &r->tb[i];

		if (!b->fixed && (!left || !b->good))
			break;
		err = keep_block(r, b, &left);
	}
	if (err || !left)
		return err;
	own = own_needed(r, i, left);
	fresh = (left + r->per_block - 1) / r->per_block;
	if (own > fresh || (own == fresh && !r->thrifty))
		return take_windows(r, i, left, enough);
	for (; own && !err; own--, i++)
		err = keep_block(r, &r->tb[i], &left);
	return err;
}

/* ---------------------------------------------------------- members to move */

static int by_order(const void *va, const void *vb)
{
	const struct member *a = va, *b = vb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return e4l_u32_cmp(&a->nth, &b->nth);
}

static int by_nr(const void *va, const void *vb)
{
	return e4l_u32_cmp(&((const struct tblock *)va)->nr,
			   &((const struct tblock *)vb)->nr);
}

static bool is_kept(const struct regroup *r, ext2_ino_t ino)
{
	struct tblock key = { .nr = block_of(r, ino) };
	const struct tblock *b = bsearch(&key, r->tb, r->n_tb, sizeof(*b),
					 by_nr);

	return b && b->keep;
}

/*
 * Assigns a new number from r->targets to each moving inode, and frees the
 * remaining numbers in r->targets.  Sets *@moving to the number of moving
 * inodes.
 */
static errcode_t assign(struct regroup *r, size_t *moving)
{
	size_t used = 0;
	struct member *m;
	errcode_t err = reserve_renamed(r, r->n_m);

	if (err)
		return err;
	qsort(r->m, r->n_m, sizeof(*r->m), by_order);
	qsort(r->tb, r->n_tb, sizeof(*r->tb), by_nr);
	e4l_sort(r->targets, r->n_targets, sizeof(*r->targets),
		 e4l_u32_cmp);
	for (m = r->m; m < r->m + r->n_m; m++) {
		if (m->why || is_kept(r, m->to) || used == r->n_targets)
			continue;
		m->to = r->targets[used++];
		set_number(r, m->ino, m->to);
	}
	*moving = used;
	while (r->n_targets > used)
		free_number(r, r->targets[--r->n_targets]);
	return 0;
}

static bool moves(const struct member *m)
{
	return !m->why && m->to != m->ino;
}

/* Undoes assign(), and frees all inode numbers in r->targets. */
static void take_back(struct regroup *r)
{
	struct member *m;

	for (m = r->m + r->n_m; m-- > r->m; )
		if (moves(m))
			unset_number(r, m->ino);
	while (r->n_targets)
		free_number(r, r->targets[--r->n_targets]);
}

static uint32_t count_blocks(struct regroup *r)
{
	return e4l_count_locality(r->e->fs, 0, r->inos, r->n_inos).itable_blocks;
}

static errcode_t own_blocks(struct regroup *r, uint32_t *blocks)
{
	const struct member *m;
	errcode_t err = 0;

	r->n_inos = 0;
	for (m = r->m; m < r->m + r->n_m && !err; m++)
		err = e4l_regroup_add_ino(r, m->to);
	*blocks = err ? 0 : count_blocks(r);
	return err;
}

/* -------------------------------------- directories that share table blocks */

static errcode_t add_other(struct regroup *r, uint32_t dir,
			   const struct e4l_dirent *entry, uint32_t lblk)
{
	(void)dir, (void)lblk;
	return e4l_regroup_find(r, entry->ino) != E4L_NO_DIR ? 0 :
	       e4l_regroup_add_ino(r, e4l_regroup_number_of(r, entry->ino));
}

struct other {
	uint32_t dir, blocks;
};

/*
 * Lists in @v the other directories that contain names of the files that move,
 * and sets *@n to their number.  If there are more than MAX_OTHERS directories,
 * or if these directories have too many blocks, returns false.
 */
static bool find_others(const struct regroup *r, struct other *v, size_t *n)
{
	uint64_t left = 1 + (uint64_t)map_of(r, r->dir)->blocks, blocks;
	const struct e4l_name *name;
	const struct member *m;
	size_t names, i;

	*n = 0;
	left *= MAX_OTHERS;
	for (m = r->m; m < r->m + r->n_m; m++) {
		if (!moves(m) || m->ino == map_of(r, r->dir)->ino)
			continue;
		name = e4l_names_of(&r->g, m->ino, &names);
		for (; names; names--, name++) {
			for (i = 0; i < *n && v[i].dir != name->dir; i++)
				;
			if (i < *n || name->dir == r->dir)
				continue;
			blocks = map_of(r, name->dir)->blocks;
			if (*n == MAX_OTHERS || blocks > left)
				return false;
			left -= blocks;
			v[(*n)++].dir = name->dir;
		}
	}
	return true;
}

/*
 * Checks other directories that contain names of the moved files.  If none of
 * these directories needs more inode-table blocks after the moves, sets *@fair
 * to true, updates r->fates, and sets *@saved to the number of inode-table
 * blocks that the selected directories among them save.  Otherwise, or if too
 * many blocks would have to be read, sets *@fair to false.
 */
static errcode_t weigh_others(struct regroup *r, bool *fair, uint32_t *saved)
{
	struct other v[MAX_OTHERS];
	errcode_t err = 0;
	size_t n, i;

	*saved = 0;
	*fair = find_others(r, v, &n);
	for (i = 0; *fair && i < n && !err; i++) {
		r->n_inos = 0;
		err = e4l_regroup_add_ino(r, e4l_regroup_number_of(r, map_of(r,
							v[i].dir)->ino));
		if (!err)
			err = e4l_regroup_read(r, v[i].dir, add_other);
		if (err)
			break;
		v[i].blocks = count_blocks(r);
		*fair = v[i].blocks <= r->fates[v[i].dir].blocks;
	}
	for (i = 0; *fair && !err && i < n; i++) {
		if (r->fates[v[i].dir].wanted)
			*saved += r->fates[v[i].dir].blocks - v[i].blocks;
		r->fates[v[i].dir].blocks = v[i].blocks;
	}
	return err;
}

/* ------------------------------------------------------------ planned moves */

static errcode_t add_move(struct regroup *r, const struct member *m)
{
	bool self = m->ino == map_of(r, r->dir)->ino;
	errcode_t err = e4l_grow(&r->moves, r->n_moves, sizeof(*r->moves));

	if (err)
		return err;
	r->moves[r->n_moves++] = (struct e4l_inode_move) {
		.from = m->ino, .to = m->to, .first = m->ino,
		.self = self ? r->dir : E4L_NO_DIR,
		.dir = r->dir, .lblk = m->lblk,
	};
	free_number(r, m->ino);
	return 0;
}

struct group e4l_regroup_last_group(const struct regroup *r)
{
	return r->n_groups ? r->groups[r->n_groups - 1] :
			     (struct group) { .end = 0 };
}

/*
 * Adds the moves of the inodes of directory r->dir to the plan, as one group.
 * @blocks is the number of inode-table blocks that the directory needs after
 * the moves, and @saved is the number of blocks that other directories save.
 */
static errcode_t accept(struct regroup *r, uint32_t blocks, uint32_t saved)
{
	struct group last;
	struct fate *fate = &r->fates[r->dir];
	const struct member *m;
	errcode_t err = e4l_grow(&r->groups, r->n_groups, sizeof(*r->groups));

	for (m = r->m; m < r->m + r->n_m && !err; m++)
		if (moves(m))
			err = add_move(r, m);
	if (err)
		return err;
	last = e4l_regroup_last_group(r);
	r->groups[r->n_groups++] = (struct group) {
		.end = r->n_moves, .dirs = last.dirs + 1,
		.saved = last.saved + saved + fate->blocks - blocks,
	};
	fate->blocks = blocks;
	fate->planned = true;
	fate->why = E4L_SKIP_NONE;
	r->result->dirs_planned++;
	return 0;
}

/*
 * Returns the reason why moves would not reduce the directory's number of
 * blocks.
 */
static enum e4l_skip why_nothing(const struct regroup *r)
{
	const struct member *m;

	for (m = r->m; m < r->m + r->n_m; m++)
		if (m->why && m->why != E4L_SKIP_OWN_INODES)
			return m->why;
	return E4L_SKIP_NO_INODES;
}

/*
 * Plans the moves of the current directory's inodes.  If @no_links is true,
 * inodes with several names are not moved.  If moves were added to the plan,
 * sets *@why to E4L_SKIP_NONE; otherwise, sets *@why to the reason.
 */
static errcode_t try_dir(struct regroup *r, bool no_links, enum e4l_skip *why)
{
	uint32_t had = r->fates[r->dir].blocks, blocks = had, saved = 0;
	bool enough, fair = true;
	size_t moving = 0;
	errcode_t err;

	judge_members(r, no_links);
	err = learn_blocks(r);
	if (!err)
		err = choose(r, &enough);
	if (!err)
		err = assign(r, &moving);
	if (!err)
		err = own_blocks(r, &blocks);
	*why = E4L_SKIP_NONE;
	if (!err && blocks >= had)
		*why = why_nothing(r);
	else if (!err && moving > (uint64_t)(had - blocks) * r->per_block)
		*why = E4L_SKIP_NOT_WORTH;
	if (!err && !*why)
		err = weigh_others(r, &fair, &saved);
	if (!err && !*why && !fair)
		*why = E4L_SKIP_LINKS;
	if (!err && !*why)
		return accept(r, blocks, saved);
	take_back(r);
	return err;
}

/*
 * Plans moves of the directory's inodes to windows (ranges of free inodes).  If
 * the moves are impossible or not worthwhile, plans moves to free inodes in
 * blocks that already hold inodes of the directory.  If @no_links is true,
 * inodes with several names do not move.  Sets *@why like try_dir().
 */
static errcode_t try_both(struct regroup *r, bool no_links, enum e4l_skip *why)
{
	errcode_t err;

	r->thrifty = false;
	err = try_dir(r, no_links, why);
	if (err || !*why)
		return err;
	r->thrifty = true;
	return try_dir(r, no_links, why);
}

static errcode_t plan_dir(struct regroup *r, uint32_t dir)
{
	enum e4l_skip why = E4L_SKIP_MEMORY;
	errcode_t err = 0;

	r->dir = dir;
	if (r->n_moves < e4l_regroup_mem(r) / 2 / E4L_MOVE_BYTES) {
		err = learn_members(r);
		if (!err)
			err = try_both(r, false, &why);
		if (!err && why == E4L_SKIP_LINKS)
			err = try_both(r, true, &why);
	}
	r->fates[dir].why = why;
	return err;
}

/* ------------------------------------------------------------------ 3. plan */

/*
 * Counts a call in r->asked, and returns whether the planning must end: the
 * callback enough() returns true now or has returned true before.  If r->end_at
 * is not 0, the planning ends with call number r->end_at instead.
 */
static bool is_over(struct regroup *r)
{
	if (!r->over && r->n_groups && ++r->asked)
		r->over = r->end_at ? r->asked == r->end_at :
			  r->run->cb.enough &&
			  r->run->cb.enough(r->run->cb.priv);
	if (r->over)
		r->result->ended_at = r->asked;
	return r->over;
}

static bool is_candidate(const struct fate *f)
{
	return f->wanted && !f->planned && f->blocks > f->ideal;
}

bool e4l_regroup_lacks_room(const struct regroup *r, uint32_t dir)
{
	const struct fate *f = &r->fates[dir];

	return f->wanted && f->blocks > f->ideal &&
	       (f->planned || f->why == E4L_SKIP_NO_INODES || f->why == E4L_SKIP_NOT_WORTH);
}

static errcode_t plan_round(struct regroup *r)
{
	errcode_t err = 0;
	uint32_t i;

	for (i = 0; i < r->g.n_dirs && !err; i++) {
		if (!is_candidate(&r->fates[i]))
			continue;
		if (is_over(r))
			r->fates[i].why = E4L_SKIP_TIME;
		else
			err = should_stop(r) ? E4L_ET_INTERRUPTED :
					       plan_dir(r, i);
	}
	return err;
}

/*
 * Marks all inodes after the initialized part of each inode table as in use in
 * r->map, so that no inode moves to a part that may contain garbage.
 */
static void keep_off_tables(struct regroup *r)
{
	ext2_filsys fs = r->e->fs;
	uint32_t per_group = fs->super->s_inodes_per_group, used;
	ext2_ino_t first;
	dgrp_t g;

	for (g = 0; g < fs->group_desc_count; g++) {
		if (!ext2fs_has_group_desc_csum(fs) ||
		    ext2fs_bg_flags_test(fs, g, EXT2_BG_INODE_ZEROED))
			continue;
		used = per_group - ext2fs_bg_itable_unused(fs, g);
		if (ext2fs_bg_flags_test(fs, g, EXT2_BG_INODE_UNINIT) ||
		    used > per_group)
			used = 0;
		first = g * per_group + 1;
		for (; used < per_group; used++)
			ext2fs_mark_inode_bitmap2(r->map, first + used);
	}
}

errcode_t e4l_regroup_start_plan(struct regroup *r)
{
	ext2_filsys fs = r->e->fs;
	errcode_t err = 0;
	dgrp_t g;

	r->narrow[0] = calloc(fs->group_desc_count, sizeof(**r->narrow));
	r->narrow[1] = calloc(fs->group_desc_count, sizeof(**r->narrow));
	if (!r->narrow[0] || !r->narrow[1])
		return ENOMEM;
	r->narrowest = UINT32_MAX;
	for (g = 0; g < fs->group_desc_count; g++)
		r->narrow[0][g] = r->narrow[1][g] = UINT32_MAX;
	if (!fs->inode_map)
		err = ext2fs_read_inode_bitmap(fs);
	if (!err)
		err = ext2fs_copy_bitmap(fs->inode_map, &r->map);
	if (err)
		return e4l_fail(r->e, err, "reading the inode bitmaps", 0, 0);
	return 0;
}

/* Reports each directory that is skipped, with the reason. */
static void tell_skipped(struct regroup *r)
{
	uint32_t i;

	if (r->quiet)
		return;
	for (i = 0; i < r->g.n_dirs; i++) {
		const struct fate *f = &r->fates[i];

		if (!is_candidate(f) || !f->why)
			continue;
		e4l_run_skip(r->run, E4L_SKIP_INODES, map_of(r, i)->ino, f->why,
			     f->blocks - f->ideal);
	}
}

errcode_t e4l_regroup_plan(struct regroup *r)
{
	struct e4l_regroup_result *result = r->result;
	unsigned int rounds = 0;
	uint64_t before;
	errcode_t err = e4l_regroup_start_plan(r);

	if (!err)
		keep_off_tables(r);
	do {
		before = result->dirs_planned;
		if (!err)
			err = plan_round(r);
	} while (!err && result->dirs_planned > before && !r->over &&
		 ++rounds < MAX_ROUNDS);
	if (!err && !r->over)
		err = e4l_regroup_exchange(r);
	if (err)
		return err;
	tell_skipped(r);
	result->inodes_planned = r->n_moves;
	result->planned_blocks_after = result->blocks_before -
				       e4l_regroup_last_group(r).saved;
	return 0;
}
