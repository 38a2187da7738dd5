/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif
#include "e4layout/format/csum.h"
#include "e4layout/format/extent_tree.h"
#include "unit.h"

static struct ext2_super_block super = {
	.s_blocks_count = 10000, .s_first_data_block = 0, .s_inode_size = 256,
	.s_rev_level = 1,
};
static struct struct_ext2_filsys fs = { .super = &super, .blocksize = 1024 };

/* A node under construction, as on disk. */
struct node {
	uint16_t magic, entries, max, depth;
	uint32_t generation;
	struct {
		uint32_t a;
		uint16_t b, c;
		uint32_t d;
	} entry[84];
	uint32_t csum;
};

static __u16 le16(unsigned int v)
{
	return ext2fs_cpu_to_le16(v);
}

static __u32 le32(uint32_t v)
{
	return ext2fs_cpu_to_le32(v);
}

static struct node leaf(void)
{
	return (struct node) { .magic = le16(0xF30A), .max = le16(84) };
}

/* Adds an entry to @node, and returns the index of the entry. */
static unsigned int add_entry(struct node *node)
{
	unsigned int i = ext2fs_le16_to_cpu(node->entries);

	node->entries = le16(i + 1);
	return i;
}

static void add_run(struct node *node, uint32_t lblk, uint16_t len,
		    uint64_t pblk)
{
	unsigned int i = add_entry(node);

	node->entry[i].a = le32(lblk);
	node->entry[i].b = le16(len);
	node->entry[i].c = le16(pblk >> 32);
	node->entry[i].d = le32(pblk);
}

static void add_child(struct node *node, uint32_t lblk, uint64_t pblk)
{
	unsigned int i = add_entry(node);

	node->entry[i].a = le32(lblk);
	node->entry[i].b = le16(pblk);
	node->entry[i].c = le16(pblk >> 16);
	node->entry[i].d = le32(pblk >> 32);
}

static const struct e4l_node_pos any = { .last = 0xFFFFFFFE };
static struct e4l_token_vec out;

static errcode_t decode(const struct node *node, const struct e4l_node_pos *pos)
{
	out.n = 0;
	return e4l_decode_extent_node(&fs, node, 1024, pos, &out);
}

static void assert_token(size_t i, enum e4l_token_kind kind, uint64_t pblk,
			 uint32_t lblk, uint32_t arg)
{
	ck_assert_uint_lt(i, out.n);
	ck_assert_int_eq(out.v[i].kind, kind);
	ck_assert_uint_eq(out.v[i].pblk, pblk);
	ck_assert_uint_eq(out.v[i].lblk, lblk);
	ck_assert_uint_eq(out.v[i].arg, arg);
}

static void assert_damage(size_t i, errcode_t why)
{
	assert_token(i, TOKEN_DAMAGE, 0, 0, why - ERROR_TABLE_BASE_e4l);
}

START_TEST(decodes_a_leaf)
{
	struct node node = leaf();

	add_run(&node, 0, 10, 100);
	add_run(&node, 10, 32768 + 5, 110);
	add_run(&node, 20, 32768, 200);
	add_run(&node, 0xFFFFFFFE, 1, 9999);
	super.s_blocks_count = 40000;
	ck_assert_int_eq(decode(&node, &any), 0);
	super.s_blocks_count = 10000;
	ck_assert_uint_eq(out.n, 4);
	assert_token(0, TOKEN_WRITTEN, 100, 0, 10);
	assert_token(1, TOKEN_UNWRITTEN, 110, 10, 5);
	assert_token(2, TOKEN_WRITTEN, 200, 20, 32768);
	assert_token(3, TOKEN_WRITTEN, 9999, 0xFFFFFFFE, 1);
}
END_TEST

START_TEST(steps_over_bad_runs)
{
	struct node node = leaf();

	add_run(&node, 5, 5, 100);
	add_run(&node, 9, 1, 200);		/* overlaps the first run */
	add_run(&node, 20, 0, 200);		/* empty run */
	add_run(&node, 20, 1, 0);		/* run on the superblock */
	add_run(&node, 20, 2, 9999);	/* run beyond the end of the device */
	add_run(&node, 20, 2, 1ULL << 47);
	add_run(&node, 20, 1, 9999);
	/* run beyond the last logical block */
	add_run(&node, 0xFFFFFFFF, 1, 100);
	/* logical block before the previous run */
	add_run(&node, 3, 1, 100);
	ck_assert_int_eq(decode(&node, &any), 0);
	ck_assert_uint_eq(out.n, 9);
	assert_token(0, TOKEN_WRITTEN, 100, 5, 5);
	assert_damage(1, E4L_ET_EXTENT_ORDER);
	assert_damage(2, E4L_ET_EXTENT_ORDER);
	assert_damage(3, E4L_ET_EXTENT_RANGE);
	assert_damage(4, E4L_ET_EXTENT_RANGE);
	assert_damage(5, E4L_ET_EXTENT_RANGE);
	assert_token(6, TOKEN_WRITTEN, 9999, 20, 1);
	assert_damage(7, E4L_ET_EXTENT_END);
	assert_damage(8, E4L_ET_EXTENT_ORDER);
}
END_TEST

/* A leaf's extents must lie in the range that its parent defines. */
START_TEST(bounds_a_leaf)
{
	struct node node = leaf();
	struct e4l_node_pos pos = { .first = 100, .last = 199 };

	add_run(&node, 99, 1, 100);
	add_run(&node, 100, 1, 100);
	add_run(&node, 199, 1, 101);
	add_run(&node, 200, 1, 102);
	ck_assert_int_eq(decode(&node, &pos), 0);
	ck_assert_uint_eq(out.n, 4);
	assert_damage(0, E4L_ET_EXTENT_ORDER);
	assert_token(1, TOKEN_WRITTEN, 100, 100, 1);
	assert_token(2, TOKEN_WRITTEN, 101, 199, 1);
	assert_damage(3, E4L_ET_EXTENT_ORDER);
}
END_TEST

START_TEST(decodes_an_index)
{
	struct node node = leaf();
	struct e4l_node_pos pos = { .level = 3, .first = 10, .last = 1000 };

	node.depth = le16(3);
	add_child(&node, 10, 50);
	add_child(&node, 100, 60);
	/* logical block before the previous child */
	add_child(&node, 90, 70);
	add_child(&node, 200, 0);		/* child in block 0 */
	add_child(&node, 300, 1ULL << 40);
	add_child(&node, 400, 80);
	/* child beyond the range of the parent */
	add_child(&node, 1001, 90);
	ck_assert_int_eq(decode(&node, &pos), 0);
	ck_assert_uint_eq(out.n, 7);
	assert_token(0, TOKEN_NODE, 50, 10, 99);
	ck_assert_uint_eq(out.v[0].level, 2);
	assert_token(1, TOKEN_NODE, 60, 100, 1000);
	assert_damage(2, E4L_ET_EXTENT_ORDER);
	assert_damage(3, E4L_ET_BLOCK_RANGE);
	assert_damage(4, E4L_ET_BLOCK_RANGE);
	assert_token(5, TOKEN_NODE, 80, 400, 1000);
	assert_damage(6, E4L_ET_EXTENT_ORDER);
}
END_TEST

START_TEST(refuses_bad_headers)
{
	struct node node = leaf(), bad;

	bad = node;
	bad.magic = le16(0xF30B);
	ck_assert_int_eq(decode(&bad, &any), E4L_ET_EXTENT_MAGIC);
	bad = node;
	bad.depth = le16(1);
	ck_assert_int_eq(decode(&bad, &any), E4L_ET_EXTENT_DEPTH);
	bad = node;
	bad.max = le16(85); /* one entry more than fits in the node */
	ck_assert_int_eq(decode(&bad, &any), E4L_ET_EXTENT_COUNT);
	bad = node;
	bad.entries = le16(85);
	ck_assert_int_eq(decode(&bad, &any), E4L_ET_EXTENT_COUNT);
	bad.max = bad.entries = le16(65535);
	ck_assert_int_eq(decode(&bad, &any), E4L_ET_EXTENT_COUNT);
	ck_assert_uint_eq(out.n, 0);
}
END_TEST

START_TEST(verifies_tree_blocks)
{
	struct node node = leaf();
	struct e4l_node_pos pos = { .blk = 77, .last = 1000 };

	super.s_feature_ro_compat = EXT4_FEATURE_RO_COMPAT_METADATA_CSUM;
	pos.seed = e4l_inode_seed(&fs, 12, 34);
	add_run(&node, 0, 10, 100);
	node.csum = le32(e4l_crc32c(pos.seed, &node, 12 * 85));
	ck_assert_int_eq(decode(&node, &pos), 0);
	node.entry[83].d ^= 1;
	ck_assert_int_eq(decode(&node, &pos), E4L_ET_EXTENT_CSUM);
	super.s_feature_ro_compat = 0;
	ck_assert_int_eq(decode(&node, &pos), 0);
}
END_TEST

START_TEST(limits_the_depth)
{
	struct node node = leaf();
	unsigned int depth;

	node.max = le16(4);
	node.depth = le16(6);
	out.n = 0;
	ck_assert_int_eq(e4l_decode_extent_root(&fs, &node, &depth, &out),
			 E4L_ET_EXTENT_DEPTH);
	ck_assert_uint_eq(depth, 0);
	node.depth = le16(5);
	add_child(&node, 0, 50);
	ck_assert_int_eq(e4l_decode_extent_root(&fs, &node, &depth, &out), 0);
	ck_assert_uint_eq(depth, 5);
	assert_token(0, TOKEN_NODE, 50, 0, 0xFFFFFFFE);
	node.max = le16(5);
	ck_assert_int_eq(e4l_decode_extent_root(&fs, &node, &depth, &out),
			 E4L_ET_EXTENT_COUNT);
}
END_TEST

START_TEST(decodes_an_indirect_root)
{
	uint32_t i_block[15] = { 100, 101, 102, 0, 103, 104, 200, 0, 0, 0, 0,
				 10000, 500, 600, 700 };
	unsigned int depth, i;

	for (i = 0; i < 15; i++)
		i_block[i] = le32(i_block[i]);
	out.n = 0;
	ck_assert_int_eq(e4l_decode_indirect_root(&fs, i_block, &depth, &out),
			 0);
	ck_assert_uint_eq(depth, 3);
	assert_token(0, TOKEN_WRITTEN, 100, 0, 3);
	assert_token(1, TOKEN_WRITTEN, 103, 4, 2);
	assert_token(2, TOKEN_WRITTEN, 200, 6, 1);
	assert_damage(3, E4L_ET_BLOCK_RANGE);
	assert_token(4, TOKEN_NODE, 500, 12, 12 + 255);
	assert_token(5, TOKEN_NODE, 600, 268, 268 + 65535);
	assert_token(6, TOKEN_NODE, 700, 65804, 65804 + 16777215);
	ck_assert_uint_eq(out.v[4].level, 0);
	ck_assert_uint_eq(out.v[6].level, 2);
	ck_assert_uint_eq(out.n, 7);
}
END_TEST

/* With 64 KiB blocks, a triple-indirect map extends beyond the last block. */
START_TEST(stops_at_the_last_logical_block)
{
	uint32_t i_block[15] = { 0 };
	unsigned int depth;

	fs.blocksize = 65536;
	i_block[14] = le32(700);
	out.n = 0;
	ck_assert_int_eq(e4l_decode_indirect_root(&fs, i_block, &depth, &out),
			 0);
	assert_token(0, TOKEN_NODE, 700, 12 + 16384 + 16384 * 16384,
		     0xFFFFFFFE);
	fs.blocksize = 1024;
}
END_TEST

/*
 * Random bytes never result in extents outside the filesystem or out of order.
 */
START_TEST(survives_random_nodes)
{
	static uint32_t raw[256];
	struct e4l_node_pos pos = { .level = _i % 3, .first = 1000,
				    .last = 0x7FFFFFFF };
	struct node *node = (void *)raw;
	uint64_t next = pos.first;
	size_t i;

	srand(_i);
	for (i = 0; i < 256; i++)
		raw[i] = rand() & (rand() % 2 ? 0xFFFF : 0x7FFFFFFF);
	node->magic = le16(0xF30A);
	node->depth = le16(pos.level);
	node->entries = le16(rand() % 86);
	node->max = le16(84);
	if (decode(node, &pos)) {
		ck_assert_uint_eq(out.n, 0);
		return;
	}
	for (i = 0; i < out.n; i++) {
		struct e4l_token *t = &out.v[i];

		if (t->kind == TOKEN_DAMAGE)
			continue;
		ck_assert_uint_ge(t->lblk, next);
		ck_assert_uint_gt(t->pblk, 0);
		if (t->kind == TOKEN_NODE) {
			ck_assert_uint_lt(t->pblk, 10000);
			ck_assert_uint_le(t->arg, pos.last);
			next = (uint64_t)t->lblk + 1;
		} else {
			ck_assert_uint_le(t->pblk + t->arg, 10000);
			next = (uint64_t)t->lblk + t->arg;
			ck_assert_uint_le(next, (uint64_t)pos.last + 1);
		}
	}
}
END_TEST

START_TEST(crc_is_that_of_libext2fs)
{
	uint8_t buf[300];
	size_t i;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 7 + _i;
	for (i = 0; i <= sizeof(buf); i++)
		ck_assert_uint_eq(e4l_crc32c(i * 0x01234567u, buf, i),
				  ext2fs_crc32c_le(i * 0x01234567u, buf, i));
}
END_TEST

#ifdef __x86_64__
/* Returns a bitmap of the register states that the processor reports in use. */
__attribute__((target("xsave"))) static uint64_t parts_in_use(void)
{
	return _xgetbv(1);
}

__attribute__((target("avx"))) static void clear_upper(void)
{
	_mm256_zeroupper();
}

static bool knows_parts_in_use(void)
{
	unsigned int a = 0, b, c, d;

	return __builtin_cpu_supports("avx") &&
	       __get_cpuid_count(13, 1, &a, &b, &c, &d) && a & 1 << 2;
}

/* A dirty vector state makes later SSE instructions slow. */
START_TEST(crc_leaves_no_vector_in_use)
{
	static char buf[4096];
	uint64_t before;

	if (!knows_parts_in_use())
		return;
	e4l_crc32c(0, buf, sizeof(buf));
	clear_upper();
	before = parts_in_use();
	e4l_crc32c(0, buf, sizeof(buf));
	ck_assert_uint_eq(parts_in_use(), before);
}
END_TEST
#endif

START_TEST(inode_csum_is_that_of_libext2fs)
{
	static const unsigned int sizes[] = { 128, 256, 1024 };
	union {
		struct ext2_inode_large inode;
		uint8_t raw[1024];
	} u;
	size_t i;

	super.s_feature_ro_compat = EXT4_FEATURE_RO_COMPAT_METADATA_CSUM;
	super.s_inode_size = sizes[_i % 3];
	fs.magic = EXT2_ET_MAGIC_EXT2FS_FILSYS;
	srand(_i);
	for (i = 0; i < sizeof(u.raw); i++)
		u.raw[i] = rand();
	u.inode.i_extra_isize = le16(_i % 2 ? 32 : 0);
	ck_assert_int_eq(ext2fs_inode_csum_set(&fs, 12, &u.inode), 0);
	ck_assert(e4l_inode_csum_ok(&fs, 12, u.raw));
	ck_assert(!e4l_inode_csum_ok(&fs, 13, u.raw));
	u.raw[rand() % super.s_inode_size] ^= 0x10;
	ck_assert_int_eq(e4l_inode_csum_ok(&fs, 12, u.raw),
			 ext2fs_inode_csum_verify(&fs, 12, &u.inode));
	super.s_feature_ro_compat = 0;
	super.s_inode_size = 256;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("extent_tree");
	TCase *tc = tcase_create("decode");

	tcase_add_test(tc, decodes_a_leaf);
	tcase_add_test(tc, steps_over_bad_runs);
	tcase_add_test(tc, bounds_a_leaf);
	tcase_add_test(tc, decodes_an_index);
	tcase_add_test(tc, refuses_bad_headers);
	tcase_add_test(tc, verifies_tree_blocks);
	tcase_add_test(tc, limits_the_depth);
	tcase_add_test(tc, decodes_an_indirect_root);
	tcase_add_test(tc, stops_at_the_last_logical_block);
	tcase_add_loop_test(tc, survives_random_nodes, 0, 300);
	suite_add_tcase(suite, tc);
	tc = tcase_create("csum");
	tcase_add_loop_test(tc, crc_is_that_of_libext2fs, 0, 4);
#ifdef __x86_64__
	tcase_add_test(tc, crc_leaves_no_vector_in_use);
#endif
	tcase_add_loop_test(tc, inode_csum_is_that_of_libext2fs, 0, 60);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
