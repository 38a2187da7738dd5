/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session with the journal, in transactions. */
#ifndef E4L_JOURNAL_H
#define E4L_JOURNAL_H

#include "change.h"
#include "e4layout/base/internal.h"

/*
 * The library changes a filesystem's metadata only in transactions.  After a
 * power failure, a kill or an I/O error, each transaction is on disk completely
 * or not at all, once a kernel or e2fsck has replayed the filesystem's own
 * journal.
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
 * Rules for callers:
 *  - Between open and close, change metadata only through the transaction, not
 *    with libext2fs functions that write, and do not call ext2fs_flush().  Only
 *    e4l_txn_alloc(), e4l_txn_free() and e4l_txn_move_inode() may change
 *    fs->block_map, fs->inode_map, the group descriptors and the free counts;
 *    callers may read them.
 *  - Write data directly through fs->io, only to blocks without references on
 *    the device: blocks that e4l_txn_alloc() of the running transaction has
 *    allocated, or unwritten blocks.  No flush is needed: the commit makes the
 *    data durable first.
 *  - Blocks passed to e4l_txn_free() stay marked in fs->block_map until
 *    e4l_txn_commit() has returned 0: an allocator that reads the bitmap cannot
 *    use them too early.  A filesystem without a journal is changed in place,
 *    data before metadata; only an undo file protects such a run.
 */
struct e4l_journal;
struct e4l_txn;

/*
 * Opens the journal of @e's filesystem, which must be open for writing; loads
 * the block bitmap if necessary.  @external is a channel on the journal device
 * if the journal is external and e4l_open() has not opened the device, else
 * NULL; borrowed until e4l_journal_close(), its block size is set to the
 * filesystem's.  Writes nothing: opening and closing a journal changes nothing
 * on disk.  Errors: EXT2_ET_RO_FILSYS; E4L_ET_JOURNAL_RECOVERY, _CORRUPT,
 * _FORMAT, _NARROW, _DEVICE (@external is missing, or belongs to another
 * filesystem), _ERROR; E4L_ET_GROUP_COUNT (a count in a group descriptor is out
 * of range); ENOMEM, and errors of reading.  *@ret is NULL after an error.
 */
errcode_t e4l_journal_open(struct e4l *e, io_channel external,
			   struct e4l_journal **ret);

/* The number of metadata blocks that fit in one transaction, at least 400. */
uint32_t e4l_journal_capacity(const struct e4l_journal *j);

/*
 * Waits until all blocks are in their places, marks the journal empty, updates
 * the superblock (free counts, time of last write, kilobytes written), and
 * frees @j, also after an error.  Aborts a running transaction.  After a failed
 * commit, writes nothing and returns the error of the commit again: the journal
 * then needs recovery, which results in the state before or after that
 * transaction.  NULL is allowed.  After the call, close the filesystem with
 * ext2fs_free(), after ext2fs_mmp_stop() if MMP is in use; ext2fs_close() would
 * write the superblock once more, and that write can tear.
 */
errcode_t e4l_journal_close(struct e4l_journal *j);

/*
 * Makes e4l_journal_close() discard the free blocks that later transactions
 * have allocated or freed, after everything else is durable: the device unmaps
 * the blocks, an image file gets holes.  e4l_journal_close() sets *@result; an
 * error of the device is only reported there.
 */
void e4l_journal_discard(struct e4l_journal *j, struct e4l_discarded *result);

/* Begins a transaction.  E4L_ET_BAD_ARGUMENT: one is already running. */
errcode_t e4l_txn_begin(struct e4l_journal *j, struct e4l_txn **ret);

/*
 * The number of additional metadata blocks that fit.  Each group with allocated
 * or freed blocks takes its bitmap and its descriptor's block.
 */
uint32_t e4l_txn_room(const struct e4l_txn *t);

/*
 * Return the transaction's copy of block @blk, which the caller changes in
 * place (including checksums).  If the block is new to the transaction,
 * edit_block reads it from the device; new_block always fills it with zeroes.
 * *@data belongs to the transaction and is valid until the transaction ends or
 * frees the block.  Not for bitmaps, group descriptors and superblocks.
 * Errors: E4L_ET_TXN_FULL (nothing has changed, and the transaction can
 * continue), E4L_ET_BLOCK_RANGE, ENOMEM, and errors of reading.
 */
errcode_t e4l_txn_edit_block(struct e4l_txn *t, blk64_t blk, void **data);
errcode_t e4l_txn_new_block(struct e4l_txn *t, blk64_t blk, void **data);

/*
 * Read or write inode @ino: EXT2_INODE_SIZE() bytes at @inode, in host byte
 * order.  Writing sets the checksum in the written copy.  Errors: as
 * e4l_txn_edit_block(), E4L_ET_ITABLE_RANGE, E4L_ET_BAD_ARGUMENT (no such
 * inode).
 */
errcode_t e4l_txn_read_inode(struct e4l_txn *t, ext2_ino_t ino, void *inode);
errcode_t e4l_txn_put_inode(struct e4l_txn *t, ext2_ino_t ino,
			    const void *inode);

/*
 * Moves inode @from to the number @to, which must be free: moves its bytes,
 * with a new checksum, zeroes the old place, and updates bitmaps, group
 * descriptors and, with @is_dir, directory counts.  fs->inode_map must be
 * loaded; only this function may change it.  The caller changes all references
 * to @from in the same transaction.  The new place must be in a zeroed part of
 * the table.  Takes up to two blocks each of inode tables, of inode bitmaps and
 * of descriptors.  Errors: as e4l_txn_put_inode(); E4L_ET_CHANGED: @from is
 * free, or @to is in use, and nothing has changed.
 */
errcode_t e4l_txn_move_inode(struct e4l_txn *t, ext2_ino_t from, ext2_ino_t to,
			     bool is_dir);

/*
 * Allocate or free the blocks [@blk, @blk + @count), and update bitmap, group
 * descriptors and free counts.  With bigalloc, only whole clusters (the last
 * cluster may end with the filesystem).  Freeing drops the transaction's copies
 * of the blocks, and changes fs->block_map when the transaction has been
 * committed.  Errors: E4L_ET_BLOCK_IN_USE, E4L_ET_BLOCK_NOT_IN_USE,
 * E4L_ET_BLOCK_RANGE, E4L_ET_BITMAP_RANGE, E4L_ET_BAD_ARGUMENT (part of a
 * cluster), E4L_ET_TXN_FULL, ENOMEM; after an error nothing has been allocated
 * or freed.
 */
errcode_t e4l_txn_alloc(struct e4l_txn *t, blk64_t blk, blk64_t count);
errcode_t e4l_txn_free(struct e4l_txn *t, blk64_t blk, blk64_t count);

/*
 * Makes the transaction durable, writes its blocks to their places, and frees
 * @t.  An empty transaction writes nothing.  Drops libext2fs' inode cache.
 * After an error, the filesystem is in the state before or after the
 * transaction, possibly after a replay of the journal; only e4l_journal_close()
 * may be called for @j.
 */
errcode_t e4l_txn_commit(struct e4l_txn *t);

/*
 * Drops the transaction and undoes its allocations.  Frees @t; NULL is allowed.
 */
void e4l_txn_abort(struct e4l_txn *t);

/*
 * Predicts e4l_journal_capacity() before the journal is opened, also for a
 * filesystem that is open read-only.
 */
uint32_t e4l_journal_room(struct e4l *e, io_channel external);

/*
 * Returns E4L_ET_NOT_OURS if another program has changed the superblock of the
 * filesystem or of the journal after the last read or write of the session;
 * nothing more is written then.
 */
errcode_t e4l_journal_check(struct e4l_journal *j);

/*
 * Flushes the device, if a flush can run beside other writes; may be called by
 * any thread.  The kernel reports a write error only once, and the error can
 * concern blocks of an earlier transaction: after an error the session has
 * failed, as after a failed commit.
 */
errcode_t e4l_journal_flush_beside(struct e4l_journal *j);

#endif
