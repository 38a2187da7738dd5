/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mem_io.h"

static const uint8_t *mem_data;
static size_t mem_size;
static struct struct_io_manager mem_io_manager;

static errcode_t mem_open(const char *name, int flags, io_channel *ret)
{
	io_channel io = calloc(1, sizeof(*io));

	if (!io)
		return ENOMEM;
	io->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	io->manager = &mem_io_manager;
	io->name = strdup(name);
	io->block_size = 1024;
	io->refcount = 1;
	io->flags = CHANNEL_FLAGS_THREADS;
	*ret = io;
	return 0;
}

static errcode_t mem_close(io_channel io)
{
	if (--io->refcount > 0)
		return 0;
	free(io->name);
	free(io);
	return 0;
}

static errcode_t mem_set_blksize(io_channel io, int blksize)
{
	io->block_size = blksize;
	return 0;
}

static errcode_t mem_read64(io_channel io, unsigned long long blk, int count,
			    void *data)
{
	size_t bytes = count < 0 ? -(size_t)count :
				   (size_t)count * io->block_size;

	if (blk > mem_size / io->block_size ||
	    bytes > mem_size - blk * io->block_size)
		return EXT2_ET_SHORT_READ;
	memcpy(data, mem_data + blk * io->block_size, bytes);
	return 0;
}

static errcode_t mem_read(io_channel io, unsigned long blk, int count,
			  void *data)
{
	return mem_read64(io, blk, count, data);
}

static errcode_t mem_write64(io_channel io, unsigned long long blk, int count,
			     const void *data)
{
	abort();	/* readers must not write */
}

static errcode_t mem_write(io_channel io, unsigned long blk, int count,
			   const void *data)
{
	abort();
}

static errcode_t mem_flush(io_channel io)
{
	return 0;
}

static struct struct_io_manager mem_io_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "memory",
	.open = mem_open,
	.close = mem_close,
	.set_blksize = mem_set_blksize,
	.read_blk = mem_read,
	.write_blk = mem_write,
	.flush = mem_flush,
	.read_blk64 = mem_read64,
	.write_blk64 = mem_write64,
};

struct e4l *mem_io_open(const uint8_t *data, size_t size, ext2_filsys *fs)
{
	struct e4l *e = NULL;

	mem_data = data;
	mem_size = size;
	if (ext2fs_open("image", EXT2_FLAG_64BITS | EXT2_FLAG_THREADS, 0, 0,
			&mem_io_manager, fs))
		return NULL;
	if (!e4l_new(*fs, &e))
		return e;
	e4l_free(e);
	ext2fs_close_free(fs);
	return NULL;
}

void mem_io_close(struct e4l *e, ext2_filsys fs)
{
	e4l_free(e);
	ext2fs_close_free(&fs);
}
