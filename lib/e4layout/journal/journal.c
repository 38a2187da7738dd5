/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session with the filesystem's own journal, and the order of the writes of a
 * session.
 *
 * The log is split into two halves, which transactions use alternately.  Each
 * transaction begins at the first block of its half, and does not wrap.  The
 * journal's superblock points to the last transaction only.  A block of zeroes
 * after the commit block ends the replay.
 *
 * First commit of a session (e4l_super_mark):
 *   1. the filesystem's superblock gets needs_recovery; the journal's
 *      superblock gets the sequence number of the first transaction, and still
 *      marks the log as empty; the first block of older fast commits is
 *      cleared.  flush
 * Every commit:
 *   2. descriptors, blocks, commit block, zeroes are written to the half that
 *      the journal's superblock does not point at.  flush
 *   3. the journal's superblock points at that half: the transaction is
 *      committed, and the previous transaction has left the log.  flush
 *   4. the blocks are written to their final locations; no flush.
 * Close:
 *   5. all blocks are durable in their final locations.  flush
 *   6. the journal's superblock marks the log as empty.  flush
 *   7. the filesystem's superblock: counts, no needs_recovery.  flush
 *   8. freed blocks are discarded, if requested (discard.c).
 *
 * The session is safe if the device reorders writes between two flushes, or if
 * only some sectors (512 bytes) of a write reach the device:
 *  - The transaction in the log is complete after step 2, before the journal's
 *    superblock points to the transaction.  The pointer and its checksum are in
 *    one sector: the write of a single sector commits the transaction.
 *  - Transaction n leaves the log in step 3 of transaction n+1.  Recovery does
 *    not need transaction n any more, because its blocks were written to their
 *    final locations before the flush of step 2 of transaction n+1.
 *  - Only the last transaction can be replayed, and all blocks that it writes
 *    are in use when it is committed.  Only the next transaction can free a
 *    block of the last transaction.  Data can be written to the freed block
 *    only after the next transaction has replaced the last transaction in the
 *    log.  Therefore, no stale copy of a block can be replayed over data, and
 *    no revoke record is needed.
 *  - Data are written to blocks without references.  The flush of step 2
 *    precedes any reference to these blocks.
 *  - The superblock changes within one sector (super.c), and only in steps 1
 *    and 7, when the journal is empty.  The free counts in the superblock are
 *    not part of transactions.  If needs_recovery is set, the kernel and e2fsck
 *    compute the free counts from the group descriptors.  Step 7 writes the
 *    free counts.
 *  - A commit block that was written, but to which the journal's superblock
 *    does not point, must not become part of a later transaction of the kernel.
 *    After recovery, the kernel skips one sequence number.  If the journal is
 *    empty, the kernel begins with the number after the sequence number in the
 *    journal's superblock.  Therefore, the sequence number of an unreferenced
 *    commit block is not used again.
 *  - A fast commit is replayed only after the full commit before it.  If the
 *    journal is empty, no fast commit can be replayed.  Therefore step 1 may
 *    clear the fast commits.
 *
 * A transaction needs two flushes.  A session needs four more.
 *
 * Another program may mount an image during a long flush.  Therefore the
 * session checks the superblocks after each flush except the last, and before
 * step 2.  If another program mounts the image, only the writes up to the next
 * check can damage the mounted filesystem.
 *
 * On a filesystem without a journal, a commit flushes the data, writes the
 * blocks to their final locations, and flushes again.  During the session, the
 * superblock's state is "not clean".
 */
#include "config.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/io_pool.h"
#include "journal_internal.h"

/*
 * Returns the channel of the external journal's device.  If neither the caller
 * nor e4l_open() has opened such a device, returns NULL.
 */
static io_channel device_of(const struct e4l *e, io_channel external)
{
	return external ? external : e->journal;
}

static errcode_t check_state(struct e4l_journal *j, io_channel external)
{
	ext2_filsys fs = j->e->fs;
	bool on_device = e4l_has_external_journal(fs->super);

	if (ext2fs_has_feature_journal_needs_recovery(fs->super))
		return E4L_ET_JOURNAL_RECOVERY;
	j->has_journal = ext2fs_has_feature_journal(fs->super);
	if (j->has_journal ? on_device != !!external : !!external)
		return E4L_ET_JOURNAL_DEVICE;
	j->io = external ? external : fs->io;
	return 0;
}

static errcode_t ask_guard(struct e4l *e)
{
	errcode_t err = e->guard ? e->guard(e->guard_priv) : 0;

	return err ? e4l_fail(e, err, "checking for other users",
			      0, 0) : 0;
}

static errcode_t same_supers(struct e4l_journal *j)
{
	bool shared = j->e->fs->io->flags & CHANNEL_FLAGS_THREADS;
	errcode_t err;

	if (!shared)
		pthread_mutex_lock(&j->e->io_lock);
	err = e4l_super_check(j);
	if (!err && j->has_journal)
		err = e4l_log_check(j);
	if (!shared)
		pthread_mutex_unlock(&j->e->io_lock);
	return err;
}

errcode_t e4l_journal_failed(struct e4l_journal *j)
{
	if (!j->failed)
		j->failed = atomic_load(&j->unflushed);
	return j->failed;
}

errcode_t e4l_journal_check(struct e4l_journal *j)
{
	if (!e4l_journal_failed(j))
		j->failed = same_supers(j);
	return j->failed;
}

errcode_t e4l_journal_cut(struct e4l_journal *j, uint32_t blocks)
{
	errcode_t err = e4l_journal_check(j);

	if (!err)
		err = e4l_log_cut(j, blocks);
	return err ? err : io_channel_flush(j->e->fs->io);
}

static errcode_t check_all(struct e4l_journal *j)
{
	if (!j->failed)
		j->failed = ask_guard(j->e);
	return e4l_journal_check(j);
}

static void journal_free(struct e4l_journal *j)
{
	free(j->used.r);
	free(j->map);
	free(j);
}

static errcode_t cannot_open(struct e4l *e, errcode_t err)
{
	return e->detail.doing ? err :
	       e4l_fail(e, err, "opening the journal",
			e->fs->super->s_journal_inum, 0);
}

static errcode_t set_up(struct e4l *e, io_channel external,
			struct e4l_journal **ret)
{
	struct e4l_journal *j = calloc(1, sizeof(*j));
	errcode_t err;

	e4l_fail(e, 0, NULL, 0, 0);
	if (!j)
		return ENOMEM;
	j->e = e;
	j->capacity = TXN_MAX_BYTES / e->fs->blocksize;
	err = check_state(j, device_of(e, external));
	if (!err)
		err = ask_guard(e);
	if (!err)
		err = e4l_counts_check(e);
	if (!err)
		err = e4l_super_read(j);
	if (!err && j->has_journal)
		err = e4l_log_setup(j);
	if (err)
		journal_free(j);
	else
		*ret = j;
	return err;
}

static errcode_t prepare_to_write(ext2_filsys fs)
{
	if (!(fs->flags & EXT2_FLAG_RW))
		return EXT2_ET_RO_FILSYS;
	e4l_counts_total(fs);
	return fs->block_map ? 0 : ext2fs_read_block_bitmap(fs);
}

errcode_t e4l_journal_open(struct e4l *e, io_channel external,
			   struct e4l_journal **ret)
{
	struct e4l_journal *j;
	errcode_t err = set_up(e, external, &j);

	*ret = NULL;
	if (err)
		return cannot_open(e, err);
	err = prepare_to_write(e->fs);
	if (err) {
		journal_free(j);
		return cannot_open(e, err);
	}
	*ret = j;
	return 0;
}

errcode_t e4l_journal_probe(struct e4l *e, io_channel external)
{
	struct e4l_journal *j;
	errcode_t err = set_up(e, external, &j);

	if (err)
		return cannot_open(e, err);
	journal_free(j);
	return 0;
}

uint32_t e4l_journal_room(struct e4l *e, io_channel external)
{
	struct e4l_journal *j = calloc(1, sizeof(*j));
	uint32_t room = TXN_MAX_BYTES / e->fs->blocksize;

	if (!j)
		return room;
	j->e = e;
	j->io = device_of(e, external);
	if (!j->io)
		j->io = e->fs->io;
	if (ext2fs_has_feature_journal(e->fs->super) && !e4l_log_setup(j))
		room = j->capacity;
	journal_free(j);
	return room;
}

uint32_t e4l_journal_capacity(const struct e4l_journal *j)
{
	return j->capacity;
}

errcode_t e4l_journal_flush(struct e4l_journal *j)
{
	io_channel io = j->e->fs->io;
	errcode_t err = io_channel_flush(io);

	if (!err && j->has_journal && j->io != io)
		err = io_channel_flush(j->io);
	return err ? e4l_fail(j->e, err, "flushing the device", 0, 0) : 0;
}

errcode_t e4l_journal_flush_beside(struct e4l_journal *j)
{
	io_channel io = j->e->fs->io;
	errcode_t err;

	if (!(io->flags & CHANNEL_FLAGS_THREADS))
		return 0;
	err = io_channel_flush(io);
	if (!err)
		return 0;
	atomic_store(&j->unflushed, err);
	return e4l_fail(j->e, err, "flushing the device", 0, 0);
}

static errcode_t flush_and_look(struct e4l_journal *j)
{
	errcode_t err = e4l_journal_flush(j);

	return err ? err : check_all(j);
}

/*
 * Begins a session: calls e4l_super_mark() for the filesystem's superblock, and
 * writes the next sequence number to the journal's superblock.
 */
static errcode_t mark(struct e4l_journal *j)
{
	errcode_t err = e4l_super_mark(j);

	j->seq++;
	if (!err && j->has_journal)
		err = e4l_log_point(j, 0);
	if (!err && j->has_journal)
		err = e4l_log_forget_fast(j);
	if (!err)
		err = flush_and_look(j);
	j->marked = !err;
	return err;
}

/*
 * Returns how many of the first @max elements of @blocks are contiguous on the
 * device, beginning with blocks[0].
 */
static size_t run_length(const struct txn_block *blocks, size_t max)
{
	size_t n = 1;

	while (n < max && blocks[n].blk == blocks[0].blk + n)
		n++;
	return n;
}

/*
 * Writes the @n blocks of a committed transaction to their final locations.
 * @blocks must be in disk order.  Contiguous blocks are written together.
 */
static errcode_t write_in_place(struct e4l_journal *j,
				const struct txn_block *blocks, size_t n)
{
	size_t bs = j->e->fs->blocksize, max = LOG_WRITE_BYTES / bs;
	io_channel io = j->e->fs->io;
	size_t i, k, part;
	errcode_t err;
	uint8_t *buf = NULL;

	err = io_channel_alloc_buf(io, max, &buf);
	for (i = 0; !err && i < n; i += part) {
		part = run_length(blocks + i, n - i < max ? n - i : max);
		for (k = 0; k < part; k++)
			memcpy(buf + k * bs, blocks[i + k].data, bs);
		err = io_channel_write_blk64(io, blocks[i].blk,
					     -(int)(part * bs), buf);
		if (err)
			e4l_fail(j->e, err, "writing metadata", 0,
				 blocks[i].blk);
	}
	ext2fs_free_mem(&buf);
	/*
	 * the cache of unix_io may have the old content of the written blocks
	 */
	return err ? err : e4l_renew_buffers(io);
}

static errcode_t commit(struct e4l_journal *j, const struct txn_block *blocks,
			size_t n)
{
	errcode_t err = 0;

	if (!j->marked)
		err = mark(j);
	else
		j->seq++;
	if (!err && j->has_journal)
		err = e4l_log_write(j, blocks, n);
	if (!err)
		err = flush_and_look(j);
	if (!err && j->has_journal)
		err = e4l_log_point(j, e4l_log_start(j, j->seq));
	if (!err && j->has_journal)
		err = flush_and_look(j);
	if (!err)
		err = write_in_place(j, blocks, n);
	if (!err && !j->has_journal)
		err = e4l_journal_flush(j);
	return err;
}

/*
 * Commits a transaction, unless another program has changed the superblock of
 * the filesystem or of the journal.  After an error, the session writes nothing
 * more.
 */
errcode_t e4l_journal_commit(struct e4l_journal *j,
			     const struct txn_block *blocks, size_t n)
{
	if (!check_all(j))
		j->failed = commit(j, blocks, n);
	return j->failed;
}

/*
 * Ends a session: flushes the device, marks the log as empty, and calls
 * e4l_super_unmark() for the filesystem's superblock.
 */
static errcode_t unmark(struct e4l_journal *j)
{
	errcode_t err = flush_and_look(j);

	if (!err && j->has_journal)
		err = e4l_log_point(j, 0);
	if (!err && j->has_journal)
		err = flush_and_look(j);
	if (!err)
		err = e4l_super_unmark(j);
	if (!err)
		err = e4l_journal_flush(j);
	return err;
}

errcode_t e4l_journal_close(struct e4l_journal *j)
{
	errcode_t err;

	if (!j)
		return 0;
	e4l_txn_abort(j->txn);
	err = e4l_journal_failed(j);
	if (!err && j->marked)
		err = unmark(j);
	if (!err && j->used.n)
		err = check_all(j);
	if (!err)
		err = e4l_discard_used(j);
	journal_free(j);
	return err;
}

errcode_t e4l_journal_look(struct e4l_journal *j)
{
	errcode_t err = ask_guard(j->e);

	return err ? err : same_supers(j);
}

errcode_t e4l_journal_settle(struct e4l_journal *j)
{
	return flush_and_look(j);
}

errcode_t e4l_journal_write(struct e4l_journal *j,
			    const struct txn_block *blocks, size_t n)
{
	return write_in_place(j, blocks, n);
}
