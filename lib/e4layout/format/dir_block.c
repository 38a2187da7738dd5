/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <string.h>
#include "csum.h"
#include "dir_block.h"
#include <ext2fs/ext2_ext_attr.h>	/* wants ext2fs.h before it */

/* EXT4_XATTR_INDEX_SYSTEM in Linux. */
#define XATTR_INDEX_SYSTEM 7

/* ---------------------------------------------------------------- checksums */

static bool has_tail(const char *tail)
{
	return !get_le32(tail) && get_le16(tail + 4) == DIR_TAIL_BYTES &&
	       !tail[6] && (uint8_t)tail[7] == DIR_TAIL_TYPE;
}

/* Where an index block's entries begin; 0 if it is none. */
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

/* The first entry's hash is two counters: room for entries, and their count. */
static bool dx_csum_ok(ext2_filsys fs, uint32_t seed, const char *block)
{
	static const uint8_t zero[4];
	size_t offset = dx_entries(fs, block), limit, count, tail;
	uint32_t crc;

	limit = get_le16(block + offset);
	count = get_le16(block + offset + 2);
	tail = offset + limit * DX_ENTRY_BYTES;
	if (tail + DX_TAIL_BYTES > fs->blocksize || count > limit)
		return false;
	crc = e4l_crc32c(seed, block, offset + count * DX_ENTRY_BYTES);
	crc = e4l_crc32c(crc, block + tail, 4);
	crc = e4l_crc32c(crc, zero, 4);
	return crc == get_le32(block + tail + 4);
}

bool e4l_dir_block_csum_ok(ext2_filsys fs, ext2_ino_t dir, uint32_t generation,
			   const void *block)
{
	const char *tail = (const char *)block + fs->blocksize - DIR_TAIL_BYTES;
	uint32_t seed;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	seed = e4l_inode_seed(fs, dir, generation);
	/* first: an index block may end in the tail of the leaf it once was */
	if (dx_entries(fs, block))
		return dx_csum_ok(fs, seed, block);
	return has_tail(tail) &&
	       e4l_crc32c(seed, block, tail - (const char *)block) ==
	       get_le32(tail + 8);
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
	const char *p = (const char *)inode, *end = p + bytes, *first;

	*len = 0;
	if (bytes <= EXT2_GOOD_OLD_INODE_SIZE ||
	    EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize + 4u > bytes)
		return NULL;
	p += EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize;
	if (inode->i_extra_isize % 4 ||
	    *(const uint32_t *)p != EXT2_EXT_ATTR_MAGIC)
		return NULL;
	first = p += 4;
	while (p + sizeof(struct ext2_ext_attr_entry) <= end &&
	       *(const uint32_t *)p) {
		const struct ext2_ext_attr_entry *x = (const void *)p;
		const char *name = p + sizeof(*x);

		p += EXT2_EXT_ATTR_LEN(x->e_name_len);
		if (p > end)
			break;
		/* a NUL ends a name, as it does for libext2fs */
		if (x->e_name_index != XATTR_INDEX_SYSTEM ||
		    strnlen(name, x->e_name_len) != 4 || memcmp(name, "data", 4))
			continue;
		if (x->e_value_inum || x->e_value_offs > end - first ||
		    x->e_value_size > end - first - x->e_value_offs)
			break;
		*len = x->e_value_size;
		return first + x->e_value_offs;
	}
	return NULL;
}
