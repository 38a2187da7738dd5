/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session with the journal, in transactions. */
#ifndef E4L_JOURNAL_H
#define E4L_JOURNAL_H

#include "change.h"
#include "e4layout/base/internal.h"

/*
 * How this library changes a filesystem's metadata: in transactions, of which
 * after a power cut, a kill or an I/O error either everything or nothing is
 * there (once a kernel or e2fsck has replayed the filesystem's own journal).
 *
 *	e4l_journal_open(e, NULL, &j);
 *	while (there is work) {
 *		e4l_txn_begin(j, &t);
 *		e4l_txn_alloc(t, new, n);
 *		... write the file's data to the new blocks through fs->io ...
 *		e4l_txn_put_inode(t, ino, inode);	  pointing there
 *		e4l_txn_free(t, old, n);
 *		e4l_txn_commit(t);
 *	}
 *	e4l_journal_close(j);
 *
 * The rules, which make this safe:
 *  - Between open and close, metadata is changed through the transaction
 *    alone; not by libext2fs functions that write, nor by ext2fs_flush().
 *    fs->block_map, fs->inode_map, the group descriptors and the free counts
 *    belong to e4l_txn_alloc(), e4l_txn_free() and e4l_txn_move_inode(): look,
 *    but change them nowhere else.
 *  - Data is written directly through fs->io, only to blocks that nothing on
 *    the device refers to: those that e4l_txn_alloc() of the running
 *    transaction returned (or unwritten ones, whose content nobody sees).  No
 *    flush is needed: it is durable before the transaction is.
 *  - Blocks given to e4l_txn_free() stay marked in fs->block_map until
 *    e4l_txn_commit() has returned 0, so whoever allocates from what the
 *    bitmap shows as free cannot take them too early.
 * On a filesystem without a journal the same calls write to place, data
 * before metadata; only an undo file protects such a run.
 */
struct e4l_journal;
struct e4l_txn;

/*
 * Opens the journal of @e's filesystem, which must be open for writing; loads
 * the block bitmap when it is not.  @external is a channel on the journal
 * device if the filesystem's journal is on one and e4l_open() has not opened
 * that, else NULL; borrowed until e4l_journal_close(), its block size is set to
 * the filesystem's.  Writes
 * nothing: a journal that is opened and closed leaves no trace.
 * Errors: EXT2_ET_RO_FILSYS; E4L_ET_JOURNAL_RECOVERY, _CORRUPT, _FORMAT,
 * _NARROW, _DEVICE (@external is missing, or not this filesystem's), _ERROR;
 * E4L_ET_GROUP_COUNT (a group descriptor has a count that is out of range);
 * ENOMEM and what reading returns.  *@ret is then NULL.
 */
errcode_t e4l_journal_open(struct e4l *e, io_channel external,
			   struct e4l_journal **ret);

/* How many metadata blocks fit in one transaction, at least 400. */
uint32_t e4l_journal_capacity(const struct e4l_journal *j);

/*
 * Waits until everything is in its place, marks the journal empty, updates the
 * superblock (free counts, time of last write, kilobytes written), and frees
 * @j, also after an error; aborts a transaction that is still running.  After
 * a failed commit nothing more is written: the journal then needs recovery,
 * which is what brings everything to the state before or after that
 * transaction; the failed commit's error is returned once more.  NULL is
 * allowed.
 * In any case the caller then lets go of the filesystem by ext2fs_free(), after
 * ext2fs_mmp_stop() if that is needed; ext2fs_close() would write the
 * superblock once more, and that write can tear.
 */
errcode_t e4l_journal_close(struct e4l_journal *j);

/*
 * Has e4l_journal_close() discard, when everything else is durable, what
 * transactions since then have allocated or freed and is free: a device forgets
 * it, an image file gets a hole.  *@result is set until then; an error of the
 * device is there and nowhere else.
 */
void e4l_journal_discard(struct e4l_journal *j, struct e4l_discarded *result);

/* Begins a transaction; one at a time (else E4L_ET_BAD_ARGUMENT). */
errcode_t e4l_txn_begin(struct e4l_journal *j, struct e4l_txn **ret);

/*
 * How many more metadata blocks fit.  Each group in which something is
 * allocated or freed takes its bitmap and its descriptor's block.
 */
uint32_t e4l_txn_room(const struct e4l_txn *t);

/*
 * Gives the transaction's own copy of block @blk, for the caller to change
 * in place (checksums included); edit_block fills it from the device when it
 * is new to the transaction, new_block with zeroes in any case.  *@data
 * belongs to the transaction and stays valid until it ends or forgets the
 * block.  Bitmaps, group descriptors and superblocks are not to be touched.
 * Errors: E4L_ET_TXN_FULL (nothing has changed, and the transaction goes on),
 * E4L_ET_BLOCK_RANGE, ENOMEM and what reading returns.
 */
errcode_t e4l_txn_edit_block(struct e4l_txn *t, blk64_t blk, void **data);
errcode_t e4l_txn_new_block(struct e4l_txn *t, blk64_t blk, void **data);

/*
 * Reads or writes inode @ino: EXT2_INODE_SIZE() bytes at @inode, in host byte
 * order.  Writing sets the checksum in the copy that is written.  Errors as
 * above, and E4L_ET_ITABLE_RANGE, E4L_ET_BAD_ARGUMENT (no such inode).
 */
errcode_t e4l_txn_read_inode(struct e4l_txn *t, ext2_ino_t ino, void *inode);
errcode_t e4l_txn_put_inode(struct e4l_txn *t, ext2_ino_t ino,
			    const void *inode);

/*
 * Gives inode @from the number @to, which must be free: its bytes move, with
 * their checksum, and leave zeroes; bitmaps, group descriptors and @is_dir's
 * counts follow.  fs->inode_map must be loaded, and belongs to this function as
 * the block bitmap does to those below.  Who refers to @from is the caller's to
 * change in the same transaction.  The new place must be in a part of the table
 * that is zeroed.  Takes up to two blocks of inode tables, of inode bitmaps and
 * of descriptors.  Errors as above, and E4L_ET_CHANGED: @from is free, or @to is
 * not; nothing has moved then.
 */
errcode_t e4l_txn_move_inode(struct e4l_txn *t, ext2_ino_t from, ext2_ino_t to,
			     bool is_dir);

/*
 * Allocates or frees blocks [@blk, @blk + @count): bitmap, group descriptors
 * and free counts follow.  With bigalloc, whole clusters (the last one may end
 * with the filesystem).  Freeing also forgets what the transaction wanted to
 * write there, and takes effect in fs->block_map when the transaction has
 * been committed.
 * Errors: E4L_ET_BLOCK_IN_USE, E4L_ET_BLOCK_NOT_IN_USE, E4L_ET_BLOCK_RANGE,
 * E4L_ET_BITMAP_RANGE, E4L_ET_BAD_ARGUMENT (a part of a cluster),
 * E4L_ET_TXN_FULL, ENOMEM; nothing has been allocated or freed then.
 */
errcode_t e4l_txn_alloc(struct e4l_txn *t, blk64_t blk, blk64_t count);
errcode_t e4l_txn_free(struct e4l_txn *t, blk64_t blk, blk64_t count);

/*
 * Makes the transaction durable and puts its blocks in their places; frees
 * @t.  An empty transaction writes nothing.  libext2fs' inode cache is
 * dropped.  After an error the filesystem is in the state before or after
 * the transaction, or will be when the journal is replayed; the only call
 * left for @j is e4l_journal_close().
 */
errcode_t e4l_txn_commit(struct e4l_txn *t);

/*
 * Drops the transaction and takes back what it allocated: as if it had never
 * begun.  Frees @t; NULL is allowed.
 */
void e4l_txn_abort(struct e4l_txn *t);

/*
 * What e4l_journal_capacity() is going to be, as far as that can be
 * told before the journal is opened, and of a filesystem that is only read.
 */
uint32_t e4l_journal_room(struct e4l *e, io_channel external);

/*
 * E4L_ET_NOT_OURS when somebody else has changed the filesystem's
 * superblock or the journal's since it was opened; nothing more is written then.
 */
errcode_t e4l_journal_check(struct e4l_journal *j);

/*
 * Has the device write what it was given so far, if that can go on beside other
 * writes; from any thread.  The kernel tells of a failure once, and it may be
 * one of what an earlier transaction put in its places: so the session has
 * failed then, as after a commit that did.
 */
errcode_t e4l_journal_flush_beside(struct e4l_journal *j);

#endif
