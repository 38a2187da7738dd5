/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plans an image that differs little from an old image.  A file of the old
 * image is kept if the tree has a file with the same path and type.
 *
 *  1. Match the entries of the old directories with the nodes of the tree.
 *  2. Free the inodes to which no node was assigned.
 *  3. Compare contents; free the blocks that no file needs.
 *  4. Assign inodes and blocks to new content.
 *  5. Write changed directories, inodes, quota files and bitmaps.
 *
 * All changes go to a copy of the filesystem in memory.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/array.h"
#include "e4layout/inodes/place.h"
#include "e4layout/repack/overlay.h"
#include "like.h"

static errcode_t fail_node(struct e4l_like *l, errcode_t err, const char *doing,
			   uint32_t node)
{
	return err ? e4l_pop_fail(l->p, err, doing, node) : 0;
}

/* ------------------------------------------------------------------- set-up */

/*
 * If the source has no lost+found, adds lost+found of the old image to the
 * tree.
 */
static errcode_t adopt_lost_found(struct e4l_like *l)
{
	static const char name[] = "lost+found";
	struct e4l_entry e = { .mode = S_IFDIR | 0700 };
	ext2_ino_t ino;
	uint32_t id;
	errcode_t err;

	err = e4l_tree_find(l->t, E4L_TREE_ROOT, name, strlen(name), &id);
	if (err)
		return err;
	if (id && !S_ISDIR(l->t->nodes.v[id].mode))
		return fail_node(l, E4L_ET_LOST_FOUND, "adding lost+found", id);
	if (!ext2fs_lookup(l->fs, EXT2_ROOT_INO, name, strlen(name), NULL,
			   &ino) && !id) {
		l->keep_lost_found = true;
		err = e4l_tree_add(l->t, E4L_TREE_ROOT, name, strlen(name), &e,
				   &id);
	}
	l->p->lost_found = id;
	return err;
}

static errcode_t copy_old(struct e4l_like *l)
{
	struct ext2_super_block *sb = l->old->fs->super;
	errcode_t err = l->old->fs->block_map && l->old->fs->inode_map ? 0 :
			ext2fs_read_bitmaps(l->old->fs);

	if (!err)
		err = e4l_overlay_new(l->old, NULL, &l->e);
	if (err)
		return err;
	l->fs = l->e->fs;
	l->features[0] = sb->s_feature_compat;
	l->features[1] = sb->s_feature_incompat;
	l->features[2] = sb->s_feature_ro_compat;
	return ext2fs_copy_bitmap(l->fs->block_map, &l->was);
}

static errcode_t get_memory(struct e4l_like *l)
{
	struct ext2_super_block *sb = l->fs->super;

	l->state = e4l_array_alloc(l->t->nodes.n, sizeof(*l->state));
	l->seen = calloc(1, l->t->nodes.n);
	l->node_of = e4l_array_zalloc(sb->s_inodes_count + 1ULL,
				      sizeof(*l->node_of));
	l->new_buf = e4l_array_alloc(LIKE_WINDOW, l->fs->blocksize);
	l->old_buf = e4l_array_alloc(LIKE_WINDOW, l->fs->blocksize);
	if (!l->state || !l->seen || !l->node_of || !l->new_buf || !l->old_buf)
		return ENOMEM;
	memset(l->state, LIKE_NEW, l->t->nodes.n);
	l->source = (struct e4l_source) {
		.t = l->t, .reading = e4l_source_reading(l->t),
	};
	return 0;
}

/*
 * Plans the order of the tree's nodes, and checks that the old filesystem can
 * store all files of the tree.
 */
static errcode_t prepare_tree(struct e4l_like *l,
			      const struct e4l_populate_options *o)
{
	errcode_t err = e4l_layer_end(l->t);

	if (!err)
		err = e4l_tree_drop_removed(l->t);
	if (err)
		return err;
	e4l_pop_set_up(l->p, l->e, l->t, o);
	/*
	 * libext2fs reads extended attributes only if the feature ext_attr is
	 * set
	 */
	ext2fs_set_feature_xattr(l->fs->super);
	err = adopt_lost_found(l);
	if (!err && o->clamp_times)
		e4l_pop_clamp_times(l->p);
	if (!err)
		err = e4l_pop_check_tree(l->p);
	if (!err)
		err = e4l_pop_order(l->p);
	l->p->first_hidden = l->t->nodes.n;
	return err;
}

/* ----------------------------------------------------------------- matching */

struct todo {
	ext2_ino_t ino;
	uint32_t node;
};

struct matching {
	struct e4l_like *l;
	VEC(struct todo) todo;
	struct ext2_inode_large *inode;
	uint32_t dir;			/* node of the current directory */
	errcode_t err;
};

/* Assigns the inode @ino of the old image to @node. */
static errcode_t claim(struct matching *m, ext2_ino_t ino, uint32_t node)
{
	struct e4l_like *l = m->l;

	l->t->nodes.v[node].ino = ino;
	l->node_of[ino] = node;
	l->state[node] = LIKE_KEPT;
	if (!S_ISDIR(l->t->nodes.v[node].mode))
		return 0;
	if (vec_room(&m->todo, 1))
		return ENOMEM;
	m->todo.v[m->todo.n++] = (struct todo) { ino, node };
	return 0;
}

static errcode_t match_entry(struct matching *m, ext2_ino_t ino,
			     const char *name, unsigned int len)
{
	struct e4l_like *l = m->l;
	const struct node *n;
	uint32_t id;
	errcode_t err;

	err = e4l_tree_find(l->t, m->dir, name, len, &id);
	if (err || !id)
		return err;
	if (!ino || ino > l->fs->super->s_inodes_count ||
	    ino < EXT2_FIRST_INODE(l->fs->super))
		return E4L_ET_DIR_CORRUPT;
	id = tree_owner(l->t, id);
	n = &l->t->nodes.v[id];
	if (n->ino || l->node_of[ino])
		return 0;
	err = e4l_like_read_inode(l, ino, m->inode);
	if (err || (m->inode->i_mode & S_IFMT) != (n->mode & S_IFMT))
		return err;
	return claim(m, ino, id);
}

static int see_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry *d,
		     int offset, int blocksize, char *buf, void *priv)
{
	struct matching *m = priv;
	unsigned int len = ext2fs_dirent_name_len(d);

	if (!len || (len <= 2 && !memcmp(d->name, "..", len)))
		return 0;
	m->err = match_entry(m, d->inode, d->name, len);
	return m->err ? DIRENT_ABORT : 0;
}

static errcode_t match(struct e4l_like *l)
{
	struct matching m = { .l = l, .inode = e4l_like_new_inode(l) };
	errcode_t err = m.inode ? 0 : ENOMEM;
	struct todo at;

	if (!err)
		err = claim(&m, EXT2_ROOT_INO, E4L_TREE_ROOT);
	while (m.todo.n && !err) {
		at = m.todo.v[--m.todo.n];
		m.dir = at.node;
		err = ext2fs_dir_iterate2(l->fs, at.ino, 0, NULL, see_entry,
					  &m);
		err = fail_node(l, err ? err : m.err,
				"reading an old directory", at.node);
	}
	free(m.inode);
	free(m.todo.v);
	return err;
}

/* ---------------------------------------------------------- freeing inodes */

/* Whether @ino is one of the filesystem's own inodes, which have no path. */
static bool is_special(const struct e4l_like *l, ext2_ino_t ino)
{
	const struct ext2_super_block *sb = l->fs->super;

	return ino == sb->s_journal_inum || ino == sb->s_orphan_file_inum ||
	       ino == sb->s_usr_quota_inum || ino == sb->s_grp_quota_inum ||
	       ino == sb->s_prj_quota_inum || ino == sb->s_snapshot_inum;
}

static errcode_t free_inode(struct e4l_like *l, ext2_ino_t ino,
			    struct ext2_inode_large *inode)
{
	errcode_t err = e4l_like_read_inode(l, ino, inode);
	bool is_dir;

	if (err)
		return err;
	is_dir = LINUX_S_ISDIR(inode->i_mode);
	err = e4l_like_count(l, ino, inode, -1);
	if (!err)
		err = e4l_like_release(l, ino, inode);
	if (err)
		return err;
	ext2fs_inode_alloc_stats2(l->fs, ino, -1, is_dir);
	memset(inode, 0, EXT2_INODE_SIZE(l->fs->super));
	l->changed = true;
	return ext2fs_write_inode_full(l->fs, ino, (struct ext2_inode *)inode,
				       EXT2_INODE_SIZE(l->fs->super));
}

/* Frees all inodes of the old image that no node of the tree uses. */
static errcode_t free_inodes(struct e4l_like *l)
{
	struct ext2_inode_large *inode = e4l_like_new_inode(l);
	ext2_ino_t at = EXT2_FIRST_INODE(l->fs->super), ino;
	ext2_ino_t last = l->fs->super->s_inodes_count;
	errcode_t err = inode ? 0 : ENOMEM;

	for (; !err && at <= last && !ext2fs_find_first_set_inode_bitmap2(
			l->fs->inode_map, at, last, &ino); at = ino + 1) {
		if (l->node_of[ino] || is_special(l, ino))
			continue;
		err = free_inode(l, ino, inode);
		if (err)
			e4l_fail(l->e, err, "freeing an old inode", ino, 0);
	}
	free(inode);
	return err;
}

/* ---------------------------------------------------------------- comparing */

static errcode_t compare_file(struct e4l_like *l, uint32_t id,
			      struct ext2_inode_large *inode)
{
	struct like_file file = { .node = id, .first = l->runs.n };
	errcode_t err = e4l_like_compare(l, &file, inode);

	if (!err && vec_room(&l->files, 1))
		err = ENOMEM;
	if (!err)
		l->files.v[l->files.n++] = file;
	return err;
}

/*
 * Compares the node @id with the node's inode in the old image.  If inline data
 * or the target of a symbolic link differs, frees the old content.
 */
static errcode_t compare_node(struct e4l_like *l, uint32_t id,
			      struct ext2_inode_large *inode)
{
	const struct node *n = &l->t->nodes.v[id];
	bool same = true;
	errcode_t err = e4l_like_read_inode(l, n->ino, inode);

	if (!err)
		err = e4l_like_count(l, n->ino, inode, -1);
	if (!err && S_ISREG(n->mode) &&
	    !(inode->i_flags & EXT4_INLINE_DATA_FL))
		return compare_file(l, id, inode);
	if (!err && (inode->i_flags & EXT4_INLINE_DATA_FL ||
		     S_ISLNK(n->mode)))
		err = e4l_like_same_inside(l, id, inode, &same);
	if (err || same)
		return err;
	l->state[id] = LIKE_AGAIN;
	return e4l_like_release(l, n->ino, inode);
}

static errcode_t compare(struct e4l_like *l)
{
	struct ext2_inode_large *inode = e4l_like_new_inode(l);
	errcode_t err = inode ? 0 : ENOMEM;
	uint32_t i;

	for (i = E4L_TREE_ROOT; i < l->t->nodes.n && !err; i++) {
		if (e4l_is_interrupted(l->e))
			err = E4L_ET_INTERRUPTED;
		else if (stands(&l->t->nodes.v[i]) && l->state[i] == LIKE_KEPT)
			err = fail_node(l, compare_node(l, i, inode),
					"comparing a file", i);
	}
	free(inode);
	return err;
}

/* --------------------------------------------------------------- new inodes */

static errcode_t assign_inode(struct e4l_like *l, struct e4l_place *place,
			      uint32_t id)
{
	struct node *n = &l->t->nodes.v[id];
	const struct node *dir = &l->t->nodes.v[n->parent];
	char name[EXT2_NAME_LEN + 1];
	errcode_t err;

	if (!stands(n) || n->ino)
		return 0;
	memcpy(name, node_name(l->t, n), n->name_len);
	name[n->name_len] = '\0';
	err = e4l_new_inode(place, dir->ino, n->mode,
			    l->state[n->parent] == LIKE_KEPT ? name : NULL,
			    &n->ino);
	if (err)
		return err;
	l->changed = true;
	l->node_of[n->ino] = id;
	ext2fs_inode_alloc_stats2(l->fs, n->ino, 1, S_ISDIR(n->mode));
	return 0;
}

static errcode_t assign_inodes(struct e4l_like *l)
{
	uint32_t window = l->p->o.window == E4L_WINDOW_EXACT ? 0 :
			  l->p->o.window, i;
	struct e4l_place *place;
	errcode_t err;
	size_t d;

	for (i = E4L_TREE_ROOT; i < l->t->nodes.n; i++)
		l->stats.wanted_inodes += stands(&l->t->nodes.v[i]) &&
					  !l->t->nodes.v[i].ino;
	l->stats.free_inodes = l->fs->super->s_free_inodes_count;
	if (l->stats.wanted_inodes > l->stats.free_inodes)
		return fail_node(l, E4L_ET_NO_INODES, "placing inodes", 0);
	err = e4l_place_new(l->e, window, 0, &place);
	if (err)
		return err;
	for (d = 0; d < l->p->dirs.n && !err; d++) {
		const struct node *dir = &l->t->nodes.v[l->p->dirs.v[d]];

		for (i = 0; i < dir->n_child && !err; i++)
			err = assign_inode(l, place,
					   l->p->order[dir->child + i]);
	}
	e4l_place_free(place);
	return err;
}

/* ---------------------------------------------------------------- finishing */

static errcode_t finish_all(struct e4l_like *l, bool dirs)
{
	struct like_file none = { 0 };
	errcode_t err = 0;
	uint32_t i;

	for (i = E4L_TREE_ROOT; i < l->t->nodes.n && !err; i++) {
		const struct node *n = &l->t->nodes.v[i];

		if (!stands(n) || S_ISDIR(n->mode) != dirs ||
		    (S_ISREG(n->mode) && l->state[i] == LIKE_KEPT))
			continue;
		none.node = i;
		err = fail_node(l, e4l_like_finish(l, i, &none),
				"writing an inode", i);
	}
	return err;
}

/*
 * Writes the inodes of all regular files: first the files in l->files, then the
 * files with inline data, which l->files does not contain.
 */
static errcode_t finish_files(struct e4l_like *l)
{
	uint8_t *done = calloc(1, l->t->nodes.n);
	struct like_file none = { 0 };
	errcode_t err = done ? 0 : ENOMEM;
	uint32_t i;
	size_t k;

	for (k = 0; k < l->files.n && !err; k++) {
		i = l->files.v[k].node;
		done[i] = 1;
		err = fail_node(l, e4l_like_finish(l, i, &l->files.v[k]),
				"writing an inode", i);
	}
	for (i = E4L_TREE_ROOT; i < l->t->nodes.n && !err; i++) {
		const struct node *n = &l->t->nodes.v[i];

		none.node = i;
		if (stands(n) && S_ISREG(n->mode) && !done[i] &&
		    l->state[i] == LIKE_KEPT)
			err = fail_node(l, e4l_like_finish(l, i, &none),
					"writing an inode", i);
	}
	free(done);
	return err;
}

/*
 * If anything has changed, writes the superblock, the group descriptors and the
 * bitmaps.  Backups are written only if the features have changed.
 */
static errcode_t flush(struct e4l_like *l)
{
	struct ext2_super_block *sb = l->fs->super;
	struct e4l_tree *t = l->t;
	bool has_xattrs = false, same;
	uint32_t i;

	for (i = E4L_TREE_ROOT; i < t->nodes.n; i++)
		has_xattrs |= t->nodes.v[i].xattr != 0;
	if (!has_xattrs && !(l->features[0] & EXT2_FEATURE_COMPAT_EXT_ATTR))
		ext2fs_clear_feature_xattr(sb);
	same = sb->s_feature_compat == l->features[0] &&
	       sb->s_feature_incompat == l->features[1] &&
	       sb->s_feature_ro_compat == l->features[2];
	if (same && !l->changed)
		return 0;
	l->changed = true;
	l->fs->now = e4l_time_sec(l->p->now);
	if (same)
		l->fs->flags |= EXT2_FLAG_MASTER_SB_ONLY;
	else
		l->fs->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
	l->fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
	ext2fs_mark_super_dirty(l->fs);
	ext2fs_mark_ib_dirty(l->fs);
	ext2fs_mark_bb_dirty(l->fs);
	return ext2fs_flush(l->fs);
}

static errcode_t take_for_libext2fs(ext2_filsys fs, blk64_t goal, blk64_t *ret)
{
	struct e4l_like *l = fs->priv_data;

	/*
	 * ext2fs_alloc_block() marks the block as in use, so clear the mark
	 * that e4l_like_take_one() has set
	 */
	errcode_t err = e4l_like_take_one(l, ret);

	if (!err && !l->missing)
		ext2fs_block_alloc_stats2(fs, *ret, -1);
	return err;
}

static errcode_t change(struct e4l_like *l)
{
	errcode_t err = e4l_pop_load_free(l->p);

	if (!err)
		err = ext2fs_copy_bitmap(l->fs->block_map, &l->kept);
	if (err)
		return err;
	l->stats.free_blocks = ext2fs_free_blocks_count(l->fs->super);
	l->fs->priv_data = l;
	ext2fs_set_alloc_block_callback(l->fs, take_for_libext2fs, NULL);
	err = assign_inodes(l);
	if (!err)
		err = finish_all(l, true);
	if (!err)
		err = finish_all(l, false);
	if (!err)
		err = finish_files(l);
	if (!err)
		err = e4l_like_put_quota(l);
	l->stats.wanted_blocks = l->p->taken + l->missing;
	if (!err && l->missing)
		err = fail_node(l, E4L_ET_NO_SPACE, "placing blocks", 0);
	return err ? err : flush(l);
}

/* ------------------------------------------------------------------- public */

errcode_t e4l_like_plan(struct e4l *old, int fd, struct e4l_tree *t,
			const struct e4l_populate_options *options,
			struct e4l_like **ret)
{
	struct e4l_like *l = calloc(1, sizeof(*l));
	errcode_t err;

	*ret = l;
	if (!l)
		return ENOMEM;
	l->p = calloc(1, sizeof(*l->p));
	if (!l->p)
		return ENOMEM;
	l->old = old;
	l->t = t;
	l->fd = fd;
	/*
	 * set these members first, because e4l_populate_free() uses the members
	 * even if planning fails
	 */
	l->p->t = t;
	l->p->first_map = t->maps.n;
	l->p->first_extra = t->extras.n;
	err = copy_old(l);
	if (!err)
		err = prepare_tree(l, options);
	if (!err)
		err = get_memory(l);
	if (!err)
		err = match(l);
	if (!err)
		err = free_inodes(l);
	if (!err)
		err = compare(l);
	if (!err)
		err = change(l);
	if (!err)
		e4l_pop_count_times(l->p);
	l->stats.far_times = l->p->stats.far_times;
	l->stats.cut_times = l->p->stats.cut_times;
	return err;
}

void e4l_like_get_stats(const struct e4l_like *l,
			struct e4l_populate_stats *stats)
{
	e4l_copy_out(stats, &l->stats);
}

void e4l_like_free(struct e4l_like *l)
{
	enum e4l_quota_type type;

	if (!l)
		return;
	for (type = 0; type < QUOTA_TYPES; type++)
		free(l->usage[type].v);
	e4l_source_close(&l->source);
	e4l_populate_free(l->p);
	if (l->was)
		ext2fs_free_block_bitmap(l->was);
	if (l->kept)
		ext2fs_free_block_bitmap(l->kept);
	e4l_overlay_free(l->e);
	free(l->state);
	free(l->seen);
	free(l->node_of);
	free(l->new_buf);
	free(l->old_buf);
	free(l->runs.v);
	free(l->files.v);
	free(l->writes.v);
	free(l->fill_of.v);
	free(l->zeroes.v);
	free(l);
}
