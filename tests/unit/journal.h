/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes small images with one file, and with journals of every format. */
#ifndef E4L_UNIT_JOURNAL_H
#define E4L_UNIT_JOURNAL_H

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/journal/journal_internal.h"
#include "unit.h"

/* more blocks than a descriptor block of 1 KiB has tags */
#define FILE_BLOCKS 300u

struct image {
	char path[40];
	ext2_filsys fs;
	struct e4l *e;
	ext2_ino_t ino;
	blk64_t blk[FILE_BLOCKS]; /* blocks of the file, in logical order */
};

struct format {
	unsigned int blocksize;
	uint32_t incompat;	/* feature_incompat of the journal */
};

/* Formats of journals; the last format has no features. */
static const struct format formats[] = {
	{ 1024, JBD2_CSUM_V3 | JBD2_64BIT | JBD2_REVOKE },
	{ 4096, JBD2_CSUM_V3 | JBD2_64BIT | JBD2_REVOKE },
	{ 1024, JBD2_CSUM_V3 },
	{ 1024, JBD2_CSUM_V2 },
	{ 4096, JBD2_CSUM_V2 | JBD2_64BIT },
	{ 1024, JBD2_CSUM_V3 | JBD2_ASYNC_COMMIT },
	{ 1024, JBD2_64BIT },
	{ 4096, 0 },
	{ 1024, 0 },
};
#define N_FORMATS ((int)(sizeof(formats) / sizeof(formats[0])))

static inline void run(const char *format, const char *path)
{
	char cmd[1000];

	snprintf(cmd, sizeof(cmd), format, path);
	ck_assert_msg(system(cmd) == 0, "%s", cmd);
}

static inline void image_open(struct image *img)
{
	ck_assert_int_eq(ext2fs_open(img->path, EXT2_FLAG_64BITS |
				     EXT2_FLAG_RW, 0, 0, unix_io_manager,
				     &img->fs), 0);
	ck_assert_int_eq(e4l_new(img->fs, &img->e), 0);
}

/*
 * Frees the filesystem without closing it, as if the process had been killed.
 */
static inline void image_drop(struct image *img)
{
	e4l_free(img->e);
	io_channel_flush(img->fs->io);
	ext2fs_free(img->fs);
}

/* Reads or, if @write is true, writes the journal's superblock. */
static inline void jsb_io(struct image *img, struct jbd2_super *jsb, bool write)
{
	blk64_t blk;
	uint8_t buf[65536];

	ck_assert_int_eq(ext2fs_bmap2(img->fs, EXT2_JOURNAL_INO, NULL, NULL, 0,
				      0, NULL, &blk), 0);
	ck_assert_int_eq(io_channel_read_blk64(img->fs->io, blk, 1, buf), 0);
	if (!write) {
		memcpy(jsb, buf, sizeof(*jsb));
		return;
	}
	jsb->checksum = 0;
	jsb->checksum = htobe32(ext2fs_crc32c_le(~0, (uint8_t *)jsb,
						 sizeof(*jsb)));
	memcpy(buf, jsb, sizeof(*jsb));
	ck_assert_int_eq(io_channel_write_blk64(img->fs->io, blk, 1, buf), 0);
}

static inline void set_format(struct image *img, const struct format *f)
{
	struct jbd2_super jsb;

	jsb_io(img, &jsb, false);
	jsb.feature_incompat = htobe32(f->incompat);
	if (f->incompat & (JBD2_CSUM_V2 | JBD2_CSUM_V3))
		jsb.checksum_type = JBD2_CRC32C;
	jsb_io(img, &jsb, true);
}

/*
 * Makes a filesystem with the options @options of mke2fs, and with a file of
 * FILE_BLOCKS blocks.  @f is the format of the journal.
 */
static inline void image_make(struct image *img, const char *options,
			      const struct format *f)
{
	char cmd[400], data[] = "/tmp/e4l-data-XXXXXX";
	unsigned int i;

	memset(img, 0, sizeof(*img));
	strcpy(img->path, "/tmp/e4l-journal-XXXXXX");
	close(mkstemp(img->path));
	close(mkstemp(data));
	snprintf(cmd, sizeof(cmd), "yes | head -c %u >%s && "
		 "mke2fs -q -F -t ext4 -b %u %s %s 16M &&"
		 "debugfs -w -R 'write %s file' %s >/dev/null 2>&1",
		 FILE_BLOCKS * f->blocksize, data, f->blocksize, options,
		 img->path, data, img->path);
	run("%s", cmd);
	unlink(data);
	image_open(img);
	ck_assert_int_eq(ext2fs_namei(img->fs, EXT2_ROOT_INO, EXT2_ROOT_INO,
				      "file", &img->ino), 0);
	for (i = 0; i < FILE_BLOCKS; i++)
		ck_assert_int_eq(ext2fs_bmap2(img->fs, img->ino, NULL, NULL, 0,
					      i, NULL, &img->blk[i]), 0);
	if (ext2fs_has_feature_journal(img->fs->super))
		set_format(img, f);
}

static inline void image_remove(struct image *img)
{
	unlink(img->path);
}

/*
 * Fills a block with the pattern of @round.  Every seventh block begins with
 * the journal's magic number.
 */
static inline void fill_pattern(uint8_t *buf, unsigned int blocksize,
				unsigned int i, unsigned int round)
{
	uint32_t magic = htobe32(JBD2_MAGIC);

	memset(buf, 'a' + (i * 7 + round) % 26, blocksize);
	if (i % 7 == 0)
		memcpy(buf, &magic, sizeof(magic));
}

/* Writes the pattern of @round to the file's first @n blocks, in one commit. */
static inline errcode_t change_file(struct image *img, struct e4l_journal *j,
				    unsigned int n, unsigned int round)
{
	struct e4l_txn *t;
	unsigned int i;
	errcode_t err;
	void *data;

	err = e4l_txn_begin(j, &t);
	for (i = 0; !err && i < n; i++) {
		err = e4l_txn_new_block(t, img->blk[i], &data);
		if (!err)
			fill_pattern(data, img->fs->blocksize, i, round);
	}
	return err ? err : e4l_txn_commit(t);
}

/* Returns how many of the first @n blocks have the content of @round. */
static inline unsigned int count_blocks(struct image *img, unsigned int n,
					unsigned int round)
{
	uint8_t want[65536], got[65536];
	unsigned int i, same = 0;

	for (i = 0; i < n; i++) {
		fill_pattern(want, img->fs->blocksize, i, round);
		io_channel_read_blk64(img->fs->io, img->blk[i],
				      -(int)img->fs->blocksize, got);
		same += !memcmp(want, got, img->fs->blocksize);
	}
	return same;
}

/*
 * Overwrites the blocks that the commit has checkpointed, as if the power had
 * failed before the checkpoint.  The journal then has to be replayed.
 */
static inline void spoil_places(struct image *img, unsigned int n)
{
	uint8_t junk[65536];
	unsigned int i;

	memset(junk, 0xee, sizeof(junk));
	for (i = 0; i < n; i++)
		io_channel_write_blk64(img->fs->io, img->blk[i],
				       -(int)img->fs->blocksize, junk);
}

/*
 * Makes @rounds transactions that write all blocks of the file, and closes the
 * image as after a power failure: the last transaction must be replayed.
 */
static inline void leave_unreplayed(struct image *img, unsigned int rounds)
{
	struct e4l_journal *j;
	unsigned int r;

	ck_assert_int_eq(e4l_journal_open(img->e, NULL, &j), 0);
	for (r = 1; r <= rounds; r++)
		ck_assert_int_eq(change_file(img, j, FILE_BLOCKS, r), 0);
	spoil_places(img, FILE_BLOCKS);
	j->failed = EIO;
	ck_assert_int_eq(e4l_journal_close(j), EIO);
	image_drop(img);
}

#endif
