/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mkaged: builds an ext4 image from a recipe, without mounting and without
 * root. A recipe and a seed always result in the same bytes.
 * tests/recipes/README.md describes the directives.
 */
#include "config.h"
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lab.h"

noreturn void lab_fail(const struct lab *l, const char *fmt, ...)
{
	va_list args;

	fputs("mkaged: ", stderr);
	if (l->line)
		fprintf(stderr, "%s:%u: ", l->recipe_name, l->line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

void lab_check(const struct lab *l, errcode_t err, const char *doing)
{
	if (err)
		lab_fail(l, "%s: %s", doing, error_message(err));
}

void *lab_alloc(const struct lab *l, size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	lab_check(l, p ? 0 : ENOMEM, "memory");
	return p;
}

void *lab_realloc(const struct lab *l, void *p, size_t bytes)
{
	p = realloc(p, bytes);
	lab_check(l, p ? 0 : ENOMEM, "memory");
	return p;
}

char *lab_strdup(const struct lab *l, const char *s)
{
	char *copy = strdup(s);

	lab_check(l, copy ? 0 : ENOMEM, "memory");
	return copy;
}

/*
 * The generator is Vigna's xorshift64*.  A state other than zero never becomes
 * zero.
 */
__u64 lab_random(struct lab *l, __u64 below)
{
	__u64 x = l->random_state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	l->random_state = x;
	return ((x * 0x2545F4914F6CDD1DULL) >> 16) % below;
}

static void finish(struct lab *l)
{
	char types[sizeof("usrquota,grpquota,prjquota")] = "";
	struct ext2_super_block *super;

	if (!l->fs)
		image_open(l);
	super = l->fs->super;
	if (ext2fs_has_feature_quota(super))
		snprintf(types, sizeof(types), "usrquota,grpquota%s",
			 super->s_prj_quota_inum ? ",prjquota" : "");
	emit_image(l);
	image_close(l);
	if (*types)
		count_quota(l, types);
	if (l->with_htree)
		index_directories(l);
}

static int usage(FILE *to)
{
	fputs("usage: mkaged [-s SEED] RECIPE|- IMAGE\n", to);
	return to == stdout ? EXIT_SUCCESS : 2;
}

static bool parse_seed(const char *arg, __u64 *seed)
{
	char *end;

	errno = 0;
	*seed = strtoull(arg, &end, 0);
	return *arg >= '0' && *arg <= '9' && !*end && !errno;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct lab l = { .recipe_name = "", .size_bytes = 64 << 20 };
	int c;

	while ((c = getopt_long(argc, argv, "s:h", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout);
		if (c != 's' || !parse_seed(optarg, &l.seed))
			return usage(stderr);
	}
	if (argc - optind != 2)
		return usage(stderr);
	add_error_table(&et_ext2_error_table);
	l.image_name = argv[optind + 1];
	l.random_state = (l.seed + 1) * 0x9E3779B97F4A7C15ULL | 1;
	recipe_run(&l, argv[optind]);
	finish(&l);
	free(l.mke2fs_args);
	return EXIT_SUCCESS;
}
