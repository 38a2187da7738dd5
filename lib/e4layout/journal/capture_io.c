// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "capture_io.h"

static struct capture_block *find_block(const struct capture *c, blk64_t blk)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (c->blocks[i].blk == blk)
			return &c->blocks[i];
	return NULL;
}

/*
 * Returns the length in bytes of a read or write.  As in
 * io_channel_read_blk64(), a positive @count is a number of blocks, and a
 * negative @count is a number of bytes.
 */
static size_t span_bytes(io_channel io, int count)
{
	return count < 0 ? -(size_t)count : (size_t)count * io->block_size;
}

static errcode_t read_below(struct capture *c, blk64_t blk, int count,
			    void *data)
{
	errcode_t err = io_channel_read_blk64(c->below, blk, count, data);

	if (err) {
		c->err = err;
		c->bad = blk;
	}
	return err;
}

static errcode_t capture_read(io_channel io, unsigned long long blk, int count,
			      void *data)
{
	struct capture *c = io->private_data;
	size_t bytes = span_bytes(io, count), bs = io->block_size, at;
	const struct capture_block *b;
	errcode_t err;

	err = read_below(c, blk, count, data);
	if (err)
		return err;
	for (at = 0; at < bytes; at += bs, blk++) {
		b = find_block(c, blk);
		if (b)
			memcpy((uint8_t *)data + at, b->data,
			       bytes - at < bs ? bytes - at : bs);
	}
	return 0;
}

static errcode_t add_block(struct capture *c, blk64_t blk, uint8_t *data)
{
	errcode_t err = e4l_grow(&c->blocks, c->n, sizeof(*c->blocks));

	if (err)
		return err;
	c->blocks[c->n++] = (struct capture_block){ blk, data };
	return 0;
}

/* Captures a write of @bytes bytes at the start of block @blk. */
static errcode_t write_one(struct capture *c, blk64_t blk, size_t bytes,
			   const uint8_t *data)
{
	struct capture_block *b = find_block(c, blk);
	uint8_t *copy;
	errcode_t err;

	if (b) {
		memcpy(b->data, data, bytes);
		return 0;
	}
	copy = malloc(c->fs->blocksize);
	if (!copy)
		return ENOMEM;
	err = read_below(c, blk, 1, copy);
	if (!err && memcmp(copy, data, bytes)) {
		memcpy(copy, data, bytes);
		err = add_block(c, blk, copy);
		if (!err)
			return 0;
	}
	free(copy);
	return err;
}

static errcode_t capture_write(io_channel io, unsigned long long blk,
			       int count, const void *data)
{
	size_t bytes = span_bytes(io, count), bs = io->block_size, at;
	errcode_t err = 0;

	for (at = 0; !err && at < bytes; at += bs, blk++)
		err = write_one(io->private_data, blk,
				bytes - at < bs ? bytes - at : bs,
				(const uint8_t *)data + at);
	return err;
}

/* libext2fs needs read_blk to read blocks of indirect maps */
static errcode_t capture_read_blk(io_channel io, unsigned long blk, int count,
				  void *data)
{
	return capture_read(io, blk, count, data);
}

static errcode_t capture_write_blk(io_channel io, unsigned long blk, int count,
				   const void *data)
{
	return capture_write(io, blk, count, data);
}

/*
 * Drops the write.  libext2fs uses write_byte only for the primary superblock,
 * which the journal session writes.
 */
static errcode_t capture_write_byte(io_channel io, unsigned long offset,
				    int count, const void *data)
{
	return 0;
}

static errcode_t capture_set_blksize(io_channel io, int blksize)
{
	return blksize == io->block_size ? 0 : EXT2_ET_UNIMPLEMENTED;
}

static errcode_t capture_flush(io_channel io)
{
	return 0;
}

static const struct struct_io_manager capture_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "capture",
	.set_blksize = capture_set_blksize,
	.flush = capture_flush,
	.read_blk = capture_read_blk,
	.write_blk = capture_write_blk,
	.write_byte = capture_write_byte,
	.read_blk64 = capture_read,
	.write_blk64 = capture_write,
};

errcode_t e4l_capture_start(ext2_filsys fs, struct capture **ret)
{
	struct capture *c = calloc(1, sizeof(*c));

	*ret = NULL;
	if (!c)
		return ENOMEM;
	c->io = calloc(1, sizeof(*c->io));
	if (!c->io) {
		free(c);
		return ENOMEM;
	}
	*c->io = (struct struct_io_channel){
		.magic = EXT2_ET_MAGIC_IO_CHANNEL,
		.manager = (io_manager)&capture_manager,
		.name = fs->io->name,
		.block_size = fs->blocksize,
		.refcount = 1,
		.private_data = c,
		.align = fs->io->align,
	};
	c->fs = fs;
	c->below = fs->io;
	fs->io = c->io;
	*ret = c;
	return 0;
}

void e4l_capture_stop(struct capture *c)
{
	if (c->fs->io == c->io)
		c->fs->io = c->below;
}

void e4l_capture_free(struct capture *c)
{
	size_t i;

	if (!c)
		return;
	e4l_capture_stop(c);
	for (i = 0; i < c->n; i++)
		free(c->blocks[i].data);
	free(c->blocks);
	free(c->io);
	free(c);
}
