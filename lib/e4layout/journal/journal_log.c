/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * journal_log: finds the blocks of the log on the device, and writes
 * transactions to the log.  journal.c explains the order of the writes.
 */
#include "config.h"
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "e4layout/base/array.h"
#include "journal_internal.h"

static uint32_t sum_blocks(const struct e4l_journal *j, uint32_t sum,
			   const void *buf)
{
	return ext2fs_crc32c_le(sum, buf, j->e->fs->blocksize);
}

/* ------------------------------------------ blocks of the log on the device */

struct map_walk {
	struct e4l_journal *j;
	uint32_t next;	/* number of logical blocks checked so far */
	errcode_t err;
};

static bool extends(const struct log_run *run, blk64_t pblk)
{
	return run->pblk + run->len == pblk;
}

static int map_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
		     blk64_t ref_blk, int ref_offset, void *priv)
{
	struct map_walk *w = priv;
	struct e4l_journal *j = w->j;

	if (lblk != w->next || *blk <= fs->super->s_first_data_block ||
	    *blk >= ext2fs_blocks_count(fs->super)) {
		w->err = E4L_ET_JOURNAL_CORRUPT;
		return BLOCK_ABORT;
	}
	w->next++;
	if (j->n_map && extends(&j->map[j->n_map - 1], *blk)) {
		j->map[j->n_map - 1].len++;
		return 0;
	}
	w->err = e4l_grow(&j->map, j->n_map, sizeof(*j->map));
	if (w->err)
		return BLOCK_ABORT;
	j->map[j->n_map++] = (struct log_run) {
		.pblk = *blk, .lblk = lblk, .len = 1,
	};
	return 0;
}

/*
 * Checks that no block of the device appears twice in the log.  If a block
 * appeared twice, the log would overwrite itself.
 */
static errcode_t check_overlap(const struct e4l_journal *j)
{
	struct log_run *sorted;
	errcode_t err = 0;
	size_t i;

	sorted = reallocarray(NULL, j->n_map, sizeof(*sorted));
	if (!sorted)
		return ENOMEM;
	memcpy(sorted, j->map, j->n_map * sizeof(*sorted));
	qsort(sorted, j->n_map, sizeof(*sorted), e4l_u64_cmp);
	for (i = 1; i < j->n_map; i++)
		if (sorted[i - 1].pblk + sorted[i - 1].len > sorted[i].pblk)
			err = E4L_ET_JOURNAL_CORRUPT;
	free(sorted);
	return err;
}

/*
 * Maps the blocks of the journal inode to the device, and sets *@blocks to the
 * number of mapped blocks.  The inode may have more blocks than the journal
 * uses.
 */
static errcode_t map_internal(struct e4l_journal *j, uint32_t *blocks)
{
	ext2_filsys fs = j->e->fs;
	ext2_ino_t ino = fs->super->s_journal_inum;
	struct map_walk w = { .j = j };
	struct ext2_inode inode;
	errcode_t err;

	if (!ino || ino > fs->super->s_inodes_count)
		return E4L_ET_JOURNAL_CORRUPT;
	err = ext2fs_read_inode(fs, ino, &inode);
	if (err)
		return err;
	if (!inode.i_links_count || !LINUX_S_ISREG(inode.i_mode) ||
	    inode.i_flags & (EXT4_ENCRYPT_FL | EXT4_INLINE_DATA_FL))
		return E4L_ET_JOURNAL_CORRUPT;
	err = ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY |
				    BLOCK_FLAG_DATA_ONLY, NULL, map_block, &w);
	if (!err)
		err = w.err;
	if (!err && !w.next)
		err = E4L_ET_JOURNAL_CORRUPT;
	*blocks = w.next;
	return err ? err : check_overlap(j);
}

errcode_t e4l_log_device(ext2_filsys fs, io_channel io, uint32_t *blocks)
{
	struct ext2_super_block sb;
	errcode_t err;

	err = io_channel_set_blksize(io, SUPERBLOCK_OFFSET);
	if (!err)
		err = io_channel_read_blk64(io, 1, -SUPERBLOCK_SIZE, &sb);
	if (!err)
		err = io_channel_set_blksize(io, fs->blocksize);
	if (err)
		return err;
	if (sb.s_magic != ext2fs_cpu_to_le16(EXT2_SUPER_MAGIC) ||
	    !(sb.s_feature_incompat &
	      ext2fs_cpu_to_le32(EXT3_FEATURE_INCOMPAT_JOURNAL_DEV)) ||
	    memcmp(sb.s_uuid, fs->super->s_journal_uuid, sizeof(sb.s_uuid)))
		return E4L_ET_JOURNAL_DEVICE;
	*blocks = ext2fs_le32_to_cpu(sb.s_blocks_count);
	return 0;
}

/*
 * Maps the log of an external journal to its device, and sets *@blocks to the
 * length of the device in blocks.  Block N of the log is block N of the device.
 */
static errcode_t map_external(struct e4l_journal *j, uint32_t *blocks)
{
	errcode_t err = e4l_log_device(j->e->fs, j->io, blocks);

	if (err)
		return err;
	j->map = calloc(1, sizeof(*j->map));
	if (!j->map)
		return ENOMEM;
	j->n_map = 1;
	j->map[0] = (struct log_run) { .len = *blocks };
	return 0;
}

static const struct log_run *find_run(const struct e4l_journal *j,
				      uint32_t lblk)
{
	size_t low = 0, high = j->n_map;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (j->map[mid].lblk <= lblk)
			low = mid;
		else
			high = mid;
	}
	return &j->map[low];
}

/* ------------------------------------------------- the journal's superblock */

static uint32_t super_lblk(const struct e4l_journal *j)
{
	return j->io == j->e->fs->io ? 0 :
	       ext2fs_journal_sb_start(j->e->fs->blocksize);
}

static uint32_t super_sum(const struct jbd2_super *jsb)
{
	struct jbd2_super copy = *jsb;

	copy.checksum = 0;
	return ext2fs_crc32c_le(~0, (uint8_t *)&copy, sizeof(copy));
}

static errcode_t check_features(const struct jbd2_super *jsb)
{
	uint32_t compat = be32toh(jsb->feature_compat);
	uint32_t incompat = be32toh(jsb->feature_incompat);
	uint32_t csum = incompat & (JBD2_CSUM_V2 | JBD2_CSUM_V3);

	if (be32toh(jsb->h.magic) != JBD2_MAGIC)
		return E4L_ET_JOURNAL_CORRUPT;
	if (be32toh(jsb->h.blocktype) != JBD2_SUPER_V2 ||
	    compat & ~JBD2_COMPAT_CHECKSUM || jsb->feature_ro_compat ||
	    incompat & ~(JBD2_REVOKE | JBD2_64BIT | JBD2_ASYNC_COMMIT |
			 JBD2_CSUM_V2 | JBD2_CSUM_V3 | JBD2_FAST_COMMIT))
		return E4L_ET_JOURNAL_FORMAT;
	if (!csum)
		return 0;
	if (csum == (JBD2_CSUM_V2 | JBD2_CSUM_V3) ||
	    compat & JBD2_COMPAT_CHECKSUM ||
	    jsb->checksum_type != JBD2_CRC32C ||
	    be32toh(jsb->checksum) != super_sum(jsb))
		return E4L_ET_JOURNAL_CORRUPT;
	return 0;
}

/*
 * Finds the first block of the log (j->first), the block after the log
 * (*@last), and the first block of the fast commits (j->fast).  @blocks is the
 * length of the journal device or of the journal inode, in blocks.
 */
static errcode_t check_extent(struct e4l_journal *j, uint32_t blocks,
			      uint32_t *last)
{
	const struct jbd2_super *jsb = &j->jsb;
	uint32_t maxlen = be32toh(jsb->maxlen), fc = 0;

	j->first = be32toh(jsb->first);
	if (be32toh(jsb->feature_incompat) & JBD2_FAST_COMMIT)
		fc = jsb->num_fc_blks ? be32toh(jsb->num_fc_blks) :
					JBD2_DEFAULT_FC_BLOCKS;
	if (be32toh(jsb->blocksize) != j->e->fs->blocksize ||
	    maxlen > blocks || maxlen < JBD2_MIN_BLOCKS ||
	    fc > maxlen - JBD2_MIN_BLOCKS ||
	    j->first <= super_lblk(j) || j->first > JBD2_MIN_BLOCKS / 8)
		return E4L_ET_JOURNAL_CORRUPT;
	*last = maxlen - fc;
	/* jbd2 does not use the first block of the fast commit area */
	j->fast = fc > 1 ? *last + 1 : 0;
	return 0;
}

static errcode_t check_state(const struct e4l_journal *j)
{
	const struct jbd2_super *jsb = &j->jsb;
	uint32_t users = be32toh(jsb->nr_users);

	if (jsb->start)
		return E4L_ET_JOURNAL_RECOVERY;
	if (jsb->err)
		return E4L_ET_JOURNAL_ERROR;
	if (users > 1)
		return E4L_ET_JOURNAL_FORMAT;
	if (j->io != j->e->fs->io &&
	    (!users || memcmp(jsb->users[0], j->e->fs->super->s_uuid, 16)))
		return E4L_ET_JOURNAL_DEVICE;
	return 0;
}

static void set_format(struct e4l_journal *j)
{
	const struct jbd2_super *jsb = &j->jsb;
	uint32_t incompat = be32toh(jsb->feature_incompat);
	size_t tail;

	j->csum2 = incompat & JBD2_CSUM_V2;
	j->csum3 = incompat & JBD2_CSUM_V3;
	j->wide = incompat & JBD2_64BIT;
	j->seed = ext2fs_crc32c_le(~0, jsb->uuid, sizeof(jsb->uuid));
	j->seq = be32toh(jsb->sequence);
	if (j->csum3)
		j->tag_bytes = sizeof(struct jbd2_tag3);
	else
		j->tag_bytes = sizeof(struct jbd2_tag) -
			(j->wide ? 0 : sizeof(uint32_t)) +
			(j->csum2 ? sizeof(uint16_t) : 0);
	tail = j->csum2 || j->csum3 ? sizeof(uint32_t) : 0;
	j->tags_per_block = (j->e->fs->blocksize - sizeof(struct jbd2_header) -
			     sizeof(jsb->uuid) - tail) / j->tag_bytes;
}

/*
 * Sets the length of a half of the log, and the number of metadata blocks that
 * a transaction may have.  Each half also has space for descriptor blocks, a
 * commit block, and a block of zeroes.  @last is the end of the log, as a block
 * number in the journal.
 */
static void set_capacity(struct e4l_journal *j, uint32_t last)
{
	uint64_t tags = j->tags_per_block;

	j->half = (last - j->first) / 2;
	j->capacity = (j->half - 2) * tags / (tags + 1);
	if (j->capacity > TXN_MAX_BYTES / j->e->fs->blocksize)
		j->capacity = TXN_MAX_BYTES / j->e->fs->blocksize;
}

static errcode_t read_super(struct e4l_journal *j, struct jbd2_super *jsb)
{
	ext2_filsys fs = j->e->fs;
	blk64_t blk = find_run(j, 0)->pblk + super_lblk(j);
	uint8_t *buf;
	errcode_t err;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(j->io, blk, -(int)fs->blocksize, buf);
	if (!err)
		memcpy(jsb, buf, sizeof(*jsb));
	else
		e4l_fail(j->e, err, "reading the journal's superblock", 0, blk);
	ext2fs_free_mem(&buf);
	return err;
}

/*
 * Compares the journal's superblock on the device with the superblock that the
 * session last read or wrote.  If the superblocks differ, returns
 * E4L_ET_NOT_OURS.
 */
errcode_t e4l_log_check(struct e4l_journal *j)
{
	struct jbd2_super now;
	errcode_t err = read_super(j, &now);

	if (!err && memcmp(&now, &j->jsb, sizeof(now)))
		err = e4l_fail(j->e, E4L_ET_NOT_OURS,
			       "checking the journal's superblock", 0, 0);
	return err;
}

errcode_t e4l_log_setup(struct e4l_journal *j)
{
	ext2_filsys fs = j->e->fs;
	uint32_t blocks, last;
	errcode_t err;

	err = j->io == fs->io ? map_internal(j, &blocks) :
				map_external(j, &blocks);
	if (!err)
		err = read_super(j, &j->jsb);
	if (!err)
		err = check_features(&j->jsb);
	if (!err)
		err = check_extent(j, blocks, &last);
	if (!err)
		err = check_state(j);
	if (err)
		return err;
	set_format(j);
	if (!j->wide && ext2fs_blocks_count(fs->super) >> 32)
		return E4L_ET_JOURNAL_NARROW;
	set_capacity(j, last);
	return 0;
}

uint32_t e4l_log_start(const struct e4l_journal *j, uint32_t seq)
{
	return j->first + (seq & 1) * j->half;
}

/*
 * Writes @start and the current sequence number to the journal's superblock.  A
 * @start of 0 marks the log as empty.  All changed bytes, including the
 * checksum, are in the first 512 bytes, which a device writes completely or not
 * at all.
 */
errcode_t e4l_log_point(struct e4l_journal *j, uint32_t start)
{
	ext2_filsys fs = j->e->fs;
	blk64_t pblk = find_run(j, 0)->pblk + super_lblk(j);
	uint8_t *buf;
	errcode_t err;

	err = io_channel_alloc_buf(j->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(j->io, pblk, -(int)fs->blocksize, buf);
	if (err)
		goto out;
	j->jsb.start = htobe32(start);
	j->jsb.sequence = htobe32(j->seq);
	if (j->csum2 || j->csum3)
		j->jsb.checksum = htobe32(super_sum(&j->jsb));
	memcpy(buf, &j->jsb, sizeof(j->jsb));
	err = io_channel_write_blk64(j->io, pblk, -(int)fs->blocksize, buf);
out:
	if (err)
		e4l_fail(j->e, err, "writing the journal's superblock", 0,
			 pblk);
	ext2fs_free_mem(&buf);
	return err;
}

errcode_t e4l_log_cut(struct e4l_journal *j, uint32_t blocks)
{
	const uint32_t old = j->jsb.maxlen;
	uint32_t last;

	if (blocks >= be32toh(old))
		return E4L_ET_BAD_ARGUMENT;
	j->jsb.maxlen = htobe32(blocks);
	if (check_extent(j, blocks, &last)) {
		j->jsb.maxlen = old;
		return E4L_ET_JOURNAL_SHORT;
	}
	set_capacity(j, last);
	return e4l_log_point(j, 0);
}

/* ----------------------------------------- writing a transaction to the log */

/* A buffer that collects blocks of the log, to write them in large requests. */
struct writer {
	struct e4l_journal *j;
	uint8_t *buf;
	uint32_t lblk;		/* first log block in @buf */
	/* blocks used in @buf, and length of @buf in blocks */
	uint32_t fill, room;
};

static errcode_t writer_flush(struct writer *w)
{
	size_t bs = w->j->e->fs->blocksize;
	uint32_t done = 0;
	errcode_t err;

	while (done < w->fill) {
		const struct log_run *run = find_run(w->j, w->lblk + done);
		uint32_t skip = w->lblk + done - run->lblk;
		uint32_t n = run->len - skip;

		if (n > w->fill - done)
			n = w->fill - done;
		err = io_channel_write_blk64(w->j->io, run->pblk + skip,
					     -(int)(n * bs),
					     w->buf + done * bs);
		if (err)
			return e4l_fail(w->j->e, err, "writing the journal",
					0, run->pblk + skip);
		done += n;
	}
	w->lblk += w->fill;
	w->fill = 0;
	return 0;
}

/*
 * Sets *@block to the buffer of the next log block.  The buffer is filled with
 * zeroes, and the caller fills in the content.
 */
static errcode_t writer_next(struct writer *w, uint8_t **block)
{
	size_t bs = w->j->e->fs->blocksize;
	errcode_t err = w->fill == w->room ? writer_flush(w) : 0;

	if (err)
		return err;
	*block = w->buf + w->fill++ * bs;
	memset(*block, 0, bs);
	return 0;
}

static void set_header(struct e4l_journal *j, uint8_t *block,
		       enum jbd2_blocktype type)
{
	struct jbd2_header h = {
		.magic = htobe32(JBD2_MAGIC),
		.blocktype = htobe32(type),
		.sequence = htobe32(j->seq),
	};

	memcpy(block, &h, sizeof(h));
}

static bool needs_escape(const struct txn_block *b)
{
	uint32_t magic = htobe32(JBD2_MAGIC);

	return !memcmp(b->data, &magic, sizeof(magic));
}

/*
 * Returns the checksum of block @b in the log.  If the block begins with the
 * magic number of the journal, the block is escaped: its first word is zero in
 * the log.
 */
static uint32_t block_sum(const struct e4l_journal *j,
			  const struct txn_block *b)
{
	static const uint8_t zero[4];
	uint32_t seq = htobe32(j->seq);
	uint32_t sum = ext2fs_crc32c_le(j->seed, (uint8_t *)&seq, sizeof(seq));

	if (!needs_escape(b))
		return sum_blocks(j, sum, b->data);
	sum = ext2fs_crc32c_le(sum, zero, sizeof(zero));
	return ext2fs_crc32c_le(sum, b->data + sizeof(zero),
				j->e->fs->blocksize - sizeof(zero));
}

static void put_tag(const struct e4l_journal *j, uint8_t *place,
		    const struct txn_block *b, uint32_t flags)
{
	uint32_t sum = j->csum2 || j->csum3 ? block_sum(j, b) : 0;

	if (j->csum3) {
		struct jbd2_tag3 tag = {
			.blk_lo = htobe32((uint32_t)b->blk),
			.blk_hi = htobe32(b->blk >> 32),
			.flags = htobe32(flags),
			.checksum = htobe32(sum),
		};

		memcpy(place, &tag, sizeof(tag));
	} else {
		struct jbd2_tag tag = {
			.blk_lo = htobe32((uint32_t)b->blk),
			.blk_hi = htobe32(b->blk >> 32),
			.flags = htobe16(flags),
			.checksum = htobe16(j->csum2 ? sum & 0xffff : 0),
		};

		memcpy(place, &tag, j->wide ? sizeof(tag) :
		       offsetof(struct jbd2_tag, blk_hi));
	}
}

static void put_tail_sum(const struct e4l_journal *j, uint8_t *block)
{
	uint32_t sum;

	if (!j->csum2 && !j->csum3)
		return;
	sum = htobe32(sum_blocks(j, j->seed, block));
	memcpy(block + j->e->fs->blocksize - sizeof(sum), &sum, sizeof(sum));
}

/*
 * Writes a copy of @b to the log.  If @b needs an escape, the first four bytes
 * of the copy are zero.
 */
static errcode_t write_copy(struct writer *w, const struct txn_block *b)
{
	uint8_t *block;
	errcode_t err = writer_next(w, &block);

	if (err)
		return err;
	memcpy(block, b->data, w->j->e->fs->blocksize);
	if (needs_escape(b))
		memset(block, 0, sizeof(uint32_t));
	return 0;
}

/*
 * Writes a descriptor block for @n blocks to the log, and then the @n blocks.
 * @n must not exceed tags_per_block.
 */
static errcode_t write_described(struct writer *w,
				 const struct txn_block *blocks, size_t n)
{
	struct e4l_journal *j = w->j;
	uint8_t *block, *tag;
	errcode_t err;
	size_t i;

	err = writer_next(w, &block);
	if (err)
		return err;
	set_header(j, block, JBD2_DESCRIPTOR);
	tag = block + sizeof(struct jbd2_header);
	for (i = 0; i < n; i++) {
		put_tag(j, tag, &blocks[i],
			(needs_escape(&blocks[i]) ? JBD2_TAG_ESCAPED : 0) |
			(i ? JBD2_TAG_SAME_UUID : 0) |
			(i == n - 1 ? JBD2_TAG_LAST : 0));
		tag += j->tag_bytes;
		if (!i) {
			memcpy(tag, j->jsb.uuid, sizeof(j->jsb.uuid));
			tag += sizeof(j->jsb.uuid);
		}
	}
	put_tail_sum(j, block);
	for (i = 0; i < n && !err; i++)
		err = write_copy(w, &blocks[i]);
	return err;
}

static errcode_t write_commit(struct writer *w)
{
	struct e4l_journal *j = w->j;
	time_t now = j->e->fs->now ? j->e->fs->now : time(NULL);
	struct jbd2_commit *c;
	uint8_t *block;
	errcode_t err;

	err = writer_next(w, &block);
	if (err)
		return err;
	set_header(j, block, JBD2_COMMIT);
	c = (struct jbd2_commit *)block;
	c->sec = htobe64(now);
	if (j->csum2 || j->csum3)
		c->chksum[0] = htobe32(sum_blocks(j, j->seed, block));
	/*
	 * a block of zeroes prevents a replay of older blocks in this half of
	 * the log
	 */
	return writer_next(w, &block);
}

/*
 * Clears the first block of the fast commits, without a flush.  The kernel
 * ignores fast commits that are older than the log, but e2fsck 1.47 fails and
 * discards the whole log.
 */
errcode_t e4l_log_forget_fast(struct e4l_journal *j)
{
	struct writer w = { .j = j, .lblk = j->fast, .room = 1 };
	uint8_t *block;
	errcode_t err;

	if (!j->fast)
		return 0;
	err = io_channel_alloc_buf(j->io, w.room, &w.buf);
	if (!err)
		err = writer_next(&w, &block);
	if (!err)
		err = writer_flush(&w);
	ext2fs_free_mem(&w.buf);
	return err;
}

/*
 * Writes a transaction with the sequence number j->seq to the log, without a
 * flush.
 */
errcode_t e4l_log_write(struct e4l_journal *j, const struct txn_block *blocks,
			size_t n)
{
	struct writer w = { .j = j, .lblk = e4l_log_start(j, j->seq) };
	size_t done, part;
	errcode_t err;

	/*
	 * do not write the log of an overlay, because the log is never replayed
	 */
	if (j->e->over)
		return 0;
	w.room = LOG_WRITE_BYTES / j->e->fs->blocksize;
	err = io_channel_alloc_buf(j->io, w.room, &w.buf);
	if (err)
		return err;
	for (done = 0; !err && done < n; done += part) {
		part = n - done;
		if (part > j->tags_per_block)
			part = j->tags_per_block;
		err = write_described(&w, blocks + done, part);
	}
	if (!err)
		err = write_commit(&w);
	if (!err)
		err = writer_flush(&w);
	ext2fs_free_mem(&w.buf);
	return err;
}
