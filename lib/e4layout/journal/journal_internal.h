/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* journal_internal: declarations for the files of journal/ only. */
#ifndef E4L_JOURNALP_H
#define E4L_JOURNALP_H

#include "journal.h"
#include "e4layout/format/jbd2.h"

/* Memory limit of a transaction, in bytes. */
#define TXN_MAX_BYTES (64u << 20)

/* Maximum length of a write request, in bytes. */
#define LOG_WRITE_BYTES (1u << 20)

/* A range of journal blocks that is contiguous on the journal's device. */
struct log_run {
	blk64_t pblk;
	uint32_t lblk;
	uint32_t len;
};

/* A range of blocks of the filesystem. */
struct range {
	blk64_t blk;
	blk64_t count;
};

struct ranges {
	struct range *r;
	size_t n;
};

struct e4l_journal {
	struct e4l *e;
	bool has_journal;
	io_channel io;	/* channel of the device that has the log */
	struct log_run *map;
	size_t n_map;
	struct jbd2_super jsb;	/* the journal's superblock, as on disk */
	uint32_t first;		/* first block of the log, in the journal */
	/* first block of the fast commits, in the journal; 0: there are none */
	uint32_t fast;
	uint32_t half;		/* length of each half of the log, in blocks */
	/* maximum number of metadata blocks in a transaction */
	uint32_t capacity;
	uint32_t seq;		/* sequence number of the last transaction */
	uint32_t seed;		/* first value of the checksums in the log */
	bool csum2, csum3, wide;
	unsigned int tag_bytes, tags_per_block;
	struct ext2_super_block sb; /* superblock as on disk, little endian */
	/* number of bytes that fs->io had written before the session */
	uint64_t written_before;
	/*
	 * the filesystem's superblock on disk shows an open session:
	 * needs_recovery is set or, without a journal, the state is not clean
	 */
	bool marked;
	/* first error of the session; after an error, nothing is written */
	errcode_t failed;
	/* error of a parallel flush in e4l_journal_flush_beside() */
	_Atomic(errcode_t) unflushed;
	struct e4l_txn *txn;
	/* where to report the discards; NULL: do not discard */
	struct e4l_discarded *discarded;
	/*
	 * blocks allocated or freed in this session; empty if @discarded is
	 * NULL
	 */
	struct ranges used;
};

/* A block that a transaction writes, with its new content. */
struct txn_block {
	blk64_t blk;
	uint8_t *data;
};

/*
 * The functions of super.c read and write the filesystem's superblock.  If
 * power fails during a write, the superblock on the device is valid.
 */
errcode_t e4l_super_read(struct e4l_journal *j);
errcode_t e4l_super_check(struct e4l_journal *j);
errcode_t e4l_super_mark(struct e4l_journal *j);
errcode_t e4l_super_unmark(struct e4l_journal *j);
/*
 * Writes the superblock with the size of fs->super, and with needs_recovery.
 * On a filesystem without a journal, marks the superblock as not clean instead.
 * Sets *@switched to true just before the write.
 */
errcode_t e4l_super_switch(struct e4l_journal *j, bool *switched);
void e4l_super_keep_checksum(struct ext2_super_block *sb, uint32_t checksum);

/*
 * The functions of counts.c check counts in group descriptors.  If a count is
 * out of range, the functions return E4L_ET_GROUP_COUNT.
 *  - e4l_counts_check() checks all counts.
 *  - e4l_counts_add_clusters() checks whether @delta can be added to the number
 *    of free clusters of @group.
 *  - e4l_counts_move_inode() checks whether the counts of two groups can change
 *    when inode @from moves to @to.  @is_dir is true for a directory.
 */
errcode_t e4l_counts_check(struct e4l *e);
errcode_t e4l_counts_add_clusters(struct e4l *e, dgrp_t group, int64_t delta);
errcode_t e4l_counts_move_inode(struct e4l *e, ext2_ino_t from, ext2_ino_t to,
				bool is_dir);
/*
 * Sets the free counts of the superblock in memory to the sums of the groups'
 * free counts, as the kernel does on mount.  The free counts on disk can be
 * wrong even in a checked filesystem, because e2fsck accepts any value.
 */
void e4l_counts_total(ext2_filsys fs);

/* The functions of journal_log.c read and write the log. */
errcode_t e4l_log_setup(struct e4l_journal *j);
errcode_t e4l_log_check(struct e4l_journal *j);
uint32_t e4l_log_start(const struct e4l_journal *j, uint32_t seq);
errcode_t e4l_log_write(struct e4l_journal *j, const struct txn_block *blocks,
			size_t n);
errcode_t e4l_log_forget_fast(struct e4l_journal *j);
errcode_t e4l_log_point(struct e4l_journal *j, uint32_t start);
errcode_t e4l_log_cut(struct e4l_journal *j, uint32_t blocks);

/*
 * e4l_discard_note() records blocks that a transaction allocates or frees.  At
 * the end of the session, e4l_discard_used() discards the recorded blocks that
 * are free.
 */
errcode_t e4l_discard_note(struct e4l_journal *j, struct range r);
errcode_t e4l_discard_used(struct e4l_journal *j);

/* Flushes the device of the filesystem and the device of the journal. */
errcode_t e4l_journal_flush(struct e4l_journal *j);
/*
 * Returns the first error of the session, after which the session writes
 * nothing more.  Returns 0 if no error has occurred.
 */
errcode_t e4l_journal_failed(struct e4l_journal *j);
errcode_t e4l_journal_commit(struct e4l_journal *j,
			     const struct txn_block *blocks, size_t n);
/*
 * Flushes the devices of the filesystem and of the journal, and then checks
 * that no other program has changed the superblocks.
 */
errcode_t e4l_journal_settle(struct e4l_journal *j);
/*
 * Checks that no other program has changed the superblocks of the filesystem
 * and the journal.  This check also works after the session has failed.
 */
errcode_t e4l_journal_look(struct e4l_journal *j);
/* Writes @blocks, which must be in disk order, to their final locations. */
errcode_t e4l_journal_write(struct e4l_journal *j,
			    const struct txn_block *blocks, size_t n);

/*
 * Commits a transaction that changes the size of the filesystem; see switch.c.
 * *@switched is true if the superblock on the device may have the new size.
 */
errcode_t e4l_journal_switch(struct e4l_journal *j,
			     const struct txn_block *blocks, size_t n,
			     bool *switched);

#endif
