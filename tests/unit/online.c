/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests parts of the repack of a mounted filesystem that need no mount:
 * recognizing programs, and planning when some free space must not be used.
 */
#include "config.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <e4layout/extents.h>
#include "e4layout/online/program.h"
#include "e4layout/plan/plan.h"
#include "unit.h"

/* ---------------------------------------------------------------- programs */

static char dir[] = "/tmp/e4l-online-XXXXXX";

static void register_format(const char *name, const char *text)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void unregister(const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static bool is_program(const void *head, size_t len)
{
	struct e4l_programs p;
	bool is;

	ck_assert_int_eq(e4l_programs_read(&p, dir), 0);
	is = e4l_is_program(&p, head, len);
	e4l_programs_free(&p);
	return is;
}

static const char *const formats[] = {
	"status", "register", "wine", "masked", "late", "disabled", "name", "empty",
	"long",
};

static void begin(void)
{
	strcpy(dir, "/tmp/e4l-online-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void end(void)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		unregister(formats[i]);
	rmdir(dir);
}

START_TEST(knows_builtin_formats)
{
	ck_assert(is_program("\177ELF", 4));
	ck_assert(is_program("#!/bin/sh\n", 10));
	ck_assert(!is_program("\177EL", 3));
	ck_assert(!is_program("#", 1));
	ck_assert(!is_program("", 0));
	ck_assert(!is_program("MZ\220\0", 4));
	rmdir(dir);
	/* without binfmt_misc, the kernel runs only ELF files and scripts */
	ck_assert(!is_program("MZ\220\0", 4));
	ck_assert(is_program("#!", 2));
}
END_TEST

START_TEST(reads_binfmt_misc)
{
	register_format("status", "enabled\nmagic 41\n");
	register_format("register", "enabled\nmagic 41\n");
	register_format("wine", "enabled\ninterpreter /usr/bin/wine\nflags: \n"
				"offset 0\nmagic 4d5a\n");
	register_format("masked", "enabled\ninterpreter /usr/bin/x\nflags: F\n"
				  "offset 0\nmagic 7f000001\nmask ff00ffff\n");
	register_format("late", "enabled\ninterpreter /usr/bin/y\nflags: \n"
				"offset 4\nmagic 62\n");
	register_format("disabled", "disabled\ninterpreter /usr/bin/z\n"
				    "flags: \noffset 0\nmagic 71\n");
	register_format("empty", "");
	ck_assert(is_program("MZ\220\0", 4));
	ck_assert(!is_program("M", 1));
	ck_assert(is_program("\177\252\0\1", 4));
	ck_assert(!is_program("\177\252\1\1", 4));
	ck_assert(is_program("aaaab", 5));
	ck_assert(!is_program("aaaa", 4));
	ck_assert(!is_program("qqqq", 4));
	ck_assert(!is_program("AAAA", 4));
}
END_TEST

START_TEST(takes_names_and_long_lines)
{
	char text[2000] = "enabled\noffset 0\nmagic ";
	unsigned char head[128];

	memset(text + strlen(text), '6', 256);
	strcat(text, "\n");
	register_format("long", text);
	memset(head, 0x66, sizeof(head));
	ck_assert(is_program(head, sizeof(head)));
	ck_assert(!is_program(head, sizeof(head) - 1));
	ck_assert(!is_program("data", 4));
	/* any file can have the extension that selects this format */
	register_format("name", "enabled\ninterpreter /usr/bin/java\nflags: \n"
				"extension .jar\n");
	ck_assert(is_program("data", 4));
}
END_TEST

/* --------------------------------------- free space that plans must not use */

#define BLOCKS		4096
#define FILE_BLK	100 /* first block; the file has 4 of each 8 blocks */
#define FRAGMENTS	8
#define OTHER_BLK	1000	/* free, but not available to the plan */
#define OTHER_BLOCKS	1000
#define FREE_BLK	3000

/*
 * Makes a plan of one file that may use @free_blocks.  With @other, the
 * filesystem has more free space, which the plan must not use.
 */
static struct e4l_plan *plan_beside(uint64_t free_blocks, bool other)
{
	const struct e4l_plan_options opt = {
		.geo = { .blocksize = 4096, .cluster_blocks = 1,
			 .group_blocks = 32768, .blocks = BLOCKS },
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
		.large_blocks = 256, .free_space = true,
	};
	struct e4l_extent ex[FRAGMENTS] = { 0 };
	const struct e4l_plan_file file = {
		.ino = 12, .allowed = E4L_PLAN_MOVE | E4L_PLAN_AWAY,
		.eof_blk = 4 * FRAGMENTS, .goal = FREE_BLK, .extents = ex,
		.n_extents = FRAGMENTS,
	};
	const struct e4l_block_run own = { .pblk = FREE_BLK,
					   .len = free_blocks };
	const struct e4l_block_run others = { .pblk = OTHER_BLK,
					      .len = OTHER_BLOCKS };
	struct e4l_plan *p;
	unsigned int i;

	for (i = 0; i < FRAGMENTS; i++) {
		ex[i].lblk = 4 * i;
		ex[i].pblk = FILE_BLK + 8 * i;
		ex[i].len = 4;
	}
	ck_assert_int_eq(e4l_plan_new(&opt, &p), 0);
	if (other)
		ck_assert_int_eq(e4l_plan_add_other_free(&others, p), 0);
	ck_assert_int_eq(e4l_plan_add_free(&own, p), 0);
	ck_assert_int_eq(e4l_plan_add_file(p, &file), 0);
	ck_assert_int_eq(e4l_plan_make(p), 0);
	return p;
}

START_TEST(leaves_other_free_space)
{
	struct e4l_plan *p = plan_beside(64, true);
	const struct e4l_plan_result *r = e4l_plan_result(p);
	const struct e4l_plan_move *v;
	size_t n, i;

	ck_assert_uint_eq(r->before.free_blocks, OTHER_BLOCKS + 64);
	ck_assert_uint_eq(r->before.largest_free_blocks, OTHER_BLOCKS);
	ck_assert_uint_eq(r->after.largest_free_blocks, OTHER_BLOCKS);
	ck_assert_uint_eq(r->after.excess, 0);
	v = e4l_plan_moves(p, &n);
	ck_assert_uint_gt(n, 0);
	for (i = 0; i < n; i++)
		ck_assert_uint_ge(v[i].to, FREE_BLK);
	e4l_plan_free(p);

	/*
	 * 16 free blocks are too few, and the other free space must not be used
	 */
	p = plan_beside(16, true);
	e4l_plan_moves(p, &n);
	ck_assert_uint_eq(n, 0);
	e4l_plan_free(p);
}
END_TEST

START_TEST(counts_only_its_own_without)
{
	struct e4l_plan *p = plan_beside(64, false);

	ck_assert_uint_eq(e4l_plan_result(p)->before.free_blocks, 64);
	e4l_plan_free(p);
}
END_TEST

static Suite *online_suite(void)
{
	Suite *s = suite_create("online");
	TCase *t = tcase_create("programs");

	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, knows_builtin_formats);
	tcase_add_test(t, reads_binfmt_misc);
	tcase_add_test(t, takes_names_and_long_lines);
	suite_add_tcase(s, t);
	t = tcase_create("other free space");
	tcase_add_test(t, leaves_other_free_space);
	tcase_add_test(t, counts_only_its_own_without);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_main(online_suite());
}
