/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <string.h>
#include "dirent.h"
#include "csum.h"
#include "dir_block.h"
#include "xattr.h"

/* ---------------------------------------------------------------- checksums */

static bool has_tail(const char *tail)
{
	return !get_le32(tail) && get_le16(tail + 4) == DIR_TAIL_BYTES &&
	       !tail[6] && (uint8_t)tail[7] == DIR_TAIL_TYPE;
}

/*
 * Returns the offset of the index entries in @block, or 0 if @block is not an
 * index block.
 */
static size_t dx_entries(ext2_filsys fs, const char *block)
{
	const char *second = block + DIR_ENTRY_BYTES;
	uint32_t first = dirent_read(fs->blocksize, block).rec_len;

	if (!get_le32(block) && first == fs->blocksize)
		return DX_NODE_AT;
	if (first == DIR_ENTRY_BYTES && !get_le32(block + DX_INFO_AT) &&
	    dirent_read(fs->blocksize, second).rec_len ==
	    fs->blocksize - DIR_ENTRY_BYTES &&
	    block[DX_INFO_AT + 5] == DX_INFO_BYTES)
		return DX_ROOT_AT;
	return 0;
}

/*
 * Computes the checksum of an index block.  The first index entry contains the
 * maximum and the actual number of entries instead of a hash.  Returns the
 * offset of the checksum.  If the maximum leaves no space for a checksum, or if
 * the actual number exceeds the maximum, returns 0.
 */
static size_t dx_csum(ext2_filsys fs, uint32_t seed, const char *block,
		      size_t entries, uint32_t *crc)
{
	static const uint8_t zero[4];
	size_t limit, count, tail;

	limit = get_le16(block + entries);
	count = get_le16(block + entries + 2);
	tail = entries + limit * DX_ENTRY_BYTES;
	if (tail + DX_TAIL_BYTES > fs->blocksize || count > limit)
		return 0;
	*crc = e4l_crc32c(seed, block, entries + count * DX_ENTRY_BYTES);
	*crc = e4l_crc32c(*crc, block + tail, 4);
	*crc = e4l_crc32c(*crc, zero, 4);
	return tail + 4;
}

/*
 * Computes the checksum of a leaf or an index block.  Returns the offset of the
 * checksum, or 0 if the block has no checksum.
 */
static size_t block_csum(ext2_filsys fs, ext2_ino_t dir, uint32_t generation,
			 const char *block, uint32_t *crc)
{
	uint32_t seed = e4l_inode_seed(fs, dir, generation);
	size_t tail = fs->blocksize - DIR_TAIL_BYTES;
	size_t entries = dx_entries(fs, block);

	/*
	 * Test for an index block first, because an index block can end with
	 * the tail of a former leaf.
	 */
	if (entries)
		return dx_csum(fs, seed, block, entries, crc);
	if (!has_tail(block + tail))
		return 0;
	*crc = e4l_crc32c(seed, block, tail);
	return tail + 8;
}

bool e4l_dir_block_csum_ok(ext2_filsys fs, ext2_ino_t dir, uint32_t generation,
			   const void *block)
{
	uint32_t crc = 0;
	size_t at;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	at = block_csum(fs, dir, generation, block, &crc);
	return at && crc == get_le32((const char *)block + at);
}

void e4l_dir_block_csum_set(ext2_filsys fs, ext2_ino_t dir,
			    uint32_t generation, void *block)
{
	uint32_t crc;
	size_t at;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return;
	at = block_csum(fs, dir, generation, block, &crc);
	if (at)
		put_le32((char *)block + at, crc);
}

/* ------------------------------------------------------------------ entries */

bool e4l_dirent_is_dotdot(const struct e4l_dirent *entry)
{
	return entry->name_len == 2 && !memcmp(entry->name, "..", 2);
}

static bool is_dot(const struct e4l_dirent *entry)
{
	return entry->name_len == 1 && *entry->name == '.';
}

static bool name_ok(const struct e4l_dir_walk *w, const struct e4l_dirent *d)
{
	if (is_dot(d) || e4l_dirent_is_dotdot(d))
		return w->has_dots;
	return d->name_len &&
	       (w->encrypted || (!memchr(d->name, '/', d->name_len) &&
				 !memchr(d->name, '\0', d->name_len)));
}

enum e4l_dir_step e4l_dir_next(struct e4l_dir_walk *w,
			       struct e4l_dirent *entry)
{
	bool typed = ext2fs_has_feature_filetype(w->fs->super);

	while (w->off < w->len) {
		size_t left = w->len - w->off;
		struct dirent_raw d = { 0 };

		if (left >= DIR_ENTRY_BYTES)
			d = dirent_read(w->fs->blocksize, w->buf + w->off);
		if (d.rec_len < DIR_ENTRY_BYTES || d.rec_len > left ||
		    d.rec_len % 4 ||
		    (d.ino && DIRENT_HEAD_BYTES + d.name_len > d.rec_len)) {
			w->off = w->len;
			return DIR_BAD;
		}
		w->off += d.rec_len;
		*entry = (struct e4l_dirent) {
			.dir = w->dir, .ino = d.ino,
			.name = d.name, .name_len = d.name_len,
			.file_type = typed ? d.type : EXT2_FT_UNKNOWN,
		};
		if (!entry->ino)
			continue;
		if (entry->ino > w->fs->super->s_inodes_count ||
		    !name_ok(w, entry))
			return DIR_BAD;
		if (!is_dot(entry))
			return DIR_ENTRY;
	}
	return DIR_END;
}

/* ------------------------------------------------------------------- inline */

const char *e4l_inline_value(const struct ext2_inode_large *inode,
			     size_t bytes, size_t *len)
{
	struct e4l_xattr_walk w = e4l_xattr_inode(inode, bytes);
	struct e4l_xattr x;

	*len = 0;
	while (e4l_xattr_next(&w, &x)) {
		if (!e4l_xattr_is(&x, XATTR_INDEX_SYSTEM, "data"))
			continue;
		*len = x.len;
		return x.value;
	}
	return NULL;
}
