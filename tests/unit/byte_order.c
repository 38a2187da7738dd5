/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structures as on disk, built byte by byte, and decoded on a processor of any
 * byte order.
 */
#include "config.h"
#include <string.h>
#include "e4layout/format/format.h"
#include "e4layout/format/host_inode.h"
#include "e4layout/format/xattr.h"
#include "unit.h"
#include <ext2fs/ext2_ext_attr.h>	/* requires ext2fs.h */

#define INODE_BYTES	256
#define EXTRA_BYTES	32
#define EA_AT		(EXT2_GOOD_OLD_INODE_SIZE + EXTRA_BYTES)
#define FIELD(field)	offsetof(struct ext2_inode_large, field)

static struct ext2_super_block super = {
	.s_rev_level = 1, .s_inode_size = INODE_BYTES,
};
static struct struct_ext2_filsys fs = {
	.magic = EXT2_ET_MAGIC_EXT2FS_FILSYS, .super = &super,
	.blocksize = 1024,
};

static void put_inode(uint8_t *raw, uint16_t mode, uint32_t size, uint32_t flags)
{
	unsigned int i;

	memset(raw, 0, INODE_BYTES);
	put_le16(raw + FIELD(i_mode), mode);
	put_le32(raw + FIELD(i_size), size);
	put_le32(raw + FIELD(i_flags), flags);
	put_le16(raw + FIELD(i_links_count), 1);
	put_le16(raw + FIELD(i_extra_isize), EXTRA_BYTES);
	put_le32(raw + FIELD(i_projid), 0x01020304);
	for (i = 0; i < EXT2_N_BLOCKS; i++)
		put_le32(raw + FIELD(i_block) + 4 * i, 0x10203040 + i);
}

/* Writes an entry "user.ab" with a value of 5 bytes at @offset. */
static void put_entry(uint8_t *at, uint16_t offset)
{
	at[0] = 2;
	at[1] = XATTR_INDEX_USER;
	put_le16(at + 2, offset);
	put_le32(at + 8, 5);
	memcpy(at + sizeof(struct ext2_ext_attr_entry), "ab", 2);
}

static void assert_entry(struct e4l_xattr_walk w)
{
	struct e4l_xattr x;

	ck_assert(e4l_xattr_next(&w, &x));
	ck_assert(e4l_xattr_is(&x, XATTR_INDEX_USER, "ab"));
	ck_assert_uint_eq(x.len, 5);
	ck_assert_ptr_nonnull(x.value);
	ck_assert_mem_eq(x.value, "value", 5);
	ck_assert(!e4l_xattr_next(&w, &x));
}

static void put_attributes(uint8_t *raw)
{
	put_le32(raw + EA_AT, EXT2_EXT_ATTR_MAGIC);
	put_entry(raw + EA_AT + 4, 40);
	memcpy(raw + EA_AT + 4 + 40, "value", 5);
}

START_TEST(inode_in_host_order)
{
	uint8_t raw[INODE_BYTES], space[INODE_BYTES], back[INODE_BYTES];
	const struct ext2_inode_large *inode;

	put_inode(raw, LINUX_S_IFREG | 0644, 123456, 0);
	put_attributes(raw);
	inode = e4l_host_inode(&fs, space, raw);
	ck_assert_uint_eq(inode->i_mode, LINUX_S_IFREG | 0644);
	ck_assert_uint_eq(inode->i_size, 123456);
	ck_assert_uint_eq(inode->i_block[14], 0x10203040 + 14);
	ck_assert_uint_eq(inode->i_projid, 0x01020304);
	assert_entry(e4l_xattr_inode(inode, INODE_BYTES));
	e4l_inode_to_disk(&fs, back, inode);
	ck_assert_mem_eq(back, raw, INODE_BYTES);
}
END_TEST

/*
 * An inode without attributes must not show the attributes of the previous
 * inode.
 */
START_TEST(inode_hides_the_one_before)
{
	uint8_t raw[INODE_BYTES], space[INODE_BYTES];
	const struct ext2_inode_large *inode;
	struct e4l_xattr_walk w;
	struct e4l_xattr x;

	put_inode(raw, LINUX_S_IFREG | 0644, 1, 0);
	put_attributes(raw);
	assert_entry(e4l_xattr_inode(e4l_host_inode(&fs, space, raw),
				     INODE_BYTES));
	put_inode(raw, LINUX_S_IFREG | 0644, 1, 0);
	inode = e4l_host_inode(&fs, space, raw);
	w = e4l_xattr_inode(inode, INODE_BYTES);
	ck_assert(!e4l_xattr_next(&w, &x));
}
END_TEST

/*
 * e4l_disk_i_block() returns i_block in the disk's byte order, whether or not
 * libext2fs has swapped the bytes.
 */
START_TEST(i_block_as_on_disk)
{
	static const struct {
		uint16_t mode;
		uint32_t size, flags;
	} cases[] = {
		{ LINUX_S_IFREG, 5000, 0 },
		{ LINUX_S_IFREG, 5000, EXT4_EXTENTS_FL },
		{ LINUX_S_IFREG, 50, EXT4_INLINE_DATA_FL },
		{ LINUX_S_IFDIR, 1024, 0 },
		{ LINUX_S_IFLNK, 59, 0 },
		{ LINUX_S_IFLNK, 60, 0 },
		{ LINUX_S_IFLNK, 0, 0 },
		{ LINUX_S_IFBLK, 0, 0 },
	};
	uint8_t raw[INODE_BYTES], space[INODE_BYTES];
	uint32_t i_block[EXT2_N_BLOCKS];

	put_inode(raw, cases[_i].mode, cases[_i].size, cases[_i].flags);
	e4l_disk_i_block((const void *)e4l_host_inode(&fs, space, raw),
			 i_block);
	ck_assert_mem_eq(i_block, raw + FIELD(i_block), sizeof(i_block));
}
END_TEST

START_TEST(attributes_in_a_block)
{
	char block[1024] = "";
	uint8_t *p = (uint8_t *)block;

	put_le32(p, EXT2_EXT_ATTR_MAGIC);
	put_entry(p + sizeof(struct ext2_ext_attr_header), 1000);
	memcpy(block + 1000, "value", 5);
	assert_entry(e4l_xattr_block(block, sizeof(block)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("byte_order");
	TCase *tc = tcase_create("byte_order");

	tcase_add_test(tc, inode_in_host_order);
	tcase_add_test(tc, inode_hides_the_one_before);
	tcase_add_loop_test(tc, i_block_as_on_disk, 0, 8);
	tcase_add_test(tc, attributes_in_a_block);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
