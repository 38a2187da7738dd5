/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "undo_guard.h"

/*
 * undo_io keeps its own setup in globals, and io_manager.open() has no other
 * way in either.
 */
static struct {
	char *undo_file;
	io_manager below;
	io_channel undo;	/* what the undo file is written through */
	unsigned long long next; /* block of the next record; 0: none so far */
	struct held *held;	/* in the order in which they came first */
	bool recorded;		/* and not durable yet */
	errcode_t failed;
} guard;

/* A write of the header, the superblock's copy or keys: the last one counts. */
struct held {
	struct held *next;
	unsigned long long blk;
	int count;
	size_t len;
	unsigned char data[];
};

static io_manager guard_manager;

static io_channel below(io_channel io)
{
	return io->private_data;
}

static bool is_undo(io_channel io)
{
	return below(io) == guard.undo;
}

/* The undo file is new: its name must survive as well. */
static errcode_t sync_directory(const char *path)
{
	char *copy = strdup(path);
	errcode_t err = 0;
	int fd;

	if (!copy)
		return ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fsync(fd))
		err = errno;
	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

static errcode_t guard_open(const char *name, int flags, io_channel *ret)
{
	bool undo = !strcmp(name, guard.undo_file);
	io_channel io = calloc(1, sizeof(*io));
	errcode_t err;

	if (!io)
		return ENOMEM;
	err = undo ? sync_directory(name) : 0;
	if (!err)
		err = guard.below->open(name, flags, (void *)&io->private_data);
	if (err) {
		free(io);
		return err;
	}
	if (undo)
		guard.undo = below(io);
	io->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	io->manager = guard_manager;
	io->name = strdup(name);
	io->block_size = below(io)->block_size;
	io->align = below(io)->align;
	io->flags = below(io)->flags;
	io->refcount = 1;
	*ret = io;
	return 0;
}

static errcode_t guard_set_blksize(io_channel io, int blksize)
{
	io->block_size = blksize;
	return io_channel_set_blksize(below(io), blksize);
}

static errcode_t guard_read_blk64(io_channel io, unsigned long long blk,
				  int count, void *data)
{
	below(io)->read_error = io->read_error;
	return io_channel_read_blk64(below(io), blk, count, data);
}

static errcode_t guard_read_blk(io_channel io, unsigned long blk, int count,
				void *data)
{
	return guard_read_blk64(io, blk, count, data);
}

static size_t write_len(io_channel io, int count)
{
	return count < 0 ? -count : (size_t)count * io->block_size;
}

/*
 * Records are written to the next block, or, when the manager has just taken
 * that for keys, to the one after it.  Everything before that is an index.
 */
static bool is_index(unsigned long long blk)
{
	if (!guard.next && blk < 3)
		return false;		/* an empty file is being laid out */
	if (guard.next && blk < guard.next)
		return true;
	guard.next = blk + 1;
	return false;
}

static errcode_t hold(io_channel io, unsigned long long blk, int count,
		      const void *data)
{
	size_t len = write_len(io, count);
	struct held **h = &guard.held;

	while (*h && ((*h)->blk != blk || (*h)->len != len))
		h = &(*h)->next;
	if (!*h) {
		*h = calloc(1, sizeof(**h) + len);
		if (!*h)
			return ENOMEM;
		(*h)->blk = blk;
		(*h)->count = count;
		(*h)->len = len;
	}
	memcpy((*h)->data, data, len);
	return 0;
}

/* Writes what is held of blocks @first to @last, and flushes the undo file. */
static errcode_t release(unsigned long long first, unsigned long long last)
{
	struct held **h = &guard.held, *done;
	errcode_t err;

	while (*h) {
		if ((*h)->blk < first || (*h)->blk > last) {
			h = &(*h)->next;
			continue;
		}
		err = io_channel_write_blk64(guard.undo, (*h)->blk,
					     (*h)->count, (*h)->data);
		if (err)
			return err;
		done = *h;
		*h = done->next;
		free(done);
	}
	return io_channel_flush(guard.undo);
}

/* Makes the records durable, then the keys, then header and superblock. */
static errcode_t settle(void)
{
	if (guard.failed || !guard.recorded)
		return guard.failed;
	guard.failed = io_channel_flush(guard.undo);
	if (!guard.failed)
		guard.failed = release(2, ~0ull);
	if (!guard.failed)
		guard.failed = release(0, 1);
	guard.recorded = false;
	return guard.failed;
}

static errcode_t write_undo(io_channel io, unsigned long long blk, int count,
			    const void *data)
{
	if (guard.failed)
		return guard.failed;
	guard.recorded = true;
	guard.failed = is_index(blk) ? hold(io, blk, count, data) :
		       io_channel_write_blk64(below(io), blk, count, data);
	return guard.failed;
}

static errcode_t guard_write_blk64(io_channel io, unsigned long long blk,
				   int count, const void *data)
{
	errcode_t err;

	if (is_undo(io))
		return write_undo(io, blk, count, data);
	err = settle();
	return err ? err : io_channel_write_blk64(below(io), blk, count, data);
}

static errcode_t guard_write_blk(io_channel io, unsigned long blk, int count,
				 const void *data)
{
	return guard_write_blk64(io, blk, count, data);
}

static errcode_t guard_write_byte(io_channel io, unsigned long offset,
				  int count, const void *data)
{
	errcode_t err = settle();

	return err ? err :
	       io_channel_write_byte(below(io), offset, count, data);
}

static errcode_t guard_discard(io_channel io, unsigned long long blk,
			       unsigned long long count)
{
	errcode_t err = settle();

	return err ? err : io_channel_discard(below(io), blk, count);
}

static errcode_t guard_zeroout(io_channel io, unsigned long long blk,
			       unsigned long long count)
{
	errcode_t err = settle();

	return err ? err : io_channel_zeroout(below(io), blk, count);
}

static errcode_t guard_flush(io_channel io)
{
	errcode_t err = is_undo(io) ? settle() : guard.failed;

	return err ? err : io_channel_flush(below(io));
}

static void drop_held(void)
{
	struct held *h;

	while ((h = guard.held)) {
		guard.held = h->next;
		free(h);
	}
}

static errcode_t guard_close(io_channel io)
{
	errcode_t err = 0, err2;

	if (--io->refcount > 0)
		return 0;
	if (is_undo(io)) {
		err = settle();
		drop_held();
		guard.undo = NULL;
	}
	err2 = io_channel_close(below(io));
	free(io->name);
	free(io);
	return err ? err : err2;
}

static errcode_t guard_set_option(io_channel io, const char *option,
				  const char *arg)
{
	io_manager manager = below(io)->manager;

	return manager->set_option ?
	       manager->set_option(below(io), option, arg) :
	       EXT2_ET_INVALID_ARGUMENT;
}

/* undo_io calls this without asking whether it is there. */
static errcode_t guard_get_stats(io_channel io, io_stats *stats)
{
	io_manager manager = below(io)->manager;

	*stats = NULL;
	return manager->get_stats ? manager->get_stats(below(io), stats) : 0;
}

static errcode_t guard_readahead(io_channel io, unsigned long long blk,
				 unsigned long long count)
{
	return io_channel_cache_readahead(below(io), blk, count);
}

static struct struct_io_manager struct_guard_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "undo guard",
	.open = guard_open,
	.close = guard_close,
	.set_blksize = guard_set_blksize,
	.read_blk = guard_read_blk,
	.write_blk = guard_write_blk,
	.flush = guard_flush,
	.write_byte = guard_write_byte,
	.set_option = guard_set_option,
	.get_stats = guard_get_stats,
	.read_blk64 = guard_read_blk64,
	.write_blk64 = guard_write_blk64,
	.discard = guard_discard,
	.cache_readahead = guard_readahead,
	.zeroout = guard_zeroout,
};

static io_manager guard_manager = &struct_guard_manager;

errcode_t undo_guard_setup(const char *undo_file, io_manager below_manager)
{
	char *copy = strdup(undo_file);
	errcode_t err;

	if (!copy)
		return ENOMEM;
	err = set_undo_io_backup_file(copy);
	if (err) {
		free(copy);
		return err;
	}
	free(guard.undo_file);
	guard.undo_file = copy;
	guard.below = below_manager;
	guard.undo = NULL;
	guard.next = 0;
	guard.recorded = false;
	guard.failed = 0;
	return set_undo_io_backing_manager(guard_manager);
}
