/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include "e4layout/journal/change.h"
#include "journal.h"

/* e2fsck exits with 1 if it has replayed the journal */
#define REPLAY "e2fsck -fy %s >/dev/null 2>&1; [ $? -le 1 ]"

START_TEST(e2fsck_replays)
{
	struct image img;
	unsigned int round = 1 + _i % 3;	/* use both halves of the log */

	image_make(&img, "", &formats[_i]);
	leave_unreplayed(&img, round);
	run(REPLAY, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, round), FILE_BLOCKS);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

START_TEST(closes_clean)
{
	struct ext2_super_block before, *after;
	struct e4l_journal *j;
	struct image img;

	image_make(&img, "", &formats[_i]);
	before = *img.fs->orig_super;
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	img.fs->now = img.fs->super->s_wtime;
	ck_assert_int_eq(change_file(&img, j, FILE_BLOCKS, 1), 0);
	ck_assert_int_eq(change_file(&img, j, 10, 2), 0);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, 10, 2), 10);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 1),
			  FILE_BLOCKS - 10);
	/*
	 * only two parts of the superblock have changed: s_kbytes_written, and
	 * the bytes at the end of s_last_mounted that keep the checksum
	 */
	after = img.fs->orig_super;
	ck_assert_uint_gt(ext2fs_le64_to_cpu(after->s_kbytes_written),
			  ext2fs_le64_to_cpu(before.s_kbytes_written));
	before.s_kbytes_written = after->s_kbytes_written;
	memcpy(before.s_last_mounted + 60, after->s_last_mounted + 60, 4);
	ck_assert_mem_eq(&before, after, sizeof(before));
	image_drop(&img);
	image_remove(&img);
}
END_TEST

START_TEST(opens_without_a_trace)
{
	struct image img;
	struct e4l_journal *j;
	struct jbd2_super before, after;

	image_make(&img, "", &formats[0]);
	jsb_io(&img, &before, false);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_uint_ge(e4l_journal_capacity(j), 400);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	jsb_io(&img, &after, false);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/*
 * The largest transaction fits in half of the log.  With one more block, a
 * transaction does not fit.
 */
START_TEST(holds_its_capacity)
{
	struct image img;
	struct e4l_journal *j;
	struct e4l_txn *t;
	blk64_t blk, end;
	uint32_t n, descriptors;
	void *data;

	image_make(&img, "", &formats[_i]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	n = e4l_txn_room(t);
	ck_assert_uint_eq(n, e4l_journal_capacity(j));
	descriptors = (n + j->tags_per_block - 1) / j->tags_per_block;
	ck_assert_uint_le(n + descriptors + 2, j->half);
	end = ext2fs_blocks_count(img.fs->super);
	for (blk = end - n; blk < end; blk++) {
		ck_assert_int_eq(e4l_txn_edit_block(t, blk, &data), 0);
		((uint8_t *)data)[0] = 1;
	}
	ck_assert_uint_eq(e4l_txn_room(t), 0);
	ck_assert_int_eq(e4l_txn_edit_block(t, end - n - 1, &data),
			 E4L_ET_TXN_FULL);
	ck_assert_int_eq(e4l_txn_edit_block(t, end - n, &data), 0);
	/* free blocks must not be written */
	ck_assert_int_eq(e4l_txn_commit(t), E4L_ET_BLOCK_NOT_IN_USE);
	ext2fs_mark_block_bitmap_range2(img.fs->block_map, end - n, n);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	for (blk = end - n; blk < end; blk++)
		ck_assert_int_eq(e4l_txn_new_block(t, blk, &data), 0);
	ck_assert_int_eq(e4l_txn_commit(t), 0);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

/* Each transaction and the block after it are within one half of the log. */
START_TEST(stays_in_its_half)
{
	struct image img;
	struct e4l_journal *j;
	uint32_t last;
	unsigned int r;

	image_make(&img, _i ? "-O fast_commit -J fast_commit_size=200" :
			      "", &(struct format) { 1024,
			      JBD2_CSUM_V3 | (_i ? JBD2_FAST_COMMIT : 0) });
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	last = be32toh(j->jsb.maxlen) -
	       (_i ? be32toh(j->jsb.num_fc_blks) : 0);
	ck_assert(!_i || be32toh(j->jsb.num_fc_blks));
	ck_assert_uint_le(e4l_log_start(j, 1) + j->half, last);
	ck_assert_uint_eq(e4l_log_start(j, 0), j->first);
	for (r = 1; r <= 5; r++) {
		ck_assert_int_eq(change_file(&img, j, FILE_BLOCKS, r), 0);
		ck_assert_uint_eq(be32toh(j->jsb.start),
				  e4l_log_start(j, j->seq));
	}
	j->failed = EIO;
	e4l_journal_close(j);
	spoil_places(&img, FILE_BLOCKS);
	image_drop(&img);
	run(REPLAY, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 5), FILE_BLOCKS);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/*
 * Leaves a fast commit that is older than the log. e2fsck 1.47 then recovers
 * nothing, but the kernel ignores the fast commit.
 */
static void leave_fast_commit(struct image *img)
{
	/* the start of a fast commit: tag 9, eight bytes, transaction 1 */
	static const uint8_t head[] = { 9, 0, 8, 0, 0, 0, 0, 0, 1, 0, 0, 0 };
	struct jbd2_super jsb;
	uint8_t block[1024] = { 0 };
	blk64_t blk;

	jsb_io(img, &jsb, false);
	ck_assert(jsb.num_fc_blks);
	ck_assert_int_eq(ext2fs_bmap2(img->fs, EXT2_JOURNAL_INO, NULL, NULL, 0,
				      be32toh(jsb.maxlen) + 1 -
				      be32toh(jsb.num_fc_blks), NULL, &blk), 0);
	memcpy(block, head, sizeof(head));
	ck_assert_int_eq(io_channel_write_blk64(img->fs->io, blk, 1, block), 0);
}

START_TEST(forgets_fast_commits)
{
	struct image img;

	image_make(&img, "-O fast_commit -J fast_commit_size=200",
		   &(struct format) { 1024, JBD2_CSUM_V3 | JBD2_FAST_COMMIT });
	leave_fast_commit(&img);
	leave_unreplayed(&img, 2);
	run(REPLAY, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 2), FILE_BLOCKS);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/*
 * After allocating and freeing blocks, counts, bitmaps and checksums are
 * correct.
 */
START_TEST(allocates_and_frees)
{
	static const char *const options[] = {
		"", "-O ^metadata_csum,uninit_bg", "-O meta_bg,^resize_inode",
		"-O bigalloc -C 16384", "-O ^64bit", "-O ^has_journal",
		"-O ^has_journal,bigalloc -C 8192 -g 2048",
		"-g 1024 -O ^flex_bg",
	};
	struct image img;
	struct e4l_journal *j;
	struct e4l_txn *t;
	blk64_t start, blk, end, n, free_before;

	image_make(&img, options[_i], &formats[_i < 4 ? 0 : 2]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	end = ext2fs_blocks_count(img.fs->super);
	n = EXT2FS_CLUSTER_RATIO(img.fs);
	free_before = ext2fs_free_blocks_count(img.fs->super);
	start = EXT2FS_B2C(img.fs, end / 2) * n;
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	for (blk = start; blk + n <= end && blk < start + 3000 * n; blk += n) {
		if (ext2fs_test_block_bitmap2(img.fs->block_map, blk)) {
			ck_assert_int_eq(e4l_txn_alloc(t, blk, n),
					 E4L_ET_BLOCK_IN_USE);
			continue;
		}
		ck_assert_int_eq(e4l_txn_free(t, blk, n),
				 E4L_ET_BLOCK_NOT_IN_USE);
		ck_assert_int_eq(e4l_txn_alloc(t, blk, n), 0);
		ck_assert_int_eq(e4l_txn_free(t, blk, n), 0);
		ck_assert(ext2fs_test_block_bitmap2(img.fs->block_map, blk));
	}
	ck_assert_uint_lt(ext2fs_free_blocks_count(img.fs->super),
			  free_before);
	ck_assert_int_eq(e4l_txn_commit(t), 0);
	ck_assert_uint_eq(ext2fs_free_blocks_count(img.fs->super),
			  free_before);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

START_TEST(takes_back_what_it_allocated)
{
	struct image img;
	struct e4l_journal *j;
	struct e4l_txn *t;
	blk64_t blk, free_before;

	image_make(&img, "", &formats[0]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	free_before = ext2fs_free_blocks_count(img.fs->super);
	ck_assert_int_eq(ext2fs_new_block2(img.fs, 9000, NULL, &blk), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_alloc(t, blk, 1), 0);
	ck_assert_int_eq(e4l_txn_free(t, img.blk[0], 1), 0);
	e4l_txn_abort(t);
	ck_assert(!ext2fs_test_block_bitmap2(img.fs->block_map, blk));
	ck_assert(ext2fs_test_block_bitmap2(img.fs->block_map, img.blk[0]));
	/* if a block is freed twice, the commit fails and frees nothing */
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_alloc(t, blk, 1), 0);
	ck_assert_int_eq(e4l_txn_free(t, img.blk[0], 2), 0);
	ck_assert_int_eq(e4l_txn_free(t, img.blk[1], 1), 0);
	ck_assert_int_eq(e4l_txn_commit(t), E4L_ET_BLOCK_NOT_IN_USE);
	ck_assert_uint_eq(ext2fs_free_blocks_count(img.fs->super),
			  free_before);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

START_TEST(changes_inodes)
{
	uint8_t buf[256], again[256];
	struct ext2_inode *inode = (struct ext2_inode *)buf;
	struct e4l_journal *j;
	struct e4l_txn *t;
	struct image img;

	image_make(&img, "", &formats[0]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_read_inode(t, img.ino, buf), 0);
	inode->i_mtime = 12345;
	ck_assert_int_eq(e4l_txn_put_inode(t, img.ino, buf), 0);
	ck_assert_int_eq(e4l_txn_read_inode(t, img.ino, again), 0);
	ck_assert_uint_eq(((struct ext2_inode *)again)->i_mtime, 12345);
	ck_assert_int_eq(e4l_txn_put_inode(t, 0, buf), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_txn_put_inode(t, ~0, buf), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_txn_commit(t), 0);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	ck_assert_int_eq(ext2fs_read_inode(img.fs, img.ino, inode), 0);
	ck_assert_uint_eq(inode->i_mtime, 12345);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

/* Returns a copy of the group descriptors; the caller frees the copy. */
static void *copy_groups(const struct image *img, size_t *bytes)
{
	void *copy;

	*bytes = (size_t)img->fs->desc_blocks * img->fs->blocksize;
	copy = malloc(*bytes);
	ck_assert_ptr_nonnull(copy);
	return memcpy(copy, img->fs->group_desc, *bytes);
}

/* An aborted allocation does not change a group with BLOCK_UNINIT. */
START_TEST(aborts_in_unwritten_group)
{
	struct image img;
	struct e4l_journal *j;
	struct e4l_txn *t;
	size_t bytes;
	void *groups;
	dgrp_t g = 0;

	image_make(&img, "-g 2048 -G 4", &formats[0]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	while (!ext2fs_bg_flags_test(img.fs, g, EXT2_BG_BLOCK_UNINIT))
		ck_assert_uint_lt(++g, img.fs->group_desc_count);
	groups = copy_groups(&img, &bytes);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_alloc(t, g * 2048 + 1500, 9), 0);
	e4l_txn_abort(t);
	ck_assert_mem_eq(groups, img.fs->group_desc, bytes);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	free(groups);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/*
 * Moves an inode to an empty group and back: the result equals the initial
 * state.
 */
START_TEST(moves_inodes)
{
	uint8_t buf[256], again[256];
	ext2_ino_t last;
	struct e4l_journal *j;
	struct e4l_txn *t;
	struct image img;
	size_t bytes;
	void *groups;

	image_make(&img, "", &formats[_i]);
	last = img.fs->super->s_inodes_count - 7;
	ck_assert_int_eq(ext2fs_read_inode_bitmap(img.fs), 0);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	groups = copy_groups(&img, &bytes);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_read_inode(t, img.ino, buf), 0);
	ck_assert_int_eq(e4l_txn_move_inode(t, img.ino, EXT2_ROOT_INO, false),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_txn_move_inode(t, img.ino, img.ino, false),
			 E4L_ET_CHANGED);
	ck_assert_int_eq(e4l_txn_move_inode(t, last, last - 1, false),
			 E4L_ET_CHANGED);
	ck_assert_int_eq(e4l_txn_move_inode(t, img.ino, last, false), 0);
	ck_assert(ext2fs_test_inode_bitmap2(img.fs->inode_map, last));
	ck_assert(!ext2fs_test_inode_bitmap2(img.fs->inode_map, img.ino));
	ck_assert_int_eq(e4l_txn_read_inode(t, last, again), 0);
	ck_assert_mem_eq(buf, again, 100);
	ck_assert_mem_ne(groups, img.fs->group_desc, bytes);
	e4l_txn_abort(t);
	ck_assert_mem_eq(groups, img.fs->group_desc, bytes);
	ck_assert(ext2fs_test_inode_bitmap2(img.fs->inode_map, img.ino));
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_move_inode(t, img.ino, last, false), 0);
	ck_assert_int_eq(e4l_txn_move_inode(t, last, img.ino, false), 0);
	ck_assert_int_eq(e4l_txn_read_inode(t, img.ino, again), 0);
	ck_assert_mem_eq(buf, again, sizeof(buf));
	ck_assert_int_eq(e4l_txn_commit(t), 0);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	free(groups);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

/*
 * e4l_super_keep_checksum() gives any superblock the requested checksum.  Only
 * s_checksum and the last four bytes of s_last_mounted change.
 */
START_TEST(keeps_the_checksum)
{
	struct ext2_super_block sb, old;
	uint32_t want;
	unsigned int i;
	uint8_t *p = (uint8_t *)&sb;

	srandom(1);
	for (i = 0; i < 1000; i++) {
		uint32_t sum = random() * 5u;

		for (p = (uint8_t *)&sb; p < (uint8_t *)(&sb + 1); p++)
			*p = random();
		old = sb;
		e4l_super_keep_checksum(&sb, sum);
		want = ext2fs_crc32c_le(~0, (uint8_t *)&sb,
				offsetof(struct ext2_super_block, s_checksum));
		ck_assert_uint_eq(want, sum);
		ck_assert_uint_eq(ext2fs_le32_to_cpu(sb.s_checksum), sum);
		memcpy(sb.s_last_mounted + 60, old.s_last_mounted + 60, 4);
		sb.s_checksum = old.s_checksum;
		ck_assert_mem_eq(&sb, &old, sizeof(sb));
	}
}
END_TEST

struct hostile {
	size_t offset;
	uint32_t value;
	errcode_t err;
};
#define JSB(field, value, err) \
	{ offsetof(struct jbd2_super, field), value, E4L_ET_JOURNAL_##err }
static const struct hostile hostile[] = {
	JSB(h.magic, 0, CORRUPT),
	JSB(h.blocktype, JBD2_SUPER_V1, FORMAT),
	JSB(h.blocktype, JBD2_COMMIT, FORMAT),
	JSB(blocksize, 2048, CORRUPT),
	JSB(blocksize, 0, CORRUPT),
	JSB(maxlen, 1, CORRUPT),
	JSB(maxlen, 1 << 30, CORRUPT),
	JSB(maxlen, ~0u, CORRUPT),
	JSB(first, 0, CORRUPT),
	JSB(first, 1024, CORRUPT),
	JSB(first, ~0u, CORRUPT),
	JSB(start, 1, RECOVERY),
	JSB(start, ~0u, RECOVERY),
	JSB(err, 5, ERROR),
	JSB(feature_compat, 2, FORMAT),
	JSB(feature_compat, JBD2_COMPAT_CHECKSUM, CORRUPT),
	JSB(feature_incompat, 0x40 | JBD2_CSUM_V3, FORMAT),
	JSB(feature_incompat, JBD2_CSUM_V2 | JBD2_CSUM_V3, CORRUPT),
	JSB(feature_ro_compat, 1, FORMAT),
	JSB(nr_users, 2, FORMAT),
	JSB(checksum_type, 0x01000000, CORRUPT),
};

START_TEST(refuses_hostile_superblocks)
{
	struct image img;
	struct e4l_journal *j;
	struct jbd2_super jsb;
	uint32_t value = htobe32(hostile[_i].value);

	image_make(&img, "", &formats[0]);
	jsb_io(&img, &jsb, false);
	memcpy((uint8_t *)&jsb + hostile[_i].offset, &value, sizeof(value));
	jsb_io(&img, &jsb, true);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), hostile[_i].err);
	ck_assert_ptr_null(j);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/*
 * Random bytes in the journal's superblock cause no crash.  If the journal can
 * be opened, the log does not exceed the journal file.
 */
START_TEST(survives_random_superblocks)
{
	struct image img;
	struct e4l_journal *j;
	struct jbd2_super good, jsb;
	unsigned int i, k;

	image_make(&img, "-O fast_commit", &formats[0]);
	jsb_io(&img, &good, false);
	srandom(2);
	for (i = 0; i < 2000; i++) {
		jsb = good;
		for (k = random() % 4; k <= 4; k++)
			((uint8_t *)&jsb)[random() % 0x60] = random();
		jsb_io(&img, &jsb, true);
		if (e4l_journal_open(img.e, NULL, &j))
			continue;
		ck_assert_uint_ge(j->first, 1);
		ck_assert_uint_ge(j->capacity, 400);
		ck_assert_uint_le(e4l_log_start(j, 1) + j->half,
				  be32toh(good.maxlen));
		e4l_journal_close(j);
	}
	image_drop(&img);
	image_remove(&img);
}
END_TEST

START_TEST(refuses_a_bad_checksum)
{
	struct image img;
	struct e4l_journal *j;
	char cmd[200];
	blk64_t blk;

	image_make(&img, "", &formats[0]);
	ck_assert_int_eq(ext2fs_bmap2(img.fs, EXT2_JOURNAL_INO, NULL, NULL, 0,
				      0, NULL, &blk), 0);
	io_channel_flush(img.fs->io);
	snprintf(cmd, sizeof(cmd), "printf x | dd of=%s bs=1 seek=%llu "
		 "conv=notrunc status=none", img.path,
		 (unsigned long long)blk * 1024 + 0xa0);
	run("%s", cmd);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j),
			 E4L_ET_JOURNAL_CORRUPT);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

#define EXTERNAL "set_super_value journal_uuid " \
		 "11111111-1111-1111-1111-111111111111"

/*
 * e4l_journal_open() refuses a journal inode that has holes or is a directory,
 * an invalid s_journal_inum, and a missing external journal.
 */
START_TEST(refuses_bad_maps)
{
	static const char *const requests[] = {
		"punch <8> 500 600",
		"punch <8> 0 2000",
		"set_inode_field <8> mode 040755",
		"set_super_value journal_inum 4000000",
		"set_super_value journal_inum 0",
		EXTERNAL,
	};
	const bool external = !strcmp(requests[_i], EXTERNAL);
	struct image img;
	struct e4l_journal *j;
	char cmd[200];
	errcode_t err;

	image_make(&img, "", &formats[0]);
	image_drop(&img);
	snprintf(cmd, sizeof(cmd), "debugfs -w -R '%s' %%s >/dev/null 2>&1",
		 requests[_i]);
	run(cmd, img.path);
	if (external)
		run("debugfs -w -R 'set_super_value journal_inum 0' %s "
		    ">/dev/null 2>&1", img.path);
	image_open(&img);
	err = e4l_journal_open(img.e, NULL, &j);
	ck_assert_int_eq(err, external ? E4L_ET_JOURNAL_DEVICE :
					 E4L_ET_JOURNAL_CORRUPT);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

START_TEST(refuses_what_is_not_its_time)
{
	struct image img;
	struct e4l_journal *j, *again;
	struct e4l_txn *t, *second;

	image_make(&img, "", &formats[0]);
	ck_assert_int_eq(e4l_journal_open(img.e, img.fs->io, &j),
			 E4L_ET_JOURNAL_DEVICE);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &second), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_txn_commit(t), 0);
	ck_assert_int_eq(change_file(&img, j, 1, 1), 0);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &again),
			 E4L_ET_JOURNAL_RECOVERY);
	j->failed = EIO;
	ck_assert_int_eq(e4l_txn_begin(j, &t), EIO);
	ck_assert_int_eq(e4l_journal_close(j), EIO);
	image_drop(&img);
	image_open(&img);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j),
			 E4L_ET_JOURNAL_RECOVERY);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/* Counts in a group descriptor that e4l_journal_open() must refuse. */
static const struct {
	void (*set)(ext2_filsys fs, dgrp_t group, uint32_t n);
	uint32_t n;
} bad_counts[] = {
	{ ext2fs_bg_itable_unused_set, 0xFFFFFFFF },
	{ ext2fs_bg_itable_unused_set, 0x80000000 },
	{ ext2fs_bg_free_blocks_count_set, 0xFFFF },
	{ ext2fs_bg_free_inodes_count_set, 0xFFFF },
	{ ext2fs_bg_used_dirs_count_set, 0xFFFF },
};

START_TEST(refuses_bad_counts)
{
	struct e4l_journal *j;
	struct image img;

	image_make(&img, "", &formats[0]);
	bad_counts[_i].set(img.fs, 0, bad_counts[_i].n);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j),
			 E4L_ET_GROUP_COUNT);
	ck_assert_ptr_null(j);
	ck_assert_int_eq(e4l_journal_probe(img.e, NULL), E4L_ET_GROUP_COUNT);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

/*
 * A change fails if it would bring the number of free blocks of a group out of
 * range.
 */
START_TEST(keeps_counts_in_range)
{
	struct e4l_journal *j;
	struct e4l_txn *t;
	struct image img;
	uint32_t free_clusters;
	blk64_t blk;
	dgrp_t group;

	image_make(&img, "", &formats[0]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	blk = ext2fs_blocks_count(img.fs->super) - 1;
	group = ext2fs_group_of_blk2(img.fs, blk);
	free_clusters = ext2fs_bg_free_blocks_count(img.fs, group);
	ext2fs_bg_free_blocks_count_set(img.fs, group, 0);
	ck_assert_int_eq(e4l_txn_alloc(t, blk, 1), E4L_ET_GROUP_COUNT);
	ck_assert(!ext2fs_test_block_bitmap2(img.fs->block_map, blk));
	ext2fs_bg_free_blocks_count_set(img.fs, group, free_clusters);
	ck_assert_int_eq(e4l_txn_alloc(t, blk, 1), 0);
	e4l_txn_abort(t);
	ck_assert_uint_eq(ext2fs_bg_free_blocks_count(img.fs, group),
			  free_clusters);

	group = ext2fs_group_of_blk2(img.fs, img.blk[0]);
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	free_clusters = ext2fs_bg_free_blocks_count(img.fs, group);
	ext2fs_bg_free_blocks_count_set(img.fs, group,
		ext2fs_group_blocks_count(img.fs, group));
	ck_assert_int_eq(e4l_txn_free(t, img.blk[0], 1), 0);
	ck_assert_int_eq(e4l_txn_commit(t), E4L_ET_GROUP_COUNT);
	ck_assert(ext2fs_test_block_bitmap2(img.fs->block_map, img.blk[0]));
	ck_assert_int_eq(e4l_journal_close(j), 0);
	image_drop(&img);
	ck_assert(is_sound(img.path));
	image_remove(&img);
}
END_TEST

/* After a session, the superblock's free counts are the groups' sums. */
START_TEST(sums_up_counts)
{
	struct e4l_journal *j;
	struct image img;
	uint32_t inodes;
	blk64_t blks;

	image_make(&img, "", &formats[0]);
	blks = ext2fs_free_blocks_count(img.fs->super);
	inodes = img.fs->super->s_free_inodes_count;
	ext2fs_free_blocks_count_set(img.fs->super, 1);
	img.fs->super->s_free_inodes_count = 0;
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_int_eq(change_file(&img, j, 10, 1), 0);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	image_drop(&img);
	image_open(&img);
	ck_assert_uint_eq(ext2fs_free_blocks_count(img.fs->super), blks);
	ck_assert_uint_eq(img.fs->super->s_free_inodes_count, inodes);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/* ------------------------------------------------------------- discarding */

static struct struct_io_manager giver;
static struct image *given;		/* image whose blocks are discarded */
static uint8_t gone[16384];		/* discarded blocks */
static bool meddles;	/* another program writes during the session */

/*
 * Replaces the discard of a channel: checks that the journal needs no replay,
 * and that the discarded blocks are free on the device.
 */
static errcode_t look_at_discard(io_channel io, unsigned long long blk,
				 unsigned long long count)
{
	ext2_filsys fs;

	ck_assert_int_eq(ext2fs_open(given->path, EXT2_FLAG_64BITS, 0, 0,
				     unix_io_manager, &fs), 0);
	ck_assert(!ext2fs_has_feature_journal_needs_recovery(fs->super));
	ck_assert_int_eq(ext2fs_read_block_bitmap(fs), 0);
	for (; count--; blk++) {
		ck_assert(!ext2fs_test_block_bitmap2(fs->block_map, blk));
		gone[blk]++;
	}
	ext2fs_free(fs);
	if (meddles)
		run("tune2fs -L other %s >/dev/null", given->path);
	return 0;
}

static void give(struct image *img, struct e4l_journal **j,
		 struct e4l_discarded *d)
{
	image_make(img, "", &formats[0]);
	given = img;
	memset(gone, 0, sizeof(gone));
	giver = *img->fs->io->manager;
	giver.discard = look_at_discard;
	img->fs->io->manager = &giver;
	ck_assert_int_eq(e4l_journal_open(img->e, NULL, j), 0);
	e4l_journal_discard(*j, d);
}

/* Makes a transaction that frees the blocks @first to @last of the file. */
static void free_blocks(struct image *img, struct e4l_journal *j,
			unsigned int first, unsigned int last)
{
	struct e4l_txn *t;

	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	for (; first <= last; first++)
		ck_assert_int_eq(e4l_txn_free(t, img->blk[first], 1), 0);
	ck_assert_int_eq(e4l_txn_commit(t), 0);
}

static unsigned int count_gone(void)
{
	unsigned int n = 0, i;

	for (i = 0; i < sizeof(gone); i++)
		n += gone[i];
	return n;
}

START_TEST(discards_what_is_free)
{
	struct e4l_discarded d;
	struct e4l_journal *j;
	struct e4l_txn *t;
	struct image img;
	unsigned int i;
	blk64_t blk;

	give(&img, &j, &d);
	blk = ext2fs_blocks_count(img.fs->super) - 20;
	free_blocks(&img, j, 0, 9);
	/* reuse five of ten freed blocks; take five that were free before */
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(e4l_txn_alloc(t, img.blk[i], 1), 0);
	ck_assert_int_eq(e4l_txn_alloc(t, blk, 5), 0);
	ck_assert_int_eq(e4l_txn_commit(t), 0);
	/*
	 * after an aborted transaction, the block that the transaction freed is
	 * in use, and the seven blocks that the transaction allocated are free
	 */
	ck_assert_int_eq(e4l_txn_begin(j, &t), 0);
	ck_assert_int_eq(e4l_txn_free(t, img.blk[20], 1), 0);
	ck_assert_int_eq(e4l_txn_alloc(t, blk + 8, 7), 0);
	e4l_txn_abort(t);
	ck_assert_uint_eq(count_gone(), 0);
	ck_assert_int_eq(e4l_journal_close(j), 0);
	ck_assert_int_eq(d.err, 0);
	ck_assert_uint_eq(d.blocks, 12);
	ck_assert_uint_eq(count_gone(), 12);
	for (i = 5; i < 10; i++)
		ck_assert_uint_eq(gone[img.blk[i]], 1);
	for (i = 8; i < 15; i++)
		ck_assert_uint_eq(gone[blk + i], 1);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/*
 * Nothing is discarded if the manager does not support discard (_i 0), or if
 * the session has failed (_i 1).
 */
START_TEST(discards_nothing)
{
	errcode_t want = _i ? EIO : 0;
	struct e4l_discarded d;
	struct e4l_journal *j;
	struct image img;

	give(&img, &j, &d);
	free_blocks(&img, j, 0, 9);
	if (_i)
		j->failed = EIO;
	else
		giver.discard = NULL;
	ck_assert_int_eq(e4l_journal_close(j), want);
	ck_assert_int_eq(d.err, _i ? 0 : EXT2_ET_UNIMPLEMENTED);
	ck_assert_uint_eq(d.blocks, 0);
	ck_assert_uint_eq(count_gone(), 0);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

START_TEST(discards_no_more_when_others_write)
{
	struct e4l_discarded d;
	struct e4l_journal *j;
	struct image img;

	give(&img, &j, &d);
	free_blocks(&img, j, 0, 4);
	free_blocks(&img, j, 10, 14);
	meddles = true;
	ck_assert_int_eq(e4l_journal_close(j), E4L_ET_NOT_OURS);
	meddles = false;
	ck_assert_uint_eq(count_gone(), 5);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

static errcode_t flush_once_fails(io_channel io)
{
	io->manager = unix_io_manager;
	return EIO;
}

/*
 * The kernel reports a write error once, to the first flush.  Blocks of the
 * last transaction may be lost, so the transaction must stay in the log.
 */
START_TEST(remembers_that_a_flush_failed)
{
	struct e4l_journal *j;
	struct e4l_txn *t;
	struct image img;

	image_make(&img, "", &formats[0]);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	ck_assert_int_eq(change_file(&img, j, 9, 1), 0);
	giver = *unix_io_manager;
	giver.flush = flush_once_fails;
	img.fs->io->manager = &giver;
	img.fs->io->flags |= CHANNEL_FLAGS_THREADS;
	ck_assert_int_eq(e4l_journal_flush_beside(j), EIO);
	ck_assert_int_eq(e4l_journal_flush_beside(j), 0);
	ck_assert_int_eq(e4l_txn_begin(j, &t), EIO);
	ck_assert_int_eq(e4l_journal_close(j), EIO);
	spoil_places(&img, 9);
	image_drop(&img);
	run(REPLAY, img.path);
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, 9, 1), 9);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *tc = tcase_create("journal");

	tcase_add_loop_test(tc, e2fsck_replays, 0, N_FORMATS);
	tcase_add_loop_test(tc, closes_clean, 0, N_FORMATS);
	tcase_add_loop_test(tc, holds_its_capacity, 0, N_FORMATS);
	tcase_add_loop_test(tc, stays_in_its_half, 0, 2);
	tcase_add_test(tc, forgets_fast_commits);
	tcase_add_loop_test(tc, allocates_and_frees, 0, 8);
	tcase_add_loop_test(tc, refuses_hostile_superblocks, 0,
			    sizeof(hostile) / sizeof(hostile[0]));
	tcase_add_loop_test(tc, refuses_bad_maps, 0, 6);
	tcase_add_test(tc, opens_without_a_trace);
	tcase_add_test(tc, takes_back_what_it_allocated);
	tcase_add_test(tc, aborts_in_unwritten_group);
	tcase_add_test(tc, changes_inodes);
	tcase_add_loop_test(tc, moves_inodes, 0, N_FORMATS);
	tcase_add_test(tc, keeps_the_checksum);
	tcase_add_test(tc, survives_random_superblocks);
	tcase_add_test(tc, refuses_a_bad_checksum);
	tcase_add_test(tc, refuses_what_is_not_its_time);
	tcase_add_loop_test(tc, refuses_bad_counts, 0,
			    sizeof(bad_counts) / sizeof(*bad_counts));
	tcase_add_test(tc, keeps_counts_in_range);
	tcase_add_test(tc, sums_up_counts);
	tcase_add_test(tc, discards_what_is_free);
	tcase_add_loop_test(tc, discards_nothing, 0, 2);
	tcase_add_test(tc, remembers_that_a_flush_failed);
	tcase_add_test(tc, discards_no_more_when_others_write);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
