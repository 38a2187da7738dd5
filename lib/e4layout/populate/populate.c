/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Public functions that fill a new filesystem: check the filesystem and the
 * tree, plan, and write.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "layer.h"
#include "e4layout/base/array.h"
#include "e4layout/inodes/place.h"
#include "populate.h"

errcode_t e4l_pop_fail(struct e4l_populate *p, errcode_t err, const char *doing,
		       uint32_t node)
{
	e4l_tree_fail(p->t, err, node, NULL, 0);
	return e4l_fail(p->e, err, doing, 0, 0);
}

/* --------------------------------------------------------- existing content */

struct root {
	ext2_ino_t lost_found;
	unsigned int others;
};

static int see_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry *d,
		     int offset, int blocksize, char *buf, void *priv)
{
	struct root *root = priv;

	if (entry == DIRENT_DOT_FILE || entry == DIRENT_DOT_DOT_FILE)
		return 0;
	if (ext2fs_dirent_name_len(d) == 10 &&
	    !memcmp(d->name, "lost+found", 10))
		root->lost_found = d->inode;
	else
		root->others++;
	return 0;
}

static errcode_t check_fs(struct e4l_populate *p, struct root *root)
{
	struct ext2_super_block *sb = p->fs->super;
	errcode_t err;

	if (!ext2fs_has_feature_extents(sb) ||
	    ext2fs_has_feature_casefold(sb) ||
	    !(p->fs->flags & EXT2_FLAG_RW) || !p->fs->block_map ||
	    !p->fs->inode_map)
		return e4l_fail(p->e, E4L_ET_CANNOT_POPULATE,
				"checking the features", 0, 0);
	*root = (struct root) { 0 };
	err = ext2fs_dir_iterate2(p->fs, EXT2_ROOT_INO, 0, NULL, see_entry,
				  root);
	if (err)
		return e4l_fail(p->e, err, "reading the root directory",
				EXT2_ROOT_INO, 0);
	if (root->others)
		return e4l_fail(p->e, E4L_ET_NOT_EMPTY,
				"reading the root directory", EXT2_ROOT_INO, 0);
	return 0;
}

/* Returns the number of free blocks from @from to @last. */
static uint64_t free_blocks(ext2_filsys fs, blk64_t from, blk64_t last)
{
	uint64_t n = 0;
	blk64_t end;

	while (from <= last && !ext2fs_find_first_zero_block_bitmap2(
			fs->block_map, from, last, &from)) {
		if (ext2fs_find_first_set_block_bitmap2(fs->block_map, from,
							last, &end))
			end = last + 1;
		n += end - from;
		from = end;
	}
	return n;
}

/*
 * Counts the free blocks of each group again, because the counts of mke2fs can
 * be wrong.  With -E packed_meta_blocks, mke2fs subtracts blocks in group 0
 * also from the counts of other groups.
 */
static void count_free_blocks(ext2_filsys fs)
{
	uint64_t total = 0, n;
	uint32_t clusters;
	dgrp_t g;

	for (g = 0; g < fs->group_desc_count; g++) {
		n = free_blocks(fs, ext2fs_group_first_block2(fs, g),
				ext2fs_group_last_block2(fs, g));
		clusters = EXT2FS_NUM_B2C(fs, n);
		total += EXT2FS_C2B(fs, clusters);
		if (ext2fs_bg_free_blocks_count(fs, g) == clusters)
			continue;
		ext2fs_bg_free_blocks_count_set(fs, g, clusters);
		ext2fs_group_desc_csum_set(fs, g);
	}
	ext2fs_free_blocks_count_set(fs->super, total);
}

static int drop_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t blockcnt,
		      blk64_t ref_blk, int ref_offset, void *priv)
{
	if (ext2fs_test_block_bitmap2(fs->block_map, *blk))
		ext2fs_block_alloc_stats2(fs, *blk, -1);
	return 0;
}

/*
 * Frees the blocks that mke2fs has allocated for the directory @ino, because
 * the plan allocates new blocks.
 */
static errcode_t drop_blocks(struct e4l_populate *p, ext2_ino_t ino)
{
	errcode_t err = ext2fs_block_iterate3(p->fs, ino,
					      BLOCK_FLAG_READ_ONLY, NULL,
					      drop_block, NULL);

	return err == EXT2_ET_INLINE_DATA_CANT_ITERATE ? 0 : err;
}

/*
 * Adds lost+found to the tree, with the inode number and the size from mke2fs.
 */
static errcode_t adopt_lost_found(struct e4l_populate *p, ext2_ino_t ino)
{
	struct ext2_inode inode;
	struct e4l_entry e;
	errcode_t err;

	err = ext2fs_read_inode(p->fs, ino, &inode);
	if (!err)
		err = drop_blocks(p, ino);
	if (!err)
		err = e4l_tree_find(p->t, E4L_TREE_ROOT, "lost+found", 10,
				    &p->lost_found);
	if (!err && !p->lost_found) {
		e = (struct e4l_entry) {
			.mode = inode.i_mode,
			.mtime.tv_sec = e4l_time_sec(p->now),
			.atime.tv_sec = e4l_time_sec(p->now),
			.ctime.tv_sec = e4l_time_sec(p->now),
		};
		err = e4l_tree_add(p->t, E4L_TREE_ROOT, "lost+found", 10, &e,
				   &p->lost_found);
	}
	if (err)
		return e4l_fail(p->e, err, "adding lost+found", ino, 0);
	if (!S_ISDIR(p->t->nodes.v[p->lost_found].mode))
		return e4l_pop_fail(p, E4L_ET_LOST_FOUND,
				    "adding lost+found",
				    p->lost_found);
	p->t->nodes.v[p->lost_found].ino = ino;
	p->lost_found_blocks = EXT2_I_SIZE(&inode) / p->bs;
	return 0;
}

static errcode_t note_old_inodes(struct e4l_populate *p)
{
	ext2_ino_t at, last = p->fs->super->s_inodes_count, ino;

	for (at = 1; at <= last && !ext2fs_find_first_set_inode_bitmap2(
			p->fs->inode_map, at, last, &ino); at = ino + 1)
		p->max_old = ino;
	p->old = e4l_array_zalloc(p->max_old + 1ULL, 1);
	if (!p->old)
		return ENOMEM;
	for (ino = 1; ino <= p->max_old; ino++)
		p->old[ino] = ext2fs_test_inode_bitmap2(p->fs->inode_map, ino);
	return 0;
}

/* --------------------------------------------------------------- the source */

static void no_later_than(uint64_t *time, uint64_t latest)
{
	if (*time > latest)
		*time = latest;
}

/*
 * Makes times reproducible.  Access times and status change times depend on
 * copying and reading, so the modification time replaces these times.  Replaces
 * times later than p->now by p->now.
 */
void e4l_pop_clamp_times(struct e4l_populate *p)
{
	size_t i;

	for (i = E4L_TREE_ROOT; i < p->t->nodes.n; i++) {
		struct node *n = &p->t->nodes.v[i];

		no_later_than(&n->mtime, p->now);
		n->atime = n->ctime = n->mtime;
		if (n->extra)
			no_later_than(&p->t->extras.v[n->extra].crtime,
				      p->now);
	}
}

/* Checks that the new filesystem can store all files of the tree. */
errcode_t e4l_pop_check_tree(struct e4l_populate *p)
{
	struct ext2_super_block *sb = p->fs->super;
	const struct extra *x;
	const struct node *n;
	size_t i;

	for (i = E4L_TREE_ROOT; i < p->t->nodes.n; i++) {
		n = &p->t->nodes.v[i];
		x = &p->t->extras.v[n->extra];
		if ((x->projid && !ext2fs_has_feature_project(sb)) ||
		    (x->flags & EXT4_VERITY_FL &&
		     !ext2fs_has_feature_verity(sb)))
			return e4l_pop_fail(p, E4L_ET_NEEDS_FEATURE,
					    "checking the source", i);
		if (x->flags & (EXT4_ENCRYPT_FL | EXT4_CASEFOLD_FL))
			return e4l_pop_fail(p, x->flags & EXT4_ENCRYPT_FL ?
					    E4L_ET_ENCRYPTED :
					    E4L_ET_CASEFOLDED,
					    "checking the source", i);
		if (S_ISLNK(n->mode) && n->size >= p->bs)
			return e4l_pop_fail(p, E4L_ET_SYMLINK_BLOCK,
					    "checking the source", i);
		if (n->size > INT32_MAX)
			ext2fs_set_feature_large_file(sb);
		if (n->xattr)
			ext2fs_set_feature_xattr(sb);
	}
	return 0;
}

/* Adds the file @n to the statistics if a time does not fit into the inode. */
static void count_times(struct e4l_populate *p, const struct node *n)
{
	const uint64_t times[] = { n->mtime, n->atime, n->ctime };
	bool far = false, cut = false;
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
		far |= e4l_time_is_marked(times[i]) ||
		       (!p->extra_isize && e4l_time_sec(times[i]) > INT32_MAX);
		cut |= !p->extra_isize && e4l_time_nsec(times[i]);
	}
	p->stats.far_times += far;
	p->stats.cut_times += cut;
}

void e4l_pop_count_times(struct e4l_populate *p)
{
	size_t end = p->first_hidden ? p->first_hidden : p->t->nodes.n, i;

	for (i = E4L_TREE_ROOT; i < end; i++)
		if (stands(&p->t->nodes.v[i]))
			count_times(p, &p->t->nodes.v[i]);
}

/* ------------------------------------------------------------------- public */

void e4l_pop_set_up(struct e4l_populate *p, struct e4l *e, struct e4l_tree *t,
		    const struct e4l_populate_options *o)
{
	ext2_filsys fs = e->fs;

	p->e = e;
	p->fs = fs;
	p->t = t;
	p->o = *o;
	p->bs = fs->blocksize;
	p->ratio = EXT2FS_CLUSTER_RATIO(fs);
	p->isize = EXT2_INODE_SIZE(fs->super);
	if (p->isize > EXT2_GOOD_OLD_INODE_SIZE)
		p->extra_isize = sizeof(struct ext2_inode_large) -
				 EXT2_GOOD_OLD_INODE_SIZE;
	p->csum = ext2fs_has_feature_metadata_csum(fs->super);
	p->filetype = ext2fs_has_feature_filetype(fs->super);
	p->now = e4l_pack_time(o->now, 0);
	p->first_map = t->maps.n;
	p->first_extra = t->extras.n;
	p->stats.free_inodes = fs->super->s_free_inodes_count;
}

static bool is_window(uint32_t inodes)
{
	return !inodes || inodes == E4L_WINDOW_EXACT ||
	       e4l_place_is_window(inodes);
}

errcode_t e4l_populate_plan(struct e4l *e, struct e4l_tree *t,
			    const struct e4l_populate_options *options,
			    struct e4l_populate **ret)
{
	struct e4l_populate *p;
	struct root root;
	errcode_t err;

	*ret = NULL;
	if (E4L_HAS_UNKNOWN(options))
		return e4l_fail(e, E4L_ET_OPTION, "planning the image", 0, 0);
	if (!options->threads || !is_window(options->window))
		return e4l_fail(e, E4L_ET_BAD_ARGUMENT, "planning the image", 0,
				0);
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	*ret = p;
	err = e4l_layer_end(t);
	if (!err)
		err = e4l_tree_drop_removed(t);
	e4l_pop_set_up(p, e, t, options);
	if (!err)
		err = check_fs(p, &root);
	if (!err)
		err = note_old_inodes(p);
	if (!err)
		count_free_blocks(e->fs);
	if (!err)
		err = drop_blocks(p, EXT2_ROOT_INO);
	if (!err && root.lost_found)
		err = adopt_lost_found(p, root.lost_found);
	p->stats.free_blocks = ext2fs_free_blocks_count(e->fs->super);
	if (!err && options->clamp_times)
		e4l_pop_clamp_times(p);
	if (!err)
		err = e4l_pop_check_tree(p);
	if (!err)
		err = e4l_pop_plan(p);
	if (!err)
		e4l_pop_count_times(p);
	return err;
}

errcode_t e4l_populate_write(struct e4l_populate *p,
			     const struct e4l_populate_target *target)
{
	errcode_t err;

	if (E4L_HAS_UNKNOWN(target))
		return e4l_fail(p->e, E4L_ET_OPTION, "writing the image", 0,
				0);
	p->target = *target;
	err = e4l_pop_write(p);
	if (!err) {
		/*
		 * the inodes were written without libext2fs, so the inode cache
		 * of libext2fs may be out of date
		 */
		if (p->fs->icache)
			ext2fs_free_inode_cache(p->fs->icache);
		p->fs->icache = NULL;
		ext2fs_mark_super_dirty(p->fs);
	}
	return err;
}

void e4l_populate_get_stats(const struct e4l_populate *p,
			    struct e4l_populate_stats *stats)
{
	e4l_copy_out(stats, &p->stats);
}

/*
 * Undoes the changes of planning: removes added nodes and resets planned
 * members, so that the tree can be planned again.
 */
static void restore_tree(struct e4l_populate *p)
{
	struct e4l_tree *t = p->t;
	size_t i;

	if (p->first_hidden)
		t->nodes.n = p->first_hidden;
	t->maps.n = p->first_map;
	t->extras.n = p->first_extra;
	for (i = E4L_TREE_ROOT; i < t->nodes.n; i++) {
		struct node *n = &t->nodes.v[i];

		if (n->flags & NODE_PLACED)
			n->xattr = p->xplaces.v[n->xattr].set;
		if (n->map >= p->first_map)
			n->map = 0;
		n->ino = 0;
		n->flags &= NODE_GROUPED;
	}
	for (i = 0; i < t->groups.n; i++)
		t->groups.v[i].owner = 0;
}

void e4l_populate_free(struct e4l_populate *p)
{
	size_t i;

	if (!p)
		return;
	restore_tree(p);
	for (i = 0; i < p->blobs.n; i++)
		free(p->blobs.v[i].owned);
	e4l_pop_free_shapes(p);
	free(p->order);
	free(p->dirs.v);
	free(p->by_ino);
	free(p->old);
	free(p->items.v);
	free(p->segs.v);
	free(p->xplaces.v);
	free(p->xplace_of);
	free(p->blobs.v);
	free(p->runs.v);
	free(p->longest);
	free(p);
}
