/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the journal's on-disk format that this library reads or writes.
 * Source: Documentation/filesystems/ext4/journal.rst in Linux.  All numbers are
 * big-endian.
 */
#ifndef E4L_JBD2_H
#define E4L_JBD2_H

#include <stdbool.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#define JBD2_MAGIC		0xc03b3998u
#define JBD2_SUPER_BYTES	1024
#define JBD2_MIN_BLOCKS		1024u	/* shorter journals are not supported */
/* number of fast commit blocks if s_num_fc_blks is 0 */
#define JBD2_DEFAULT_FC_BLOCKS	256u
#define JBD2_CRC32C		4	/* value of s_checksum_type */

enum jbd2_blocktype {
	JBD2_DESCRIPTOR = 1,
	JBD2_COMMIT = 2,
	JBD2_SUPER_V1 = 3,
	JBD2_SUPER_V2 = 4,
};

/* flags in s_feature_compat */
#define JBD2_COMPAT_CHECKSUM	0x1u
/* flags in s_feature_incompat */
#define JBD2_REVOKE		0x1u
#define JBD2_64BIT		0x2u
#define JBD2_ASYNC_COMMIT	0x4u
#define JBD2_CSUM_V2		0x8u
#define JBD2_CSUM_V3		0x10u
#define JBD2_FAST_COMMIT	0x20u

/* flags of a tag in a descriptor block */
#define JBD2_TAG_ESCAPED	1u
#define JBD2_TAG_SAME_UUID	2u
#define JBD2_TAG_LAST		8u

struct jbd2_header {
	uint32_t magic;
	uint32_t blocktype;
	uint32_t sequence;
};

struct jbd2_super {
	struct jbd2_header h;
	uint32_t blocksize;
	uint32_t maxlen;	/* number of blocks, including the superblock */
	uint32_t first;		/* first block of the log */
	uint32_t sequence; /* sequence number of the transaction at @start */
	/* block of the oldest transaction; 0: the log is empty */
	uint32_t start;
	uint32_t err;
	uint32_t feature_compat;
	uint32_t feature_incompat;
	uint32_t feature_ro_compat;
	uint8_t uuid[16];
	uint32_t nr_users;
	uint32_t dynsuper;
	uint32_t max_transaction;
	uint32_t max_trans_data;
	uint8_t checksum_type;
	uint8_t padding2[3];
	uint32_t num_fc_blks;	/* number of blocks for fast commits */
	uint32_t head;
	uint32_t padding[40];
	uint32_t checksum;
	uint8_t users[48][16];
};
_Static_assert(sizeof(struct jbd2_super) == JBD2_SUPER_BYTES, "jbd2_super");

/*
 * A tag of a descriptor block with checksum v3.  A tag contains the filesystem
 * block number of one logged block.
 */
struct jbd2_tag3 {
	uint32_t blk_lo;
	uint32_t flags;
	uint32_t blk_hi;
	uint32_t checksum;
};

/*
 * A tag of a descriptor block without checksum or with checksum v2.  Without
 * JBD2_64BIT, the tag on disk has no blk_hi.  With checksum v2, two unused
 * bytes follow the tag.
 */
struct jbd2_tag {
	uint32_t blk_lo;
	uint16_t checksum;
	uint16_t flags;
	uint32_t blk_hi;
};

struct jbd2_commit {
	struct jbd2_header h;
	uint8_t chksum_type;
	uint8_t chksum_size;
	uint8_t padding[2];
	uint32_t chksum[8];
	uint64_t sec;
	uint32_t nsec;
};

/*
 * Reads the ext4 superblock at byte 1024 of the external journal's device @io,
 * and sets *@blocks to the number of blocks of the device.  The superblock of
 * the journal is in block ext2fs_journal_sb_start().  Sets the block size of
 * @io to the block size of @fs.  Returns E4L_ET_JOURNAL_DEVICE if @io is not
 * the journal device of @fs.
 */
errcode_t e4l_log_device(ext2_filsys fs, io_channel io, uint32_t *blocks);

#endif
