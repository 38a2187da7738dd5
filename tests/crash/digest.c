/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes two digests of a filesystem: one of everything that must not change,
 * and one of everything that may move.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "crash.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, p, len);
	return mix(hash, word ^ (uint64_t)len << 56);
}

struct walk {
	ext2_filsys fs;
	uint8_t *buf;			/* one block */
	uint64_t content, layout;
	uint64_t size;			/* size of the file */
	/* blocks of the file contain inode numbers */
	bool numbers;
	/* digest of each inode's names; NULL: inode numbers identify files */
	uint64_t *names;
	ext2_ino_t dir;			/* directory whose names are read */
	uint64_t path;			/* digest of the path of @dir */
};

bool all_zero(const uint8_t *buf, size_t len)
{
	return !len || (!buf[0] && !memcmp(buf, buf + 1, len - 1));
}

/*
 * Adds a block of a file to the digest.  If the file ends within the block,
 * adds only the bytes before the end.  Adds nothing for a block of zeroes,
 * because a reader cannot distinguish zeroes from a hole or an unwritten block.
 */
static errcode_t digest_block(struct walk *w, blk64_t lblk, blk64_t pblk)
{
	uint64_t start = lblk * w->fs->blocksize;
	size_t len = w->fs->blocksize;
	errcode_t err;

	err = io_channel_read_blk64(w->fs->io, pblk, 1, w->buf);
	if (err)
		return err;
	if (start < w->size && w->size - start < len)
		len = w->size - start;
	if (all_zero(w->buf, len))
		return 0;
	if (w->numbers)
		w->layout = mix_bytes(mix(w->layout, lblk), w->buf, len);
	else
		w->content += mix_bytes(mix(lblk + 1, start < w->size), w->buf,
					len);
	return 0;
}

static errcode_t digest_extent(struct walk *w, const struct ext2fs_extent *x)
{
	bool unwritten = x->e_flags & EXT2_EXTENT_FLAGS_UNINIT;
	errcode_t err = 0;
	uint32_t i;

	w->layout = mix(w->layout, x->e_lblk);
	w->layout = mix(w->layout, x->e_pblk);
	w->layout = mix(w->layout, (uint64_t)x->e_len << 1 | unwritten);
	for (i = 0; !err && !unwritten && i < x->e_len; i++)
		err = digest_block(w, x->e_lblk + i, x->e_pblk + i);
	return err;
}

static errcode_t digest_extents(struct walk *w, ext2_ino_t ino)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent x;
	errcode_t err;

	err = ext2fs_extent_open(w->fs, ino, &handle);
	if (err)
		return err;
	err = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &x);
	while (!err) {
		if (x.e_flags & EXT2_EXTENT_FLAGS_LEAF)
			err = digest_extent(w, &x);
		if (!err)
			err = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &x);
	}
	ext2fs_extent_free(handle);
	return err == EXT2_ET_EXTENT_NO_NEXT || err == EXT2_ET_EXTENT_NOT_FOUND
	       ? 0 : err;
}

/*
 * Adds the entries of the attribute block to the digest, but not the header,
 * whose checksum depends on the location of the block.
 */
static errcode_t digest_xattrs(struct walk *w, const struct ext2_inode *inode)
{
	blk64_t blk = ext2fs_file_acl_block(w->fs, inode);
	const size_t skip = sizeof(struct ext2_ext_attr_header);
	errcode_t err;

	if (!blk)
		return 0;
	err = ext2fs_read_ext_attr3(w->fs, blk, w->buf, 0);
	w->content = mix_bytes(w->content, w->buf + skip,
			       w->fs->blocksize - skip);
	return err;
}

/* Digests the inode without its block map, block count and checksum. */
static void digest_fields(struct walk *w, const struct ext2_inode_large *inode,
			  size_t bytes)
{
	struct ext2_inode_large copy = *inode;
	size_t extra = EXT2_GOOD_OLD_INODE_SIZE;

	copy.i_blocks = 0;
	copy.osd2.linux2.l_i_blocks_hi = 0;
	copy.osd2.linux2.l_i_checksum_lo = 0;
	copy.i_file_acl = 0;
	copy.osd2.linux2.l_i_file_acl_high = 0;
	copy.i_checksum_hi = 0;
	if (w->numbers && inode->i_flags & EXT4_INLINE_DATA_FL) {
		w->layout = mix_bytes(w->layout, inode, bytes);
		bytes = extra;
	}
	if (w->numbers || inode->i_flags & EXT4_EXTENTS_FL)
		memset(copy.i_block, 0, sizeof(copy.i_block));
	w->content = mix_bytes(w->content, &copy,
			       bytes > extra ? sizeof(copy) : extra);
	if (bytes > sizeof(copy))
		w->content = mix_bytes(w->content, inode + 1,
				       bytes - sizeof(copy));
}

static errcode_t digest_inode(struct walk *w, ext2_ino_t ino,
			      struct ext2_inode_large *inode)
{
	errcode_t err;

	w->content = w->layout = mix(ino, 0);
	w->numbers = w->names && LINUX_S_ISDIR(inode->i_mode);
	if (w->names && w->names[ino])
		w->content = w->names[ino];
	w->size = EXT2_I_SIZE(inode);
	digest_fields(w, inode, EXT2_INODE_SIZE(w->fs->super));
	w->layout = mix(w->layout, inode->i_blocks);
	w->layout = mix(w->layout, inode->osd2.linux2.l_i_blocks_hi);
	err = digest_xattrs(w, (struct ext2_inode *)inode);
	if (!err && inode->i_flags & EXT4_EXTENTS_FL)
		err = digest_extents(w, ino);
	return err;
}

/*
 * Whether the inode is the filesystem's own.  Quota files are not digested,
 * because e2fsck compares the usage in quota files.
 */
static bool is_internal(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return ino == EXT2_RESIZE_INO || ino == EXT2_JOURNAL_INO ||
	       ino == sb->s_usr_quota_inum || ino == sb->s_grp_quota_inum ||
	       ino == sb->s_prj_quota_inum;
}

/*
 * Whether @entry is "." or "..".  The entries "." and ".." are not digested,
 * because libext2fs does not report them consistently for inline directories.
 */
static bool is_dots(const struct ext2_dir_entry *entry)
{
	return entry->name[0] == '.' && (ext2fs_dirent_name_len(entry) == 1 ||
	       (ext2fs_dirent_name_len(entry) == 2 && entry->name[1] == '.'));
}

static int add_name(ext2_ino_t dir, int kind, struct ext2_dir_entry *entry,
		    int offset, int blocksize, char *block, void *priv)
{
	struct walk *w = priv, below = *w;

	if (is_dots(entry))
		return 0;
	below.path = mix_bytes(w->path, entry->name,
			       ext2fs_dirent_name_len(entry));
	below.dir = entry->inode;
	w->names[below.dir] += below.path;
	if (!ext2fs_check_directory(w->fs, below.dir) &&
	    ext2fs_dir_iterate2(w->fs, below.dir, 0, NULL, add_name, &below))
		return DIRENT_ABORT;
	return 0;
}

/*
 * Computes the digest of each inode's names, which is the sum of the digests of
 * the names.
 */
static errcode_t learn_names(struct walk *w)
{
	w->names = check_alloc(calloc(w->fs->super->s_inodes_count + 1ULL,
				      sizeof(*w->names)));
	w->dir = EXT2_ROOT_INO;
	w->path = 1;
	w->names[w->dir] = w->path;
	return ext2fs_dir_iterate2(w->fs, w->dir, 0, NULL, add_name, w);
}

static errcode_t digest_all(struct walk *w, uint8_t *inode, struct digest *d)
{
	size_t size = EXT2_INODE_SIZE(w->fs->super);
	ext2_inode_scan scan;
	ext2_ino_t ino;
	errcode_t err;

	err = ext2fs_open_inode_scan(w->fs, 0, &scan);
	if (err)
		return err;
	while (!(err = ext2fs_get_next_inode_full(scan, &ino,
				(struct ext2_inode *)inode, size)) && ino) {
		struct ext2_inode_large *large = (void *)inode;

		if (!large->i_links_count || is_internal(w->fs->super, ino))
			continue;
		err = digest_inode(w, ino, large);
		if (err)
			break;
		d->content += mix(w->content, 1);
		d->layout += mix(w->layout, 2);
		d->inodes++;
	}
	ext2fs_close_inode_scan(scan);
	return err;
}

errcode_t digest_fs(const char *path, bool by_name, struct digest *d)
{
	struct walk w = { 0 };
	uint8_t *inode = NULL;
	errcode_t err;

	memset(d, 0, sizeof(*d));
	err = ext2fs_open(path, EXT2_FLAG_64BITS, 0, 0, unix_io_manager,
			  &w.fs);
	if (err)
		return err;
	w.buf = check_alloc(malloc(w.fs->blocksize));
	inode = check_alloc(malloc(EXT2_INODE_SIZE(w.fs->super) +
				   sizeof(struct ext2_inode_large)));
	if (by_name)
		err = learn_names(&w);
	if (!err)
		err = digest_all(&w, inode, d);
	free(w.names);
	d->layout += mix(ext2fs_blocks_count(w.fs->super), 3);
	ext2fs_free(w.fs);
	free(w.buf);
	free(inode);
	return err;
}
