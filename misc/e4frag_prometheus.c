/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the report as metrics in the text format of Prometheus, for the
 * textfile collector of node_exporter.
 */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uuid/uuid.h>
#include "support/replace.h"
#include "support/say.h"
#include "support/text.h"
#include "e4frag.h"

/* suffix of the files that node_exporter reads */
#define SUFFIX	".prom"

struct metric {
	const char *name, *help;
	/* the value is in blocks, the metric in bytes */
	bool blocks;
	size_t offset;
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#define M(member) offsetof(struct e4l_model, member)
static const struct metric model_metrics[] = {
	{ "files", "Files of any type.", false, M(files.count) },
	{ "regular_files", "Regular files.", false, M(files.regular) },
	{ "directories", "Directories.", false, M(files.directories) },
	{ "fragmented_files", "Files with more fragments than they need.",
	  false, M(files.fragmented) },
	{ "mapped_bytes", "Bytes in file blocks, written or unwritten.", true,
	  M(files.blocks) },
	{ "unwritten_bytes", "Bytes in preallocated (unwritten) file blocks.",
	  true, M(files.unwritten_blocks) },
	{ "extents", "Leaf entries of extent trees.", false,
	  M(files.extents) },
	{ "unwritten_extents", "Unwritten (preallocated) extents.",
	  false, M(files.unwritten_extents) },
	{ "fragments",
	  "Block ranges that are contiguous in a file and on the disk.", false,
	  M(files.fragments) },
	{ "ideal_extents", "Minimum number of extents that can hold the same data.",
	  false, M(files.ideal_extents) },
	{ "excess_extents",
	  "Extents beyond the minimum number for the same data.", false,
	  M(files.excess_extents) },
	{ "splits", "Contiguous extents that differ only in written/unwritten "
		    "state.",
	  false, M(files.splits) },
	{ "mergeable", "Contiguous extents of the same state that could be one "
		       "extent.", false,
	  M(files.mergeable) },
	{ "tree_bytes", "Bytes of extent trees and indirect maps.", true,
	  M(files.tree_blocks) },
	{ "ideal_tree_bytes",
	  "Minimum size of extent trees and indirect maps for the same files, in "
	  "bytes.", true,
	  M(files.ideal_tree_blocks) },
	{ "indirect_mapped_files", "Files mapped by indirect blocks.", false,
	  M(files.indirect_mapped) },
	{ "directory_itable_bytes",
	  "Bytes of inode tables read to list all directories with their inodes.",
	  true, M(directories.itable_blocks) },
	{ "ideal_directory_itable_bytes",
	  "Minimum size of the inode tables read to list all directories with "
	  "their inodes, in bytes.", true,
	  M(directories.itable_blocks_ideal) },
	{ "unused_inodes_read_by_fsck", "Unused inodes that e2fsck has to scan.",
	  false, M(directories.unused_inodes_read_by_fsck) },
	{ "free_bytes", "Free space.", true, M(free_space.blocks) },
	{ "free_extents", "Free extents.", false, M(free_space.runs) },
	{ "largest_free_extent_bytes", "Size of the largest free extent.", true,
	  M(free_space.largest_blocks) },
	{ "damaged_places", "Damaged structures that were skipped.",
	  false, M(damaged_count) },
};

/* The output, and the labels of all metrics. */
struct prom {
	FILE *out;
	const char *labels;
	uint64_t block_bytes;
};

static void put_head(const struct prom *p, const char *name, const char *help)
{
	fprintf(p->out, "# HELP e4layout_%s %s\n# TYPE e4layout_%s gauge\n",
		name, help, name);
}

static void put_value(const struct prom *p, const char *name, uint64_t value)
{
	fprintf(p->out, "e4layout_%s{%s} %" PRIu64 "\n", name, p->labels,
		value);
}

static void put_one(const struct prom *p, const char *name, const char *help,
		    uint64_t value)
{
	put_head(p, name, help);
	put_value(p, name, value);
}

static void put_metrics(const struct prom *p, const struct metric *m, size_t n,
			const void *base)
{
	uint64_t value;

	for (; n; m++, n--) {
		value = *(const uint64_t *)((const char *)base + m->offset);
		put_one(p, m->name, m->help,
			m->blocks ? value * p->block_bytes : value);
	}
}

/*
 * Appends NAME="VALUE".  The value is UTF-8.  A backslash is put before each
 * quote, newline and backslash of the value.  If there is no memory, returns
 * false.
 */
static bool put_label(FILE *out, const char *name, const char *value,
		      size_t len)
{
	char *text = text_escape(value, len, TEXT_FOR_PEOPLE), *s;

	if (!text)
		return false;
	fprintf(out, "%s=\"", name);
	for (s = text; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', out);
		putc(*s, out);
	}
	putc('"', out);
	free(text);
	return true;
}

static char *make_labels(const struct e4frag *frag)
{
	const struct target *t = &frag->target;
	const char *mount = t->mount_point ? t->mount_point : "";
	size_t n;
	char *labels = NULL;
	FILE *out = text_open(&labels, &n);
	bool ok;

	if (!out)
		return NULL;
	ok = put_label(out, "device", t->e2fs_name, strlen(t->e2fs_name));
	putc(',', out);
	ok &= put_label(out, "mountpoint", mount, strlen(mount));
	if (text_close(out) && ok)
		return labels;
	free(labels);
	return NULL;
}

static bool put_info(const struct prom *p, const struct e4frag *frag)
{
	struct ext2_super_block *sb = frag->target.fs->super;
	const char *label = (const char *)sb->s_volume_name;
	char uuid[UUID_STR_LEN];
	bool ok;

	uuid_unparse(sb->s_uuid, uuid);
	put_head(p, "info", "Always 1; the labels identify the filesystem.");
	fprintf(p->out, "e4layout_info{%s,uuid=\"%s\",", p->labels, uuid);
	ok = put_label(p->out, "label", label,
		       strnlen(label, sizeof(sb->s_volume_name)));
	fputs("} 1\n", p->out);
	return ok;
}

/*
 * Writes a sample for every possible size, also if no free extent has the size,
 * so that the set of time series does not change between runs.
 */
static void put_free_sizes(const struct prom *p, const struct e4frag *frag)
{
	const struct e4l_free_histogram *h = &frag->model.free_space;
	uint64_t blocks = ext2fs_blocks_count(frag->target.fs->super);
	int i;

	put_head(p, "free_bytes_by_extent",
		 "Free blocks in free extents of at least min_bytes.");
	for (i = 0; i < E4L_FREE_BUCKETS && 1ULL << i <= blocks; i++)
		fprintf(p->out, "e4layout_free_bytes_by_extent{%s,min_bytes=\"%"
			PRIu64 "\"} %" PRIu64 "\n", p->labels,
			p->block_bytes << i,
			h->bucket[i].blocks * p->block_bytes);
}

static bool put_all(const struct prom *p, const struct e4frag *frag)
{
	bool ok = put_info(p, frag);

	put_one(p, "scan_timestamp_seconds",
		"Time when the filesystem was read, in seconds since 1970.",
		time(NULL));
	put_one(p, "size_bytes", "Size of the filesystem.",
		ext2fs_blocks_count(frag->target.fs->super) * p->block_bytes);
	put_metrics(p, model_metrics, COUNT(model_metrics), &frag->model);
	put_free_sizes(p, frag);
	put_one(p, "repack_files", "Files in which a repack could reduce "
				   "extents, fragments or tree blocks.",
		frag->improvable.files);
	put_one(p, "repack_extents",
		"Extents that a repack could save, at most.",
		frag->model.files.excess_extents -
		frag->model.indirect.excess_extents +
		frag->model.files.splits);
	return ok;
}

static bool has_suffix(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(SUFFIX) &&
	       !strcmp(name + len - strlen(SUFFIX), SUFFIX);
}

bool e4frag_can_write_prometheus(const struct e4frag *frag)
{
	const char *file = frag->prometheus;

	if (!file || !strcmp(file, "-") || has_suffix(file))
		return true;
	say("--prometheus: '%s' must end in " SUFFIX
	    ", as node_exporter requires", file);
	return false;
}

bool e4frag_print_prometheus(const struct e4frag *frag)
{
	struct prom p = { .block_bytes = frag->target.fs->blocksize };
	char *text = NULL, *labels = make_labels(frag);
	size_t n = 0;
	bool ok = false;

	p.labels = labels;
	p.out = labels ? text_open(&text, &n) : NULL;
	if (p.out) {
		ok = put_all(&p, frag);
		ok &= text_close(p.out);
	}
	if (!ok)
		say_error(frag->target.name, "cannot format the metrics",
					     ENOMEM);
	else if (strcmp(frag->prometheus, "-"))
		ok = replace_file(frag->prometheus, text, n);
	else
		fwrite(text, 1, n, stdout);	/* say_done() reports errors */
	free(text);
	free(labels);
	return ok;
}
