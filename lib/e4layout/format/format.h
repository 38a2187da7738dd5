/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * format: constants of the on-disk format: limits, sizes, offsets, and meanings
 * of fields, for the library and the tools.  jbd2.h, quota.h and xattr.h have
 * the constants of journals, quota files and extended attributes.  Source:
 * Documentation/filesystems/ext4/ in Linux.
 */
#ifndef E4L_FORMAT_H
#define E4L_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/* ------------------------------------------------------------------ numbers */

/* Read a little-endian number at an address that need not be aligned. */
static inline uint16_t get_le16(const void *at)
{
	const uint8_t *p = at;

	return p[0] | p[1] << 8;
}

static inline uint32_t get_le32(const void *at)
{
	const uint8_t *p = at;

	return get_le16(p) | (uint32_t)get_le16(p + 2) << 16;
}

static inline uint64_t get_le64(const void *at)
{
	const uint8_t *p = at;

	return get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
}

static inline void put_le16(void *at, uint16_t v)
{
	uint8_t *p = at;

	p[0] = v;
	p[1] = v >> 8;
}

static inline void put_le32(void *at, uint32_t v)
{
	uint8_t *p = at;

	put_le16(p, v);
	put_le16(p + 2, v >> 16);
}

static inline void put_le64(void *at, uint64_t v)
{
	uint8_t *p = at;

	put_le32(p, v);
	put_le32(p + 4, v >> 32);
}

/* -------------------------------------------------------------------- files */

/*
 * Block numbers in a file have 32 bits.  The largest 32-bit number,
 * EXT_MAX_BLOCKS in Linux, is not a valid block number.
 */
#define FILE_MAX_BLOCKS		(1ULL << 32)
#define FILE_LAST_LBLK		0xFFFFFFFEu

/*
 * The size of i_block, which contains the root of a map, inline data, or the
 * target of a symbolic link.
 */
#define I_BLOCK_BYTES		60

/*
 * Returns whether i_block of @inode, which is in host byte order, is a map.
 * With the ea_inode feature, i_blocks of a symbolic link can count an EA inode.
 * Therefore i_size, not i_blocks, shows whether the target of a link is in
 * i_block.
 */
static inline bool inode_has_map(ext2_filsys fs, const struct ext2_inode *inode)
{
	struct ext2_inode *i = (struct ext2_inode *)inode;

	return !(ext2fs_has_feature_ea_inode(fs->super) &&
		 ext2fs_is_fast_symlink(i)) &&
	       ext2fs_inode_has_valid_blocks2(fs, i);
}

/*
 * Whether the large inode @inode, in host byte order, has @field, according to
 * i_extra_isize.
 */
#define E4L_INODE_HAS(inode, field) \
	(EXT2_GOOD_OLD_INODE_SIZE + (inode)->i_extra_isize >= \
	 offsetof(struct ext2_inode_large, field) + sizeof((inode)->field))

/* ------------------------------------------------------------- extent trees */

#define EXTENT_MAGIC		0xF30A
/* The size of the header of an extent node, and of each entry. */
#define EXTENT_ENTRY_BYTES	12
#define EXTENT_EH_MAX		4	/* offset of eh_max in the header */
#define EXTENT_MAX_DEPTH	5	/* EXT4_MAX_EXTENT_DEPTH in Linux */
/* maximum number of entries in the root of an extent tree */
#define EXTENT_ROOT_ENTRIES	4

/* -------------------------------------------------------------- directories */

#define DIRENT_HEAD_BYTES	8	/* size of an entry without the name */
/* The size of the smallest entry: the head, and a name of up to four bytes. */
#define DIR_ENTRY_BYTES		12
#define DIR_DOTS_BYTES		24	/* minimum size of "." and ".." */
/* size of the hashes after a name that is encrypted and casefolded */
#define DIR_HASH_BYTES		8
/*
 * The size of the fake entry at the end of a leaf.  The last 4 bytes of the
 * fake entry are the checksum.
 */
#define DIR_TAIL_BYTES		12
#define DIR_TAIL_TYPE		0xDE	/* file type of the fake entry */
/* size of the parent's inode number in i_block, before inline entries */
#define DIR_INLINE_PARENT	4

/* Offsets and sizes in index blocks of directories. */
#define DX_INFO_AT		24	/* offset after "." and ".." */
#define DX_INFO_BYTES		8	/* struct ext2_dx_root_info */
#define DX_ROOT_AT		32	/* offset of the entries in the root */
/* offset of the entries in other index blocks */
#define DX_NODE_AT		8
#define DX_ENTRY_BYTES		8
#define DX_TAIL_BYTES		8	/* size of the tail with the checksum */
#define DX_BLOCK_MASK		0x0FFFFFFFu	/* block number in an entry */

/* Returns the minimum size of an entry with a name of @name_len bytes. */
static inline unsigned int dirent_bytes(unsigned int name_len)
{
	return (DIRENT_HEAD_BYTES + name_len + 3) & ~3u;
}

/* An unverified directory entry in host byte order. */
struct dirent_raw {
	ext2_ino_t ino;		/* 0: not in use */
	uint32_t rec_len;	/* 0 to 65536 */
	uint8_t name_len;
	uint8_t type;		/* undefined without the filetype feature */
	const char *name;
};

/*
 * Decodes the directory entry at @at, where at least DIR_ENTRY_BYTES bytes are
 * readable.
 */
static inline struct dirent_raw dirent_read(uint32_t blocksize, const void *at)
{
	const uint8_t *p = at;
	uint32_t len = get_le16(p + 4);

	/* the length 65536 is stored as 0 or 65535 */
	if (blocksize >= 65536 && (len == 0 || len == 65535))
		len = 65536;
	return (struct dirent_raw) {
		.ino = get_le32(p), .rec_len = len, .name_len = p[6],
		.type = p[7], .name = (const char *)p + DIRENT_HEAD_BYTES,
	};
}

/*
 * Converts a hash version on disk to the hash version for ext2fs_dirhash2().
 * For versions up to EXT2_HASH_TEA, the hash depends on whether char is signed.
 * The superblock records whether char was signed on the machine that first used
 * the filesystem.
 */
static inline int hash_version_of(const struct ext2_super_block *sb,
				  int version)
{
	return version <= EXT2_HASH_TEA &&
	       sb->s_flags & EXT2_FLAGS_UNSIGNED_HASH ? version + 3 : version;
}

#endif
