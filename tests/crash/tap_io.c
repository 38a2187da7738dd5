/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "crash.h"
#include "tap_io.h"

/* io_manager.open() takes only a name, so that the log must be global */
static struct tap_log *current;

struct tap_channel {
	io_channel real;
	struct tap_log *log;
	int dev;
	struct struct_io_stats stats;
};

void tap_set(struct tap_log *log)
{
	current = log;
}

static struct tap_event *new_event(struct tap_log *log, enum tap_type type,
				   int dev)
{
	struct tap_event *ev;

	if (log->n == log->room) {
		log->room = log->room ? 2 * log->room : 256;
		log->ev = check_alloc(reallocarray(log->ev, log->room,
						   sizeof(*log->ev)));
	}
	ev = &log->ev[log->n++];
	*ev = (struct tap_event) { .type = type, .dev = dev };
	return ev;
}

void tap_begin(struct tap_log *log)
{
	log->marked = log->n;
}

void tap_mark(struct tap_log *log)
{
	if (log->n == log->marked)
		return;
	new_event(log, TAP_MARK, 0);
	log->marked = log->n;
}

void tap_clear(struct tap_log *log)
{
	while (log->n)
		free(log->ev[--log->n].data);
	free(log->ev);
	log->ev = NULL;
	log->room = log->marked = log->calls = log->fail_at = log->failed = 0;
}

/* Counts a write or flush, and returns whether the write or flush must fail. */
static bool fails(struct tap_log *log)
{
	log->calls++;
	if (!log->fail_at || log->calls < log->fail_at ||
	    (log->calls > log->fail_at && log->fault != TAP_DEAD))
		return false;
	log->failed++;
	return true;
}

static errcode_t tap_open(const char *name, int flags, io_channel *ret)
{
	struct tap_channel *t = check_alloc(calloc(1, sizeof(*t)));
	io_channel io = check_alloc(calloc(1, sizeof(*io)));
	errcode_t err;

	t->log = current;
	t->stats.num_fields = 2;
	while (strcmp(t->log->paths[t->dev], name))
		t->dev++;
	err = unix_io_manager->open(name, flags & ~IO_FLAG_THREADS, &t->real);
	if (!err)
		err = io_channel_set_options(t->real, "cache=off");
	if (err) {
		free(t);
		free(io);
		return err;
	}
	io->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	io->manager = tap_io_manager;
	io->name = strdup(name);
	io->block_size = t->real->block_size;
	io->refcount = 1;
	io->flags = t->real->flags;
	io->private_data = t;
	*ret = io;
	return 0;
}

static struct tap_channel *tap(io_channel io)
{
	return io->private_data;
}

static errcode_t tap_close(io_channel io)
{
	errcode_t err;

	if (--io->refcount > 0)
		return 0;
	err = io_channel_close(tap(io)->real);
	free(io->private_data);
	free(io->name);
	free(io);
	return err;
}

static errcode_t tap_set_blksize(io_channel io, int blksize)
{
	io->block_size = blksize;
	return io_channel_set_blksize(tap(io)->real, blksize);
}

static errcode_t tap_read_blk64(io_channel io, unsigned long long blk,
				int count, void *data)
{
	tap(io)->real->read_error = io->read_error;
	return io_channel_read_blk64(tap(io)->real, blk, count, data);
}

static errcode_t tap_read_blk(io_channel io, unsigned long blk, int count,
			      void *data)
{
	return tap_read_blk64(io, blk, count, data);
}

/*
 * Records a write of @len bytes at byte @offset, and executes the write.  If
 * the call has to fail, the failing part is neither recorded nor executed, and
 * an error is returned.
 */
static errcode_t tap_write(io_channel io, uint64_t offset, size_t len,
			   const void *data)
{
	struct tap_channel *t = tap(io);
	bool failing = fails(t->log);
	struct tap_event *ev;
	errcode_t err;

	if (failing && t->log->fault == TAP_ENOSPC)
		return ENOSPC;
	if (failing && t->log->fault != TAP_SHORT)
		return EIO;
	if (failing)
		len = len / 2 & ~511ul;
	ev = new_event(t->log, TAP_WRITE, t->dev);
	t->stats.bytes_written += len;
	ev->offset = offset;
	ev->len = len;
	ev->data = check_alloc(malloc(len + 1));
	memcpy(ev->data, data, len);
	err = len ? io_channel_write_byte(t->real, offset, len, data) : 0;
	return failing ? EXT2_ET_SHORT_WRITE : err;
}

static errcode_t tap_write_blk64(io_channel io, unsigned long long blk,
				 int count, const void *data)
{
	size_t len = count < 0 ? -count : (size_t)count * io->block_size;

	return tap_write(io, blk * io->block_size, len, data);
}

static errcode_t tap_write_blk(io_channel io, unsigned long blk, int count,
			       const void *data)
{
	return tap_write_blk64(io, blk, count, data);
}

static errcode_t tap_write_byte(io_channel io, unsigned long offset, int count,
				const void *data)
{
	return tap_write(io, offset, count, data);
}

/* Records zeroing as a write of zeroes. */
static errcode_t tap_zeroout(io_channel io, unsigned long long blk,
			     unsigned long long count)
{
	size_t len = count * io->block_size;
	void *zeroes = check_alloc(calloc(1, len));
	errcode_t err = tap_write(io, blk * io->block_size, len, zeroes);

	free(zeroes);
	return err;
}

/* Discards bytes, which then read as zeroes or as any data. */
static errcode_t tap_discard(io_channel io, unsigned long long blk,
			     unsigned long long count)
{
	struct tap_log *log = tap(io)->log;
	size_t len = count * io->block_size, n = log->n;
	uint8_t *data = check_alloc(malloc(len));
	errcode_t err;

	memset(data, log->calls % 2 ? 0xd5 : 0, len);
	err = tap_write(io, blk * io->block_size, len, data);
	free(data);
	if (log->n > n)
		log->ev[n].discard = true;
	return err;
}

static errcode_t tap_flush(io_channel io)
{
	struct tap_channel *t = tap(io);

	if (fails(t->log)) {
		t->log->failed -= t->log->excused;
		return EIO;
	}
	new_event(t->log, TAP_FLUSH, t->dev);
	return 0;
}

static errcode_t tap_get_stats(io_channel io, io_stats *stats)
{
	*stats = &tap(io)->stats;
	return 0;
}

static errcode_t tap_set_option(io_channel io, const char *option,
				const char *arg)
{
	return EXT2_ET_INVALID_ARGUMENT;
}

static struct struct_io_manager struct_tap_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "tap",
	.open = tap_open,
	.close = tap_close,
	.set_blksize = tap_set_blksize,
	.read_blk = tap_read_blk,
	.write_blk = tap_write_blk,
	.flush = tap_flush,
	.write_byte = tap_write_byte,
	.set_option = tap_set_option,
	.get_stats = tap_get_stats,
	.read_blk64 = tap_read_blk64,
	.write_blk64 = tap_write_blk64,
	.discard = tap_discard,
	.zeroout = tap_zeroout,
};

io_manager tap_io_manager = &struct_tap_manager;
