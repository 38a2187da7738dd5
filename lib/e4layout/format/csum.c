/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stddef.h>
#include <string.h>
#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif
#endif
#include "csum.h"
#include "format.h"

/* Offsets in the inode; see struct ext4_inode in Linux. */
#define INODE_GENERATION	0x64
#define INODE_CSUM_LO		0x7C
#define INODE_EXTRA_ISIZE	0x80
#define INODE_CSUM_HI		0x82
/* minimum i_extra_isize of an inode with i_checksum_hi */
#define EXTRA_ISIZE_CSUM_HI	4

#ifdef HAVE_ISAL
/*
 * ISA-L's AVX-512 functions do not clear the upper halves of the vector
 * registers.  Until the upper halves are cleared, each SSE instruction of the
 * program costs hundreds of cycles.
 */
#ifdef __x86_64__
__attribute__((target("avx"))) static void clear_upper_avx(void)
{
	_mm256_zeroupper();
}

static void clear_upper(void)
{
	if (__builtin_cpu_supports("avx"))
		clear_upper_avx();
}
#else
static void clear_upper(void)
{
}
#endif

uint32_t e4l_crc32c(uint32_t crc, const void *buf, size_t len)
{
	crc = crc32_iscsi((unsigned char *)buf, len, crc);
	clear_upper();
	return crc;
}
#else
uint32_t e4l_crc32c(uint32_t crc, const void *buf, size_t len)
{
	return ext2fs_crc32c_le(crc, buf, len);
}
#endif

uint32_t e4l_inode_seed(ext2_filsys fs, ext2_ino_t ino, uint32_t generation)
{
	uint32_t le[2] = { ext2fs_cpu_to_le32(ino),
			   ext2fs_cpu_to_le32(generation) };

	return e4l_crc32c(fs->csum_seed, le, sizeof(le));
}

/* s_inode_size is at most the block size, which is at most 65536 */
#define MAX_INODE_BYTES 65536

/*
 * The checksum covers the inode number, the generation, and the inode with
 * zeroes in i_checksum_lo and i_checksum_hi.  Copies the inode, because one
 * call of e4l_crc32c() for the copy is twice as fast as several calls for parts
 * of the inode.
 */
bool e4l_inode_csum_ok(ext2_filsys fs, ext2_ino_t ino, const void *raw)
{
	uint8_t space[8 + MAX_INODE_BYTES], *p = space + 8;
	unsigned int isize = EXT2_INODE_SIZE(fs->super);
	uint32_t le_ino = ext2fs_cpu_to_le32(ino);
	uint32_t want, mask = 0xFFFF;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	memcpy(space, &le_ino, 4);
	memcpy(space + 4, (const uint8_t *)raw + INODE_GENERATION, 4);
	memcpy(p, raw, isize);
	want = get_le16(p + INODE_CSUM_LO);
	memset(p + INODE_CSUM_LO, 0, 2);
	if (isize > EXT2_GOOD_OLD_INODE_SIZE &&
	    get_le16(p + INODE_EXTRA_ISIZE) >= EXTRA_ISIZE_CSUM_HI) {
		want |= (uint32_t)get_le16(p + INODE_CSUM_HI) << 16;
		mask = 0xFFFFFFFF;
		memset(p + INODE_CSUM_HI, 0, 2);
	}
	return (e4l_crc32c(fs->csum_seed, space, 8 + isize) & mask) == want;
}

bool e4l_extent_block_csum_ok(ext2_filsys fs, uint32_t seed,
			      const void *block)
{
	const uint8_t *p = block;
	size_t tail = EXTENT_ENTRY_BYTES * (1 + get_le16(p + EXTENT_EH_MAX));

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	return e4l_crc32c(seed, p, tail) == get_le32(p + tail);
}
