/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "csum.h"
#include "dir_build.h"
#include "format.h"
#include "e4layout/base/array.h"

static bool has_csum(const struct e4l_dir_builder *b)
{
	return ext2fs_has_feature_metadata_csum(b->fs->super);
}

static uint32_t seed_of(const struct e4l_dir_builder *b)
{
	return has_csum(b) ? e4l_inode_seed(b->fs, b->ino, b->generation) : 0;
}

unsigned int e4l_dir_leaf_bytes(ext2_filsys fs)
{
	return fs->blocksize - (ext2fs_has_feature_metadata_csum(fs->super) ?
				DIR_TAIL_BYTES : 0);
}

unsigned int e4l_dirent_bytes(const struct e4l_dir_builder *b,
			      unsigned int name_len)
{
	return dirent_bytes(name_len) +
	       (b->hashes_on_disk ? DIR_HASH_BYTES : 0);
}

static struct e4l_new_dirent get_entry(const struct e4l_dir_builder *b,
				       uint32_t i)
{
	struct e4l_new_dirent entry;

	b->entry(i, &entry, b->priv);
	return entry;
}

/* -------------------------------------------------------- shape of the tree */

static uint32_t dx_limit(const struct e4l_dir_builder *b, unsigned int at)
{
	return (b->fs->blocksize - at - (has_csum(b) ? DX_TAIL_BYTES : 0)) /
	       DX_ENTRY_BYTES;
}

bool e4l_dir_fits_block(const struct e4l_dir_builder *b)
{
	unsigned int room = e4l_dir_leaf_bytes(b->fs), bytes = DIR_DOTS_BYTES;
	uint32_t i;

	for (i = 0; i < b->n && bytes <= room; i++)
		bytes += e4l_dirent_bytes(b, get_entry(b, i).name_len);
	return bytes <= room;
}

/*
 * Divides the entries into leaves of at most @room bytes.  Reserves @used bytes
 * of the first leaf for "." and "..".
 */
static errcode_t cut_leaves(const struct e4l_dir_builder *b, unsigned int used,
			    unsigned int room, struct e4l_dir_shape *s)
{
	unsigned int bytes;
	uint32_t i;
	errcode_t err = e4l_grow(&s->start, 0, sizeof(*s->start));

	if (err)
		return err;
	s->start[s->leaves++] = 0;
	for (i = 0; i < b->n && !err; i++) {
		bytes = e4l_dirent_bytes(b, get_entry(b, i).name_len);
		if (used + bytes > room) {
			err = e4l_grow(&s->start, s->leaves, sizeof(*s->start));
			if (!err)
				s->start[s->leaves++] = i;
			used = 0;
		}
		used += bytes;
	}
	return err;
}

errcode_t e4l_dir_cut_index(const struct e4l_dir_builder *b,
			    struct e4l_dir_shape *s)
{
	uint32_t limit = dx_limit(b, DX_NODE_AT), n = s->leaves, i;
	unsigned int max = ext2fs_has_feature_largedir(b->fs->super) ? 2 : 1;

	while (n > dx_limit(b, DX_ROOT_AT)) {
		if (s->levels == max)
			return E4L_ET_DIR_TOO_LARGE;
		n = (n + limit - 1) / limit;
		for (i = s->levels; i > 0; i--)
			s->index[i] = s->index[i - 1];
		s->index[0] = n;
		s->levels++;
	}
	s->blocks = 1 + s->leaves;
	for (i = 0; i < s->levels; i++)
		s->blocks += s->index[i];
	return 0;
}

errcode_t e4l_dir_shape(const struct e4l_dir_builder *b, bool indexed,
			struct e4l_dir_shape *s)
{
	unsigned int room = e4l_dir_leaf_bytes(b->fs);
	errcode_t err;

	*s = (struct e4l_dir_shape) { .indexed = indexed };
	if (indexed)
		err = cut_leaves(b, 0, room * b->fill_percent / 100, s);
	else
		err = cut_leaves(b, DIR_DOTS_BYTES, room, s);
	s->blocks = s->leaves;
	if (!err && indexed)
		err = e4l_dir_cut_index(b, s);
	if (err) {
		free(s->start);
		s->start = NULL;
	}
	return err;
}

/* ------------------------------------------------------------------ entries */

/*
 * Encodes the length of an entry like ext4_rec_len_to_disk() in Linux, because
 * a length of 65536 does not fit in 16 bits.
 */
static uint16_t coded_len(const struct e4l_dir_builder *b, unsigned int len)
{
	if (len < 65536)
		return ext2fs_cpu_to_le16(len);
	if (len == b->fs->blocksize)
		return ext2fs_cpu_to_le16(len == 65536 ? 65535 : 0);
	return ext2fs_cpu_to_le16((len & 65532) | (len >> 16 & 3));
}

static void put_entry(const struct e4l_dir_builder *b, char *at,
		      const struct e4l_new_dirent *entry, unsigned int rec_len)
{
	struct ext2_dir_entry_2 *d = (void *)at;

	d->inode = ext2fs_cpu_to_le32(entry->ino);
	d->rec_len = coded_len(b, rec_len);
	d->name_len = entry->name_len;
	d->file_type = entry->file_type;
	memcpy(d->name, entry->name, entry->name_len);
}

static void put_unused(const struct e4l_dir_builder *b, char *at,
		       unsigned int rec_len)
{
	put_entry(b, at, &(struct e4l_new_dirent){ .name = "" }, rec_len);
}

/*
 * Writes the hashes of a name after the name, which is padded to a multiple of
 * 4 bytes.
 */
static void put_hashes(char *at, const struct e4l_new_dirent *entry)
{
	uint32_t hashes[2] = { ext2fs_cpu_to_le32(entry->hash),
			       ext2fs_cpu_to_le32(entry->minor) };

	memcpy(at + dirent_bytes(entry->name_len), hashes, sizeof(hashes));
}

/*
 * Writes the entries [from, to) at offset @used of @buf, and extends the last
 * entry of @buf to offset @end.  @last is the offset of the last entry before
 * the call, or -1 if @buf has no entry.  If @from is equal to @to and @last is
 * -1, writes an unused entry up to @end.
 */
static void put_entries(const struct e4l_dir_builder *b, uint32_t from,
			uint32_t to, char *buf, unsigned int used, int last,
			unsigned int end)
{
	struct e4l_new_dirent entry;
	unsigned int bytes;

	for (; from < to; from++, used += bytes) {
		entry = get_entry(b, from);
		bytes = e4l_dirent_bytes(b, entry.name_len);
		put_entry(b, buf + used, &entry, bytes);
		if (b->hashes_on_disk)
			put_hashes(buf + used, &entry);
		last = used;
	}
	if (last < 0)
		put_unused(b, buf, end);
	else
		((struct ext2_dir_entry_2 *)(buf + last))->rec_len =
			coded_len(b, end - last);
}

void e4l_dir_put_entries(const struct e4l_dir_builder *b, uint32_t from,
			 uint32_t to, char *buf, unsigned int end)
{
	put_entries(b, from, to, buf, 0, -1, end);
}

/* Writes "." and "..", and extends ".." to offset @end. */
static void put_dots(const struct e4l_dir_builder *b, char *buf,
		     unsigned int end)
{
	struct e4l_new_dirent dot = {
		.name = "..", .name_len = 1, .ino = b->ino,
		.file_type = ext2fs_has_feature_filetype(b->fs->super) ?
			     EXT2_FT_DIR : 0,
	};

	put_entry(b, buf, &dot, DIR_ENTRY_BYTES);
	dot.name_len = 2;
	dot.ino = b->parent;
	put_entry(b, buf + DIR_ENTRY_BYTES, &dot, end - DIR_ENTRY_BYTES);
}

static void seal_leaf(const struct e4l_dir_builder *b, char *buf)
{
	unsigned int bytes = e4l_dir_leaf_bytes(b->fs);
	struct ext2_dir_entry_tail *tail = (void *)(buf + bytes);

	if (!has_csum(b))
		return;
	tail->det_rec_len = ext2fs_cpu_to_le16(DIR_TAIL_BYTES);
	tail->det_reserved_name_len =
		ext2fs_cpu_to_le16(EXT2_DIR_NAME_LEN_CSUM);
	tail->det_checksum = ext2fs_cpu_to_le32(e4l_crc32c(seed_of(b), buf,
							   bytes));
}

/* -------------------------------------------------------------------- index */

static void put_dx(struct ext2_dx_entry *e, uint32_t i, uint32_t hash,
		   uint32_t block)
{
	e[i].block = ext2fs_cpu_to_le32(block);
	if (i)		/* the first entry has no hash */
		e[i].hash = ext2fs_cpu_to_le32(hash);
}

/*
 * Returns the first hash of a leaf for the index.  If the previous leaf ends
 * with the same hash, sets the lowest bit of the result.
 */
static uint32_t leaf_hash(const struct e4l_dir_builder *b,
			  const struct e4l_dir_shape *s, uint32_t leaf)
{
	uint32_t at = s->start[leaf], hash = get_entry(b, at).hash;

	return hash | (at && get_entry(b, at - 1).hash == hash);
}

/*
 * Writes the index entries of the index block with number @nth, from 0, on
 * @level (0: the root).  The entries begin at offset @at of the block.
 */
static void put_index(const struct e4l_dir_builder *b,
		      const struct e4l_dir_shape *s, unsigned int level,
		      uint32_t nth, unsigned int at, char *buf)
{
	struct ext2_dx_entry *e = (void *)(buf + at);
	struct ext2_dx_countlimit *cl = (void *)e;
	uint32_t limit = dx_limit(b, at), per = dx_limit(b, DX_NODE_AT);
	uint32_t below = level < s->levels ? s->index[level] : s->leaves;
	uint32_t first = 1, leaves_each = 1, count, i, *tail;
	unsigned int l;

	for (l = 0; l < s->levels && l <= level; l++)
		first += l < level ? s->index[l] : 0;
	if (level == s->levels)
		first = s->blocks - s->leaves;
	for (l = level; l < s->levels; l++)
		leaves_each *= per;
	count = nth * limit < below ? below - nth * limit : 0;
	if (count > limit)
		count = limit;
	for (i = 0; i < count; i++) {
		uint32_t nth_below = nth * limit + i;

		put_dx(e, i, leaf_hash(b, s, nth_below * leaves_each),
		       first + nth_below);
	}
	cl->limit = ext2fs_cpu_to_le16(limit);
	cl->count = ext2fs_cpu_to_le16(count);
	if (!has_csum(b))
		return;
	tail = (void *)(e + limit);
	i = e4l_crc32c(seed_of(b), buf, at + count * DX_ENTRY_BYTES);
	tail[1] = ext2fs_cpu_to_le32(e4l_crc32c(i, tail, DX_TAIL_BYTES));
}

static void put_root(const struct e4l_dir_builder *b,
		     const struct e4l_dir_shape *s, char *buf)
{
	struct ext2_dx_root_info *info = (void *)(buf + DX_INFO_AT);

	put_dots(b, buf, b->fs->blocksize);
	info->hash_version = b->hash_version;
	info->info_length = sizeof(*info);
	info->indirect_levels = s->levels;
	put_index(b, s, 0, 0, DX_ROOT_AT, buf);
}

static void put_indexed(const struct e4l_dir_builder *b,
			const struct e4l_dir_shape *s, uint32_t blk, char *buf)
{
	unsigned int level;

	if (!blk) {
		put_root(b, s, buf);
		return;
	}
	blk--;
	for (level = 0; level < s->levels; level++) {
		if (blk < s->index[level]) {
			put_unused(b, buf, b->fs->blocksize);
			put_index(b, s, level + 1, blk, DX_NODE_AT, buf);
			return;
		}
		blk -= s->index[level];
	}
	put_entries(b, s->start[blk],
		    blk + 1 < s->leaves ? s->start[blk + 1] : b->n, buf, 0, -1,
		    e4l_dir_leaf_bytes(b->fs));
	seal_leaf(b, buf);
}

static void put_linear(const struct e4l_dir_builder *b,
		       const struct e4l_dir_shape *s, uint32_t blk, char *buf)
{
	unsigned int end = e4l_dir_leaf_bytes(b->fs);
	uint32_t from = b->n, to = b->n;

	if (blk < s->leaves)
		from = s->start[blk];
	if (blk + 1 < s->leaves)
		to = s->start[blk + 1];
	if (blk) {
		put_entries(b, from, to, buf, 0, -1, end);
	} else if (from < to) {
		/* do not extend "..": other entries follow */
		put_dots(b, buf, DIR_DOTS_BYTES);
		put_entries(b, from, to, buf, DIR_DOTS_BYTES, DIR_ENTRY_BYTES,
			    end);
	} else {
		put_dots(b, buf, end);
	}
	seal_leaf(b, buf);
}

void e4l_dir_put_block(const struct e4l_dir_builder *b,
		       const struct e4l_dir_shape *s, uint32_t blk, char *buf)
{
	if (s->indexed)
		put_indexed(b, s, blk, buf);
	else
		put_linear(b, s, blk, buf);
}
