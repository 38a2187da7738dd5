/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A write-combining io_manager: holds writes in memory, and issues the held
 * writes when the channel is unplugged (plug_io.h).
 *
 * Held data are stored in an arena of units of 1 KiB.  A hash table maps a
 * position on the device to a unit.  Unplugging sorts the units by their
 * position on the device and issues each contiguous range as one large write.
 * Every block size of ext4 is a multiple of 1 KiB.  Therefore a change of the
 * channel's block size, as for a write of the superblock, needs no unplugging.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "internal.h"
#include "plug_io.h"

#define UNIT		1024u
#define UNIT_SHIFT	10
/* maximum number of units in one write */
#define ISSUE_UNITS	(4u << 20 >> UNIT_SHIFT)
#define MIN_LIMIT	(1u << 20)
#define MAX_LIMIT	(1ULL << 40)

struct plug {
	io_channel under;
	struct e4l_plug_stats stats;
	uint32_t capacity;	/* number of units that fit in the arena */
	/*
	 * number of used slots, including slots of units that an incomplete
	 * unplug has written
	 */
	uint32_t used;
	uint32_t held;	/* number of units that are not written yet */
	uint32_t mask;		/* number of entries of @table, minus 1 */
	/*
	 * unit, table, order, arena and stage are in one mapping, so that
	 * unplugging allocates no memory.
	 */
	/* for each slot, the position of the unit on the device, in units */
	uint64_t *unit;
	uint32_t *table; /* hash table: number of a slot, plus 1; 0: empty */
	/* slots sorted by position on the device, used by unplug() */
	uint32_t *order;
	char *arena;		/* content of each slot */
	char *stage;		/* buffer for one write */
	void *map;
	size_t map_bytes;
};

static struct plug *plug_of(io_channel channel)
{
	return channel->private_data;
}

/* -------------------------------------------------------------- held writes */

static uint32_t bucket(const struct plug *p, uint64_t unit)
{
	return (unit * 0x9e3779b97f4a7c15ULL >> 32) & p->mask;
}

/* Returns the content of @unit, or NULL if the arena does not hold the unit. */
static char *find(const struct plug *p, uint64_t unit)
{
	uint32_t b = bucket(p, unit);

	if (!p->held)
		return NULL;
	for (; p->table[b]; b = (b + 1) & p->mask) {
		uint32_t slot = p->table[b] - 1;

		if (p->unit[slot] == unit)
			return p->arena + (size_t)slot * UNIT;
	}
	return NULL;
}

static void enter(struct plug *p, uint32_t slot)
{
	uint32_t b = bucket(p, p->unit[slot]);

	while (p->table[b])
		b = (b + 1) & p->mask;
	p->table[b] = slot + 1;
	p->held++;
}

/*
 * Returns the content of @unit.  If @unit is not yet held, adds the unit with
 * undefined content.  The caller must have called make_room().
 */
static char *hold(struct plug *p, uint64_t unit)
{
	char *content = find(p, unit);

	if (content)
		return content;
	p->unit[p->used] = unit;
	enter(p, p->used);
	return p->arena + (size_t)p->used++ * UNIT;
}

static bool holds_any(const struct plug *p, uint64_t offset, uint64_t bytes)
{
	uint64_t unit, end = (offset + bytes + UNIT - 1) >> UNIT_SHIFT;
	uint32_t i;

	if (!p->held)
		return false;
	if (end - (offset >> UNIT_SHIFT) > p->held) {
		for (i = 0; i <= p->mask; i++)
			if (p->table[i] &&
			    p->unit[p->table[i] - 1] >= offset >> UNIT_SHIFT &&
			    p->unit[p->table[i] - 1] < end)
				return true;
		return false;
	}
	for (unit = offset >> UNIT_SHIFT; unit < end; unit++)
		if (find(p, unit))
			return true;
	return false;
}

/* ------------------------------------------------------------- unplugging */

static int by_unit(const void *a, const void *b, void *priv)
{
	const uint64_t *unit = priv;
	uint64_t x = unit[*(const uint32_t *)a], y = unit[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

/*
 * Writes @bytes bytes from @buf to byte @offset of the channel p->under.
 * @bytes and @offset are multiples of UNIT, but not always of the channel's
 * block size.
 */
static errcode_t issue(struct plug *p, uint64_t offset, size_t bytes,
		       const void *buf)
{
	int blksize = p->under->block_size;
	errcode_t err, err2 = 0;

	p->stats.issued++;
	p->stats.issued_bytes += bytes;
	if (offset % blksize == 0)
		return io_channel_write_blk64(p->under, offset / blksize,
					      bytes % blksize ? -(int)bytes :
					      (int)(bytes / blksize), buf);
	err = io_channel_set_blksize(p->under, UNIT);
	if (err)
		return err;
	err = io_channel_write_blk64(p->under, offset / UNIT, bytes / UNIT,
				     buf);
	err2 = io_channel_set_blksize(p->under, blksize);
	return err ? err : err2;
}

/*
 * Writes the units from order[at] on that are contiguous on the device, and
 * sets *@len to the number of these units.
 */
static errcode_t issue_stretch(struct plug *p, uint32_t n, uint32_t at,
			       uint32_t *len)
{
	uint64_t first = p->unit[p->order[at]];
	uint32_t i;

	for (i = 0; at + i < n && i < ISSUE_UNITS; i++) {
		uint32_t slot = p->order[at + i];

		if (p->unit[slot] != first + i)
			break;
		memcpy(p->stage + (size_t)i * UNIT,
		       p->arena + (size_t)slot * UNIT, UNIT);
	}
	*len = i;
	return issue(p, first << UNIT_SHIFT, (size_t)i * UNIT, p->stage);
}

/*
 * Writes all held units.  Units that could not be written stay held in their
 * slots.  If all units were written, empties the arena.
 */
static errcode_t unplug(struct plug *p)
{
	uint32_t n = 0, at, len, i;
	errcode_t err = 0;

	if (!p->held)
		return 0;
	p->stats.unplugs++;
	for (i = 0; i <= p->mask; i++)
		if (p->table[i])
			p->order[n++] = p->table[i] - 1;
	qsort_r(p->order, n, sizeof(*p->order), by_unit, p->unit);
	for (at = 0; at < n; at += len) {
		err = issue_stretch(p, n, at, &len);
		if (err)
			break;
	}
	memset(p->table, 0, (p->mask + 1ULL) * sizeof(*p->table));
	p->held = 0;
	for (; at < n; at++)
		enter(p, p->order[at]);
	if (!p->held)
		p->used = 0;
	return err;
}

/*
 * If the arena has no space for @units more units, issues all held writes and
 * empties the arena.
 */
static errcode_t make_room(struct plug *p, uint64_t units)
{
	return p->used + units > p->capacity ? unplug(p) : 0;
}

/* ---------------------------------------------------------------- reading */

/*
 * Reads @bytes bytes at byte @offset, which is the start of a block.  If all
 * units of a block are held, the block is not read from the device, and may be
 * beyond the end of the device.
 */
static errcode_t read_range(struct plug *p, uint64_t offset, size_t bytes,
			    char *buf)
{
	unsigned int blksize = p->under->block_size, i;
	size_t at = 0, ask = 0;
	char *content;
	errcode_t err;

	for (at = 0; at <= bytes; at += blksize) {
		bool full = at < bytes;

		for (i = 0; full && i < blksize; i += UNIT)
			full = find(p, (offset + at + i) >> UNIT_SHIFT);
		if (!full && at < bytes)
			continue;
		if (ask < at) {
			err = io_channel_read_blk64(p->under,
						    (offset + ask) / blksize,
						    (at - ask) / blksize,
						    buf + ask);
			if (err)
				return err;
		}
		ask = at + blksize;
	}
	for (at = 0; at < bytes; at += UNIT) {
		content = find(p, (offset + at) >> UNIT_SHIFT);
		if (content)
			memcpy(buf + at, content, UNIT);
	}
	return 0;
}

static errcode_t plug_read_blk64(io_channel channel, unsigned long long block,
				 int count, void *buf)
{
	struct plug *p = plug_of(channel);
	unsigned int blksize = channel->block_size;
	uint64_t offset = block * blksize;
	size_t bytes = count < 0 ? -(size_t)count : (size_t)count * blksize;
	size_t whole = (bytes + blksize - 1) / blksize * blksize;
	errcode_t err;
	char *tmp;

	if (!holds_any(p, offset, bytes))
		return io_channel_read_blk64(p->under, block, count, buf);
	if (whole == bytes)
		return read_range(p, offset, bytes, buf);
	tmp = malloc(whole);
	if (!tmp)
		return EXT2_ET_NO_MEMORY;
	err = read_range(p, offset, whole, tmp);
	if (!err)
		memcpy(buf, tmp, bytes);
	free(tmp);
	return err;
}

static errcode_t plug_read_blk(io_channel channel, unsigned long block,
			       int count, void *buf)
{
	return plug_read_blk64(channel, block, count, buf);
}

/* ---------------------------------------------------------------- writing */

/*
 * Prepares a write to a part of @unit.  If the arena does not hold @unit, adds
 * @unit with its content on the device.  Beyond the end of the device, the
 * content is zeroes.
 */
static errcode_t hold_unit(struct plug *p, uint64_t unit)
{
	unsigned int blksize = p->under->block_size;
	uint64_t offset = unit << UNIT_SHIFT;
	errcode_t err;
	char *tmp;

	if (find(p, unit))
		return 0;
	tmp = calloc(1, blksize);
	if (!tmp)
		return EXT2_ET_NO_MEMORY;
	err = io_channel_read_blk64(p->under, offset / blksize, 1, tmp);
	if (!err || err == EXT2_ET_SHORT_READ) {
		memcpy(hold(p, unit), tmp + offset % blksize, UNIT);
		err = 0;
	}
	free(tmp);
	return err;
}

/*
 * Holds a write of @bytes bytes at byte @offset.  @bytes and @offset need not
 * be aligned.
 */
static errcode_t write_range(struct plug *p, uint64_t offset, size_t bytes,
			     const char *buf)
{
	uint64_t end = offset + bytes;
	uint64_t first = offset >> UNIT_SHIFT, last = (end - 1) >> UNIT_SHIFT;
	errcode_t err;
	size_t n;

	err = make_room(p, last - first + 1);
	if (!err && offset % UNIT)
		err = hold_unit(p, first);
	if (!err && end % UNIT)
		err = hold_unit(p, last);
	if (err)
		return err;
	for (; offset < end; offset += n, buf += n) {
		n = UNIT - offset % UNIT;
		if (n > end - offset)
			n = end - offset;
		memcpy(hold(p, offset >> UNIT_SHIFT) + offset % UNIT, buf, n);
	}
	return 0;
}

static errcode_t plug_write_blk64(io_channel channel, unsigned long long block,
				  int count, const void *buf)
{
	struct plug *p = plug_of(channel);
	size_t bytes = count < 0 ? -(size_t)count :
				   (size_t)count * channel->block_size;
	errcode_t err;

	p->stats.asked++;
	p->stats.asked_bytes += bytes;
	if (!bytes)
		return 0;
	if (bytes >> UNIT_SHIFT < p->capacity / 2)
		return write_range(p, block * channel->block_size, bytes, buf);
	err = unplug(p);
	if (err)
		return err;
	p->stats.issued++;
	p->stats.issued_bytes += bytes;
	return io_channel_write_blk64(p->under, block, count, buf);
}

static errcode_t plug_write_blk(io_channel channel, unsigned long block,
				int count, const void *buf)
{
	return plug_write_blk64(channel, block, count, buf);
}

static errcode_t plug_write_byte(io_channel channel, unsigned long offset,
				 int count, const void *buf)
{
	struct plug *p = plug_of(channel);
	size_t bytes = count, piece;
	errcode_t err = 0;

	p->stats.asked++;
	p->stats.asked_bytes += bytes;
	for (; !err && bytes; bytes -= piece) {
		piece = bytes < MIN_LIMIT / 4 ? bytes : MIN_LIMIT / 4;
		err = write_range(p, offset, piece, buf);
		offset += piece;
		buf = (const char *)buf + piece;
	}
	return err;
}

/* Unplugs if the plug holds writes to one of the @count blocks. */
static errcode_t unplug_blocks(io_channel channel, unsigned long long block,
			       unsigned long long count)
{
	struct plug *p = plug_of(channel);
	unsigned int blksize = channel->block_size;

	return holds_any(p, block * blksize, count * blksize) ? unplug(p) : 0;
}

static errcode_t plug_zeroout(io_channel channel, unsigned long long block,
			      unsigned long long count)
{
	io_channel under = plug_of(channel)->under;
	errcode_t err = unplug_blocks(channel, block, count);

	return err ? err : io_channel_zeroout(under, block, count);
}

static errcode_t plug_discard(io_channel channel, unsigned long long block,
			      unsigned long long count)
{
	io_channel under = plug_of(channel)->under;
	errcode_t err = unplug_blocks(channel, block, count);

	return err ? err : io_channel_discard(under, block, count);
}

/* --------------------------------------- other functions of the I/O manager */

static errcode_t plug_flush(io_channel channel)
{
	struct plug *p = plug_of(channel);
	errcode_t err = unplug(p);

	return err ? err : io_channel_flush(p->under);
}

static errcode_t plug_set_blksize(io_channel channel, int blksize)
{
	errcode_t err;

	if (blksize < (int)UNIT || blksize % UNIT)
		return EXT2_ET_INVALID_ARGUMENT;
	err = io_channel_set_blksize(plug_of(channel)->under, blksize);
	if (!err)
		channel->block_size = blksize;
	return err;
}

static errcode_t plug_set_option(io_channel channel, const char *option,
				 const char *arg)
{
	io_channel under = plug_of(channel)->under;

	if (!under->manager->set_option)
		return EXT2_ET_INVALID_ARGUMENT;
	return under->manager->set_option(under, option, arg);
}

static errcode_t plug_get_stats(io_channel channel, io_stats *stats)
{
	io_channel under = plug_of(channel)->under;

	if (under->manager->get_stats)
		return under->manager->get_stats(under, stats);
	*stats = NULL;
	return 0;
}

static errcode_t plug_readahead(io_channel channel, unsigned long long block,
				unsigned long long count)
{
	return io_channel_cache_readahead(plug_of(channel)->under, block,
					  count);
}

static void free_plug(io_channel channel)
{
	struct plug *p = plug_of(channel);

	if (p && p->map)
		munmap(p->map, p->map_bytes);
	free(p);
	free(channel->name);
	free(channel);
}

static errcode_t plug_close(io_channel channel)
{
	errcode_t err, err2;

	if (--channel->refcount > 0)
		return 0;
	err = unplug(plug_of(channel));
	err2 = io_channel_close(plug_of(channel)->under);
	free_plug(channel);
	return err ? err : err2;
}

static errcode_t plug_open(const char *name, int flags, io_channel *channel)
{
	io_channel under;
	errcode_t err = unix_io_manager->open(name, flags, &under);

	if (err)
		return err;
	err = e4l_plug_io_wrap(under, E4L_PLUG_LIMIT_BYTES, channel);
	if (err)
		io_channel_close(under);
	return err;
}

static struct struct_io_manager plug_manager = {
	.magic		 = EXT2_ET_MAGIC_IO_MANAGER,
	.name		 = "e4layout write plug",
	.open		 = plug_open,
	.close		 = plug_close,
	.set_blksize	 = plug_set_blksize,
	.read_blk	 = plug_read_blk,
	.write_blk	 = plug_write_blk,
	.flush		 = plug_flush,
	.write_byte	 = plug_write_byte,
	.set_option	 = plug_set_option,
	.get_stats	 = plug_get_stats,
	.read_blk64	 = plug_read_blk64,
	.write_blk64	 = plug_write_blk64,
	.discard	 = plug_discard,
	.cache_readahead = plug_readahead,
	.zeroout	 = plug_zeroout,
};

/*
 * Allocates the arrays @unit, @table, @order, @arena and @stage of @p in one
 * mapping.  The kernel allocates memory for a page of the mapping when the page
 * is first used.
 */
static errcode_t map_arrays(struct plug *p, uint64_t limit_bytes)
{
	size_t table, n = limit_bytes / UNIT;
	char *at;

	p->capacity = n;
	for (table = 2; table < 2 * n; table *= 2)
		;
	p->mask = table - 1;
	p->map_bytes = (n + ISSUE_UNITS) * UNIT + n * sizeof(*p->unit) +
		       table * sizeof(*p->table) + n * sizeof(*p->order);
	at = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return EXT2_ET_NO_MEMORY;
	p->map = p->stage = at;
	p->arena = p->stage + (size_t)ISSUE_UNITS * UNIT;
	p->unit = (uint64_t *)(p->arena + n * UNIT);
	p->table = (uint32_t *)(p->unit + n);
	p->order = p->table + table;
	return 0;
}

errcode_t e4l_plug_io_wrap(io_channel under, uint64_t limit_bytes,
			   io_channel *ret)
{
	io_channel c;
	struct plug *p;

	*ret = NULL;
	if (limit_bytes < MIN_LIMIT || limit_bytes > MAX_LIMIT ||
	    under->block_size < (int)UNIT)
		return E4L_ET_BAD_ARGUMENT;
	c = calloc(1, sizeof(*c));
	if (!c)
		return EXT2_ET_NO_MEMORY;
	c->private_data = p = calloc(1, sizeof(*p));
	c->name = strdup(under->name ? under->name : "");
	if (!p || !c->name || map_arrays(p, limit_bytes)) {
		free_plug(c);
		return EXT2_ET_NO_MEMORY;
	}
	p->under = under;
	c->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	c->manager = &plug_manager;
	c->block_size = under->block_size;
	c->read_error = under->read_error;
	c->write_error = under->write_error;
	c->refcount = 1;
	c->flags = under->flags & ~CHANNEL_FLAGS_THREADS;
	c->app_data = under->app_data;
	c->align = under->align;
	*ret = c;
	return 0;
}

errcode_t e4l_plug_fs(ext2_filsys fs, uint64_t limit_bytes)
{
	io_channel plugged;
	errcode_t err;

	if (fs->io != fs->image_io)
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_plug_io_wrap(fs->io, limit_bytes, &plugged);
	if (!err)
		fs->io = fs->image_io = plugged;
	return err;
}

void e4l_plug_io_get_stats(io_channel plugged, struct e4l_plug_stats *stats)
{
	*stats = plug_of(plugged)->stats;
}
