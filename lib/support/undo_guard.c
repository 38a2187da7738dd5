/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/shell_word.h"
#include "undo_guard.h"

#define UNIT		1024		/* bytes in a block of an undo file */
/*
 * Limits of the writes to the device that wait until the undo file is durable:
 * number of writes, and sum of their lengths.
 */
#define MAX_WRITES	1024
#define MAX_BYTES	(16u << 20)

/* The first block of an undo file. Numbers are little-endian. */
struct undo_header {
	char magic[8];
	uint64_t num_keys, super_offset, key_offset;
	uint32_t block_size, fs_block_size;
	uint32_t super_crc, state;
	uint32_t f_compat, f_incompat, f_rocompat, pad32;
	uint64_t fs_offset;
	uint8_t padding[436];
	uint32_t header_crc;
};

/* A write to the device that waits until the undo file is durable. */
struct chunk {
	struct chunk *next;
	/* bytes from the start of the device or undo file */
	unsigned long long at;
	size_t len;
	unsigned char data[];
};

/*
 * The state is global, because undo_io has global state too, and
 * io_manager.open() takes no private pointer.
 */
static struct {
	char *undo_file;
	char *undo_word;	/* e4l_shell_word() of @undo_file */
	io_manager below;
	/* channels below the guard, or NULL if closed */
	io_channel device, undo;
	/*
	 * block of the next record in the undo file, or 0 before the first
	 * record
	 */
	unsigned long long next;
	struct undo_header header;
	/* superblock of the device, as read or last written */
	struct ext2_super_block super;
	bool super_known;
	/*
	 * Waiting writes of keys to the undo file.  A later write to the same
	 * block replaces the earlier write.
	 */
	struct chunk *keys;
	/* some written records are not durable yet */
	bool recorded;
	struct chunk *writes, **end;	/* writes to the device, in order */
	size_t n_writes, bytes;
	/* protects @writes, which is used by reads in any thread */
	pthread_mutex_t lock;
	/* byte offset of the MMP block; 0: there is no MMP block */
	unsigned long long mmp_at;
	/* the device was changed, apart from the MMP block */
	bool changed;
	errcode_t failed, undo_failed;
	/* checks for other users of the device; NULL for no check */
	errcode_t (*look)(void *priv);
	void *look_priv;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static io_manager guard_manager;

static io_channel below(io_channel io)
{
	return io->private_data;
}

static bool is_undo(io_channel io)
{
	return below(io) == guard.undo;
}

/* ----------------------------------------------------------- underlying I/O */

static errcode_t get(io_channel io, unsigned long long at, size_t len,
		     void *data)
{
	return io_channel_read_blk64(io, at / UNIT, -(int)len, data);
}

static errcode_t put(io_channel io, unsigned long long at, size_t len,
		     const void *data)
{
	return io_channel_write_blk64(io, at / UNIT, -(int)len, data);
}

/*
 * Appends a write of @len bytes at byte offset @at to the list that ends with
 * *@end.  Returns the appended element, or NULL if there is no memory.
 */
static struct chunk *append(struct chunk **end, unsigned long long at,
			    size_t len, const void *data)
{
	struct chunk *c = malloc(sizeof(*c) + len);

	if (!c)
		return NULL;
	*c = (struct chunk) { .at = at, .len = len };
	memcpy(c->data, data, len);
	*end = c;
	return c;
}

static void drop(struct chunk **list)
{
	struct chunk *c;

	while ((c = *list)) {
		*list = c->next;
		free(c);
	}
}

static void drop_writes(void)
{
	drop(&guard.writes);
	guard.end = &guard.writes;
	guard.n_writes = guard.bytes = 0;
}

/* ------------------------------------------------------------ the undo file */

/*
 * Writes the header of the undo file, and a copy of the device's superblock.
 * e2undo compares the copy with the superblock on the device, to detect later
 * changes.
 */
static errcode_t stamp(void)
{
	struct undo_header *h = &guard.header;
	struct ext2_super_block sb;
	errcode_t err = 0;

	if (!guard.super_known)
		err = get(guard.device, SUPERBLOCK_OFFSET, sizeof(sb),
			  &guard.super);
	if (err)
		return err;
	guard.super_known = true;
	sb = guard.super;
	if (sb.s_feature_incompat &
	    ext2fs_cpu_to_le32(EXT4_FEATURE_INCOMPAT_MMP))
		guard.mmp_at = ext2fs_le64_to_cpu(sb.s_mmp_block) *
			       (EXT2_MIN_BLOCK_SIZE <<
				ext2fs_le32_to_cpu(sb.s_log_block_size));
	h->super_crc = ext2fs_cpu_to_le32(ext2fs_crc32c_le(~0, (void *)&sb,
							   sizeof(sb)));
	sb.s_magic = ~sb.s_magic;
	h->header_crc = ext2fs_cpu_to_le32(ext2fs_crc32c_le(~0, (void *)h,
			offsetof(struct undo_header, header_crc)));
	err = put(guard.undo, ext2fs_le64_to_cpu(h->super_offset) *
		  ext2fs_le32_to_cpu(h->block_size), sizeof(sb), &sb);
	return err ? err : put(guard.undo, 0, sizeof(*h), h);
}

static errcode_t put_keys(void)
{
	struct chunk *c;
	errcode_t err = 0;

	if (!guard.keys)
		return 0;
	for (c = guard.keys; c && !err; c = c->next)
		err = put(guard.undo, c->at, c->len, c->data);
	drop(&guard.keys);
	return err ? err : io_channel_flush(guard.undo);
}

static errcode_t undo_failed(errcode_t err)
{
	if (err)
		guard.failed = guard.undo_failed = err;
	return err;
}

static errcode_t put_index(void)
{
	errcode_t err = put_keys();

	if (!err)
		err = stamp();
	return err ? err : io_channel_flush(guard.undo);
}

/*
 * Makes the records in the undo file durable, then the keys (the index of the
 * records), and then the header and the copy of the superblock.
 */
static errcode_t settle(void)
{
	errcode_t err;

	if (guard.failed || !guard.recorded)
		return guard.failed;
	err = io_channel_flush(guard.undo);
	if (!err && guard.header.block_size)
		err = put_index();
	guard.recorded = false;
	return undo_failed(err);
}

/*
 * Returns whether a write to block @blk of the undo file contains keys.
 * undo_io appends records, and skips one block for the keys of the records that
 * follow.  A write before the end of the last record is therefore a write of
 * keys.  If the write is a record, sets guard.next to the block after @blk.
 */
static bool is_keys(unsigned long long blk)
{
	if (!guard.next && blk < 3)
		return false;	/* undo_io writes the header of a new file */
	if (guard.next && blk < guard.next)
		return true;
	guard.next = blk + 1;
	return false;
}

static errcode_t hold_keys(unsigned long long at, size_t len, const void *data)
{
	struct chunk **c = &guard.keys;

	while (*c && ((*c)->at != at || (*c)->len != len))
		c = &(*c)->next;
	if (!*c)
		return append(c, at, len, data) ? 0 : ENOMEM;
	memcpy((*c)->data, data, len);
	return 0;
}

static errcode_t write_undo(io_channel io, unsigned long long blk, int count,
			    const void *data)
{
	unsigned long long at = blk * io->block_size;
	size_t len = count < 0 ? -count : (size_t)count * io->block_size;

	if (guard.failed)
		return guard.failed;
	guard.recorded = true;
	if (!blk && count == -(int)sizeof(guard.header)) {
		memcpy(&guard.header, data, len);
		return 0;
	}
	if (blk == ext2fs_le64_to_cpu(guard.header.super_offset) &&
	    count == -SUPERBLOCK_SIZE)
		return 0;		/* stamp() writes a newer header */
	return undo_failed(is_keys(blk) ? hold_keys(at, len, data) :
					  put(guard.undo, at, len, data));
}

/* --------------------------------------------------------------- the device */

static errcode_t put_write(const struct chunk *c)
{
	errcode_t err;

	guard.changed |= !guard.mmp_at || c->at != guard.mmp_at;
	err = put(guard.device, c->at, c->len, c->data);
	if (err || c->at >= SUPERBLOCK_OFFSET + SUPERBLOCK_SIZE ||
	    c->at + c->len <= SUPERBLOCK_OFFSET)
		return err;
	/* the copy of the superblock is durable after the next flush */
	guard.recorded = true;
	guard.super_known = false;
	return undo_failed(stamp());
}

/* Checks whether another program has started to use the device. */
static errcode_t look(void)
{
	errcode_t err = guard.look ? guard.look(guard.look_priv) : 0;
	struct ext2_super_block now;

	if (err || !guard.super_known)
		return err;
	err = get(guard.device, SUPERBLOCK_OFFSET, sizeof(now), &now);
	if (!err && memcmp(&now, &guard.super, sizeof(now)))
		err = E4L_ET_NOT_OURS;
	return err;
}

/*
 * Makes the old contents in the undo file durable, and then writes all waiting
 * writes to the device.
 */
static errcode_t drain(void)
{
	struct chunk *c;
	errcode_t err = settle();

	if (!err && guard.writes)
		err = look();
	for (c = guard.writes; c && !err; c = c->next)
		err = put_write(c);
	if (err)
		guard.failed = err;
	drop_writes();
	return err;
}

static errcode_t write_device(unsigned long long at, size_t len,
			      const void *data)
{
	struct chunk *c;

	/* MMP must be released even after a failure. */
	if (guard.failed && guard.mmp_at && at == guard.mmp_at)
		return put(guard.device, at, len, data);
	if (guard.failed)
		return guard.failed;
	c = append(guard.end, at, len, data);
	if (!c)
		return guard.failed = ENOMEM;
	guard.end = &c->next;
	guard.bytes += len;
	return ++guard.n_writes < MAX_WRITES && guard.bytes < MAX_BYTES ? 0 :
	       drain();
}

static errcode_t drain_locked(void)
{
	errcode_t err;

	pthread_mutex_lock(&guard.lock);
	err = drain();
	pthread_mutex_unlock(&guard.lock);
	return err;
}

/* Applies the waiting writes to data that was read from the device. */
static void overlay(unsigned long long at, size_t len, uint8_t *data)
{
	const struct chunk *c;

	for (c = guard.writes; c; c = c->next) {
		unsigned long long from = c->at > at ? c->at : at;
		unsigned long long end = c->at + c->len < at + len ?
					 c->at + c->len : at + len;

		if (from < end)
			memcpy(data + (from - at), c->data + (from - c->at),
			       end - from);
	}
}

/* ------------------------------------------------------------- the manager */

/* Makes the name of the new undo file durable. */
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
	e4l_close_fd(fd);
	free(copy);
	return err;
}

/*
 * Tests whether the undo file @path can be created, and whether the process can
 * open one more file.  undo_io opens the undo file twice, and ignores a failure
 * to create the file.
 */
errcode_t undo_guard_try(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int second = fd < 0 ? -1 : dup(fd);
	errcode_t err = second < 0 ? errno : 0;

	if (fd >= 0) {
		close(fd);
		if (unlink(path) && !err)
			err = errno;
	}
	e4l_close_fd(second);
	return err;
}

/*
 * Sets the block size of the new channel @io.  @undo is true for the channel of
 * the undo file.  If @undo is false, @io is the channel of the device, and the
 * function also checks that the undo file can be created.  On failure, closes
 * @io.
 */
static errcode_t prepare(io_channel io, bool undo)
{
	errcode_t err = io_channel_set_blksize(io, UNIT);

	if (!err && !undo)
		err = undo_failed(undo_guard_try(guard.undo_file));
	if (err)
		io_channel_close(io);
	return err;
}

static errcode_t guard_open(const char *name, int flags, io_channel *ret)
{
	bool undo = !strcmp(name, guard.undo_file);
	io_channel io = calloc(1, sizeof(*io)), *place;
	errcode_t err;

	if (!io)
		return ENOMEM;
	place = undo ? &guard.undo : &guard.device;
	err = undo ? undo_failed(sync_directory(name)) : 0;
	if (!err)
		err = guard.below->open(name, flags, place);
	if (!err)
		err = prepare(*place, undo);
	if (err) {
		*place = NULL;
		if (undo)
			unlink(name);
		free(io);
		return err;
	}
	/* An error means that the channel has no cache, and is ignored. */
	io_channel_set_options(*place, "cache=off");
	io->private_data = *place;
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
	return 0;
}

static errcode_t guard_read_blk64(io_channel io, unsigned long long blk,
				  int count, void *data)
{
	unsigned long long at = blk * io->block_size;
	size_t len = count < 0 ? -count : (size_t)count * io->block_size;
	errcode_t err;

	below(io)->read_error = io->read_error;
	if (is_undo(io))
		return get(below(io), at, len, data);
	pthread_mutex_lock(&guard.lock);
	if (!guard.writes) {
		pthread_mutex_unlock(&guard.lock);
		return get(below(io), at, len, data);
	}
	err = get(below(io), at, len, data);
	overlay(at, len, data);
	pthread_mutex_unlock(&guard.lock);
	return err;
}

static errcode_t guard_read_blk(io_channel io, unsigned long blk, int count,
				void *data)
{
	return guard_read_blk64(io, blk, count, data);
}

static errcode_t guard_write_blk64(io_channel io, unsigned long long blk,
				   int count, const void *data)
{
	size_t len = count < 0 ? -count : (size_t)count * io->block_size;
	errcode_t err;

	if (is_undo(io))
		return write_undo(io, blk, count, data);
	pthread_mutex_lock(&guard.lock);
	err = write_device(blk * io->block_size, len, data);
	pthread_mutex_unlock(&guard.lock);
	return err;
}

static errcode_t guard_write_blk(io_channel io, unsigned long blk, int count,
				 const void *data)
{
	return guard_write_blk64(io, blk, count, data);
}

static errcode_t guard_write_byte(io_channel io, unsigned long offset,
				  int count, const void *data)
{
	errcode_t err = drain_locked();

	guard.changed = guard.recorded = true;
	guard.super_known = false;
	return err ? err :
	       io_channel_write_byte(below(io), offset, count, data);
}

static errcode_t guard_flush(io_channel io)
{
	errcode_t err, err2;

	if (is_undo(io))
		return settle();
	err = drain_locked();
	err2 = io_channel_flush(below(io));
	if (!err && !err2)
		err = settle();
	return err ? err : err2;
}

static errcode_t guard_close(io_channel io)
{
	bool undo = is_undo(io);
	errcode_t err, err2;

	if (--io->refcount > 0)
		return 0;
	err = undo ? guard.failed : guard_flush(io);
	err2 = io_channel_close(below(io));
	if (undo) {
		drop(&guard.keys);
		guard.undo = NULL;
		if (!guard.changed)
			unlink(guard.undo_file);
	} else {
		guard.device = NULL;
	}
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

/* undo_io calls get_stats() without checking that the manager has it. */
static errcode_t guard_get_stats(io_channel io, io_stats *stats)
{
	io_manager manager = below(io)->manager;

	*stats = NULL;
	return manager->get_stats ? manager->get_stats(below(io), stats) : 0;
}

static errcode_t guard_readahead(io_channel io, unsigned long long blk,
				 unsigned long long count)
{
	unsigned int units = io->block_size / UNIT;

	return io_channel_cache_readahead(below(io), blk * units,
					  count * units);
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
	.cache_readahead = guard_readahead,
};

static io_manager guard_manager = &struct_guard_manager;

errcode_t undo_guard_setup(const char *undo_file, io_manager below_manager)
{
	errcode_t err = undo_guard_try(undo_file);
	char *copy, *word;

	if (err)
		return err;
	copy = strdup(undo_file);
	word = e4l_shell_word(undo_file);
	err = copy && word ? set_undo_io_backup_file(copy) : ENOMEM;
	if (err) {
		free(copy);
		free(word);
		return err;
	}
	free(guard.undo_file);
	free(guard.undo_word);
	guard.undo_file = copy;
	guard.undo_word = word;
	guard.below = below_manager;
	guard.device = guard.undo = NULL;
	guard.next = guard.mmp_at = 0;
	memset(&guard.header, 0, sizeof(guard.header));
	drop_writes();
	guard.recorded = guard.changed = guard.super_known = false;
	guard.failed = guard.undo_failed = 0;
	guard.look = NULL;
	return set_undo_io_backing_manager(guard_manager);
}

void undo_guard_look(errcode_t (*look_at)(void *priv), void *priv)
{
	guard.look = look_at;
	guard.look_priv = priv;
}

errcode_t undo_guard_failed(void)
{
	return guard.undo_failed;
}

const char *undo_guard_word(void)
{
	return guard.undo_word;
}

bool undo_guard_changed(void)
{
	return guard.changed;
}
