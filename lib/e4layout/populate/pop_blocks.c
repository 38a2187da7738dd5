/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Assigns blocks.  Each item takes the first free extent that can hold the
 * whole item, so items are mostly on disk in the order of the calls.  An item
 * can fill the end of an earlier free extent that was too short for previous
 * items.  If the content of a file or directory is larger than every free
 * extent, the content is split into the fewest parts.  Other items are not
 * split.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <e4layout/extents.h>
#include "e4layout/base/array.h"
#include "e4layout/format/tree_size.h"
#include "populate.h"

/* Writing a gap of up to BRIDGE_BYTES costs less than a separate write. */
#define BRIDGE_BYTES (32u << 10)

/* -------------------------------------------------------------- free blocks */

static errcode_t add_run(struct e4l_populate *p, blk64_t first, blk64_t end)
{
	first = (first + p->ratio - 1) / p->ratio * p->ratio;
	end = end / p->ratio * p->ratio;
	if (first >= end)
		return 0;
	if (vec_room(&p->runs, 1))
		return ENOMEM;
	p->runs.v[p->runs.n++] = (struct free_run) {
		.pblk = first, .start = first, .len = end - first,
	};
	return 0;
}

static void set_longest(struct e4l_populate *p, uint32_t run)
{
	uint32_t i = p->leaves + run;

	p->longest[i] = p->runs.v[run].len;
	while (i >>= 1) {
		const uint64_t *pair = &p->longest[2 * i];

		p->longest[i] = pair[0] > pair[1] ? pair[0] : pair[1];
	}
}

errcode_t e4l_pop_load_free(struct e4l_populate *p)
{
	blk64_t at = p->fs->super->s_first_data_block, first, end;
	blk64_t last = ext2fs_blocks_count(p->fs->super) - 1;
	ext2fs_block_bitmap map = p->fs->block_map;
	uint32_t i;

	while (at <= last && !ext2fs_find_first_zero_block_bitmap2(map, at,
							last, &first)) {
		if (ext2fs_find_first_set_block_bitmap2(map, first, last, &end))
			end = last + 1;
		if (add_run(p, first, end))
			return ENOMEM;
		at = end;
	}
	for (p->leaves = 1; p->leaves < p->runs.n; p->leaves *= 2)
		;
	p->longest = e4l_array_zalloc(p->leaves * 2ULL, sizeof(*p->longest));
	if (!p->longest)
		return ENOMEM;
	for (i = 0; i < p->runs.n; i++)
		set_longest(p, i);
	return 0;
}

uint64_t e4l_pop_take(struct e4l_populate *p, uint64_t len,
		      uint64_t *pblk)
{
	struct free_run *run;
	uint32_t i = 1;

	*pblk = 0;
	len = (len + p->ratio - 1) / p->ratio * p->ratio;
	if (len > p->longest[1])
		len = p->longest[1];
	if (!len)
		return 0;
	while (i < p->leaves)
		i = 2 * i + (p->longest[2 * i] < len);
	run = &p->runs.v[i - p->leaves];
	*pblk = run->pblk;
	run->pblk += len;
	run->len -= len;
	p->taken += len;
	set_longest(p, i - p->leaves);
	return len;
}

static errcode_t add_item(struct e4l_populate *p, enum item_kind kind,
			  uint64_t pblk, uint32_t len, uint32_t ref)
{
	if (!len)
		return 0;
	if (vec_room(&p->items, 1))
		return ENOMEM;
	p->items.v[p->items.n++] = (struct item) {
		.pblk = pblk, .kind = kind, .len = len, .ref = ref,
	};
	return 0;
}

/*
 * Assigns @len contiguous blocks to one item, and sets *@pblk to the first
 * block.  If no free extent is large enough, adds no item; p->wanted then
 * exceeds p->taken, and planning fails later.
 */
static errcode_t place(struct e4l_populate *p, enum item_kind kind,
		       uint32_t len, uint32_t ref, uint64_t *pblk)
{
	uint64_t got;

	p->wanted += (len + p->ratio - 1) / p->ratio * p->ratio;
	got = e4l_pop_take(p, len, pblk);
	return got < len ? 0 : add_item(p, kind, *pblk, len, ref);
}

errcode_t e4l_pop_commit_blocks(struct e4l_populate *p)
{
	uint32_t i;

	for (i = 0; i < p->runs.n; i++) {
		struct free_run *run = &p->runs.v[i];

		if (run->pblk > run->start)
			ext2fs_block_alloc_stats_range(p->fs, run->start,
						       run->pblk - run->start,
						       1);
	}
	return 0;
}

/* -------------------------------------- files with holes or several extents */

/* Returns the last run of @map.  If @map has no run yet, returns NULL. */
static struct seg *last_seg(const struct e4l_populate *p, const struct map *map)
{
	return p->segs.n > map->seg ? &p->segs.v[p->segs.n - 1] : NULL;
}

static uint64_t seg_end(const struct seg *s)
{
	return (uint64_t)s->lblk + s->len;
}

/*
 * Whether @next extends @s.  If @next has no blocks yet (pblk is 0), compares
 * only the logical blocks.
 */
static bool extends(const struct seg *s, const struct seg *next)
{
	return seg_end(s) == next->lblk && s->unwritten == next->unwritten &&
	       (!next->pblk || s->pblk + s->len == next->pblk);
}

static errcode_t add_seg(struct e4l_populate *p, const struct map *map,
			 const struct seg *seg)
{
	struct seg *last = last_seg(p, map);

	if (last && extends(last, seg)) {
		last->len += seg->len;
		return 0;
	}
	if (vec_room(&p->segs, 1))
		return ENOMEM;
	p->segs.v[p->segs.n++] = *seg;
	return 0;
}

/*
 * If the last run of @map is unwritten and contains block @first, removes block
 * @first from the run.  The next stretch is written and begins in this block.
 * Therefore the whole block must be written.
 */
static void give_up_shared(struct e4l_populate *p, const struct map *map,
			   uint64_t first)
{
	struct seg *last = last_seg(p, map);

	if (last && last->unwritten && first < seg_end(last) &&
	    --last->len == 0)
		p->segs.n--;
}

static errcode_t cut_stretch(struct e4l_populate *p, const struct map *map,
			     const struct e4l_stretch *stretch)
{
	uint64_t first = stretch->offset / p->bs;
	uint64_t end = blocks_of(p, stretch->offset + stretch->bytes);
	const struct seg *last;
	struct seg seg;

	if (end > FILE_LAST_LBLK + 1ULL)
		return E4L_ET_FILE_TOO_LARGE;
	if (!stretch->unwritten)
		give_up_shared(p, map, first);
	last = last_seg(p, map);
	if (last && first < seg_end(last))
		first = seg_end(last);
	if (first >= end)
		return 0;
	seg = (struct seg) {
		.lblk = first, .len = end - first, .node = map->node,
		.unwritten = stretch->unwritten,
	};
	return add_seg(p, map, &seg);
}

errcode_t e4l_pop_cut_segs(struct e4l_populate *p, uint32_t id)
{
	struct map *map = &p->t->maps.v[p->t->nodes.v[id].map];
	const struct e4l_stretch *stretch = p->t->stretches.v + map->stretch;
	errcode_t err = 0;
	uint32_t i;

	map->seg = p->segs.n;
	map->node = id;
	for (i = 0; i < map->n_stretch && !err; i++)
		err = cut_stretch(p, map, &stretch[i]);
	map->n_seg = p->segs.n - map->seg;
	return err;
}

/* Returns the number of logical clusters that the @n runs @s touch. */
static uint64_t count_clusters(const struct e4l_populate *p,
			       const struct seg *s, uint32_t n)
{
	uint64_t clusters = 0, next = 0, first, end;

	for (; n; n--, s++) {
		first = s->lblk / p->ratio;
		end = ((uint64_t)s->lblk + s->len + p->ratio - 1) / p->ratio;
		if (first < next)
			first = next;
		clusters += end - first;
		next = end;
	}
	return clusters;
}

/* Supplies the blocks of a file, cluster by cluster, in logical order. */
struct supply {
	uint64_t left;		/* number of blocks to allocate */
	/* blocks that are allocated, but not yet assigned to the file */
	uint64_t pblk, len;
	/* last logical cluster that got blocks, plus 1; 0: none yet */
	uint64_t cluster;
	/* first physical block of the last logical cluster that got blocks */
	uint64_t at;
};

/*
 * Assigns physical blocks to the beginning of a run, and sets *@pblk to the
 * first block.  Returns the number of blocks, which are contiguous on disk.  If
 * there is no space, returns 0.
 */
static uint32_t supply(struct e4l_populate *p, struct supply *s, uint32_t lblk,
		       uint32_t len, uint64_t *pblk)
{
	uint32_t in = lblk % p->ratio;
	uint64_t room;

	if (s->cluster == lblk / p->ratio + 1ULL) {
		*pblk = s->at + in;
		room = p->ratio - in;
		return room < len ? room : len;
	}
	if (!s->len) {
		s->len = e4l_pop_take(p, s->left, &s->pblk);
		s->left -= s->len;
	}
	if (!s->len)
		return 0;
	*pblk = s->pblk + in;
	room = s->len - in < len ? s->len - in : len;
	s->cluster = (lblk + room - 1) / p->ratio + 1;
	s->at = (*pblk + room - 1) / p->ratio * p->ratio;
	s->len -= s->at + p->ratio - s->pblk;
	s->pblk = s->at + p->ratio;
	return room;
}

/*
 * Assigns physical blocks to the run @whole.  Splits the run if no free extent
 * can hold the run.  ENOSPC: no block is free.
 */
static errcode_t place_seg(struct e4l_populate *p, const struct map *map,
			   const struct seg *whole, struct supply *s)
{
	struct seg part = *whole;
	errcode_t err = 0;

	for (; part.lblk < seg_end(whole) && !err; part.lblk += part.len) {
		part.len = supply(p, s, part.lblk, seg_end(whole) - part.lblk,
				  &part.pblk);
		err = part.len ? add_seg(p, map, &part) : ENOSPC;
	}
	return err;
}

/* Assigns physical blocks to the runs of @map. */
static errcode_t place_segs(struct e4l_populate *p, struct map *map)
{
	uint32_t n = map->n_seg, i;
	struct supply s = { 0 };
	struct seg *whole;
	errcode_t err = 0;

	whole = e4l_array_alloc(n + 1ULL, sizeof(*whole));
	if (!whole)
		return ENOMEM;
	if (n)
		memcpy(whole, p->segs.v + map->seg, n * sizeof(*whole));
	map->clusters = count_clusters(p, whole, n);
	s.left = map->clusters * p->ratio;
	p->wanted += s.left;
	p->segs.n = map->seg;
	for (i = 0; i < n && !err; i++)
		err = place_seg(p, map, &whole[i], &s);
	map->n_seg = p->segs.n - map->seg;
	free(whole);
	/* there is no space: planning fails later */
	return err == ENOSPC ? 0 : err;
}

/*
 * Whether the unwritten run @i of @map is short, and contiguous on the disk
 * with the written runs before and after.  One write of all three runs, with
 * zeroes for run @i, costs less than two writes.
 */
static bool is_bridge(const struct e4l_populate *p, const struct map *map,
		      uint32_t i)
{
	const struct seg *s = &p->segs.v[map->seg + i];

	return i && i + 1 < map->n_seg && !s[-1].unwritten &&
	       !s[1].unwritten && s->len <= BRIDGE_BYTES / p->bs &&
	       s[-1].pblk + s[-1].len == s->pblk &&
	       s->pblk + s->len == s[1].pblk;
}

static errcode_t place_mapped(struct e4l_populate *p, uint32_t id)
{
	struct map *map = &p->t->maps.v[p->t->nodes.v[id].map];
	errcode_t err = place_segs(p, map);
	uint64_t extents;
	uint32_t i;

	for (i = 0; i < map->n_seg && !err; i++) {
		const struct seg *s = &p->segs.v[map->seg + i];

		if (!s->unwritten || is_bridge(p, map, i))
			err = add_item(p, ITEM_SEG, s->pblk, s->len,
				       map->seg + i);
	}
	if (err)
		return err;
	extents = e4l_pop_extents(p->segs.v + map->seg, map->n_seg);
	map->n_tree = e4l_ideal_tree_blocks(extents, p->bs);
	if (!map->n_tree)
		return 0;
	return place(p, ITEM_TREE, map->n_tree * p->ratio,
		     p->t->nodes.v[id].map, &map->tree_pblk);
}

/* Whether the extents of @len contiguous blocks fit in an inode. */
static bool fits_root(uint64_t len)
{
	return len <= (uint64_t)EXTENT_ROOT_ENTRIES * E4L_WRITTEN_MAX_BLOCKS;
}

/* -------------------------------------------------------------------- items */

/*
 * Assigns blocks to the content of @id.  If one free extent is large enough,
 * and the extents fit in the inode, assigns contiguous blocks.  If the content
 * does not fit, assigns several runs, and stores the runs in the map of the
 * node.
 */
static errcode_t place_whole(struct e4l_populate *p, enum item_kind kind,
			     uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];
	uint64_t len = blocks_of(p, n->size);

	if (len <= p->longest[1] && fits_root(len))
		return place(p, kind, len, id, &n->pblk);
	if (vec_room(&p->t->maps, 1) || vec_room(&p->segs, 1))
		return ENOMEM;
	n->map = p->t->maps.n;
	p->t->maps.v[p->t->maps.n++] = (struct map) {
		.seg = p->segs.n, .n_seg = 1, .node = id,
	};
	p->segs.v[p->segs.n++] = (struct seg) { .len = len, .node = id };
	return place_mapped(p, id);
}

static errcode_t place_file(struct e4l_populate *p, uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];
	errcode_t err;

	if (n->flags & NODE_INLINE)
		return 0;
	if (blocks_of(p, n->size) > FILE_LAST_LBLK + 1ULL)
		return e4l_pop_fail(p, E4L_ET_FILE_TOO_LARGE, "placing a file",
				    id);
	if (!n->map)
		return place_whole(p, ITEM_FILE, id);
	err = e4l_pop_cut_segs(p, id);
	if (err)
		return e4l_pop_fail(p, err, "placing a file", id);
	return place_mapped(p, id);
}

errcode_t e4l_pop_place_blob(struct e4l_populate *p, uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];

	return place(p, ITEM_BLOB, blocks_of(p, n->size), id, &n->pblk);
}

static errcode_t place_dir(struct e4l_populate *p, uint32_t id)
{
	if (p->t->nodes.v[id].flags & NODE_INLINE)
		return 0;
	return place_whole(p, ITEM_DIR, id);
}

/*
 * Assigns blocks first to blocks of extended attributes, then to the content of
 * EA inodes.
 */
static errcode_t place_attributes(struct e4l_populate *p)
{
	errcode_t err = 0;
	uint32_t i;

	for (i = 1; i < p->xplaces.n && !err; i++)
		if (p->xplaces.v[i].pblk)
			err = place(p, ITEM_XATTR, 1, i, &p->xplaces.v[i].pblk);
	for (i = p->first_hidden; i < p->t->nodes.n && !err; i++)
		err = e4l_pop_place_blob(p, i);
	return err;
}

/* Files with sort keys, in the order of p->dirs and p->order. */
struct files {
	uint32_t *id;
	/* sort key: priority in the high bits, index in @id in the low bits */
	uint64_t *key;
	size_t n;
};

static void add_file(struct e4l_populate *p, struct files *f, uint32_t id)
{
	const struct node *n = &p->t->nodes.v[id];

	if (!stands(n) || !S_ISREG(n->mode) || (!n->size && !n->map))
		return;
	f->id[f->n] = id;
	f->key[f->n] = (uint64_t)(INT16_MAX - n->priority) << 32 | f->n;
	f->n++;
}

static errcode_t place_files(struct e4l_populate *p, struct files *f)
{
	errcode_t err = 0;
	size_t i;

	qsort(f->key, f->n, sizeof(*f->key), e4l_u64_cmp);
	for (i = 0; i < f->n && !err; i++)
		err = place_file(p, f->id[(uint32_t)f->key[i]]);
	return err;
}

static errcode_t place_symlink(struct e4l_populate *p, uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];

	if (!stands(n) || !S_ISLNK(n->mode) ||
	    n->size < I_BLOCK_BYTES)
		return 0;
	return place(p, ITEM_SYMLINK, 1, id, &n->pblk);
}

/*
 * Assigns blocks to directories first, then to attributes and symbolic links,
 * then to files.  Files with a higher priority come first.  Files with equal
 * priorities are in the order of the walk over the directories.
 */
errcode_t e4l_pop_place_blocks(struct e4l_populate *p)
{
	size_t total = p->t->nodes.n, d;
	struct files f = {
		.id = malloc(total * sizeof(*f.id)),
		.key = malloc(total * sizeof(*f.key)),
	};
	errcode_t err = f.id && f.key ? 0 : ENOMEM;
	const struct node *dir;
	uint32_t i;

	for (d = 0; d < p->dirs.n && !err; d++)
		err = place_dir(p, p->dirs.v[d]);
	if (!err)
		err = place_attributes(p);
	for (d = 0; d < p->dirs.n && !err; d++) {
		dir = &p->t->nodes.v[p->dirs.v[d]];
		for (i = 0; i < dir->n_child && !err; i++) {
			add_file(p, &f, p->order[dir->child + i]);
			err = place_symlink(p, p->order[dir->child + i]);
		}
	}
	if (!err)
		err = place_files(p, &f);
	free(f.id);
	free(f.key);
	return err;
}
