/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 0: the journal's superblock, and multiple mount protection. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/jbd2.h"
#include "metadata.h"

#define KNOWN_INCOMPAT (JBD2_REVOKE | JBD2_64BIT | JBD2_ASYNC_COMMIT | \
			JBD2_CSUM_V2 | JBD2_CSUM_V3 | JBD2_FAST_COMMIT)
#define EXTENT_MAGIC	0xF30A
/* value of s_jnl_backup_type if s_jnl_blocks has a copy of the journal's map */
#define BACKUP_BLOCKS	1

static uint32_t be32(uint32_t v)
{
	return ext2fs_be32_to_cpu(v);
}

/* ------------------------------------------------------------------- inode */

static bool is_journal(struct check *ck, const struct ext2_inode *inode)
{
	return inode->i_links_count && LINUX_S_ISREG(inode->i_mode) &&
	       !(inode->i_flags & EXT4_ENCRYPT_FL) &&
	       EXT2_I_SIZE(inode) / ck->fs->blocksize >= JBD2_MIN_BLOCKS;
}

static int count_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t n,
		       blk64_t ref, int offset, void *priv)
{
	if (!*blk || !in_filesystem(fs, *blk))
		return BLOCK_ABORT;
	if (n >= 0)
		*(e2_blkcnt_t *)priv = n + 1;
	return 0;
}

/*
 * Returns ENOMEM if there is not enough memory for an iteration over the blocks
 * of an inode.
 */
static errcode_t try_memory(const struct check *ck)
{
	void *p = malloc(4 * ck->fs->blocksize);

	free(p);
	return p ? 0 : ENOMEM;
}

static bool has_blocks(struct check *ck, ext2_ino_t ino,
		       const struct ext2_inode *inode)
{
	e2_blkcnt_t blocks = 0;

	if (e4l_check_noted(ck, ext2fs_block_iterate3(ck->fs, ino, BLOCK_FLAG_HOLE |
						      BLOCK_FLAG_READ_ONLY, NULL,
						      count_block, &blocks)))
		return false;
	/* like e2fsck, treat the size as a signed 32-bit number */
	return blocks * ck->fs->blocksize >= (int32_t)EXT2_I_SIZE(inode);
}

/*
 * Whether the inode on disk has all blocks up to its size.  libext2fs returns
 * no error if an iteration ends for lack of memory.  If blocks are missing, the
 * function therefore tests for memory and repeats the iteration.
 */
static bool is_whole(struct check *ck, ext2_ino_t ino,
		     const struct ext2_inode *inode)
{
	return has_blocks(ck, ino, inode) ||
	       (!e4l_check_noted(ck, try_memory(ck)) &&
		has_blocks(ck, ino, inode));
}

/*
 * Whether the superblock's copy of the journal's map is an extent tree.  On a
 * big-endian machine, libext2fs swaps a copy that does not begin with a valid
 * extent header.  The second test finds an extent tree that was swapped.
 */
static bool copy_is_tree(const struct ext2_super_block *sb)
{
	return !ext2fs_extent_header_verify((void *)sb->s_jnl_blocks,
					    sizeof(sb->s_jnl_blocks)) ||
	       (sb->s_jnl_blocks[0] & 0xFFFF) == EXTENT_MAGIC;
}

/*
 * Reads the superblock's copy of the journal's map and size.  If there is no
 * copy, or if the copy is an extent tree, returns false.
 */
static bool read_copy(const struct ext2_super_block *sb,
		      struct ext2_inode *inode)
{
	/* libext2fs cannot read an extent tree without a copy of i_flags */
	if (sb->s_jnl_backup_type != BACKUP_BLOCKS || copy_is_tree(sb))
		return false;
	memset(inode, 0, sizeof(*inode));
	memcpy(inode->i_block, sb->s_jnl_blocks, sizeof(inode->i_block));
	inode->i_size_high = sb->s_jnl_blocks[15];
	inode->i_size = sb->s_jnl_blocks[16];
	inode->i_links_count = 1;
	inode->i_mode = LINUX_S_IFREG | 0600;
	return true;
}

/*
 * Reads the journal inode.  If the inode is damaged, reads the copy in the
 * superblock, and reports a finding.  If the copy is also invalid, reports an
 * invalid journal inode and returns false.
 */
static bool read_journal_inode(struct check *ck, struct ext2_inode *inode)
{
	struct ext2_super_block *sb = ck->fs->super;
	ext2_ino_t ino = sb->s_journal_inum;

	if (ino && ino <= sb->s_inodes_count &&
	    !e4l_check_noted(ck, ext2fs_read_inode(ck->fs, ino, inode)) &&
	    is_journal(ck, inode) &&
	    is_whole(ck, ino, inode))
		return true;
	if (ino && ino <= sb->s_inodes_count && read_copy(sb, inode) &&
	    is_journal(ck, inode)) {
		if (ino == EXT2_JOURNAL_INO)
			FOUND(ck, JOURNAL_COPY, .ino = ino);
		else
			FOUND(ck, JOURNAL_NUMBER, .ino = ino, .got = ino);
		return true;
	}
	FOUND(ck, JOURNAL_INODE, .ino = ino);
	return false;
}

/* -------------------------------------------------------------- superblock */

static bool csum_ok(const struct jbd2_super *s)
{
	static const uint8_t zero[4];
	const size_t at = offsetof(struct jbd2_super, checksum);
	uint32_t crc;

	if (!(be32(s->feature_incompat) & (JBD2_CSUM_V2 | JBD2_CSUM_V3)))
		return true;
	crc = e4l_crc32c(~0u, s, at);
	crc = e4l_crc32c(crc, zero, sizeof(zero));
	crc = e4l_crc32c(crc, (const char *)s + at + sizeof(zero),
			 sizeof(*s) - at - sizeof(zero));
	return s->checksum_type == JBD2_CRC32C && crc == be32(s->checksum);
}

/* Whether the journal has at most one of the checksum versions 1, 2 and 3. */
static bool csum_features_ok(const struct jbd2_super *s)
{
	uint32_t v23 = be32(s->feature_incompat) &
		       (JBD2_CSUM_V2 | JBD2_CSUM_V3);

	return v23 != (JBD2_CSUM_V2 | JBD2_CSUM_V3) &&
	       !(v23 && be32(s->feature_compat) & JBD2_COMPAT_CHECKSUM);
}

static bool lengths_ok(struct check *ck, const struct jbd2_super *s,
		       uint64_t blocks)
{
	uint32_t fc = be32(s->num_fc_blks);

	if (be32(s->blocksize) != ck->fs->blocksize ||
	    be32(s->maxlen) > blocks)
		return false;
	if (!(be32(s->feature_incompat) & JBD2_FAST_COMMIT))
		return true;
	fc = fc ? fc : JBD2_DEFAULT_FC_BLOCKS;
	return (int32_t)(be32(s->maxlen) - fc) >= (int32_t)JBD2_MIN_BLOCKS;
}

static bool type_ok(const struct jbd2_super *s)
{
	return be32(s->h.magic) == JBD2_MAGIC &&
	       (be32(s->h.blocktype) == JBD2_SUPER_V1 ||
		(be32(s->h.blocktype) == JBD2_SUPER_V2 &&
		 be32(s->nr_users) <= 1));
}

static void judge_journal_super(struct check *ck, ext2_ino_t ino, blk64_t blk,
				const struct jbd2_super *s, uint64_t blocks)
{
	struct ext2_super_block *sb = ck->fs->super;
	bool v2 = be32(s->h.blocktype) == JBD2_SUPER_V2;

	if (!type_ok(s))
		FOUND(ck, JOURNAL_SUPER, .ino = ino, .blk = blk);
	else if (v2 && (be32(s->feature_incompat) & ~KNOWN_INCOMPAT ||
			s->feature_ro_compat))
		FOUND(ck, JOURNAL_FEATURES, .ino = ino, .blk = blk);
	else if ((v2 && (!csum_features_ok(s) || !csum_ok(s))) ||
		 !lengths_ok(ck, s, blocks))
		FOUND(ck, JOURNAL_SUPER, .ino = ino, .blk = blk);
	if (s->start && !ext2fs_has_feature_journal_needs_recovery(sb))
		FOUND(ck, JOURNAL_DATA, .ino = ino, .blk = blk);
	if (s->err && !ext2fs_has_feature_journal_needs_recovery(sb))
		FOUND(ck, JOURNAL_ERROR, .ino = ino, .blk = blk);
}

static errcode_t judge_journal(struct check *ck, struct ext2_inode *inode)
{
	ext2_ino_t ino = ck->fs->super->s_journal_inum;
	blk64_t blk = 0;
	void *buf;

	if (e4l_check_noted(ck, ext2fs_bmap2(ck->fs, ino, inode, NULL, 0, 0, NULL,
					     &blk)) ||
	    !blk || !in_filesystem(ck->fs, blk)) {
		FOUND(ck, JOURNAL_INODE, .ino = ino);
		return 0;
	}
	buf = malloc(ck->fs->blocksize);
	if (!buf)
		return ENOMEM;
	if (e4l_check_noted(ck, e4l_read(ck->e, blk, 1, buf)))
		FOUND(ck, JOURNAL_SUPER, .ino = ino, .blk = blk);
	else
		judge_journal_super(ck, ino, blk, buf,
				    EXT2_I_SIZE(inode) / ck->fs->blocksize);
	free(buf);
	return 0;
}

/* Checks an external journal, which uses no block of the filesystem. */
static errcode_t judge_external(struct check *ck)
{
	io_channel io = ck->journal;
	struct jbd2_super s;
	uint32_t blocks;
	errcode_t err;

	if (!io) {
		FOUND(ck, JOURNAL_ABSENT);
		return 0;
	}
	err = e4l_log_device(ck->fs, io, &blocks);
	if (err == E4L_ET_JOURNAL_DEVICE) {
		FOUND(ck, JOURNAL_OTHER);
		return 0;
	}
	if (!err)
		err = io_channel_read_blk64(io,
			ext2fs_journal_sb_start(ck->fs->blocksize),
			-JBD2_SUPER_BYTES, &s);
	if (e4l_check_noted(ck, err))
		FOUND(ck, JOURNAL_SUPER);
	else
		judge_journal_super(ck, 0, 0, &s, blocks);
	return 0;
}

errcode_t e4l_pass0_journal(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	bool has = ext2fs_has_feature_journal(sb);
	struct ext2_inode inode;

	if (ext2fs_has_feature_journal_needs_recovery(sb) &&
	    ext2fs_has_feature_fast_commit(sb))
		FOUND(ck, JOURNAL_FAST);
	else if (ext2fs_has_feature_journal_needs_recovery(sb))
		FOUND(ck, JOURNAL_RECOVERY);
	if (!has && !ext2fs_has_feature_journal_needs_recovery(sb) &&
	    !sb->s_journal_inum && !sb->s_journal_dev &&
	    is_zero(sb->s_journal_uuid, sizeof(sb->s_journal_uuid)))
		return 0;
	if (!is_zero(sb->s_journal_uuid, sizeof(sb->s_journal_uuid))) {
		if (has && !sb->s_journal_inum)
			return judge_external(ck);
		FOUND(ck, JOURNAL_TWO);
		return 0;
	}
	if (!has && !sb->s_journal_inum &&
	    !ext2fs_has_feature_journal_needs_recovery(sb))
		return 0;
	if (!read_journal_inode(ck, &inode))
		return 0;
	if (!has)
		FOUND(ck, JOURNAL_FLAG);
	return judge_journal(ck, &inode);
}

/* --------------------------------------------------------------------- MMP */

static bool mmp_csum_ok(ext2_filsys fs, const struct mmp_struct *m)
{
	return !ext2fs_has_feature_metadata_csum(fs->super) ||
	       e4l_crc32c(fs->csum_seed, m,
			  offsetof(struct mmp_struct, mmp_checksum)) ==
	       ext2fs_le32_to_cpu(m->mmp_checksum);
}

/*
 * Whether libext2fs has marked the MMP block as in use, because the filesystem
 * is open for writing and MMP is not skipped.
 */
static bool is_held(ext2_filsys fs)
{
	return (fs->flags & (EXT2_FLAG_RW | EXT2_FLAG_SKIP_MMP)) ==
	       EXT2_FLAG_RW;
}

static void judge_mmp(struct check *ck, blk64_t blk,
		      const struct mmp_struct *m)
{
	uint32_t seq = ext2fs_le32_to_cpu(m->mmp_seq);

	if (ext2fs_le32_to_cpu(m->mmp_magic) != EXT4_MMP_MAGIC ||
	    !mmp_csum_ok(ck->fs, m))
		FOUND(ck, MMP_BLOCK, .blk = blk);
	else if (is_held(ck->fs))
		return;
	else if (seq == EXT4_MMP_SEQ_FSCK ||
		 (seq > EXT4_MMP_SEQ_MAX && seq != EXT4_MMP_SEQ_CLEAN))
		FOUND(ck, MMP_CHECKED, .blk = blk);
	else if (seq != EXT4_MMP_SEQ_CLEAN)
		FOUND(ck, MMP_IN_USE, .blk = blk);
}

errcode_t e4l_pass0_mmp(struct check *ck)
{
	blk64_t blk = ck->fs->super->s_mmp_block;
	void *buf;

	if (!ext2fs_has_feature_mmp(ck->fs->super))
		return 0;
	if (blk <= ck->fs->super->s_first_data_block ||
	    !in_filesystem(ck->fs, blk)) {
		FOUND(ck, MMP_BLOCK, .blk = blk);
		return 0;
	}
	buf = malloc(ck->fs->blocksize);
	if (!buf)
		return ENOMEM;
	if (e4l_check_noted(ck, e4l_read(ck->e, blk, 1, buf)))
		FOUND(ck, MMP_BLOCK, .blk = blk);
	else
		judge_mmp(ck, blk, buf);
	free(buf);
	return e4l_claim_anyway(ck, blk, 1);
}
