/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evacuate_indirect: moves an inode that has an indirect map.  Each block number
 * in the map changes on its own, so that a transaction can end after any block
 * of the map.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/host_inode.h"
#include "evacuate_work.h"

#define LEVELS		3	/* levels of indirect blocks */
#define COPY_BYTES	(1u << 20)

/* A block of the map that is being changed. */
struct level {
	blk64_t blk;		/* 0 if the level is not in use */
	uint32_t *entries;	/* block numbers, little-endian */
	bool dirty;
};

struct mover {
	struct e4l_evac *ev;
	struct e4l_evac_job *job;
	struct ext2_inode *inode;
	uint32_t root[EXT2_N_BLOCKS];	/* i_block, little-endian */
	struct level level[LEVELS];	/* level[0] maps data blocks */
	char *buf;			/* COPY_BYTES long */
	blk64_t next;			/* block after the last taken block */
};

/* ------------------------------------------------------------- transactions */

static errcode_t put_level(struct mover *m, struct level *l)
{
	void *data;
	errcode_t err;

	if (!l->blk || !l->dirty)
		return 0;
	err = e4l_txn_edit_block(m->ev->txn, l->blk, &data);
	if (!err)
		memcpy(data, l->entries, m->ev->geo.blocksize);
	l->dirty = err != 0;
	return err;
}

/* Adds the changed indirect blocks and the inode to the transaction. */
static errcode_t put_all(struct mover *m)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < LEVELS && !err; i++)
		err = put_level(m, &m->level[i]);
	for (i = 0; i < EXT2_N_BLOCKS; i++)
		m->inode->i_block[i] = ext2fs_le32_to_cpu(m->root[i]);
	return err ? err : e4l_txn_put_inode(m->ev->txn, m->job->ino,
					     m->inode);
}

/*
 * Returns the maximum number of metadata blocks that a move of @n blocks and
 * put_all() change.  The move changes two blocks of each group that has old or
 * new blocks.  Each level of the map, a new indirect block, and the inode need
 * one block.
 */
static uint64_t least_room(const struct mover *m, uint64_t n)
{
	uint32_t per_group = m->ev->e->fs->super->s_blocks_per_group;

	return 2 * 2 * (n / per_group + 2) + LEVELS + 2;
}

/*
 * If the transaction has no space for a move of @n blocks, commits the
 * transaction and begins another one.
 */
static errcode_t make_room(struct mover *m, uint64_t n)
{
	errcode_t err;

	if (e4l_txn_room(m->ev->txn) >= least_room(m, n))
		return 0;
	err = put_all(m);
	return err ? err : e4l_evac_begin(m->ev);
}

/* --------------------------------------------------------------------- data */

static errcode_t copy(struct mover *m, blk64_t from, blk64_t to, uint64_t n)
{
	uint64_t max = COPY_BYTES / m->ev->geo.blocksize, part;
	uint64_t all = n;
	errcode_t err = 0;

	if (m->ev->e->over && m->job->regular && !m->job->special)
		return 0;
	for (; n && !err; n -= part, from += part, to += part) {
		part = n < max ? n : max;
		err = e4l_journal_check(m->ev->j);
		if (err)
			return err;
		err = e4l_read(m->ev->e, from, part, m->buf);
		if (err)
			return e4l_fail(m->ev->e, err, "reading a file's data",
					m->job->ino, from);
		err = e4l_write(m->ev->e, to, part, m->buf);
		if (err)
			return e4l_fail(m->ev->e, err, "writing a file's data",
					m->job->ino, to);
	}
	if (!m->ev->e->over)
		e4l_run_wrote(m->ev->run, all);
	return err;
}

/*
 * Takes up to @want free blocks, if possible directly after the previously
 * taken blocks.
 */
static errcode_t take(struct mover *m, uint64_t want, struct e4l_run *got)
{
	struct e4l_space *space = m->ev->space;

	if (!m->next || e4l_space_after(space, m->next) < want)
		return e4l_evac_take(m->ev, want, got);
	*got = (struct e4l_run) { m->next, want };
	return e4l_space_take(space, got->start, got->len);
}

/*
 * Moves up to @n contiguous data blocks from block @from on.  Sets *@got to the
 * new blocks.
 */
static errcode_t move_run(struct mover *m, blk64_t from, uint64_t n,
			  struct e4l_run *got)
{
	struct e4l_block_run old = { .pblk = from };
	struct e4l_evac *ev = m->ev;
	errcode_t err = make_room(m, n);

	if (!err)
		err = take(m, n, got);
	if (err)
		return err;
	old.len = got->len;
	err = e4l_txn_alloc(ev->txn, got->start, got->len);
	if (!err)
		err = copy(m, from, got->start, got->len);
	if (!err)
		err = e4l_txn_free(ev->txn, from, got->len);
	if (!err)
		err = e4l_evac_give(ev, &old);
	m->next = got->start + got->len;
	ev->todo -= got->len < ev->todo ? got->len : ev->todo;
	ev->result->blocks += got->len;
	return err;
}

static blk64_t entry(const uint32_t *v, size_t i)
{
	return ext2fs_le32_to_cpu(v[i]);
}

/*
 * Returns how many entries from entry @i on refer to contiguous blocks in the
 * range to evacuate.
 */
static size_t run_length(const struct mover *m, const uint32_t *v, size_t i,
			 size_t n)
{
	size_t len = 0;

	while (i + len < n && entry(v, i + len) == entry(v, i) + len &&
	       e4l_evac_is_in(m->ev, entry(v, i + len)))
		len++;
	return len;
}

/*
 * Moves the data blocks of the @n map entries @v that are in the range to
 * evacuate.
 */
static errcode_t move_data(struct mover *m, uint32_t *v, size_t n, bool *dirty)
{
	struct e4l_run got;
	errcode_t err = 0;
	size_t i, k, len;

	for (i = 0; i < n && !err; i += len) {
		len = entry(v, i) ? run_length(m, v, i, n) : 0;
		if (len) {
			err = move_run(m, entry(v, i), len, &got);
			if (err)
				return err;
			len = got.len;
			for (k = 0; k < len; k++)
				v[i + k] = ext2fs_cpu_to_le32(got.start + k);
			*dirty = true;
		} else {
			len = 1;
		}
	}
	return err;
}

/* ------------------------------------------------------------------ the map */

static errcode_t move_entries(struct mover *m, uint32_t *v, size_t n,
			      unsigned int level, bool *dirty);

/*
 * Moves the indirect block of level @l.  In the same transaction, changes @ref,
 * the entry that refers to the indirect block.
 */
static errcode_t move_level(struct mover *m, struct level *l, uint32_t *ref,
			    bool *dirty)
{
	blk64_t from = l->blk;
	void *data;
	errcode_t err = make_room(m, 1);

	if (!err)
		err = e4l_evac_block(m->ev, from, &l->blk);
	if (!err)
		err = e4l_txn_new_block(m->ev->txn, l->blk, &data);
	*ref = ext2fs_cpu_to_le32(l->blk);
	*dirty = true;
	l->dirty = true;
	return err;
}

/*
 * Moves an indirect block out of the range to evacuate, and all blocks that
 * the indirect block maps.
 */
static errcode_t move_tree(struct mover *m, uint32_t *ref, unsigned int level,
			   bool *dirty)
{
	struct level *l = &m->level[level];
	blk64_t blk = entry(ref, 0);
	errcode_t err;

	l->blk = blk;
	l->dirty = false;
	err = e4l_read(m->ev->e, blk, 1, l->entries);
	if (err)
		return e4l_fail(m->ev->e, err, "reading an indirect block",
				m->job->ino, blk);
	if (e4l_evac_is_in(m->ev, blk))
		err = move_level(m, l, ref, dirty);
	if (!err)
		err = move_entries(m, l->entries,
				   m->ev->geo.blocksize / sizeof(*ref), level,
				   &l->dirty);
	if (!err)
		err = put_level(m, l);
	l->blk = 0;
	return err;
}

static errcode_t move_entries(struct mover *m, uint32_t *v, size_t n,
			      unsigned int level, bool *dirty)
{
	errcode_t err = 0;
	size_t i;

	if (!level)
		return move_data(m, v, n, dirty);
	for (i = 0; i < n && !err; i++)
		if (entry(v, i))
			err = move_tree(m, &v[i], level - 1, dirty);
	return err;
}

static errcode_t move_inode(struct mover *m)
{
	bool dirty = false;
	unsigned int i;
	errcode_t err = move_data(m, m->root, EXT2_NDIR_BLOCKS, &dirty);

	for (i = 0; i < LEVELS && !err; i++)
		if (m->root[EXT2_IND_BLOCK + i])
			err = move_tree(m, &m->root[EXT2_IND_BLOCK + i], i,
					&dirty);
	return err;
}

/* -------------------------------------------------------------------- whole */

static errcode_t begin(struct mover *m)
{
	size_t i, bs = m->ev->geo.blocksize;
	errcode_t err;

	m->inode = calloc(1, EXT2_INODE_SIZE(m->ev->e->fs->super));
	m->buf = malloc(COPY_BYTES);
	if (!m->inode || !m->buf)
		return ENOMEM;
	for (i = 0; i < LEVELS; i++) {
		m->level[i].entries = calloc(1, bs);
		if (!m->level[i].entries)
			return ENOMEM;
	}
	err = e4l_evac_begin(m->ev);
	if (!err)
		err = e4l_txn_read_inode(m->ev->txn, m->job->ino, m->inode);
	if (!err)
		e4l_disk_i_block(m->inode, m->root);
	return err;
}

static void end(struct mover *m)
{
	size_t i;

	for (i = 0; i < LEVELS; i++)
		free(m->level[i].entries);
	free(m->inode);
	free(m->buf);
}

errcode_t e4l_evac_indirect(struct e4l_evac *ev, struct e4l_evac_job *job)
{
	struct mover m = { .ev = ev, .job = job };
	errcode_t err = begin(&m);

	if (!err && ev->geo.cluster_blocks > 1)
		err = e4l_fail(ev->e, E4L_ET_SHRINK_PINNED,
			       "evacuating a block-mapped file", job->ino, 0);
	if (!err)
		err = move_inode(&m);
	if (!err)
		err = put_all(&m);
	if (!err)
		err = e4l_evac_settle(ev);
	end(&m);
	return err;
}
