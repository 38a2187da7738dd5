// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "overlay.h"

#define FIRST_SLOTS 1024	/* a power of two */

/*
 * A slot of the hash table of written blocks.  If @data is NULL, the slot is
 * empty.
 */
struct slot {
	uint64_t blk;
	uint8_t *data;
};

struct overlay {
	io_channel below;
	size_t bs;
	struct slot *slots;
	size_t n, n_slots;
	pthread_rwlock_t lock;
};

/* --------------------------------------------------------- blocks in memory */

static struct slot *find_slot(const struct overlay *o, uint64_t blk)
{
	size_t i = blk * 0x9e3779b97f4a7c15ULL >> 20;

	for (;; i++) {
		struct slot *s = &o->slots[i & (o->n_slots - 1)];

		if (!s->data || s->blk == blk)
			return s;
	}
}

static errcode_t make_slots(struct overlay *o)
{
	struct slot *old = o->slots;
	size_t n_old = o->n_slots, i;

	o->n_slots = n_old ? 2 * n_old : FIRST_SLOTS;
	o->slots = calloc(o->n_slots, sizeof(*o->slots));
	if (!o->slots) {
		o->slots = old;
		o->n_slots = n_old;
		return ENOMEM;
	}
	for (i = 0; i < n_old; i++)
		if (old[i].data)
			*find_slot(o, old[i].blk) = old[i];
	free(old);
	return 0;
}

static errcode_t read_block(struct overlay *o, uint64_t blk, void *buf)
{
	return io_channel_read_blk64(o->below, blk, -(int)o->bs, buf);
}

/*
 * Returns the copy of @blk in memory.  If there is no copy yet, creates one.
 * If @whole is true, the caller overwrites the whole block, so that the block
 * is not read from the device.
 */
static errcode_t take_block(struct overlay *o, uint64_t blk, bool whole,
			    uint8_t **ret)
{
	errcode_t err = 2 * (o->n + 1) > o->n_slots ? make_slots(o) : 0;
	struct slot *s = err ? NULL : find_slot(o, blk);
	uint8_t *data;

	if (err)
		return err;
	*ret = s->data;
	if (s->data)
		return 0;
	data = malloc(o->bs);
	if (!data)
		return ENOMEM;
	err = whole ? 0 : read_block(o, blk, data);
	if (err) {
		free(data);
		return err;
	}
	*s = (struct slot) { blk, data };
	o->n++;
	*ret = data;
	return 0;
}

/*
 * Returns how many of the @len bytes at @at lie in the block that contains @at.
 */
static size_t part_of(const struct overlay *o, uint64_t at, size_t len)
{
	size_t rest = o->bs - at % o->bs;

	return len < rest ? len : rest;
}

static errcode_t put_bytes(struct overlay *o, uint64_t at, size_t len,
			   const uint8_t *from)
{
	errcode_t err = 0;
	uint8_t *data;
	size_t part;

	for (; len && !err; len -= part, at += part, from += part) {
		part = part_of(o, at, len);
		err = take_block(o, at / o->bs, part == o->bs, &data);
		if (!err)
			memcpy(data + at % o->bs, from, part);
	}
	return err;
}

/*
 * Replaces the bytes in @to that belong to written blocks by their new content.
 * @to has @len bytes, which were read from the device at byte @at.
 */
static void get_written(struct overlay *o, uint64_t at, size_t len,
			uint8_t *to)
{
	const struct slot *s;
	size_t part;

	for (; len && o->n; len -= part, at += part, to += part) {
		part = part_of(o, at, len);
		s = find_slot(o, at / o->bs);
		if (s->data)
			memcpy(to, s->data + at % o->bs, part);
	}
}

/* Reads a range that begins inside a block, such as the superblock. */
static errcode_t get_bytes(struct overlay *o, uint64_t at, size_t len,
			   uint8_t *to)
{
	uint8_t *block = malloc(o->bs);
	errcode_t err = block ? 0 : ENOMEM;
	size_t part;

	for (; len && !err; len -= part, at += part, to += part) {
		part = part_of(o, at, len);
		err = read_block(o, at / o->bs, block);
		if (!err)
			memcpy(to, block + at % o->bs, part);
	}
	free(block);
	return err;
}

/* -------------------------------------------------------------- the channel */

/*
 * Converts the count of an io_manager function to bytes: a positive count is a
 * number of blocks, a negative count a number of bytes.
 */
static size_t span_bytes(io_channel io, int count)
{
	return count < 0 ? -(size_t)count : (size_t)count * io->block_size;
}

static errcode_t overlay_read(io_channel io, unsigned long long blk, int count,
			      void *data)
{
	struct overlay *o = io->private_data;
	size_t len = span_bytes(io, count);
	uint64_t at = blk * (uint64_t)io->block_size;
	errcode_t err;

	if (at % o->bs)
		err = get_bytes(o, at, len, data);
	else
		err = io_channel_read_blk64(o->below, at / o->bs, -(int)len,
					    data);
	if (err)
		return err;
	pthread_rwlock_rdlock(&o->lock);
	get_written(o, at, len, data);
	pthread_rwlock_unlock(&o->lock);
	return 0;
}

static errcode_t overlay_write(io_channel io, unsigned long long blk,
			       int count, const void *data)
{
	struct overlay *o = io->private_data;
	errcode_t err;

	pthread_rwlock_wrlock(&o->lock);
	err = put_bytes(o, blk * (uint64_t)io->block_size,
			span_bytes(io, count), data);
	pthread_rwlock_unlock(&o->lock);
	return err;
}

static errcode_t overlay_read_blk(io_channel io, unsigned long blk, int count,
				  void *data)
{
	return overlay_read(io, blk, count, data);
}

static errcode_t overlay_write_blk(io_channel io, unsigned long blk, int count,
				   const void *data)
{
	return overlay_write(io, blk, count, data);
}

static errcode_t overlay_write_byte(io_channel io, unsigned long offset,
				    int count, const void *data)
{
	struct overlay *o = io->private_data;
	errcode_t err;

	pthread_rwlock_wrlock(&o->lock);
	err = put_bytes(o, offset, count, data);
	pthread_rwlock_unlock(&o->lock);
	return err;
}

static errcode_t overlay_set_blksize(io_channel io, int blksize)
{
	io->block_size = blksize;
	return 0;
}

static errcode_t overlay_flush(io_channel io)
{
	(void)io;
	return 0;
}

static errcode_t overlay_readahead(io_channel io, unsigned long long blk,
				   unsigned long long count)
{
	struct overlay *o = io->private_data;

	return io_channel_cache_readahead(o->below, blk, count);
}

static errcode_t overlay_close(io_channel io)
{
	struct overlay *o = io->private_data;
	size_t i;

	if (--io->refcount > 0)
		return 0;
	for (i = 0; i < o->n_slots; i++)
		free(o->slots[i].data);
	free(o->slots);
	pthread_rwlock_destroy(&o->lock);
	free(o);
	free(io);
	return 0;
}

static const struct struct_io_manager overlay_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "overlay",
	.close = overlay_close,
	.set_blksize = overlay_set_blksize,
	.flush = overlay_flush,
	.read_blk = overlay_read_blk,
	.write_blk = overlay_write_blk,
	.write_byte = overlay_write_byte,
	.read_blk64 = overlay_read,
	.write_blk64 = overlay_write,
	.cache_readahead = overlay_readahead,
};

/*
 * Creates an overlay channel with block size @bs on @below.  Closing the
 * overlay channel does not close @below.
 */
static errcode_t put_over(io_channel below, size_t bs, io_channel *ret)
{
	struct overlay *o = calloc(1, sizeof(*o));
	io_channel io = calloc(1, sizeof(*io));

	*ret = NULL;
	if (!o || !io) {
		free(o);
		free(io);
		return ENOMEM;
	}
	o->below = below;
	o->bs = bs;
	pthread_rwlock_init(&o->lock, NULL);
	*io = (struct struct_io_channel) {
		.magic = EXT2_ET_MAGIC_IO_CHANNEL,
		.manager = (io_manager)&overlay_manager,
		.name = below->name,
		.block_size = bs,
		.refcount = 1,
		.private_data = o,
		.align = below->align,
		.flags = below->flags & CHANNEL_FLAGS_THREADS,
	};
	*ret = io;
	return 0;
}

/* ----------------------------------------------------------- the filesystem */

/*
 * Gives the copy an inode cache of its own, because inodes that are changed in
 * the copy must not appear in the original.
 */
static void own_icache(ext2_filsys copy)
{
	if (copy->icache)
		ext2fs_free_inode_cache(copy->icache);
	copy->icache = NULL;
}

/*
 * Duplicates the handle of @e's filesystem.  The duplicate uses an overlay
 * channel: its changes go to memory, not to the device.
 */
static errcode_t copy_fs(struct e4l *e, ext2_filsys *ret)
{
	int users = e->fs->io->refcount;
	io_channel io;
	errcode_t err;

	/* ext2fs_dup_handle() requires the copy of the primary superblock */
	if (!e->fs->orig_super)
		return E4L_ET_BAD_ARGUMENT;
	err = put_over(e->fs->io, e->fs->blocksize, &io);
	if (err)
		return err;
	err = ext2fs_dup_handle(e->fs, ret);
	if (err) {
		overlay_close(io);
		return err;
	}
	/*
	 * drop the reference that ext2fs_dup_handle() has taken: the duplicate
	 * will close the overlay channel instead
	 */
	e->fs->io->refcount = users;
	(*ret)->io = (*ret)->image_io = io;
	(*ret)->flags |= EXT2_FLAG_RW;
	own_icache(*ret);
	return 0;
}

errcode_t e4l_overlay_new(struct e4l *e, io_channel external, struct e4l **ret)
{
	io_channel journal = external ? external : e->journal;
	ext2_filsys fs;
	struct e4l *o;
	errcode_t err = copy_fs(e, &fs);

	*ret = NULL;
	if (err)
		return err;
	err = e4l_new(fs, &o);
	if (!err && journal)
		err = io_channel_set_blksize(journal, fs->blocksize);
	if (!err && journal)
		err = put_over(journal, fs->blocksize, &o->journal);
	if (err) {
		e4l_free(o);
		ext2fs_free(fs);
		return err;
	}
	o->over = e;
	o->threads = e->threads;
	o->reading = e->reading;
	*ret = o;
	return 0;
}

static int by_blk(const void *a, const void *b)
{
	const struct e4l_overlay_block *x = a, *y = b;

	return x->blk < y->blk ? -1 : x->blk > y->blk;
}

errcode_t e4l_overlay_blocks(struct e4l *o, struct e4l_overlay_block **ret,
			     size_t *n)
{
	const struct overlay *over = o->fs->io->private_data;
	size_t i;

	*n = 0;
	*ret = e4l_array_alloc(over->n + 1ULL, sizeof(**ret));
	if (!*ret)
		return ENOMEM;
	for (i = 0; i < over->n_slots; i++)
		if (over->slots[i].data)
			(*ret)[(*n)++] = (struct e4l_overlay_block) {
				over->slots[i].blk, over->slots[i].data,
			};
	e4l_sort(*ret, *n, sizeof(**ret), by_blk);
	return 0;
}

void e4l_overlay_free(struct e4l *o)
{
	if (!o)
		return;
	if (o->detail.doing)
		o->over->detail = o->detail;
	atomic_fetch_add(&o->over->reads, atomic_load(&o->reads));
	atomic_fetch_add(&o->over->read_bytes, atomic_load(&o->read_bytes));
	if (o->journal)
		overlay_close(o->journal);
	ext2fs_free(o->fs);
	e4l_free(o);
}
