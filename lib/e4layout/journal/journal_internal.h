/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations for the journal code only: session, log, superblock and
 * transaction.
 */
#ifndef E4L_JOURNALP_H
#define E4L_JOURNALP_H

#include "journal.h"
#include "e4layout/format/jbd2.h"

/* Memory limit of a transaction. */
#define TXN_MAX_BYTES (64u << 20)

/* Maximum length of a write request. */
#define LOG_WRITE_BYTES (1u << 20)

/* Blocks of the journal that are contiguous on its device. */
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
	io_channel io;	/* channel of the device with the log */
	struct log_run *map;
	size_t n_map;
	struct jbd2_super jsb;	/* the journal's superblock, as on disk */
	uint32_t first;		/* first block of the log */
	uint32_t fast;		/* first block of fast commits, or 0 */
	uint32_t half;		/* length of each half of the log, in blocks */
	uint32_t capacity;	/* maximum number of blocks in a transaction */
	uint32_t seq;		/* last sequence number used */
	uint32_t seed;		/* seed of the log's checksums */
	bool csum2, csum3, wide;
	unsigned int tag_bytes, tags_per_block;
	struct ext2_super_block sb;	/* as on disk, little endian */
	/* bytes that fs->io had written before the session */
	uint64_t written_before;
	/* the superblock on disk has the mark of an open session */
	bool marked;
	errcode_t failed;	/* if not 0, nothing more is written */
	/* error of e4l_journal_flush_beside() */
	_Atomic(errcode_t) unflushed;
	struct e4l_txn *txn;
	struct e4l_discarded *discarded;	/* NULL: do not discard */
	/* blocks allocated or freed in this session; only if @discarded is set */
	struct ranges used;
};

/* A block that a transaction writes, with the new content. */
struct txn_block {
	blk64_t blk;
	uint8_t *data;
};

/*
 * The functions of super.c read and write the filesystem's superblock.  A power
 * failure during a write cannot leave an invalid superblock.
 */
errcode_t e4l_super_read(struct e4l_journal *j);
errcode_t e4l_super_check(struct e4l_journal *j);
errcode_t e4l_super_mark(struct e4l_journal *j);
errcode_t e4l_super_unmark(struct e4l_journal *j);
/*
 * Writes the superblock with the size of fs->super, and with needs_recovery or,
 * if there is no journal, without the valid state.  After an error before the
 * write, *@switched is unchanged; otherwise, it is true.
 */
errcode_t e4l_super_switch(struct e4l_journal *j, bool *switched);
void e4l_super_keep_checksum(struct ext2_super_block *sb, uint32_t checksum);

/*
 * The functions of counts.c check counts in group descriptors, and return
 * E4L_ET_GROUP_COUNT if a count is out of range.  e4l_counts_check() checks all
 * counts.  e4l_counts_add_clusters() checks the number of free clusters of
 * @group plus @delta.  e4l_counts_move_inode() checks the counts of two groups
 * before inode @from is moved to @to.
 */
errcode_t e4l_counts_check(struct e4l *e);
errcode_t e4l_counts_add_clusters(struct e4l *e, dgrp_t group, int64_t delta);
errcode_t e4l_counts_move_inode(struct e4l *e, ext2_ino_t from, ext2_ino_t to,
				bool is_dir);
/*
 * Sets the superblock's free counts to the sums of the groups' free counts, as
 * the kernel does on mount.  The superblock's free counts can be wrong even in
 * a checked filesystem, because e2fsck accepts any value.
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

/*
 * e4l_discard_note() records allocated or freed blocks.  At the end of the
 * session, e4l_discard_used() discards the recorded blocks that are free.
 */
errcode_t e4l_discard_note(struct e4l_journal *j, struct range r);
errcode_t e4l_discard_used(struct e4l_journal *j);

/* Flushes the devices of the filesystem and of the journal. */
errcode_t e4l_journal_flush(struct e4l_journal *j);
/* Returns 0, or the error after which the session must not write any more. */
errcode_t e4l_journal_failed(struct e4l_journal *j);
errcode_t e4l_journal_commit(struct e4l_journal *j,
			     const struct txn_block *blocks, size_t n);
/* Flushes the devices, and checks that no other program uses them. */
errcode_t e4l_journal_settle(struct e4l_journal *j);
/* Checks for other programs, even after an error. */
errcode_t e4l_journal_look(struct e4l_journal *j);
/* Writes @blocks, which are in disk order, to their final locations. */
errcode_t e4l_journal_write(struct e4l_journal *j,
			    const struct txn_block *blocks, size_t n);

/*
 * switch.c: commits a transaction that changes the size of the filesystem.
 * *@switched tells whether the superblock may have the new size.
 */
errcode_t e4l_journal_switch(struct e4l_journal *j,
			     const struct txn_block *blocks, size_t n,
			     bool *switched);

#endif
