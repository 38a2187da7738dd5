/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_relocate() moves every file and directory to the first free extent that is
 * long enough, without the planner.  A transaction moves several files.  In
 * several rounds, each transaction writes data to blocks (also tree blocks)
 * that the previous transaction has freed.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include <ext2fs/ext3_extents.h>
#include "crash.h"
#include "e4layout/journal/journal.h"

#define ROUNDS		4
#define FILES_PER_TXN	3
#define MAX_EXTENTS	64
#define MAX_CLUSTERS	512

struct move {
	struct op_env *env;
	struct e4l_txn *t;
	ext2_filsys fs;
	ext2_ino_t ino;
	struct ext2fs_extent x[MAX_EXTENTS];
	size_t n;
	blk64_t old_tree[4];
	size_t n_tree;
	blk64_t old[MAX_CLUSTERS];	/* first block of each cluster */
	size_t clusters;
	blk64_t to;
};

static unsigned int ratio(const struct move *m)
{
	return EXT2FS_CLUSTER_RATIO(m->fs);
}

static errcode_t read_extents(struct move *m)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent x;
	errcode_t err;

	err = ext2fs_extent_open(m->fs, m->ino, &handle);
	if (err)
		return err;
	err = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &x);
	while (!err) {
		if (x.e_flags & EXT2_EXTENT_FLAGS_LEAF)
			m->x[m->n++] = x;
		else if (!(x.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT))
			m->old_tree[m->n_tree++] = x.e_pblk;
		if (m->n == MAX_EXTENTS || m->n_tree == 4)
			break;
		err = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &x);
	}
	ext2fs_extent_free(handle);
	return err == EXT2_ET_EXTENT_NO_NEXT ||
	       err == EXT2_ET_EXTENT_NOT_FOUND ? 0 : err;
}

static void list_clusters(struct move *m)
{
	blk64_t blk, first;
	size_t i;

	for (i = 0; i < m->n; i++) {
		for (blk = m->x[i].e_pblk;
		     blk < m->x[i].e_pblk + m->x[i].e_len; blk++) {
			first = blk - blk % ratio(m);
			if (m->clusters && m->old[m->clusters - 1] == first)
				continue;
			if (m->clusters == MAX_CLUSTERS)
				fatal("a file is larger than expected");
			m->old[m->clusters++] = first;
		}
	}
}

/* Takes the first run of @clusters free clusters. */
static errcode_t alloc_run(struct move *m, size_t clusters, blk64_t *ret)
{
	blk64_t count = ext2fs_blocks_count(m->fs->super), blk;
	size_t run = 0;

	for (blk = EXT2FS_CLUSTER_RATIO(m->fs);
	     blk + ratio(m) <= count && run < clusters; blk += ratio(m))
		run = ext2fs_test_block_bitmap2(m->fs->block_map, blk) ?
		      0 : run + 1;
	if (run < clusters)
		return EXT2_ET_BLOCK_ALLOC_FAIL;
	*ret = blk - clusters * ratio(m);
	return e4l_txn_alloc(m->t, *ret, clusters * ratio(m));
}

static errcode_t copy_data(struct move *m)
{
	size_t bytes = (size_t)ratio(m) * m->fs->blocksize, i;
	uint8_t *buf = check_alloc(malloc(m->clusters * bytes));
	errcode_t err = 0;

	for (i = 0; !err && i < m->clusters; i++)
		err = io_channel_read_blk64(m->fs->io, m->old[i], -(int)bytes,
					    buf + i * bytes);
	if (!err)
		err = io_channel_write_blk64(m->fs->io, m->to,
					     -(int)(m->clusters * bytes), buf);
	free(buf);
	return err;
}

/* Returns the new block number of a block of the file. */
static blk64_t moved(const struct move *m, blk64_t blk)
{
	blk64_t first = blk - blk % ratio(m);
	size_t i = 0;

	while (m->old[i] != first)
		i++;
	return m->to + i * ratio(m) + blk % ratio(m);
}

static void put_extents(const struct move *m, struct ext3_extent_header *eh)
{
	struct ext3_extent *to = EXT_FIRST_EXTENT(eh);
	size_t i;

	eh->eh_magic = ext2fs_cpu_to_le16(EXT3_EXT_MAGIC);
	eh->eh_entries = ext2fs_cpu_to_le16(m->n);
	for (i = 0; i < m->n; i++) {
		const struct ext2fs_extent *x = &m->x[i];
		blk64_t pblk = moved(m, x->e_pblk);
		uint32_t len = x->e_len;

		if (x->e_flags & EXT2_EXTENT_FLAGS_UNINIT)
			len += EXT_INIT_MAX_LEN;
		to[i].ee_block = ext2fs_cpu_to_le32(x->e_lblk);
		to[i].ee_len = ext2fs_cpu_to_le16(len);
		to[i].ee_start = ext2fs_cpu_to_le32((uint32_t)pblk);
		to[i].ee_start_hi = ext2fs_cpu_to_le16(pblk >> 32);
	}
}

/*
 * Writes the new extents to the inode, or, if there are more than four extents,
 * to one new tree block.
 */
static errcode_t put_tree(struct move *m, struct ext2_inode *inode)
{
	struct ext3_extent_header *root = (void *)inode->i_block;
	struct ext3_extent_idx *idx = EXT_FIRST_INDEX(root);
	uint32_t max = (m->fs->blocksize - sizeof(*root)) / sizeof(*idx);
	blk64_t blk;
	errcode_t err;
	void *data;

	memset(inode->i_block, 0, sizeof(inode->i_block));
	root->eh_max = ext2fs_cpu_to_le16(4);
	if (m->n <= 4) {
		put_extents(m, root);
		return 0;
	}
	err = alloc_run(m, 1, &blk);
	if (!err)
		err = e4l_txn_new_block(m->t, blk, &data);
	if (err)
		return err;
	put_extents(m, data);
	((struct ext3_extent_header *)data)->eh_max = ext2fs_cpu_to_le16(max);
	ext2fs_extent_block_csum_set(m->fs, m->ino, data);
	root->eh_magic = ext2fs_cpu_to_le16(EXT3_EXT_MAGIC);
	root->eh_entries = ext2fs_cpu_to_le16(1);
	root->eh_depth = ext2fs_cpu_to_le16(1);
	idx->ei_leaf = ext2fs_cpu_to_le32((uint32_t)blk);
	idx->ei_leaf_hi = ext2fs_cpu_to_le16(blk >> 32);
	return 0;
}

static errcode_t free_old(struct move *m)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; !err && i < m->clusters; i++)
		err = e4l_txn_free(m->t, m->old[i], ratio(m));
	for (i = 0; !err && i < m->n_tree; i++)
		err = e4l_txn_free(m->t, m->old_tree[i] -
				   m->old_tree[i] % ratio(m), ratio(m));
	return err;
}

static errcode_t plant_reuse(struct move *m)
{
	size_t bytes = (size_t)ratio(m) * m->fs->blocksize, i;
	uint8_t *buf = check_alloc(malloc(bytes));
	errcode_t err = 0;

	memset(buf, 0x55, bytes);
	for (i = 0; !err && i < m->clusters; i++)
		err = io_channel_write_blk64(m->fs->io, m->old[i], -(int)bytes,
					     buf);
	free(buf);
	return err;
}

static errcode_t move_file(struct move *m)
{
	uint8_t inode[EXT2_MAX_BLOCK_SIZE];
	int64_t trees;
	errcode_t err;

	err = e4l_txn_read_inode(m->t, m->ino, inode);
	if (!err)
		err = read_extents(m);
	if (err || !m->n)
		return err;
	list_clusters(m);
	err = alloc_run(m, m->clusters, &m->to);
	if (!err)
		err = copy_data(m);
	if (!err)
		err = put_tree(m, (struct ext2_inode *)inode);
	trees = (m->n > 4) - (int64_t)m->n_tree;
	((struct ext2_inode *)inode)->i_blocks +=
		trees * ratio(m) * (m->fs->blocksize / 512);
	if (!err)
		err = e4l_txn_put_inode(m->t, m->ino, inode);
	if (!err)
		err = free_old(m);
	if (!err && m->env->plant == PLANT_EARLY_REUSE)
		err = plant_reuse(m);
	return err;
}

static bool is_movable(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2_inode inode;
	struct ext3_extent_header *root = (void *)inode.i_block;

	/* the checksum of an orphan file's block depends on the block number */
	return ino != fs->super->s_orphan_file_inum &&
	       !ext2fs_read_inode(fs, ino, &inode) && inode.i_links_count &&
	       inode.i_flags & EXT4_EXTENTS_FL && root->eh_entries;
}

static errcode_t commit(struct op_env *env, struct e4l_txn **t)
{
	struct e4l_txn *done = *t;
	errcode_t err;

	*t = NULL;
	if (!done)
		return 0;
	err = e4l_txn_commit(done);
	if (!err)
		env->mark(env->priv);
	return err;
}

static errcode_t move_all(struct op_env *env, struct e4l_journal *j)
{
	ext2_filsys fs = e4l_fs(env->e);
	unsigned int files = 0;
	struct e4l_txn *t = NULL;
	errcode_t err = 0;
	ext2_ino_t ino;

	for (ino = EXT2_FIRST_INO(fs->super);
	     !err && ino <= fs->super->s_inodes_count; ino++) {
		struct move m = { .env = env, .fs = fs, .ino = ino };

		if (!is_movable(fs, ino))
			continue;
		if (!t)
			err = e4l_txn_begin(j, &t);
		m.t = t;
		if (!err)
			err = move_file(&m);
		if (!err && ++files % FILES_PER_TXN == 0)
			err = commit(env, &t);
	}
	return err ? err : commit(env, &t);
}

errcode_t op_relocate(struct op_env *env)
{
	struct e4l_journal *j;
	errcode_t err, err2;
	int round;

	err = e4l_journal_open(env->e, env->external, &j);
	if (err)
		return err;
	for (round = 0; !err && round < ROUNDS; round++)
		err = move_all(env, j);
	err2 = e4l_journal_close(j);
	return err ? err : err2;
}
