/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Maps the blocks of files in an image that is like an old image.  Compares
 * contents block by block, frees unused blocks, and assigns blocks to new
 * content.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/array.h"
#include "e4layout/base/full_io.h"
#include "e4layout/format/extent_tree_build.h"
#include "e4layout/format/tree_size.h"
#include "like.h"

/* ------------------------------------------------------------ the old blocks */

static errcode_t add_old(struct like_map *map, uint64_t lblk, uint64_t pblk,
			 uint32_t len, bool unwritten)
{
	struct like_run *last = map->runs.n ? &map->runs.v[map->runs.n - 1] :
					      NULL;

	if (last && last->lblk + (uint64_t)last->len > lblk)
		return E4L_ET_EXTENT_ORDER;
	if (last && last->lblk + last->len == lblk &&
	    last->pblk + last->len == pblk && last->unwritten == unwritten &&
	    last->len < FILE_LAST_LBLK - len) {
		last->len += len;
		return 0;
	}
	if (vec_room(&map->runs, 1))
		return ENOMEM;
	map->runs.v[map->runs.n++] = (struct like_run) {
		.lblk = lblk, .pblk = pblk, .len = len, .unwritten = unwritten,
	};
	return 0;
}

static errcode_t add_extent(struct like_map *map, const struct ext2fs_extent *x)
{
	if (x->e_flags & EXT2_EXTENT_FLAGS_LEAF)
		return add_old(map, x->e_lblk, x->e_pblk, x->e_len,
			       x->e_flags & EXT2_EXTENT_FLAGS_UNINIT);
	if (x->e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT)
		return 0;
	if (vec_room(&map->tree, 1))
		return ENOMEM;
	map->tree.v[map->tree.n++] = x->e_pblk;
	return 0;
}

static errcode_t list_extents(struct e4l_like *l, ext2_ino_t ino,
			      struct ext2_inode_large *inode,
			      struct like_map *map)
{
	struct ext2fs_extent x;
	ext2_extent_handle_t h;
	errcode_t err;

	err = ext2fs_extent_open2(l->fs, ino, (struct ext2_inode *)inode, &h);
	if (err)
		return err;
	err = ext2fs_extent_get(h, EXT2_EXTENT_ROOT, &x);
	while (!err) {
		err = add_extent(map, &x);
		if (!err)
			err = ext2fs_extent_get(h, EXT2_EXTENT_NEXT, &x);
	}
	ext2fs_extent_free(h);
	return err == EXT2_ET_EXTENT_NO_NEXT || err == EXT2_ET_NO_CURRENT_NODE ?
	       0 : err;
}

struct listing {
	struct like_map *map;
	errcode_t err;
};

static int list_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
		      blk64_t ref_blk, int ref_offset, void *priv)
{
	struct listing *list = priv;

	if (lblk >= 0)
		list->err = add_old(list->map, lblk, *blk, 1, false);
	return list->err ? BLOCK_ABORT : 0;
}

errcode_t e4l_like_read_map(struct e4l_like *l, ext2_ino_t ino,
			    struct ext2_inode_large *inode,
			    struct like_map *map)
{
	struct listing list = { .map = map };
	errcode_t err;

	*map = (struct like_map) { .extents = inode->i_flags & EXT4_EXTENTS_FL };
	if (inode->i_flags & EXT4_INLINE_DATA_FL ||
	    !inode_has_map(l->fs, (struct ext2_inode *)inode))
		return 0;
	if (map->extents)
		return list_extents(l, ino, inode, map);
	err = ext2fs_block_iterate3(l->fs, ino, BLOCK_FLAG_READ_ONLY, NULL,
				    list_block, &list);
	return err ? err : list.err;
}

void e4l_like_free_map(struct like_map *map)
{
	free(map->runs.v);
	free(map->tree.v);
	*map = (struct like_map) { 0 };
}

/* ---------------------------------------------------------- the future runs */

errcode_t e4l_like_add_run(struct e4l_like *l, struct like_file *file,
			   struct like_run run)
{
	struct like_run *last = file->n ? &l->runs.v[l->runs.n - 1] : NULL;

	if (last && last->lblk + (uint64_t)last->len == run.lblk &&
	    !last->pblk == !run.pblk && last->fill == run.fill &&
	    (!run.pblk || last->pblk + last->len == run.pblk) &&
	    last->unwritten == run.unwritten &&
	    last->len < FILE_LAST_LBLK - run.len) {
		last->len += run.len;
		return 0;
	}
	if (vec_room(&l->runs, 1))
		return ENOMEM;
	l->runs.v[l->runs.n++] = run;
	file->n++;
	return 0;
}

enum what { HOLE, UNWRITTEN, DATA };

/* An iterator over runs, in ascending order of logical blocks. */
struct cursor {
	const struct like_run *v;
	size_t n;
	uint64_t pblk;
};

static enum what look(struct cursor *c, uint64_t lblk)
{
	while (c->n && c->v->lblk + (uint64_t)c->v->len <= lblk) {
		c->v++;
		c->n--;
	}
	c->pblk = 0;
	if (!c->n || c->v->lblk > lblk)
		return HOLE;
	c->pblk = c->v->pblk + (lblk - c->v->lblk);
	return c->v->unwritten ? UNWRITTEN : DATA;
}

/*
 * Returns the first logical block from @lblk on that a run of @c contains.  If
 * there is no such block, returns UINT64_MAX.
 */
static uint64_t next_block(struct cursor *c, uint64_t lblk)
{
	look(c, lblk);
	if (!c->n)
		return UINT64_MAX;
	return c->v->lblk > lblk ? c->v->lblk : lblk;
}

static bool is_zero(const char *p, size_t len)
{
	return !len || (!*p && !memcmp(p, p + 1, len - 1));
}

struct comparison {
	struct e4l_like *l;
	struct like_file *file;
	struct cursor old, new;
	uint64_t old_size, new_size;
	/* also compare the bytes beyond the end of the file */
	bool whole;
};

/*
 * Returns the number of bytes of block @lblk to compare: bytes beyond the end
 * of the file do not matter if readers of the file never see the bytes.
 */
static size_t visible(const struct comparison *c, uint64_t lblk)
{
	uint32_t bs = c->l->fs->blocksize;
	uint64_t at = lblk * bs;

	if (c->whole || c->old_size != c->new_size || c->new_size - at >= bs)
		return bs;
	return at < c->new_size ? c->new_size - at : 0;
}

/*
 * Decides how block @lblk is stored.  If the old and the new bytes of the block
 * are equal, the block stays a hole, unwritten or written, even if the source
 * has another state.
 */
static errcode_t decide(struct comparison *c, uint64_t lblk, const char *new,
			const char *old)
{
	struct e4l_like *l = c->l;
	uint32_t bs = l->fs->blocksize;
	enum what was = look(&c->old, lblk), will = look(&c->new, lblk);
	bool inside = lblk < blocks_of(l->p, c->old_size) ||
		      c->old_size == c->new_size;
	bool beyond = lblk >= blocks_of(l->p, c->new_size);
	struct like_run run = {
		.lblk = lblk, .len = 1, .pblk = c->old.pblk,
	};

	if (will == DATA && was == DATA) {
		run.fill = memcmp(new, old, visible(c, lblk)) != 0;
	} else if (will == DATA) {
		bool keep = inside && is_zero(new, bs);

		if (keep && was == HOLE)
			return 0;
		run.unwritten = keep;
		run.fill = !keep;
	} else if (was == DATA) {
		bool keep = !beyond && is_zero(old, visible(c, lblk));

		if (!keep && will == HOLE)
			return 0;
		run.unwritten = !keep;
	} else if (will == UNWRITTEN || (was == UNWRITTEN && inside &&
			(!beyond || c->old_size == c->new_size))) {
		run.unwritten = true;
	} else {
		return 0;
	}
	return e4l_like_add_run(l, c->file, run);
}

/* Reads @n blocks of the old file, from logical block @lblk on, into @buf. */
static errcode_t read_old(struct comparison *c, uint64_t lblk, uint32_t n,
			  char *buf)
{
	uint32_t bs = c->l->fs->blocksize, i, len;
	struct cursor at = c->old;
	errcode_t err = 0;

	for (i = 0; i < n && !err; i += len) {
		len = 1;
		if (look(&at, lblk + i) != DATA) {
			memset(buf + (size_t)i * bs, 0, bs);
			continue;
		}
		len = at.v->len - (lblk + i - at.v->lblk);
		if (len > n - i)
			len = n - i;
		err = e4l_read_full(c->l->fd, buf + (size_t)i * bs,
				    (size_t)len * bs, at.pblk * bs, EIO);
	}
	return err;
}

static errcode_t compare_window(struct comparison *c, uint64_t lblk, uint32_t n)
{
	struct e4l_like *l = c->l;
	uint32_t bs = l->fs->blocksize, i;
	errcode_t err;

	err = e4l_source_want(&l->source, c->file->node, lblk * bs,
			      (size_t)n * bs, l->new_buf);
	if (!err)
		err = e4l_source_fetch(&l->source);
	if (!err)
		err = read_old(c, lblk, n, l->old_buf);
	for (i = 0; i < n && !err; i++)
		err = decide(c, lblk + i, l->new_buf + (size_t)i * bs,
			     l->old_buf + (size_t)i * bs);
	return err;
}

/* Compares all blocks that the old file or the new file has. */
static errcode_t compare_all(struct comparison *c)
{
	uint64_t lblk = 0, old, new, at;
	errcode_t err = 0;

	while (!err) {
		struct cursor o = c->old, n = c->new;

		old = next_block(&o, lblk);
		new = next_block(&n, lblk);
		lblk = old < new ? old : new;
		if (lblk == UINT64_MAX)
			break;
		at = lblk + LIKE_WINDOW;
		if (at > FILE_LAST_LBLK + 1ULL)
			at = FILE_LAST_LBLK + 1ULL;
		if (e4l_is_interrupted(c->l->e))
			return E4L_ET_INTERRUPTED;
		err = compare_window(c, lblk, at - lblk);
		lblk = at;
	}
	return err;
}

/*
 * Sets map->runs to the runs of the content of node @id.  The runs have no
 * physical blocks yet.
 */
static errcode_t source_runs(struct e4l_like *l, uint32_t id,
			     struct like_map *map)
{
	const struct node *n = &l->t->nodes.v[id];
	uint64_t len = blocks_of(l->p, n->size);
	uint32_t i;
	errcode_t err;

	*map = (struct like_map) { 0 };
	if (len > FILE_LAST_LBLK + 1ULL)
		return E4L_ET_FILE_TOO_LARGE;
	if (!n->map)
		return len ? add_old(map, 0, 0, len, false) : 0;
	l->p->segs.n = 0;
	err = e4l_pop_cut_segs(l->p, id);
	for (i = 0; i < l->t->maps.v[n->map].n_seg && !err; i++) {
		const struct seg *s = &l->p->segs.v[i];

		if (vec_room(&map->runs, 1))
			err = ENOMEM;
		else
			map->runs.v[map->runs.n++] = (struct like_run) {
				.lblk = s->lblk, .len = s->len,
				.unwritten = s->unwritten,
			};
	}
	return err;
}

/*
 * Removes unwritten runs from @map, because an indirect map cannot have
 * unwritten blocks.  The blocks become holes.
 */
static void drop_unwritten(struct like_map *map)
{
	size_t i, n = 0;

	for (i = 0; i < map->runs.n; i++)
		if (!map->runs.v[i].unwritten)
			map->runs.v[n++] = map->runs.v[i];
	map->runs.n = n;
}

errcode_t e4l_like_compare(struct e4l_like *l, struct like_file *file,
			   struct ext2_inode_large *inode)
{
	const struct node *n = &l->t->nodes.v[file->node];
	const struct extra *x = &l->t->extras.v[n->extra];
	struct like_map old, new = { 0 };
	struct comparison c = {
		.l = l, .file = file, .old_size = EXT2_I_SIZE(inode),
		.new_size = n->size,
		.whole = n->extra && x->flags & EXT4_VERITY_FL,
	};
	errcode_t err;

	err = e4l_like_read_map(l, n->ino, inode, &old);
	if (!err)
		err = source_runs(l, file->node, &new);
	if (!err && !old.extents)
		drop_unwritten(&new);
	c.old.v = old.runs.v;
	c.old.n = old.runs.n;
	c.new.v = new.runs.v;
	c.new.n = new.runs.n;
	if (!err)
		err = compare_all(&c);
	if (!err)
		err = e4l_like_drop(l, n->ino, inode, &old, file);
	e4l_like_free_map(&old);
	e4l_like_free_map(&new);
	return err;
}

errcode_t e4l_like_new_runs(struct e4l_like *l, struct like_file *file)
{
	struct like_map new;
	errcode_t err = source_runs(l, file->node, &new);
	size_t i;

	if (!err && !ext2fs_has_feature_extents(l->fs->super))
		drop_unwritten(&new);
	for (i = 0; i < new.runs.n && !err; i++) {
		new.runs.v[i].fill = !new.runs.v[i].unwritten;
		err = e4l_like_add_run(l, file, new.runs.v[i]);
	}
	e4l_like_free_map(&new);
	return err;
}

/* ------------------------------------------------------------------ freeing */

static uint64_t cluster_of(const struct e4l_like *l, uint64_t blk)
{
	return blk / l->p->ratio;
}

static void free_cluster(struct e4l_like *l, blk64_t pblk)
{
	ext2fs_block_alloc_stats2(l->fs, pblk / l->p->ratio * l->p->ratio, -1);
	l->changed = true;
}

/* Whether a run of @c contains a block of the logical cluster @cluster. */
static bool uses_cluster(const struct e4l_like *l, struct cursor *c,
			 uint64_t cluster)
{
	return next_block(c, cluster * l->p->ratio) <
	       (cluster + 1) * l->p->ratio;
}

static errcode_t drop_extents(struct e4l_like *l,
			      struct ext2_inode_large *inode,
			      const struct like_map *map, struct cursor use)
{
	uint64_t at, end, freed = 0, next = 0;
	size_t i;

	for (i = 0; i < map->runs.n; i++) {
		const struct like_run *r = &map->runs.v[i];

		at = cluster_of(l, r->lblk);
		end = cluster_of(l, r->lblk + (uint64_t)r->len - 1) + 1;
		for (at = at < next ? next : at; at < end; at++) {
			uint64_t in = at * l->p->ratio < r->lblk ? 0 :
				      at * l->p->ratio - r->lblk;

			if (uses_cluster(l, &use, at))
				continue;
			free_cluster(l, r->pblk + in);
			freed++;
		}
		next = end;
	}
	if (!freed)
		return 0;
	return ext2fs_iblk_sub_blocks(l->fs, (struct ext2_inode *)inode, freed);
}

/*
 * Frees the blocks of an indirect-mapped file that @use does not contain, and
 * the indirect blocks that become empty.
 */
static errcode_t drop_indirect(struct e4l_like *l, ext2_ino_t ino,
			       struct ext2_inode_large *inode,
			       const struct like_map *map, struct cursor use)
{
	errcode_t err = 0;
	uint64_t at, keep, end;
	size_t i;

	for (i = 0; i < map->runs.n && !err; i++) {
		const struct like_run *r = &map->runs.v[i];

		for (at = r->lblk; at < r->lblk + (uint64_t)r->len && !err;
		     at = end) {
			keep = next_block(&use, at);
			end = r->lblk + (uint64_t)r->len;
			if (keep == at) {
				end = at + 1;
				continue;
			}
			if (keep < end)
				end = keep;
			l->changed = true;
			err = ext2fs_punch(l->fs, ino,
					   (struct ext2_inode *)inode, NULL, at,
					   keep == UINT64_MAX ? ~0ULL :
								end - 1);
		}
	}
	return err;
}

errcode_t e4l_like_drop(struct e4l_like *l, ext2_ino_t ino,
			struct ext2_inode_large *inode,
			const struct like_map *map,
			const struct like_file *file)
{
	struct cursor use = {
		.v = file ? l->runs.v + file->first : NULL,
		.n = file ? file->n : 0,
	};
	uint32_t sectors = inode->i_blocks;
	errcode_t err;
	size_t i;

	if (!map->extents) {
		err = drop_indirect(l, ino, inode, map, use);
	} else {
		err = drop_extents(l, inode, map, use);
		for (i = 0; !file && i < map->tree.n && !err; i++) {
			free_cluster(l, map->tree.v[i]);
			err = ext2fs_iblk_sub_blocks(l->fs,
						(struct ext2_inode *)inode, 1);
		}
	}
	if (err || inode->i_blocks == sectors)
		return err;
	return ext2fs_write_inode_full(l->fs, ino, (struct ext2_inode *)inode,
				       EXT2_INODE_SIZE(l->fs->super));
}

/* --------------------------------------------------------------- assigning */

/*
 * Returns a placeholder for blocks that cannot be allocated because no block is
 * free.  With the placeholder, planning continues, so that all missing blocks
 * are counted.  The plan is then not used.
 */
static blk64_t no_block(const struct e4l_like *l)
{
	return l->fs->super->s_first_data_block + 1;
}

/*
 * Allocates up to @len blocks, rounded up to clusters, and sets *@pblk to the
 * first block.  Returns the number of allocated blocks.  If no block is free,
 * sets *@pblk to a dummy, adds @len to l->missing, and returns @len.  Planning
 * then fails later.
 */
static uint64_t take(struct e4l_like *l, uint64_t len, blk64_t *pblk)
{
	uint64_t got, at = 0;

	l->changed = true;
	len = (len + l->p->ratio - 1) / l->p->ratio * l->p->ratio;
	got = e4l_pop_take(l->p, len, &at);
	*pblk = at;
	if (!got) {
		*pblk = no_block(l);
		l->missing += len;
		return len;
	}
	ext2fs_block_alloc_stats_range(l->fs, *pblk, got, 1);
	return got;
}

errcode_t e4l_like_take_one(struct e4l_like *l, blk64_t *pblk)
{
	take(l, 1, pblk);
	return 0;
}

errcode_t e4l_like_put_block(struct e4l_like *l, blk64_t pblk, const void *buf)
{
	if (l->missing)
		return 0;
	l->changed = true;
	return io_channel_write_blk64(l->fs->io, pblk, 1, buf);
}

/* Counts the logical blocks of @file that have no physical blocks yet. */
static uint64_t count_open(const struct e4l_like *l,
			   const struct like_file *file)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < file->n; i++)
		if (!l->runs.v[file->first + i].pblk)
			n += l->runs.v[file->first + i].len;
	return n;
}

/* The state of assigning blocks to one file. */
struct settling {
	struct e4l_like *l;
	const struct like_map *map;
	VEC(struct like_run) out;
	uint64_t left;		/* number of blocks to assign */
	/*
	 * first block and number of the allocated blocks that are not assigned
	 * to the file yet
	 */
	blk64_t free;
	uint64_t n_free;
	/*
	 * logical cluster of the last assigned block, plus 1 (@cluster; 0: no
	 * block is assigned yet), and first physical block of this cluster
	 * (@at)
	 */
	uint64_t cluster, at;
	/* number of newly allocated clusters in the map */
	uint64_t clusters;
};

static errcode_t put_out(struct settling *s, struct like_run run)
{
	struct like_run *last = s->out.n ? &s->out.v[s->out.n - 1] : NULL;

	if (last && last->lblk + (uint64_t)last->len == run.lblk &&
	    last->pblk + last->len == run.pblk && last->fill == run.fill &&
	    last->unwritten == run.unwritten &&
	    last->len < FILE_LAST_LBLK - run.len) {
		last->len += run.len;
		return 0;
	}
	if (vec_room(&s->out, 1))
		return ENOMEM;
	s->out.v[s->out.n++] = run;
	return 0;
}

/*
 * Returns the first physical block of the logical cluster @cluster of the old
 * file, or 0 if the old file does not have the cluster.
 */
static uint64_t old_cluster(const struct settling *s, uint64_t cluster)
{
	uint32_t ratio = s->l->p->ratio;
	size_t lo = 0, hi = s->map->runs.n, mid;
	const struct like_run *r;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		r = &s->map->runs.v[mid];
		if (r->lblk + (uint64_t)r->len <= cluster * ratio)
			lo = mid + 1;
		else
			hi = mid;
	}
	r = &s->map->runs.v[lo];
	if (lo == s->map->runs.n || r->lblk >= (cluster + 1) * ratio)
		return 0;
	if (r->lblk >= cluster * ratio)
		return r->pblk / ratio * ratio;
	return r->pblk + (cluster * ratio - r->lblk);
}

/*
 * Sets s->at to the first physical block of the cluster that contains block
 * @lblk: a cluster of the old file or, if the old file has no such cluster, a
 * new cluster.
 */
static void place_cluster(struct settling *s, uint64_t lblk)
{
	struct e4l_like *l = s->l;
	uint64_t cluster = cluster_of(l, lblk), want;

	if (s->cluster == cluster + 1)
		return;
	s->cluster = cluster + 1;
	s->at = s->map->runs.n ? old_cluster(s, cluster) : 0;
	if (s->at)
		return;
	if (!s->n_free) {
		want = s->left;
		s->n_free = take(l, want ? want : 1, &s->free);
	}
	s->at = s->free;
	s->free += l->p->ratio;
	s->n_free -= l->p->ratio;
	s->clusters++;
}

static errcode_t place_run(struct settling *s, struct like_run run)
{
	uint32_t ratio = s->l->p->ratio, len, in;
	errcode_t err = 0;

	for (; run.len && !err; run.lblk += len, run.len -= len) {
		struct like_run part = run;

		in = run.lblk % ratio;
		len = ratio - in < run.len ? ratio - in : run.len;
		place_cluster(s, run.lblk);
		part.pblk = s->at + in;
		part.len = len;
		err = put_out(s, part);
		s->left -= len;
	}
	return err;
}

/*
 * Frees allocated blocks that were not needed, because partly used clusters of
 * the old file had space for new blocks.
 */
static void give_back(struct settling *s)
{
	struct e4l_like *l = s->l;

	if (!s->n_free || l->missing)
		return;
	ext2fs_block_alloc_stats_range(l->fs, s->free, s->n_free, -1);
	l->p->taken -= s->n_free;
}

static errcode_t place_all(struct settling *s, const struct like_file *file)
{
	struct e4l_like *l = s->l;
	errcode_t err = 0;
	size_t i;

	s->left = count_open(l, file);
	for (i = 0; i < file->n && !err; i++) {
		const struct like_run *r = &l->runs.v[file->first + i];

		err = r->pblk ? put_out(s, *r) : place_run(s, *r);
	}
	give_back(s);
	return err;
}

/* -------------------------------------------------------------- extent trees */

static uint32_t max_len(const struct like_run *r)
{
	return r->unwritten ? E4L_UNWRITTEN_MAX_BLOCKS : E4L_WRITTEN_MAX_BLOCKS;
}

/*
 * Converts the runs s->out to extents in the array @e.  If @e is NULL, only
 * counts the extents.  Adjacent runs that differ only in the member fill become
 * one extent.  Returns the number of extents.
 */
static uint64_t make_extents(const struct settling *s, struct e4l_extent *e)
{
	uint64_t n = 0;
	struct like_run r = { 0 };
	uint32_t len;
	size_t i = 0;

	while (i < s->out.n || r.len) {
		if (!r.len)
			r = s->out.v[i++];
		while (i < s->out.n &&
		       s->out.v[i].unwritten == r.unwritten &&
		       s->out.v[i].lblk == r.lblk + (uint64_t)r.len &&
		       s->out.v[i].pblk == r.pblk + r.len)
			r.len += s->out.v[i++].len;
		len = r.len < max_len(&r) ? r.len : max_len(&r);
		if (e)
			e[n] = (struct e4l_extent) {
				.pblk = r.pblk, .lblk = r.lblk, .len = len,
				.unwritten = r.unwritten,
			};
		n++;
		r.pblk += len;
		r.lblk += len;
		r.len -= len;
	}
	return n;
}

/* Whether the runs s->out map the same blocks as the old map s->map. */
static bool is_same_map(const struct settling *s)
{
	struct cursor c = { .v = s->map->runs.v, .n = s->map->runs.n };
	uint64_t old = 0, new = 0;
	size_t i;

	for (i = 0; i < s->map->runs.n; i++)
		old += s->map->runs.v[i].len;
	for (i = 0; i < s->out.n; i++)
		new += s->out.v[i].len;
	if (old != new)
		return false;
	for (i = 0; i < s->out.n; i++) {
		const struct like_run *r = &s->out.v[i];
		uint64_t at = r->lblk, end = r->lblk + (uint64_t)r->len;

		while (at < end) {
			if (look(&c, at) != (r->unwritten ? UNWRITTEN : DATA) ||
			    c.pblk != r->pblk + (at - r->lblk))
				return false;
			at = c.v->lblk + (uint64_t)c.v->len;
		}
	}
	return true;
}

/*
 * Lists the blocks for an extent tree of @n blocks: blocks of the old tree
 * first, then new blocks.  Frees surplus blocks of the old tree.
 */
static errcode_t tree_blocks(struct e4l_like *l, struct ext2_inode_large *inode,
			     const struct like_map *map, uint64_t n,
			     blk64_t *pblk)
{
	errcode_t err = 0;
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (i < map->tree.n)
			pblk[i] = map->tree.v[i];
		else
			take(l, 1, &pblk[i]);
	}
	for (i = n; i < map->tree.n; i++)
		free_cluster(l, map->tree.v[i]);
	if (n > map->tree.n)
		err = ext2fs_iblk_add_blocks(l->fs, (struct ext2_inode *)inode,
					     n - map->tree.n);
	else if (n < map->tree.n)
		err = ext2fs_iblk_sub_blocks(l->fs, (struct ext2_inode *)inode,
					     map->tree.n - n);
	return err;
}

static errcode_t write_tree(struct settling *s, ext2_ino_t ino,
			    struct ext2_inode_large *inode)
{
	struct e4l_like *l = s->l;
	uint64_t n = make_extents(s, NULL), i;
	uint64_t blocks = e4l_ideal_tree_blocks(n, l->fs->blocksize);
	struct e4l_extent *e = e4l_array_alloc(n + 1, sizeof(*e));
	blk64_t *pblk = e4l_array_alloc(blocks + 1, sizeof(*pblk));
	char *buf = e4l_array_alloc(blocks + 1, l->fs->blocksize);
	errcode_t err = e && pblk && buf ? 0 : ENOMEM;

	if (!err)
		err = tree_blocks(l, inode, s->map, blocks, pblk);
	if (!err && !l->missing) {
		make_extents(s, e);
		err = e4l_extent_tree_build(l->fs, ino, inode->i_generation, e,
					    n, pblk, inode->i_block, buf);
	}
	for (i = 0; i < blocks && !err && !l->missing; i++)
		err = e4l_like_put_block(l, pblk[i],
					 buf + i * l->fs->blocksize);
	free(e);
	free(pblk);
	free(buf);
	return err;
}

/* Maps the new blocks of the file in the indirect map of @inode. */
static errcode_t write_indirect(struct settling *s, ext2_ino_t ino,
				struct ext2_inode_large *inode)
{
	struct e4l_like *l = s->l;
	struct cursor old = { .v = s->map->runs.v, .n = s->map->runs.n };
	errcode_t err = 0;
	uint64_t at;
	size_t i;

	for (i = 0; i < s->out.n; i++) {
		const struct like_run *r = &s->out.v[i];

		for (at = r->lblk; at < r->lblk + (uint64_t)r->len && !err;
		     at++) {
			blk64_t blk = r->pblk + (at - r->lblk);

			if (look(&old, at) == DATA && old.pblk == blk)
				continue;
			err = ext2fs_bmap2(l->fs, ino,
					   (struct ext2_inode *)inode, NULL,
					   BMAP_SET | BMAP_ALLOC, at, NULL,
					   &blk);
		}
	}
	return err;
}

/* Adds to l->writes the runs of @file whose content is read from the source. */
static errcode_t note_writes(struct settling *s, const struct like_file *file)
{
	struct e4l_like *l = s->l;
	size_t i;

	for (i = 0; i < s->out.n; i++) {
		if (!s->out.v[i].fill)
			continue;
		if (vec_room(&l->writes, 1) || vec_room(&l->fill_of, 1))
			return ENOMEM;
		l->writes.v[l->writes.n++] = s->out.v[i];
		l->fill_of.v[l->fill_of.n++] = file->node;
		l->changed = true;
	}
	return 0;
}

static errcode_t note_zeroes(struct e4l_like *l, uint64_t pblk, uint64_t len)
{
	if (!len)
		return 0;
	if (vec_room(&l->zeroes, 1))
		return ENOMEM;
	l->zeroes.v[l->zeroes.n++] = (struct like_run) {
		.pblk = pblk, .len = len,
	};
	return 0;
}

/*
 * Adds blocks of an old file that may still hold removed content to l->zeroes:
 * unwritten runs, and blocks in a cluster of the file that the new map does not
 * map.
 */
static errcode_t note_hidden(struct settling *s)
{
	uint32_t ratio = s->l->p->ratio;
	uint64_t done = 0, start, end, next;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < s->out.n && s->map->runs.n && !err; i++) {
		const struct like_run *r = &s->out.v[i];

		start = r->lblk / ratio * ratio;
		if (start < done)
			start = r->lblk;
		end = r->lblk + (uint64_t)r->len;
		done = (end + ratio - 1) / ratio * ratio;
		next = i + 1 < s->out.n ? s->out.v[i + 1].lblk : done;
		err = note_zeroes(s->l, r->pblk - (r->lblk - start),
				  r->lblk - start);
		if (!err && r->unwritten)
			err = note_zeroes(s->l, r->pblk, r->len);
		if (!err)
			err = note_zeroes(s->l, r->pblk + r->len,
					  (next < done ? next : done) - end);
	}
	return err;
}

/*
 * Replaces the runs of @file by s->out, in which all runs have physical blocks.
 * The runs of @file must be the last elements of l->runs.
 */
static errcode_t replace_runs(struct settling *s, struct like_file *file)
{
	struct e4l_like *l = s->l;

	l->runs.n = file->first;
	file->n = 0;
	if (vec_room(&l->runs, s->out.n))
		return ENOMEM;
	if (s->out.n)
		memcpy(l->runs.v + l->runs.n, s->out.v,
		       s->out.n * sizeof(*s->out.v));
	l->runs.n += s->out.n;
	file->n = s->out.n;
	return 0;
}

errcode_t e4l_like_settle(struct e4l_like *l, ext2_ino_t ino,
			  struct ext2_inode_large *inode,
			  const struct like_map *map, struct like_file *file)
{
	struct settling s = { .l = l, .map = map };
	errcode_t err = place_all(&s, file);

	if (!err && s.clusters)
		err = ext2fs_iblk_add_blocks(l->fs, (struct ext2_inode *)inode,
					     s.clusters);
	if (!err && map->extents && !is_same_map(&s)) {
		err = write_tree(&s, ino, inode);
		if (!err)
			err = note_hidden(&s);
	} else if (!err && !map->extents) {
		err = write_indirect(&s, ino, inode);
	}
	if (!err)
		err = note_writes(&s, file);
	if (!err && file->first + file->n == l->runs.n)
		err = replace_runs(&s, file);
	free(s.out.v);
	return err;
}
