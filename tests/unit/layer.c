/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests layers: each test is a list of steps, and the paths that must result.
 */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/populate/layer.h"
#include "e4layout/populate/tree.h"
#include "e4layout/populate/tree_edit.h"
#include "unit.h"

enum what { END, LAYER, DIR, REG, SYM, LINK, HIDE, EMPTY };

struct step {
	enum what what;
	const char *path, *target;
	errcode_t err;			/* expected error */
};

#define BEGIN			{ .what = LAYER }
#define AT(w, p)		{ .what = w, .path = p }
#define TO(w, p, t)		{ .what = w, .path = p, .target = t }
#define BAD(w, p, e)		{ .what = w, .path = p, .err = e }
#define BAD_LINK(p, t, e)	{ .what = LINK, .path = p, .target = t, .err = e }
#define MAX_STEPS 12

static const struct script {
	const char *name;
	struct step steps[MAX_STEPS];
	/* "LAYER:PATH" for each expected file, sorted by layer and path */
	const char *expected;
} scripts[] = {
	{ "a later file replaces an earlier one", {
		BEGIN, AT(REG, "a"), AT(REG, "b"),
		BEGIN, AT(REG, "a") }, "0:b 1:a" },
	{ "directories merge", {
		BEGIN, AT(DIR, "d"), AT(REG, "d/a"),
		BEGIN, AT(DIR, "d"), AT(REG, "d/b") },
	  "0:d/a 1:d 1:d/b" },
	{ "a file replaces a directory and all in it", {
		BEGIN, AT(REG, "d/a"), AT(REG, "d/e/f"),
		BEGIN, AT(REG, "d") }, "1:d" },
	{ "a directory replaces a symbolic link", {
		BEGIN, AT(DIR, "usr"), TO(SYM, "lib", "usr"),
		BEGIN, AT(DIR, "lib"), AT(REG, "lib/a") },
	  "0:usr 1:lib 1:lib/a" },
	{ "a whiteout hides a file", {
		BEGIN, AT(REG, "a"), AT(REG, "b"),
		BEGIN, AT(HIDE, "a") }, "0:b" },
	{ "a whiteout hides a directory", {
		BEGIN, AT(REG, "d/a"), AT(REG, "b"),
		BEGIN, AT(HIDE, "d") }, "0:b" },
	{ "a whiteout leaves its own layer alone, before and after", {
		BEGIN, AT(REG, "d/a"), AT(REG, "e/a"),
		BEGIN, AT(REG, "d/b"), AT(HIDE, "d"), AT(HIDE, "e"),
		AT(REG, "e/b") }, "0:d 0:e 1:d/b 1:e/b" },
	{ "an opaque directory keeps what the layer has", {
		BEGIN, AT(REG, "d/a"), AT(REG, "d/e/a"),
		BEGIN, AT(REG, "d/b"), AT(EMPTY, "d"), AT(DIR, "d/e") },
	  "0:d 1:d/b 1:d/e" },
	{ "the root can be opaque", {
		BEGIN, AT(REG, "a"), AT(REG, "d/b"),
		BEGIN, AT(EMPTY, ""), AT(REG, "c") }, "1:c" },
	{ "whiteouts of nothing", {
		BEGIN, AT(REG, "a"),
		BEGIN, BAD(HIDE, "b", E4L_ET_HIDES_NOTHING),
		BAD(HIDE, "c/d", E4L_ET_HIDES_NOTHING),
		BAD(EMPTY, "c", E4L_ET_HIDES_NOTHING) }, "0:a" },
	{ "the layer after a whiteout begins anew", {
		BEGIN, AT(REG, "a"), BEGIN, AT(HIDE, "a"),
		BEGIN, AT(REG, "a"), BEGIN, AT(REG, "b") },
	  "2:a 3:b" },
	{ "symbolic links on the way are followed", {
		BEGIN, AT(DIR, "usr/lib"), TO(SYM, "lib", "usr/lib"),
		TO(SYM, "usr/up", "../usr/./lib"), TO(SYM, "abs", "/lib/x"),
		BEGIN, AT(REG, "lib/a"), AT(REG, "usr/up/b"),
		AT(REG, "abs/c") },
	  "0:abs 0:lib 0:usr 0:usr/lib 0:usr/up 1:usr/lib/a 1:usr/lib/b "
	  "1:usr/lib/x 1:usr/lib/x/c" },
	{ "hostile ways", {
		BEGIN, TO(SYM, "out", "../x"), TO(SYM, "loop", "loop/a"),
		AT(REG, "f"),
		BEGIN, BAD(REG, "out/a", E4L_ET_LEAVES_TREE),
		BAD(REG, "loop/a", E4L_ET_LINK_LOOP),
		BAD(REG, "a/../b", E4L_ET_DOT_DOT),
		BAD(REG, "..", E4L_ET_DOT_DOT),
		BAD(REG, "f/a", E4L_ET_NOT_DIR),
		BAD_LINK("g", "h", E4L_ET_NO_TARGET) },
	  "0:f 0:loop 0:out 1:a" },
	{ "hard links to earlier layers outlive their first names", {
		BEGIN, AT(REG, "a"),
		BEGIN, TO(LINK, "b", "a"), AT(HIDE, "a") }, "1:b" },
	{ "dots and slashes do not count", {
		BEGIN, AT(DIR, "/"), AT(REG, "./a/"), AT(REG, "//b/./c"),
		AT(DIR, "./.") }, "0:a 0:b 0:b/c" },
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists all existing paths, each with the number of its layer. */
static void list(const struct e4l_tree *t, char *out, size_t size)
{
	char *lines[64], path[256];
	size_t n = 0, i, len = 0;
	uint32_t up;

	for (i = E4L_TREE_ROOT + 1; i < t->nodes.n; i++) {
		for (up = i; up != E4L_TREE_ROOT &&
		     !(t->nodes.v[up].flags & NODE_REMOVED);)
			up = t->nodes.v[up].parent;
		if (up != E4L_TREE_ROOT)
			continue;
		ck_assert(e4l_tree_path(t, i, path, sizeof(path)));
		ck_assert_int_gt(asprintf(&lines[n++], "%u:%s",
					  t->nodes.v[i].layer, path), 0);
	}
	qsort(lines, n, sizeof(*lines), by_text);
	*out = '\0';
	for (i = 0; i < n; i++) {
		len += snprintf(out + len, size - len, "%s%s", i ? " " : "",
				lines[i]);
		free(lines[i]);
	}
}

static errcode_t run_step(struct e4l_tree *t, const struct step *s)
{
	struct e4l_entry dir = { .mode = S_IFDIR | 0755 };
	struct e4l_entry reg = { .mode = S_IFREG | 0644 };
	struct e4l_entry sym = { .mode = S_IFLNK | 0777, .target = s->target,
				 .size = s->target ? strlen(s->target) : 0 };
	struct e4l_layer layer = { .name = "layer" };
	uint32_t id;

	switch (s->what) {
	case LAYER:
		return e4l_layer_begin(t, &layer);
	case DIR:
		return e4l_layer_put(t, s->path, &dir, &id);
	case REG:
		return e4l_layer_put(t, s->path, &reg, &id);
	case SYM:
		return e4l_layer_put(t, s->path, &sym, &id);
	case LINK:
		return e4l_layer_link(t, s->path, s->target, &id);
	case HIDE:
		return e4l_layer_hide(t, s->path);
	case EMPTY:
		return e4l_layer_hide_below(t, s->path);
	case END:
		break;
	}
	return 0;
}

START_TEST(test_script)
{
	const struct script *s = &scripts[_i];
	struct e4l_tree *t;
	char got[1000];
	size_t i;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	for (i = 0; i < MAX_STEPS && s->steps[i].what != END; i++)
		ck_assert_msg(run_step(t, &s->steps[i]) == s->steps[i].err,
			      "%s: step %zu", s->name, i);
	ck_assert_int_eq(e4l_layer_end(t), 0);
	list(t, got, sizeof(got));
	ck_assert_msg(!strcmp(got, s->expected), "%s: %s", s->name, got);
	e4l_tree_free(t);
}
END_TEST

/* A tree can have the maximum number of layers. */
START_TEST(test_many_layers)
{
	struct e4l_layer layer = { 0 };
	struct e4l_entry reg = { .mode = S_IFREG | 0644 };
	struct e4l_tree *t;
	uint32_t id;
	unsigned int i;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	for (i = 0; i <= E4L_LAYER_MAX; i++) {
		ck_assert_int_eq(e4l_layer_begin(t, &layer), 0);
		ck_assert_int_eq(e4l_layer_put(t, "a", &reg, &id), 0);
	}
	ck_assert_int_eq(e4l_layer_begin(t, &layer), E4L_ET_TREE_TOO_LARGE);
	ck_assert_int_eq(e4l_tree_entries(t), 2);
	e4l_tree_free(t);
}
END_TEST

/*
 * e4l_tree_source_path() returns the path that a file has in its source.  The
 * source is a directory that e4l_layer_open_dir() has opened.
 */
START_TEST(test_source_path)
{
	struct e4l_layer layer = { .name = "one", .below = "opt/x" };
	struct e4l_entry reg = { .mode = S_IFREG | 0644 };
	struct e4l_entry other = { .mode = S_IFREG | 0644, .path = "/etc/p" };
	struct e4l_tree *t;
	uint32_t id;
	char *path;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_layer_begin(t, &layer), 0);
	ck_assert_int_eq(e4l_layer_put(t, "b", &other, &id),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_layer_open_dir(t, "/"), 0);
	ck_assert_int_eq(e4l_layer_put(t, "d/a", &reg, &id), 0);
	path = e4l_tree_source_path(t, id);
	ck_assert_str_eq(path, "d/a");
	free(path);
	ck_assert_int_eq(e4l_layer_put(t, "b", &other, &id), 0);
	path = e4l_tree_source_path(t, id);
	ck_assert_str_eq(path, "/etc/p");
	free(path);
	/*
	 * e4l_tree_source_path() returns the path in the first layer, although
	 * the second layer gives the file another name
	 */
	layer = (struct e4l_layer) { .name = "two" };
	ck_assert_int_eq(e4l_layer_begin(t, &layer), 0);
	ck_assert_int_eq(e4l_layer_link(t, "c", "opt/x/d/a", &id), 0);
	ck_assert_int_eq(e4l_layer_find(t, "c", &id), 0);
	path = e4l_tree_source_path(t, id);
	ck_assert_str_eq(path, "d/a");
	free(path);
	e4l_tree_fail(t, E4L_ET_NOT_DIR, id, NULL, 0);
	ck_assert_str_eq(e4l_tree_where(t), "c");
	ck_assert_str_eq(e4l_tree_where_source(t), "one");
	e4l_tree_free(t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layer");
	TCase *tc = tcase_create("layer");

	tcase_add_loop_test(tc, test_script, 0,
			    sizeof(scripts) / sizeof(*scripts));
	tcase_add_test(tc, test_many_layers);
	tcase_add_test(tc, test_source_path);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
