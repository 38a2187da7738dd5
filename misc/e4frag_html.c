/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --html: writes the report and charts as one HTML page. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/json.h"
#include "support/replace.h"
#include "support/say.h"
#include "support/text.h"
#include "e4frag_page.h"

/*
 * The files of misc/e4frag_page as one string, which contains three marks that
 * put_page() replaces.
 */
static const char template[] =
#include "e4frag_template.h"
;

json_t *page_path(const char *path, bool *cut)
{
	size_t len = strlen(path);
	char *end;
	json_t *value;

	if (len <= PAGE_PATH_BYTES)
		return json_string(path);
	*cut = true;
	/*
	 * The last PAGE_PATH_BYTES bytes of the path contain a slash, because
	 * an escaped file name has at most 4 * 255 bytes.
	 */
	path = strchr(path + len - PAGE_PATH_BYTES, '/');
	if (asprintf(&end, "...%s", path ? path : "") < 0)
		return NULL;
	value = json_string(end);
	free(end);
	return value;
}

static json_t *name_or_null(const char *name, bool *cut)
{
	char *text = name ? text_escape(name, strlen(name), TEXT_FOR_JSON) :
			    NULL;
	json_t *value = text ? page_path(text, cut) :
			name ? NULL : json_null();

	free(text);
	return value;
}

/* ------------------------------------------------------------- worst files */

struct drawn {
	json_t *extents;
	uint64_t more;
	int failed;
};

static errcode_t draw_piece(const struct e4l_piece *piece, void *priv)
{
	struct drawn *d = priv;
	const struct e4l_extent *x;

	for (x = piece->extents; x < piece->extents + piece->n_extents; x++) {
		if (json_array_size(d->extents) == PAGE_EXTENTS) {
			d->more++;
			continue;
		}
		d->failed |= json_array_append_new(d->extents,
				json_pack("[I, I, I, i]", (json_int_t)x->lblk,
					  (json_int_t)x->pblk,
					  (json_int_t)x->len, x->unwritten));
	}
	return 0;
}

/*
 * Returns the extents of file @ino for the chart.  Extents that cannot be read
 * are omitted.
 */
static json_t *drawn_object(const struct e4frag *frag, ext2_ino_t ino)
{
	static const struct e4l_scan_ops ops = { .piece = draw_piece };
	struct drawn d = { .extents = json_array() };
	json_t *object;
	errcode_t err = e4l_scan_inode(frag->e, ino, &ops, &d);

	d.failed |= say_is_no_memory(err);
	object = json_pack("{s:o, s:I}", "extents", d.extents,
			   "more", (json_int_t)d.more);
	return json_checked(object, d.failed);
}

static json_t *drawn_array(const struct e4frag *frag)
{
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < frag->n_worst; i++)
		failed |= json_array_append_new(array, drawn_object(frag,
						frag->model.worst[i].ino));
	return json_checked(array, failed);
}

/* ------------------------------------------------------------- directories */

static json_t *directories_array(const struct e4frag *frag, bool *cut)
{
	const struct look *l = &frag->look;
	ext2_ino_t wanted[LOOK_DIRS];
	struct e4l_names *names = NULL;
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < l->n_dirs; i++)
		wanted[i] = l->dirs[i].dir;
	if (l->n_dirs)
		failed = e4l_names_load(frag->e, wanted, l->n_dirs,
					&names) != 0;
	for (i = 0; i < l->n_dirs && !failed; i++)
		failed |= json_array_append_new(array,
			json_pack("{s:I, s:o, s:I, s:I, s:I}",
				  "inode", (json_int_t)wanted[i], "path",
				  name_or_null(e4l_names_path(names,
							      wanted[i]), cut),
				  "inodes", (json_int_t)l->dirs[i].inodes,
				  "itable_blocks",
				  (json_int_t)l->dirs[i].itable_blocks,
				  "itable_blocks_ideal",
				  (json_int_t)l->dirs[i].itable_blocks_ideal));
	e4l_names_free(names);
	return json_checked(array, failed);
}

/* --------------------------------------------------------------------- data */

/*
 * Returns a copy of @frag with the lists limited to the maximum lengths for an
 * HTML page.
 */
static struct e4frag bounded(const struct e4frag *frag)
{
	struct e4frag page = *frag;

	page.groups = page.map = false;
	page.dirs = NULL;
	if (page.n_worst > PAGE_FILES)
		page.n_worst = PAGE_FILES;
	if (page.model.n_damaged > PAGE_FILES)
		page.model.n_damaged = PAGE_FILES;
	return page;
}

static int cut_paths(json_t *report, bool *cut)
{
	json_t *worst = json_object_get(report, "worst"), *file, *path;
	int failed = 0;
	size_t i;

	json_array_foreach(worst, i, file) {
		path = json_object_get(file, "path");
		if (json_is_string(path))
			failed |= json_object_set_new(file, "path",
				page_path(json_string_value(path), cut));
	}
	if (json_object_get(report, "paths"))
		failed |= json_object_set_new(report, "paths", json_array());
	return failed;
}

static json_t *data_object(const struct e4frag *frag, bool text_cut)
{
	bool cut = frag->before_cut;
	struct e4frag page = bounded(frag);
	json_t *report = e4frag_report(&page), *data;
	int failed = cut_paths(report, &cut);

	data = json_pack("{s:o, s:O?, s:o, s:o, s:s, s:I, s:i, s:i}",
			 "now", report, "before", frag->before,
			 "drawn", drawn_array(&page),
			 "directories", directories_array(&page, &cut),
			 "sort", e4frag_sorts[frag->sort],
			 "more_worst",
			 (json_int_t)(frag->n_worst - page.n_worst),
			 "max_extents", PAGE_EXTENTS,
			 "max_directories", LOOK_DIRS);
	if (frag->before)
		failed |= json_object_set_new(data, "before_name",
					      name_or_null(frag->compare,
							   &cut));
	failed |= json_object_set_new(data, "text_cut",
				      json_boolean(text_cut)) |
		  json_object_set_new(data, "paths_cut", json_boolean(cut));
	return json_checked(data, failed);
}

/* --------------------------------------------------------------------- page */

/* Writes text for an element or attribute of HTML. */
static void put_escaped(FILE *out, const char *text, size_t len)
{
	for (; len; text++, len--)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(*text, out);
		}
}

/*
 * Writes JSON into a script element.  JSON permits the escaped form of '<',
 * which cannot end the element.
 */
static void put_data(FILE *out, const char *json)
{
	for (; *json; json++)
		if (*json == '<')
			fputs("\\u003c", out);
		else
			putc(*json, out);
}

struct page {
	char *title, *text, *data;
	size_t text_bytes;
};

static void put_part(FILE *out, const struct page *page, char mark)
{
	switch (mark) {
	case 't':
		put_escaped(out, page->title, strlen(page->title));
		break;
	case 'r':
		put_escaped(out, page->text, page->text_bytes);
		break;
	case 'd':
		put_data(out, page->data);
		break;
	}
}

static void put_page(FILE *out, const struct page *page)
{
	static const char *const marks[] = { "@title@", "@report@", "@data@" };
	const char *at = template, *end;
	size_t i;

	while ((end = strchr(at, '@'))) {
		fwrite(at, 1, end - at, out);
		at = end;
		for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			if (!strncmp(end, marks[i], strlen(marks[i]))) {
				put_part(out, page, marks[i][1]);
				at += strlen(marks[i]);
			}
		if (at == end)
			putc(*at++, out);
	}
	fputs(at, out);
}

/*
 * Makes the text report.  If the report is too long for the page, cuts it at
 * the end of a line.  Returns false if there is no memory.
 */
static bool make_text(const struct e4frag *frag, struct page *page)
{
	struct e4frag shown = bounded(frag);
	size_t all = 0;
	FILE *out = text_open(&page->text, &all);
	bool ok = out && e4frag_print_text(out, &shown);

	if (!out || !text_close(out) || !ok)
		return false;
	page->text_bytes = all;
	if (all > PAGE_TEXT_BYTES) {
		page->text_bytes = PAGE_TEXT_BYTES;
		while (page->text_bytes &&
		       page->text[page->text_bytes - 1] != '\n')
			page->text_bytes--;
	}
	return true;
}

static bool make_parts(const struct e4frag *frag, struct page *page)
{
	const char *name = frag->target.name;
	char *escaped = text_escape(name, strlen(name), TEXT_FOR_PEOPLE);
	json_t *data;

	if (!escaped || asprintf(&page->title, "e4frag: %s", escaped) < 0)
		page->title = NULL;
	free(escaped);
	if (!page->title || !make_text(frag, page))
		return false;
	data = data_object(frag, strlen(page->text) > page->text_bytes);
	if (data)
		page->data = json_dumps(data, JSON_COMPACT);
	json_decref(data);
	return page->data;
}

bool e4frag_write_html(const struct e4frag *frag)
{
	struct page page = { 0 };
	char *bytes = NULL;
	size_t n = 0;
	FILE *out;
	bool ok = make_parts(frag, &page);

	out = ok ? text_open(&bytes, &n) : NULL;
	if (out)
		put_page(out, &page);
	if (!out || !text_close(out)) {
		say_error(frag->html, "cannot write the HTML page", ENOMEM);
		ok = false;
	}
	ok = ok && replace_file(frag->html, bytes, n);
	free(bytes);
	free(page.title);
	free(page.text);
	free(page.data);
	return ok;
}

bool e4frag_begin_html(struct e4frag *frag)
{
	if (frag->compare)
		frag->before = page_before(frag->compare, &frag->before_cut);
	return !frag->compare || frag->before;
}
