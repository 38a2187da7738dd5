/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* journal: a session that changes metadata in transactions. */
#ifndef E4L_JOURNAL_H
#define E4L_JOURNAL_H

#include "change.h"
#include "e4layout/base/internal.h"

/*
 * The library changes a filesystem's metadata only in transactions.  If a power
 * failure, a kill or an I/O error interrupts the library, the kernel or e2fsck
 * replays the filesystem's journal.  After the replay, each transaction is on
 * disk completely or not at all.
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
 *  - Between open and close, change metadata only through a transaction.  Call
 *    neither libext2fs functions that write nor ext2fs_flush().  Callers may
 *    read fs->block_map, fs->inode_map, the group descriptors and the free
 *    counts.  Only e4l_txn_alloc(), e4l_txn_free() and e4l_txn_move_inode() may
 *    change them.
 *  - Write data directly through fs->io, only to blocks without references on
 *    the device: blocks that e4l_txn_alloc() of the running transaction has
 *    allocated, or unwritten blocks.  The caller need not flush: the commit
 *    makes the data durable first.
 *  - Blocks passed to e4l_txn_free() stay marked in fs->block_map until
 *    e4l_txn_commit(), so that no allocator uses them too early.
 *
 * A filesystem without a journal is changed in place, data before metadata.
 * Only an undo file protects a run that changes a filesystem without a journal.
 */
struct e4l_journal;
struct e4l_txn;

/*
 * Opens the journal of @e's filesystem, which must be open for writing, and
 * loads the block bitmap if necessary.  If the caller begins no transaction,
 * e4l_journal_open() and e4l_journal_close() write nothing.
 *
 * @external is the channel of an external journal's device.  If the journal is
 * not external, or if e4l_open() has opened the device, @external is NULL.  The
 * channel is borrowed until e4l_journal_close(), and its block size is set to
 * the block size of the filesystem.
 *
 * After an error, *@ret is NULL.  Errors: EXT2_ET_RO_FILSYS;
 * E4L_ET_JOURNAL_RECOVERY, _CORRUPT, _FORMAT, _NARROW, _DEVICE (the device is
 * missing, or belongs to another filesystem), _ERROR; E4L_ET_GROUP_COUNT (a
 * count in a group descriptor is out of range); ENOMEM, and read errors.
 */
errcode_t e4l_journal_open(struct e4l *e, io_channel external,
			   struct e4l_journal **ret);

/*
 * Returns how many metadata blocks fit in one transaction.  The result is at
 * least 400.
 */
uint32_t e4l_journal_capacity(const struct e4l_journal *j);

/*
 * Aborts a running transaction, flushes the device, and marks the journal as
 * empty.  Updates the free counts, the time of the last write, and the
 * kilobytes written in the superblock.  Frees @j, even if an error occurs.  @j
 * may be NULL.
 *
 * After a failed commit, e4l_journal_close() writes nothing and returns the
 * error of the commit.  The journal then needs recovery, which restores the
 * state before or after the failed transaction.
 *
 * After e4l_journal_close(), close the filesystem with e4l_close(), or with
 * ext2fs_mmp_stop() and ext2fs_free().  ext2fs_close() would write the
 * superblock once more, and a power failure could leave a part of this write.
 */
errcode_t e4l_journal_close(struct e4l_journal *j);

/*
 * Cuts the log of an internal journal to its first @blocks blocks, and flushes
 * the device.  The journal inode keeps all blocks.  Must be called before the
 * first transaction of the session.  Errors: E4L_ET_BAD_ARGUMENT: the log is not
 * longer than @blocks; E4L_ET_JOURNAL_SHORT; errors of e4l_journal_check(), of
 * writing, and ENOMEM.
 */
errcode_t e4l_journal_cut(struct e4l_journal *j, uint32_t blocks);

/*
 * Makes e4l_journal_close() discard blocks that later transactions have
 * allocated or freed.  Blocks are discarded only if they are free when all
 * changes are durable.  A device unmaps discarded blocks, and an image file
 * gets holes.  e4l_journal_close() stores the number of discarded blocks, and
 * an error of the discards, only in *@result.
 */
void e4l_journal_discard(struct e4l_journal *j, struct e4l_discarded *result);

/*
 * Begins a transaction.  Errors: E4L_ET_BAD_ARGUMENT (a transaction is already
 * running), ENOMEM, and the error of an earlier failed commit.
 */
errcode_t e4l_txn_begin(struct e4l_journal *j, struct e4l_txn **ret);

/*
 * Returns the number of metadata blocks that can still be added to the
 * transaction.  Each group with allocated or freed blocks needs two metadata
 * blocks: the bitmap, and the block of the group descriptor.
 */
uint32_t e4l_txn_room(const struct e4l_txn *t);

/*
 * Set *@data to the transaction's copy of block @blk.  The caller changes the
 * copy in place, including checksums.  If the transaction has no copy of the
 * block, e4l_txn_edit_block() reads the block from the device.
 * e4l_txn_new_block() always returns a copy filled with zeroes.
 *
 * The copy belongs to the transaction, and is valid until the transaction ends
 * or frees the block.  Do not use these functions for bitmaps, group
 * descriptors and superblocks.  Errors: E4L_ET_TXN_FULL (nothing has changed,
 * and the transaction can continue), E4L_ET_BLOCK_RANGE, ENOMEM, and read
 * errors.
 */
errcode_t e4l_txn_edit_block(struct e4l_txn *t, blk64_t blk, void **data);
errcode_t e4l_txn_new_block(struct e4l_txn *t, blk64_t blk, void **data);

/*
 * e4l_txn_read_inode() reads inode @ino from the transaction or the device;
 * e4l_txn_put_inode() writes inode @ino to the transaction, with a new
 * checksum.  @inode has EXT2_INODE_SIZE() bytes, in host byte order.  Errors:
 * errors of e4l_txn_edit_block(), E4L_ET_ITABLE_RANGE, E4L_ET_BAD_ARGUMENT (no
 * such inode).
 */
errcode_t e4l_txn_read_inode(struct e4l_txn *t, ext2_ino_t ino, void *inode);
errcode_t e4l_txn_put_inode(struct e4l_txn *t, ext2_ino_t ino,
			    const void *inode);

/*
 * Moves inode @from to the free inode number @to.  Copies the inode with a new
 * checksum, zeroes inode @from, and updates bitmaps, group descriptors and, if
 * @is_dir is true, directory counts.  fs->inode_map must be loaded.
 *
 * The caller changes all references to @from in the same transaction.  The
 * block of the inode table that holds inode @to must be initialized.  Adds up
 * to two blocks each of inode tables, of inode bitmaps and of group descriptors
 * to @t.
 *
 * Errors: errors of e4l_txn_put_inode().  If @from is free or @to is in use,
 * changes nothing and returns E4L_ET_CHANGED.
 */
errcode_t e4l_txn_move_inode(struct e4l_txn *t, ext2_ino_t from, ext2_ino_t to,
			     bool is_dir);

/*
 * Allocate or free the blocks [@blk, @blk + @count), and update bitmaps, group
 * descriptors and free counts.  With bigalloc, the blocks must be whole
 * clusters, except at the end of the filesystem.  e4l_txn_free() drops the
 * transaction's copies of the blocks, but does not change fs->block_map before
 * e4l_txn_commit().
 *
 * After an error, no block is allocated or freed.  Errors: E4L_ET_BLOCK_IN_USE,
 * E4L_ET_BLOCK_NOT_IN_USE, E4L_ET_BLOCK_RANGE, E4L_ET_BITMAP_RANGE,
 * E4L_ET_GROUP_COUNT, E4L_ET_BAD_ARGUMENT (part of a cluster), E4L_ET_TXN_FULL,
 * ENOMEM.
 */
errcode_t e4l_txn_alloc(struct e4l_txn *t, blk64_t blk, blk64_t count);
errcode_t e4l_txn_free(struct e4l_txn *t, blk64_t blk, blk64_t count);

/* Metadata of a group that can be moved: a bitmap, or the inode table. */
enum e4l_table {
	E4L_BLOCK_BITMAP,
	E4L_INODE_BITMAP,
	E4L_INODE_TABLE,
};
#define E4L_TABLES 3

blk64_t e4l_table_loc(ext2_filsys fs, dgrp_t group, enum e4l_table table);

/*
 * Moves a bitmap or inode table of @group to block @to: changes the group
 * descriptor, and adds the group's block bitmap and descriptor to the
 * transaction.  Must be the first change of a transaction.  The caller
 * allocates the new blocks, frees the old blocks, and copies an inode table
 * before the commit.
 *
 * The commit writes a moved bitmap from memory: for E4L_INODE_BITMAP,
 * fs->inode_map must be loaded.  Errors: errors of e4l_txn_edit_block().  After
 * an error, the caller must abort the transaction.
 */
errcode_t e4l_txn_place_table(struct e4l_txn *t, dgrp_t group,
			      enum e4l_table table, blk64_t to);

/*
 * Adds the block bitmap and the descriptor of @group to the transaction.  The
 * commit writes the values that e->fs has in memory.
 */
errcode_t e4l_txn_add_group(struct e4l_txn *t, dgrp_t group);

/*
 * Like e4l_txn_commit(), but also changes the size of the filesystem to the
 * size in e->fs, which the caller has changed in memory: see switch.c.  @t must
 * be the first transaction of the session.  *@switched is false if the
 * superblock on the device certainly has the old size.
 */
errcode_t e4l_txn_switch(struct e4l_txn *t, bool *switched);

/*
 * Writes the backups of the superblock and of the group descriptors.  Call
 * after e4l_txn_switch().
 */
errcode_t e4l_journal_write_backups(struct e4l_journal *j);

/*
 * Makes the transaction durable, writes its blocks to their final locations,
 * and frees @t.  A transaction without blocks writes nothing.  Drops libext2fs'
 * inode cache.  After an error, the caller must end the session with
 * e4l_journal_close().  After a replay of the journal, the filesystem is in the
 * state before or after the transaction.
 */
errcode_t e4l_txn_commit(struct e4l_txn *t);

/*
 * Drops the transaction, reverts its changes to bitmaps and counts, and frees
 * @t.  @t may be NULL.
 */
void e4l_txn_abort(struct e4l_txn *t);

/* Commits @t, or drops @t and returns @err if @err is not 0. */
errcode_t e4l_txn_end(struct e4l_txn *t, errcode_t err);

/*
 * Returns the value that e4l_journal_capacity() would return, without opening
 * the journal.  The filesystem may be open for reading only.  If the journal is
 * missing or cannot be read, returns the number of blocks in 64 MiB.
 */
uint32_t e4l_journal_room(struct e4l *e, io_channel external);

/*
 * Compares the superblocks of the filesystem and of the journal on the device
 * with the content that the session last read or wrote.  If another program has
 * changed a superblock, ends all writing and returns E4L_ET_NOT_OURS.
 */
errcode_t e4l_journal_check(struct e4l_journal *j);

/*
 * Flushes the device if the channel permits a flush in parallel with writes;
 * otherwise, does nothing.  Any thread may call this function.  An error ends
 * the session like a failed commit, because the kernel reports a write error
 * only once, and the error can concern blocks of an earlier transaction.
 */
errcode_t e4l_journal_flush_beside(struct e4l_journal *j);

#endif
