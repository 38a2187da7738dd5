/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes an image that is like an old image:
 *
 *  1. Copy the old image, except the primary superblock; holes stay holes.
 *  2. Zero the blocks that may contain removed content.
 *  3. Write changed metadata and new content.
 *  4. Write the superblock, after everything else is on the disk.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/full_io.h"
#include "e4layout/repack/overlay.h"
#include "like.h"

#define COPY_BYTES	(1u << 20)

struct copying {
	struct e4l_like *l;
	const struct e4l_populate_target *target;
	struct e4l_overlay_block *blocks;	/* changed metadata */
	size_t n_blocks;
	char *buf;				/* buffer of COPY_BYTES bytes */
	char super[SUPERBLOCK_SIZE];
	uint64_t total;				/* bytes of the image */
};

static errcode_t write_at(struct copying *c, const void *buf, size_t len,
			  uint64_t at)
{
	errcode_t err = e4l_write_full(c->target->fd, buf, len, at);

	if (err)
		return e4l_fail(c->l->e, err, "writing the image", 0,
				at / c->l->fs->blocksize);
	return e4l_is_interrupted(c->l->e) ? E4L_ET_INTERRUPTED : 0;
}

static void show_progress(struct copying *c, uint64_t done)
{
	if (c->target->progress)
		c->target->progress(done, c->total, c->target->priv);
}

/* ------------------------------------------------------------- the old image */

/*
 * Zeroes the bytes of the primary superblock in @buf, which has the @len bytes
 * of the image from byte @at on.
 */
static void hide_super(char *buf, size_t len, uint64_t at)
{
	uint64_t from = SUPERBLOCK_OFFSET, to = from + SUPERBLOCK_SIZE;

	if (from < at)
		from = at;
	if (to > at + len)
		to = at + len;
	if (from < to)
		memset(buf + (from - at), 0, to - from);
}

static bool is_zero(const char *p, size_t len)
{
	return !*p && !memcmp(p, p + 1, len - 1);
}

static errcode_t copy_range(struct copying *c, uint64_t at, uint64_t end)
{
	errcode_t err = 0;
	size_t len;

	for (; at < end && !err; at += len) {
		len = end - at < COPY_BYTES ? end - at : COPY_BYTES;
		err = e4l_read_full(c->l->fd, c->buf, len, at, EIO);
		if (err)
			return e4l_fail(c->l->e, err, "reading the old image",
					0, at / c->l->fs->blocksize);
		hide_super(c->buf, len, at);
		if (!is_zero(c->buf, len))
			err = write_at(c, c->buf, len, at);
		show_progress(c, at + len);
	}
	return err;
}

static errcode_t copy_old(struct copying *c)
{
	off_t at = 0, end = c->total;
	errcode_t err = 0;

	while (!err && at < (off_t)c->total) {
		at = lseek(c->l->fd, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			return 0;
		end = at < 0 ? -1 : lseek(c->l->fd, at, SEEK_HOLE);
		/* the device or file does not report holes */
		if (at < 0 || end < 0)
			return copy_range(c, 0, c->total);
		err = copy_range(c, at, end);
		at = end;
	}
	return err;
}

/* ------------------------------------------------------------ freed blocks */

static errcode_t zero(struct copying *c, blk64_t pblk, uint64_t n)
{
	uint32_t bs = c->l->fs->blocksize;
	uint64_t at = pblk * bs, end = at + n * bs;
	errcode_t err = 0;
	size_t len;

	c->l->stats.written_blocks += n;
	c->l->stats.writes++;
	if (!fallocate(c->target->fd, FALLOC_FL_PUNCH_HOLE |
		       FALLOC_FL_KEEP_SIZE, at, end - at))
		return 0;
	memset(c->buf, 0, COPY_BYTES);
	for (; at < end && !err; at += len) {
		len = end - at < COPY_BYTES ? end - at : COPY_BYTES;
		err = write_at(c, c->buf, len, at);
	}
	return err;
}

/*
 * Zeroes all blocks that were freed.  Freed blocks that are allocated again are
 * zeroed, too, because the new owner may have unwritten extents or use only a
 * part of a cluster.
 */
static errcode_t zero_freed(struct copying *c)
{
	struct e4l_like *l = c->l;
	blk64_t at = l->fs->super->s_first_data_block, first, end;
	blk64_t last = ext2fs_blocks_count(l->fs->super) - 1, run = 0, n = 0;
	errcode_t err = 0;

	while (!err && at <= last && !ext2fs_find_first_set_block_bitmap2(
			l->was, at, last, &first)) {
		if (ext2fs_find_first_zero_block_bitmap2(l->was, first, last,
							 &end))
			end = last + 1;
		for (at = first; at < end && !err; at++) {
			if (ext2fs_test_block_bitmap2(l->fs->block_map, at) &&
			    ext2fs_test_block_bitmap2(l->kept, at))
				continue;
			if (n && run + n != at) {
				err = zero(c, run, n);
				n = 0;
			}
			run = n++ ? run : at;
		}
	}
	return err || !n ? err : zero(c, run, n);
}

/* ----------------------------------------------------------- changed blocks */

/*
 * Writes a changed block of metadata.  Skips a block that equals the block of
 * the old image, and a block that was freed after the change.
 */
static errcode_t put_metadata(struct copying *c,
			      const struct e4l_overlay_block *b)
{
	uint32_t bs = c->l->fs->blocksize;
	uint64_t at = b->blk * bs;
	char *old = c->buf, *new = c->buf + bs;
	bool in_map = b->blk >= c->l->fs->super->s_first_data_block, zeroed;
	errcode_t err;

	if (in_map && !ext2fs_test_block_bitmap2(c->l->fs->block_map, b->blk))
		return 0;
	/*
	 * if the block was freed and allocated again, zero_freed() has zeroed
	 * the block
	 */
	zeroed = in_map && !ext2fs_test_block_bitmap2(c->l->kept, b->blk);
	err = e4l_read_full(c->l->fd, old, bs, at, EIO);
	if (err || (!zeroed && !memcmp(old, b->data, bs)))
		return err;
	memcpy(new, b->data, bs);
	hide_super(new, bs, at);
	c->l->stats.written_blocks++;
	c->l->stats.writes++;
	return write_at(c, new, bs, at);
}

/*
 * Sets c->super to the new superblock: a changed block of metadata or, if the
 * superblock is unchanged, the superblock of the old image.
 */
static errcode_t take_super(struct copying *c)
{
	uint32_t bs = c->l->fs->blocksize;
	errcode_t err;
	size_t i;

	err = e4l_read_full(c->l->fd, c->super, sizeof(c->super),
			    SUPERBLOCK_OFFSET, EIO);
	for (i = 0; i < c->n_blocks; i++)
		if (c->blocks[i].blk == SUPERBLOCK_OFFSET / bs)
			memcpy(c->super, (const char *)c->blocks[i].data +
			       SUPERBLOCK_OFFSET % bs, sizeof(c->super));
	return err;
}

static errcode_t put_all_metadata(struct copying *c)
{
	errcode_t err = e4l_overlay_blocks(c->l->e, &c->blocks, &c->n_blocks);
	size_t i;

	if (!err)
		err = take_super(c);
	for (i = 0; i < c->n_blocks && !err; i++)
		err = put_metadata(c, &c->blocks[i]);
	return err;
}

static errcode_t put_content(struct copying *c, const struct like_run *r,
			     uint32_t node)
{
	struct e4l_like *l = c->l;
	uint32_t bs = l->fs->blocksize, done, len;
	errcode_t err = 0;

	for (done = 0; done < r->len && !err; done += len) {
		len = r->len - done < COPY_BYTES / bs ? r->len - done :
							COPY_BYTES / bs;
		err = e4l_source_want(&l->source, node,
				      (r->lblk + (uint64_t)done) * bs,
				      (size_t)len * bs, c->buf);
		if (!err)
			err = e4l_source_fetch(&l->source);
		if (!err)
			err = write_at(c, c->buf, (size_t)len * bs,
				       (r->pblk + done) * bs);
		l->stats.writes++;
	}
	l->stats.written_blocks += r->len;
	return err;
}

static errcode_t write_changes(struct copying *c)
{
	struct e4l_like *l = c->l;
	errcode_t err = zero_freed(c);
	size_t i;

	for (i = 0; i < l->zeroes.n && !err; i++)
		err = zero(c, l->zeroes.v[i].pblk, l->zeroes.v[i].len);
	if (!err)
		err = put_all_metadata(c);
	for (i = 0; i < l->writes.n && !err; i++)
		err = put_content(c, &l->writes.v[i], l->fill_of.v[i]);
	return err;
}

static errcode_t write_super(struct copying *c)
{
	if (fsync(c->target->fd))
		return e4l_fail(c->l->e, errno, "writing the image", 0, 0);
	return write_at(c, c->super, sizeof(c->super), SUPERBLOCK_OFFSET);
}

errcode_t e4l_like_write(struct e4l_like *l,
			 const struct e4l_populate_target *target)
{
	struct copying c = { .l = l, .target = target };
	off_t bytes = lseek(l->fd, 0, SEEK_END);
	errcode_t err = 0;

	c.buf = malloc(COPY_BYTES);
	if (!c.buf)
		return ENOMEM;
	c.total = bytes;
	if (bytes < 0 || ftruncate(target->fd, bytes))
		err = e4l_fail(l->e, errno, "setting the size of the image", 0,
			       0);
	if (!err)
		err = copy_old(&c);
	if (!err)
		err = write_changes(&c);
	if (!err)
		err = write_super(&c);
	free(c.blocks);
	free(c.buf);
	return err;
}
