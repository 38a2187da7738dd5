/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* evacuate_xattr: moves attribute blocks, which several inodes may share. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2_ext_attr.h>
#include "e4layout/base/io_pool.h"
#include "evacuate_work.h"

/*
 * Metadata blocks of a move besides inodes: a bitmap and a descriptor block in
 * each of two groups, and the attribute block.
 */
#define MOVE_BLOCKS	5

/*
 * Copies the attribute block, and computes the checksum again, because the
 * checksum covers the block number.
 */
static errcode_t copy_block(struct e4l_evac *ev, ext2_ino_t ino, blk64_t from,
			    blk64_t to)
{
	ext2_filsys fs = ev->e->fs;
	void *data;
	errcode_t err = e4l_txn_new_block(ev->txn, to, &data);

	if (!err)
		err = e4l_read(ev->e, from, 1, data);
	if (!err)
		err = ext2fs_ext_attr_block_csum_set(fs, ino, to, data);
	return err ? e4l_fail(ev->e, err, "moving extended attributes", ino,
			      from) : 0;
}

static errcode_t change_user(struct e4l_evac *ev, ext2_ino_t ino, blk64_t to,
			     struct ext2_inode *inode)
{
	errcode_t err = e4l_txn_read_inode(ev->txn, ino, inode);

	if (err)
		return err;
	ext2fs_file_acl_block_set(ev->e->fs, inode, to);
	return e4l_txn_put_inode(ev->txn, ino, inode);
}

/* Moves the attribute block that the @n inodes of @v share. */
static errcode_t move_block(struct e4l_evac *ev,
			    const struct e4l_evac_xattr *v, size_t n,
			    struct ext2_inode *inode)
{
	errcode_t err = 0;
	blk64_t to;
	size_t i;

	if (!ev->txn || e4l_txn_room(ev->txn) < n + MOVE_BLOCKS)
		err = e4l_evac_begin(ev);
	if (!err && e4l_txn_room(ev->txn) < n + MOVE_BLOCKS)
		err = e4l_fail(ev->e, E4L_ET_TXN_FULL,
			       "moving extended attributes", v->ino, v->blk);
	if (!err)
		err = e4l_evac_block(ev, v->blk, &to);
	if (!err)
		err = copy_block(ev, v->ino, v->blk, to);
	for (i = 0; i < n && !err; i++)
		err = change_user(ev, v[i].ino, to, inode);
	return err;
}

errcode_t e4l_evac_xattrs(struct e4l_evac *ev)
{
	struct ext2_inode *inode;
	errcode_t err = 0;
	size_t i, n;

	inode = calloc(1, EXT2_INODE_SIZE(ev->e->fs->super));
	if (!inode)
		return ENOMEM;
	for (i = 0; i < ev->n_xattrs && !err; i += n) {
		for (n = 1; i + n < ev->n_xattrs &&
			    ev->xattrs[i + n].blk == ev->xattrs[i].blk; n++)
			;
		err = move_block(ev, &ev->xattrs[i], n, inode);
	}
	free(inode);
	return err ? err : e4l_evac_settle(ev);
}
