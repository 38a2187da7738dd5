/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plans the order of all items, and assigns inode numbers.  The plan depends
 * only on the names, sizes and attributes in the tree.  The order in which the
 * source was read does not affect the image.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/array.h"
#include "e4layout/inodes/place.h"
#include "populate.h"

/* ---------------------------------------------------------- order of names */

static errcode_t hash(const struct e4l_populate *p, const struct node *n,
		      uint32_t *major, uint32_t *minor)
{
	struct ext2_super_block *sb = p->fs->super;

	*major = *minor = 0;
	if (!ext2fs_has_feature_dir_index(sb))
		return 0;
	return ext2fs_dirhash2(hash_version_of(sb, sb->s_def_hash_version),
			       node_name(p->t, n), n->name_len, NULL, 0,
			       sb->s_hash_seed, major, minor);
}

/*
 * A child of a directory, for sorting.  @hash is the hash of the name, @id is
 * the node.  Comparing the hashes is sufficient for most children.
 */
struct child {
	uint32_t hash, id;
};

/*
 * Compares children that have equal hashes or no hashes, by minor hash and then
 * by name.
 */
static int by_name(const struct e4l_populate *p, uint32_t a, uint32_t b)
{
	const struct node *x = &p->t->nodes.v[a], *y = &p->t->nodes.v[b];
	uint32_t major, x_minor, y_minor;
	int cmp;

	hash(p, x, &major, &x_minor);
	hash(p, y, &major, &y_minor);
	if (x_minor != y_minor)
		return x_minor < y_minor ? -1 : 1;
	cmp = memcmp(node_name(p->t, x), node_name(p->t, y),
		     x->name_len < y->name_len ? x->name_len : y->name_len);
	return cmp ? cmp : (int)x->name_len - y->name_len;
}

static int in_readdir_order(const void *a, const void *b, void *priv)
{
	const struct child *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return by_name(priv, x->id, y->id);
}

/* Lists the children of each directory in p->order, unsorted. */
static errcode_t list_children(struct e4l_populate *p)
{
	struct node *v = p->t->nodes.v, *dir;
	uint32_t n = p->t->nodes.n, i, at = 0, minor;
	errcode_t err;

	p->order = malloc(n * sizeof(*p->order));
	if (!p->order)
		return ENOMEM;
	for (i = E4L_TREE_ROOT; i < n; i++)
		v[i].n_child = 0;
	for (i = E4L_TREE_ROOT + 1; i < n; i++)
		v[v[i].parent].n_child++;
	for (i = E4L_TREE_ROOT; i < n; i++) {
		if (!S_ISDIR(v[i].mode))
			continue;
		v[i].child = at;
		at += v[i].n_child;
		v[i].n_child = 0;
	}
	for (i = E4L_TREE_ROOT + 1; i < n; i++) {
		dir = &v[v[i].parent];
		p->order[dir->child + dir->n_child++] = i;
		err = hash(p, &v[i], &v[i].hash, &minor);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Sorts the children of @dir.  @c is a buffer for dir->n_child elements.  If
 * two children have the same name, returns an error.
 */
static errcode_t sort_dir(struct e4l_populate *p, const struct node *dir,
			  struct child *c)
{
	uint32_t *order = p->order + dir->child, i;

	for (i = 0; i < dir->n_child; i++)
		c[i] = (struct child) {
			.hash = p->t->nodes.v[order[i]].hash, .id = order[i],
		};
	qsort_r(c, dir->n_child, sizeof(*c), in_readdir_order, p);
	for (i = 0; i < dir->n_child; i++) {
		order[i] = c[i].id;
		if (i && !in_readdir_order(&c[i - 1], &c[i], p))
			return e4l_pop_fail(p, E4L_ET_DUPLICATE_NAME,
					    "sorting directories", c[i].id);
	}
	return 0;
}

static errcode_t sort_children(struct e4l_populate *p)
{
	struct node *v = p->t->nodes.v;
	uint32_t most = 1, n = p->t->nodes.n, i;
	struct child *room;
	errcode_t err = 0;

	for (i = E4L_TREE_ROOT; i < n; i++)
		if (S_ISDIR(v[i].mode) && v[i].n_child > most)
			most = v[i].n_child;
	room = malloc(most * sizeof(*room));
	if (!room)
		return ENOMEM;
	for (i = E4L_TREE_ROOT; i < n && !err; i++)
		if (S_ISDIR(v[i].mode) && v[i].n_child > 1)
			err = sort_dir(p, &v[i], room);
	free(room);
	return err;
}

/* -------------------------------------------- the walk over all directories */

/*
 * Visits the child @id of @dir.  Sets the link count and the default priority
 * of the child.  If the child is the first name of an inode with several names,
 * the child becomes the owner of the link group.
 */
static errcode_t meet(struct e4l_populate *p, struct node *dir, uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];
	struct link_group *g = &p->t->groups.v[n->child];

	if (n->priority == PRIORITY_NONE)
		n->priority = dir->priority;
	if (S_ISDIR(n->mode)) {
		n->links = 2;
		dir->links++;
		return 0;
	}
	n->links = 1;
	if (n->flags & NODE_GROUPED) {
		if (g->owner)
			n->flags |= NODE_ALIAS;
		else
			g->owner = id;
		n->links = g->links;
	}
	if (n->links > EXT2_LINK_MAX)
		return e4l_pop_fail(p, E4L_ET_TOO_MANY_LINKS, "counting links",
				    id);
	p->wanted_inodes += stands(n);
	return 0;
}

static void reverse(uint32_t *v, size_t n)
{
	uint32_t keep;
	size_t i;

	for (i = 0; i < n / 2; i++) {
		keep = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = keep;
	}
}

static void start_root(struct node *root)
{
	root->links = 2;
	if (root->priority == PRIORITY_NONE)
		root->priority = 0;
}

static bool has_too_many_links(const struct e4l_populate *p,
			       const struct node *dir)
{
	return dir->links >= EXT2_LINK_MAX &&
	       !ext2fs_has_feature_dir_nlink(p->fs->super);
}

/*
 * Lists all directories in p->dirs, from the root on, parents before children.
 */
static errcode_t walk(struct e4l_populate *p)
{
	VEC(uint32_t) stack = { 0 };
	errcode_t err = vec_room(&stack, 1);
	uint32_t i, child;
	size_t below;

	if (!err)
		stack.v[stack.n++] = E4L_TREE_ROOT;
	start_root(&p->t->nodes.v[E4L_TREE_ROOT]);
	while (stack.n && !err) {
		uint32_t id = stack.v[--stack.n];
		struct node *dir = &p->t->nodes.v[id];

		err = vec_room(&p->dirs, 1);
		if (!err)
			err = vec_room(&stack, dir->n_child);
		if (err)
			break;
		p->dirs.v[p->dirs.n++] = id;
		p->wanted_inodes++;
		below = stack.n;
		for (i = 0; i < dir->n_child && !err; i++) {
			child = p->order[dir->child + i];
			err = meet(p, dir, child);
			if (S_ISDIR(p->t->nodes.v[child].mode))
				stack.v[stack.n++] = child;
		}
		reverse(stack.v + below, stack.n - below);
		if (!err && has_too_many_links(p, dir))
			err = e4l_pop_fail(p, E4L_ET_TOO_MANY_LINKS,
					   "counting subdirectories", id);
	}
	free(stack.v);
	return err;
}

/* -------------------------------------------------- attributes and inlining */

/* Whether the content of @n is stored in the inode. */
static bool goes_inline(struct e4l_populate *p, const struct node *n)
{
	const unsigned int in_block = sizeof(((struct ext2_inode *)0)->i_block);
	unsigned int room = e4l_pop_inline_room(p, n);

	if (!ext2fs_has_feature_inline_data(p->fs->super) || !room || n->map)
		return false;
	if (S_ISDIR(n->mode))
		return n != &p->t->nodes.v[E4L_TREE_ROOT] &&
		       e4l_pop_inline_dir(p, n, NULL, in_block);
	return S_ISREG(n->mode) && n->size &&
	       (n->size <= in_block ||
		((n->size - in_block + 3) & ~3ULL) < room);
}

static errcode_t prepare(struct e4l_populate *p, uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];
	errcode_t err = 0;

	if (!stands(n))
		return 0;
	if (S_ISDIR(n->mode))
		err = e4l_pop_size_dir(p, n);
	if (err)
		return e4l_pop_fail(p, err, "dividing a directory", id);
	err = e4l_pop_place_xattrs(p, id);
	n = &p->t->nodes.v[id];		/* p->t->nodes.v may have moved */
	if (!err && goes_inline(p, n)) {
		n->flags |= NODE_INLINE;
		if (S_ISDIR(n->mode))
			n->size = sizeof(((struct ext2_inode *)0)->i_block);
	}
	return err;
}

static errcode_t prepare_all(struct e4l_populate *p)
{
	errcode_t err = prepare(p, E4L_TREE_ROOT);
	uint32_t i, first, n;
	size_t d;

	for (d = 0; d < p->dirs.n && !err; d++) {
		first = p->t->nodes.v[p->dirs.v[d]].child;
		n = p->t->nodes.v[p->dirs.v[d]].n_child;
		for (i = first; i < first + n && !err; i++)
			err = prepare(p, p->order[i]);
	}
	p->wanted_inodes += p->t->nodes.n - p->first_hidden;
	return err;
}

/* ------------------------------------------------------------------- inodes */

static void assign(struct e4l_populate *p, uint32_t id, ext2_ino_t ino)
{
	struct node *n = &p->t->nodes.v[id];

	n->ino = ino;
	ext2fs_inode_alloc_stats2(p->fs, ino, 1, S_ISDIR(n->mode));
	if (p->max_ino < ino)
		p->max_ino = ino;
}

static bool needs_ino(const struct node *n)
{
	return stands(n) && !n->ino;
}

/* If the node @id needs an inode, assigns an inode number. */
static errcode_t assign_one(struct e4l_populate *p, struct e4l_place *place,
			    uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];
	ext2_ino_t parent = n->parent ? p->t->nodes.v[n->parent].ino :
					EXT2_ROOT_INO, ino;
	errcode_t err;

	if (!needs_ino(n))
		return 0;
	err = e4l_new_inode(place, parent, n->mode, NULL, &ino);
	if (!err)
		assign(p, id, ino);
	return err;
}

static bool is_own_child(const struct node *n)
{
	return !S_ISDIR(n->mode) && needs_ino(n);
}

/*
 * Returns the number of inodes that the directory @dir and the files in @dir
 * need and do not have yet.
 */
static uint32_t family(const struct e4l_populate *p, uint32_t dir)
{
	const struct node *d = &p->t->nodes.v[dir];
	uint32_t n = needs_ino(d), i;

	for (i = d->child; i < d->child + d->n_child; i++)
		n += is_own_child(&p->t->nodes.v[p->order[i]]);
	return n;
}

/*
 * Counts the inodes that an image needs if each directory and its files get
 * separate windows (aligned ranges of inodes).  With E4L_WINDOW_EXACT, a
 * directory and its files use the shortest sufficient gap at the end of a
 * partly used inode-table block.  If no gap is sufficient, the directory and
 * its files use new inode-table blocks.
 */
static errcode_t count_roomy(struct e4l_populate *p)
{
	bool exact = p->o.window == E4L_WINDOW_EXACT;
	uint32_t unit = exact ? p->bs / p->isize : p->o.window, n, gap, left;
	uint64_t sum = EXT2_FIRST_INO(p->fs->super) + p->t->nodes.n -
		       p->first_hidden;
	uint32_t *gaps = e4l_array_zalloc(unit + 1ULL, sizeof(*gaps));
	size_t d;

	if (!gaps)
		return ENOMEM;
	for (d = 0; unit && d < p->dirs.n; d++) {
		n = family(p, p->dirs.v[d]);
		for (gap = n; gap < unit && !gaps[gap]; gap++)
			;
		if (exact && n && gap < unit) {
			gaps[gap]--;
			left = gap - n;
		} else {
			left = (unit - n % unit) % unit;
			sum += (uint64_t)n + left;
		}
		gaps[left]++;
	}
	free(gaps);
	p->stats.roomy_inodes = sum > p->wanted_inodes ? sum : p->wanted_inodes;
	return 0;
}

/*
 * Assigns inodes to a directory and its files.  With E4L_WINDOW_EXACT, the
 * inodes are contiguous if possible.
 */
static errcode_t assign_dir(struct e4l_populate *p, struct e4l_place *place,
			    uint32_t dir)
{
	struct node *d = &p->t->nodes.v[dir];
	uint32_t first = d->child, end = first + d->n_child, i;
	uint32_t n = family(p, dir);
	ext2_ino_t ino = 0;
	errcode_t err = 0;

	if (p->o.window == E4L_WINDOW_EXACT && n)
		err = e4l_place_window(place, n, &ino);
	if (err && err != EXT2_ET_INODE_ALLOC_FAIL)
		return err;
	if (ino && needs_ino(d))
		assign(p, dir, ino++);
	else
		err = assign_one(p, place, dir);
	for (i = first; i < end && !(err && !ino); i++) {
		if (!is_own_child(&p->t->nodes.v[p->order[i]]))
			continue;
		if (ino)
			assign(p, p->order[i], ino++);
		else
			err = assign_one(p, place, p->order[i]);
	}
	return err;
}

static errcode_t assign_inodes(struct e4l_populate *p)
{
	uint32_t window = p->o.window == E4L_WINDOW_EXACT ? 0 : p->o.window;
	struct e4l_place *place;
	errcode_t err;
	uint32_t i;
	size_t d;

	p->t->nodes.v[E4L_TREE_ROOT].ino = EXT2_ROOT_INO;
	p->max_ino = p->max_old;
	err = count_roomy(p);
	if (err)
		return err;
	/*
	 * wanted_inodes includes the root and lost+found, so free_inodes must
	 * include the inodes of the root and lost+found, too
	 */
	p->stats.free_inodes = p->fs->super->s_free_inodes_count + 1 +
			       !!p->lost_found;
	if (p->wanted_inodes > p->stats.free_inodes)
		return e4l_pop_fail(p, E4L_ET_NO_INODES, "placing inodes", 0);
	err = e4l_place_new(p->e, window, E4L_PLACE_PACK | E4L_PLACE_NO_READ |
			    E4L_PLACE_NO_ZERO, &place);
	if (err)
		return err;
	for (d = 0; d < p->dirs.n && !err; d++)
		err = assign_dir(p, place, p->dirs.v[d]);
	for (i = p->first_hidden; i < p->t->nodes.n && !err; i++)
		err = assign_one(p, place, i);
	e4l_place_free(place);
	return err;
}

static errcode_t index_inodes(struct e4l_populate *p)
{
	uint32_t i;

	p->by_ino = e4l_array_zalloc(p->max_ino + 1ULL, sizeof(*p->by_ino));
	if (!p->by_ino)
		return ENOMEM;
	for (i = E4L_TREE_ROOT; i < p->t->nodes.n; i++)
		if (stands(&p->t->nodes.v[i]))
			p->by_ino[p->t->nodes.v[i].ino] = i;
	return 0;
}

/* ------------------------------------------------------------- inode tables */

/* Adds the written part of each group's inode table as an item. */
static errcode_t place_tables(struct e4l_populate *p)
{
	uint32_t ipg = p->fs->super->s_inodes_per_group, last;
	uint32_t per = p->bs / p->isize;
	uint64_t first;
	dgrp_t g;

	for (g = 0; (first = (uint64_t)g * ipg + 1) <= p->max_ino; g++) {
		last = first + ipg - 1 < p->max_ino ? first + ipg - 1 :
						      p->max_ino;
		while (last >= first && !p->by_ino[last])
			last--;
		if (last < first)
			continue;
		if (vec_room(&p->items, 1))
			return ENOMEM;
		p->items.v[p->items.n++] = (struct item) {
			.pblk = ext2fs_inode_table_loc(p->fs, g), .ref = g,
			.kind = ITEM_ITABLE, .len = (last - first) / per + 1,
		};
	}
	return 0;
}

static int in_disk_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->pblk < y->pblk ? -1 : x->pblk > y->pblk;
}

static errcode_t find_blocks(struct e4l_populate *p)
{
	errcode_t err = e4l_pop_load_free(p);

	return err ? err : e4l_pop_place_blocks(p);
}

errcode_t e4l_pop_order(struct e4l_populate *p)
{
	errcode_t err = list_children(p);

	if (!err)
		err = sort_children(p);
	return err ? err : walk(p);
}

errcode_t e4l_pop_plan(struct e4l_populate *p)
{
	errcode_t err = e4l_pop_order(p);

	p->first_hidden = p->t->nodes.n;
	p->xplace_of = calloc(p->t->sets.n, sizeof(*p->xplace_of));
	if (!err && (!p->xplace_of || vec_room(&p->xplaces, 1)))
		err = ENOMEM;
	if (err)
		return err;
	p->xplaces.v[p->xplaces.n++] = (struct xplace) { 0 };
	err = prepare_all(p);
	if (!err)
		err = assign_inodes(p);
	if (!err)
		err = find_blocks(p);
	else if (err == E4L_ET_NO_INODES && find_blocks(p) == ENOMEM)
		/* find_blocks() counts the wanted blocks for the statistics */
		err = ENOMEM;
	if (!err)
		err = e4l_pop_quota(p);
	p->stats.wanted_blocks = p->wanted;
	p->stats.wanted_inodes = p->wanted_inodes;
	if (!err && p->taken < p->wanted)
		err = e4l_pop_fail(p, E4L_ET_NO_SPACE, "placing blocks", 0);
	if (!err)
		err = index_inodes(p);
	if (!err)
		err = place_tables(p);
	if (!err)
		err = e4l_pop_commit_blocks(p);
	if (!err && p->items.n)
		qsort(p->items.v, p->items.n, sizeof(*p->items.v),
		      in_disk_order);
	return err;
}
