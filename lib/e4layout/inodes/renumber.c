/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * renumber: gives an inode a new number, in one transaction:
 *
 *  1. every entry that refers to the inode, in any directory, gets the new
 *     number; the number of entries must equal the link count;
 *  2. for a directory, "." and the ".." of its subdirectories also change; all
 *     blocks of the directory get checksums that are seeded with the new
 *     number;
 *  3. the blocks of the inode's extent tree get new checksums;
 *  4. the inode's bytes move, and bitmaps and descriptors are updated.
 *
 * The transaction is consistent after each move: the next move may change the
 * same blocks, and may use the freed inode number.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "renumber.h"
#include "e4layout/base/array.h"
#include "e4layout/format/csum.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "e4layout/format/extent_tree.h"
#include "e4layout/format/format.h"
#include "e4layout/read/scan.h"

/* A move changes two blocks each of inode tables, bitmaps and descriptors. */
#define MOVE_BLOCKS 6

struct e4l_renumber {
	struct e4l *e;		/* must be first, for e4l_refuse_damage() */
	struct e4l_journal *j;
	struct e4l_name_graph *g;
	struct e4l_txn *txn;
	uint64_t added, done, transactions;
	/* members for the current move */
	const struct e4l_inode_move *move;
	struct ext2_inode_large *inode;
	/* buffer for the inode of a directory with inline data */
	struct ext2_inode_large *other;
	blk64_t *tree;			/* blocks of @inode's extent tree */
	size_t n_tree;
};

/* ---------------------------------------------------------------- the graph */

const uint32_t *e4l_children_of(const struct e4l_name_graph *g, uint32_t dir,
				size_t *n)
{
	size_t low = 0, high = g->n_dirs, mid, end;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (g->dirs[g->children[mid]].parent < dir)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < g->n_dirs &&
	     g->dirs[g->children[end]].parent == dir; end++)
		;
	*n = end - low;
	return g->children + low;
}

const struct e4l_name *e4l_names_of(const struct e4l_name_graph *g,
				    ext2_ino_t ino, size_t *n)
{
	size_t first = e4l_lower_bound(&ino, g->names, g->n_names,
				       sizeof(*g->names), e4l_u32_cmp), end;

	for (end = first; end < g->n_names && g->names[end].ino == ino; end++)
		;
	*n = end - first;
	return g->names + first;
}

uint64_t e4l_move_cost(const struct e4l_name_graph *g,
		       const struct e4l_inode_move *move)
{
	size_t n;

	if (move->self == E4L_NO_DIR) {
		e4l_names_of(g, move->first, &n);
		return MOVE_BLOCKS + (n ? n : 1);
	}
	e4l_children_of(g, move->self, &n);
	return MOVE_BLOCKS + 1 + n + g->dirs[move->self].map.blocks;
}

/* ----------------------------------------------------------------- 1. names */

static errcode_t refuse(struct e4l_renumber *r, errcode_t err)
{
	return e4l_fail(r->e, err, "renumbering an inode",
			r->move->from, 0);
}

/*
 * Replaces the old inode number by the new number in the directory entries of
 * @w, and adds the number of replaced entries to *@found.
 */
static errcode_t rename_entries(struct e4l_renumber *r, struct e4l_dir_walk *w,
				uint32_t *found)
{
	enum e4l_dir_step step;
	struct e4l_dirent entry;

	while ((step = e4l_dir_next(w, &entry)) == DIR_ENTRY) {
		if (entry.ino != r->move->from || e4l_dirent_is_dotdot(&entry))
			continue;
		put_le32((char *)entry.name - DIRENT_HEAD_BYTES, r->move->to);
		++*found;
	}
	return step == DIR_BAD ? refuse(r, E4L_ET_DAMAGED) : 0;
}

static struct e4l_dir_walk walk_of(const struct e4l_renumber *r,
				   const struct e4l_dir_map *map)
{
	return (struct e4l_dir_walk) {
		.fs = r->e->fs, .dir = map->ino,
		.encrypted = map->flags & EXT4_ENCRYPT_FL,
	};
}

static errcode_t rename_inline(struct e4l_renumber *r,
			       const struct e4l_dir_map *map, uint32_t *found)
{
	size_t bytes = EXT2_INODE_SIZE(r->e->fs->super);
	struct e4l_dir_walk head = walk_of(r, map), tail = head;
	errcode_t err = e4l_txn_read_inode(r->txn, map->ino, r->other);

	if (err)
		return err;
	head.buf = (char *)r->other->i_block + DIR_INLINE_PARENT;
	head.len = I_BLOCK_BYTES - DIR_INLINE_PARENT;
	tail.buf = e4l_inline_value(r->other, bytes, &tail.len);
	err = rename_entries(r, &head, found);
	if (!err)
		err = rename_entries(r, &tail, found);
	return err ? err : e4l_txn_put_inode(r->txn, map->ino, r->other);
}

/*
 * Adds block @lblk of a directory to the transaction, and sets *@data to the
 * content, which the caller changes.  If the block's checksum is wrong, fails.
 */
static errcode_t edit_dir_block(struct e4l_renumber *r,
				const struct e4l_dir_map *map, uint64_t lblk,
				void **data)
{
	blk64_t blk = e4l_dir_map_pblk(&r->g->maps, map, lblk);
	errcode_t err = e4l_txn_edit_block(r->txn, blk, data);

	if (!err && !e4l_dir_block_csum_ok(r->e->fs, map->ino, map->generation,
					   *data))
		err = e4l_fail(r->e, E4L_ET_CHANGED, "changing a directory",
			       map->ino, blk);
	return err;
}

static void seal(struct e4l_renumber *r, const struct e4l_dir_map *map,
		 void *block)
{
	e4l_dir_block_csum_set(r->e->fs, map->ino, map->generation, block);
}

static errcode_t rename_in(struct e4l_renumber *r, uint32_t dir, uint32_t lblk,
			   uint32_t *found)
{
	const struct e4l_dir_map *map = &r->g->dirs[dir].map;
	struct e4l_dir_walk w = walk_of(r, map);
	errcode_t err;
	void *data;

	if (!map->blocks)
		return rename_inline(r, map, found);
	err = edit_dir_block(r, map, lblk, &data);
	if (err)
		return err;
	w.buf = data;
	w.len = r->e->fs->blocksize;
	w.has_dots = !lblk;
	err = rename_entries(r, &w, found);
	seal(r, map, data);
	return err;
}

static errcode_t rename_file(struct e4l_renumber *r)
{
	const struct e4l_inode_move *move = r->move;
	const struct e4l_name *name;
	uint32_t found = 0;
	errcode_t err = 0;
	size_t n, i;

	name = e4l_names_of(r->g, move->first, &n);
	if (!n)
		err = rename_in(r, move->dir, move->lblk, &found);
	for (i = 0; i < n && !err; i++)
		err = rename_in(r, name[i].dir, name[i].lblk, &found);
	if (!err && found != r->inode->i_links_count)
		err = refuse(r, E4L_ET_CHANGED);
	return err;
}

/* ----------------------------------------------------------- 2. directories */

/*
 * Replaces the old inode number by the new number in @block, the first block of
 * a directory.  If @parent is true, changes the entry ".."; otherwise, changes
 * the entry ".".
 */
static errcode_t change_dots(struct e4l_renumber *r, char *block, bool parent)
{
	uint32_t bs = r->e->fs->blocksize;
	struct dirent_raw d = dirent_read(bs, block);

	if (d.rec_len != DIR_ENTRY_BYTES || d.name_len != 1)
		return refuse(r, E4L_ET_DAMAGED);
	if (parent) {
		block += DIR_ENTRY_BYTES;
		d = dirent_read(bs, block);
	}
	if (d.name_len != 1 + parent || memcmp(d.name, "..", d.name_len) ||
	    d.ino != r->move->from)
		return refuse(r, E4L_ET_CHANGED);
	put_le32(block, r->move->to);
	return 0;
}

/*
 * Changes the entry ".." of a subdirectory of the directory that is renumbered.
 */
static errcode_t change_child(struct e4l_renumber *r,
			      const struct e4l_dir_map *map)
{
	errcode_t err;
	void *data;

	if (map->blocks) {
		err = edit_dir_block(r, map, 0, &data);
		if (!err)
			err = change_dots(r, data, true);
		if (!err)
			seal(r, map, data);
		return err;
	}
	err = e4l_txn_read_inode(r->txn, map->ino, r->other);
	if (!err && ext2fs_le32_to_cpu(r->other->i_block[0]) != r->move->from)
		err = refuse(r, E4L_ET_CHANGED);
	if (err)
		return err;
	r->other->i_block[0] = ext2fs_cpu_to_le32(r->move->to);
	return e4l_txn_put_inode(r->txn, map->ino, r->other);
}

/*
 * Changes the entry "." of a directory that is renumbered, and the checksums of
 * all blocks of the directory.
 */
static errcode_t change_blocks(struct e4l_renumber *r, struct e4l_dir_map *map)
{
	bool all = ext2fs_has_feature_metadata_csum(r->e->fs->super);
	struct e4l_dir_map new = *map;
	errcode_t err = 0;
	uint64_t i;
	void *data;

	new.ino = r->move->to;
	for (i = 0; i < map->blocks && !err && (all || !i); i++) {
		err = edit_dir_block(r, map, i, &data);
		if (!err && !i)
			err = change_dots(r, data, false);
		if (!err)
			seal(r, &new, data);
	}
	return err;
}

static errcode_t rename_dir(struct e4l_renumber *r)
{
	struct e4l_named_dir *dir = &r->g->dirs[r->move->self];
	const uint32_t *child;
	uint32_t found = 0;
	errcode_t err;
	size_t n;

	err = rename_in(r, dir->parent, dir->parent_lblk, &found);
	if (!err && found != 1)
		err = refuse(r, E4L_ET_CHANGED);
	if (!err)
		err = change_blocks(r, &dir->map);
	child = e4l_children_of(r->g, r->move->self, &n);
	for (; n && !err; n--, child++)
		err = change_child(r, &r->g->dirs[*child].map);
	return err;
}

/* ------------------------------------------------------------------ 3. tree */

/* Commits the transaction and begins another transaction. */
static errcode_t begin_next(struct e4l_renumber *r)
{
	errcode_t err = e4l_renumber_commit(r);

	return err ? err : e4l_txn_begin(r->j, &r->txn);
}

static errcode_t note_tree(const struct e4l_piece *p, void *priv)
{
	struct e4l_renumber *r = priv;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < p->n_tree && !err; i++) {
		err = e4l_grow(&r->tree, r->n_tree, sizeof(*r->tree));
		if (!err)
			r->tree[r->n_tree++] = p->tree[i].pblk;
	}
	return err;
}

/*
 * Returns whether the inode has extent tree blocks, which need new checksums.
 */
static bool has_tree(const struct e4l_renumber *r)
{
	const struct ext2_inode_large *inode = r->inode;

	return ext2fs_has_feature_metadata_csum(r->e->fs->super) &&
	       inode->i_flags & EXT4_EXTENTS_FL &&
	       !(inode->i_flags & EXT4_INLINE_DATA_FL) &&
	       get_le16((const char *)inode->i_block + 6);
}

/*
 * Reads from the device which blocks the inode's extent tree has.  If an
 * earlier move of this run has changed the inode number, commits the
 * transaction first: before the commit, the device has the inode under the
 * previous number.
 */
static errcode_t find_tree(struct e4l_renumber *r)
{
	static const struct e4l_scan_ops ops = {
		.piece = note_tree, .damage = e4l_refuse_damage,
	};
	errcode_t err = 0;

	r->n_tree = 0;
	if (!has_tree(r))
		return 0;
	if (r->move->again)
		err = begin_next(r);
	return err ? err : e4l_scan_inode(r->e, r->move->from, &ops, r);
}

static errcode_t change_tree(struct e4l_renumber *r)
{
	ext2_filsys fs = r->e->fs;
	uint32_t generation = r->inode->i_generation;
	uint32_t old = e4l_inode_seed(fs, r->move->from, generation);
	uint32_t new = e4l_inode_seed(fs, r->move->to, generation);
	size_t i, tail;
	errcode_t err;
	void *data;

	for (i = 0; i < r->n_tree; i++) {
		err = e4l_txn_edit_block(r->txn, r->tree[i], &data);
		if (err)
			return err;
		tail = EXTENT_ENTRY_BYTES *
		       (1 + get_le16((char *)data + EXTENT_EH_MAX));
		if (tail + 4 > fs->blocksize ||
		    !e4l_extent_block_csum_ok(fs, old, data))
			return refuse(r, E4L_ET_CHANGED);
		put_le32((char *)data + tail, e4l_crc32c(new, data, tail));
	}
	return 0;
}

/* ------------------------------------------------------------------ 4. move */

/*
 * Reads the inode that is to be moved.  If the running transaction does not
 * have enough space for the move, commits the transaction and begins another
 * one.
 */
static errcode_t prepare(struct e4l_renumber *r)
{
	uint64_t blocks = e4l_move_cost(r->g, r->move);
	errcode_t err = 0;

	if (!r->txn)
		err = e4l_txn_begin(r->j, &r->txn);
	if (!err)
		err = e4l_txn_read_inode(r->txn, r->move->from, r->inode);
	if (!err && (!r->inode->i_links_count ||
		     !LINUX_S_ISDIR(r->inode->i_mode) !=
		     (r->move->self == E4L_NO_DIR)))
		err = refuse(r, E4L_ET_CHANGED);
	if (!err)
		err = find_tree(r);
	blocks += r->n_tree;
	if (err || blocks <= e4l_txn_room(r->txn))
		return err;
	err = begin_next(r);
	if (!err && blocks > e4l_txn_room(r->txn))
		err = refuse(r, E4L_ET_TXN_FULL);
	return err;
}

static errcode_t carry_out(struct e4l_renumber *r)
{
	bool is_dir = r->move->self != E4L_NO_DIR;
	errcode_t err = prepare(r);

	if (!err)
		err = is_dir ? rename_dir(r) : rename_file(r);
	if (!err)
		err = change_tree(r);
	if (!err)
		err = e4l_txn_move_inode(r->txn, r->move->from, r->move->to,
					 is_dir);
	if (!err && is_dir)
		r->g->dirs[r->move->self].map.ino = r->move->to;
	r->added += !err;
	return err;
}

errcode_t e4l_renumber_add(struct e4l_renumber *r,
			   const struct e4l_inode_move *move)
{
	errcode_t err;

	e4l_fail(r->e, 0, NULL, 0, 0);
	r->move = move;
	err = carry_out(r);
	return err && !r->e->detail.doing ? refuse(r, err) : err;
}

errcode_t e4l_renumber_commit(struct e4l_renumber *r)
{
	struct e4l_txn *txn = r->txn;
	errcode_t err;

	if (!txn)
		return 0;
	r->txn = NULL;
	if (!r->added) {
		e4l_txn_abort(txn);
		return 0;
	}
	err = e4l_txn_commit(txn);
	if (err)
		return err;
	r->done += r->added;
	r->added = 0;
	r->transactions++;
	return 0;
}

uint64_t e4l_renumber_done(const struct e4l_renumber *r,
			   uint64_t *transactions)
{
	*transactions = r->transactions;
	return r->done;
}

errcode_t e4l_renumber_open(struct e4l *e, struct e4l_journal *j,
			    struct e4l_name_graph *g,
			    struct e4l_renumber **ret)
{
	size_t bytes = EXT2_INODE_SIZE(e->fs->super);
	struct e4l_renumber *r = calloc(1, sizeof(*r));

	*ret = NULL;
	if (!r)
		return ENOMEM;
	if (bytes < sizeof(*r->inode))
		bytes = sizeof(*r->inode);
	*r = (struct e4l_renumber) {
		.e = e, .j = j, .g = g, .inode = calloc(1, bytes),
		.other = calloc(1, bytes),
	};
	if (!r->inode || !r->other) {
		e4l_renumber_close(r);
		return ENOMEM;
	}
	*ret = r;
	return 0;
}

void e4l_renumber_close(struct e4l_renumber *r)
{
	if (!r)
		return;
	e4l_txn_abort(r->txn);
	free(r->inode);
	free(r->other);
	free(r->tree);
	free(r);
}
