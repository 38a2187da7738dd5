/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text summary in 80 columns, the most important figures first. */
#include "config.h"
#include <stdarg.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/text.h"
#include "support/units.h"
#include "e4frag.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define BAR_WIDTH 25	/* the text before a bar takes 55 of 80 columns */

/*
 * These macros format a number as text.  The text is valid until the end of the
 * block that contains the call.
 */
#define NUM(n) units_count(n, (char[UNITS_LEN]){ 0 })
#define THINGS(n, one, many) \
	units_things(n, one, many, (char[2 * UNITS_LEN]){ 0 })
#define SIZE(n) units_size(n, (char[UNITS_LEN]){ 0 })
#define PERCENT(part, whole) units_percent(part, whole, (char[UNITS_LEN]){ 0 })

/* Prints one line of a section: "LABEL 1,234,567 NOTE". */
static void line(FILE *out, const char *label, uint64_t n, const char *note,
		 ...) __attribute__((format(printf, 4, 5)));

static void line(FILE *out, const char *label, uint64_t n, const char *note,
		 ...)
{
	va_list args;

	fprintf(out, "%-15s %13s   ", label, NUM(n));
	va_start(args, note);
	vfprintf(out, note, args);
	va_end(args);
	putc('\n', out);
}

static uint64_t blocks_size(const struct e4frag *frag, uint64_t blocks)
{
	return blocks * frag->target.fs->blocksize;
}

/* ---------------------------------------- files, directories and free space */

static void print_head(FILE *out, const struct e4frag *frag)
{
	struct ext2_super_block *sb = frag->target.fs->super;
	const char *label = (const char *)sb->s_volume_name;
	uint64_t blocks = ext2fs_blocks_count(sb);
	size_t i;

	text_puts(out, frag->target.name);
	if (*label) {
		fputs(" \"", out);
		text_put(out, label, strnlen(label, sizeof(sb->s_volume_name)));
		putc('"', out);
	}
	fprintf(out, ": %s in blocks of %s, %s free\n",
		SIZE(blocks_size(frag, blocks)),
		SIZE(frag->target.fs->blocksize),
		PERCENT(frag->model.free_space.blocks, blocks));
	for (i = 0; i < frag->n_paths; i++) {
		fputs(i ? ", " : "only ", out);
		text_puts(out, frag->paths[i]);
	}
	fputs(frag->n_paths ? "\n\n" : "\n", out);
}

static void print_files(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;

	line(out, "Files", m->files.count, "%s regular, %s",
	     NUM(m->files.regular),
	     THINGS(m->files.directories, "directory", "directories"));
	line(out, "  fragmented", m->files.fragmented,
	     "%s have more fragments than they need",
	     PERCENT(m->files.fragmented, m->files.count));
	line(out, "Extents", m->files.extents,
	     "extent tree entries, %s of them unwritten",
	     NUM(m->files.unwritten_extents));
	line(out, "  fragments", m->files.fragments,
	     "contiguous in a file and on disk");
	line(out, "  ideal", m->files.ideal_extents,
	     "fewest extents that could hold the same data");
	line(out, "  excess", m->files.excess_extents,
	     "extents beyond the ideal");
	line(out, "  splits", m->files.splits,
	     "contiguous, but split by written/unwritten state");
	line(out, "  mergeable", m->files.mergeable,
	     "adjacent extents that fit into one");
	line(out, "Tree blocks", m->files.tree_blocks, "%s; minimum %s (%s)",
	     SIZE(blocks_size(frag, m->files.tree_blocks)),
	     NUM(m->files.ideal_tree_blocks),
	     SIZE(blocks_size(frag, m->files.ideal_tree_blocks)));
	if (m->files.indirect_mapped)
		line(out, "Block-mapped", m->files.indirect_mapped,
		     "no extents; each fragment counts as one extent");
}

static void print_directories(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;

	putc('\n', out);
	line(out, "Directories", m->directories.count,
	     "included in the count of Files");
	line(out, "  itable blocks", m->directories.itable_blocks,
	     "read by ls -lR; minimum %s",
	     NUM(m->directories.itable_blocks_ideal));
	line(out, "  unused inodes", m->directories.unused_inodes_read_by_fsck,
	     "in inode tables, scanned by e2fsck");
}

static void print_bucket(FILE *out, const struct e4frag *frag, int i)
{
	const struct e4l_free_histogram *h = &frag->model.free_space;
	char bar[BAR_WIDTH + 1];

	fprintf(out, "  from %7s %12s extent%s %9s %7s  %s\n",
		SIZE(blocks_size(frag, 1ULL << i)), NUM(h->bucket[i].runs),
		h->bucket[i].runs == 1 ? " " : "s",
		SIZE(blocks_size(frag, h->bucket[i].blocks)),
		PERCENT(h->bucket[i].blocks, h->blocks),
		text_bar(h->bucket[i].blocks, h->blocks, BAR_WIDTH, bar));
}

static void print_free_space(FILE *out, const struct e4frag *frag)
{
	const struct e4l_free_histogram *h = &frag->model.free_space;
	int i;

	putc('\n', out);
	line(out, "Free blocks", h->blocks, "%s in %s, the largest %s",
	     SIZE(blocks_size(frag, h->blocks)), THINGS(h->runs, "extent", "extents"),
	     SIZE(blocks_size(frag, h->largest_blocks)));
	for (i = 0; i < E4L_FREE_BUCKETS; i++)
		if (h->bucket[i].runs)
			print_bucket(out, frag, i);
}

/* --------------------------------------- damage, savings and other programs */

static void print_damaged(FILE *out, const struct e4l_model *m)
{
	const struct e4l_damage *d = m->damaged;
	size_t i;

	if (!m->damaged_count)
		return;
	putc('\n', out);
	line(out, "Damaged", m->damaged_count,
	     m->damaged_count == 1 ?
	     "damaged structure was skipped and is not counted" :
	     "damaged structures were skipped and are not counted");
	for (i = 0; i < m->n_damaged; i++, d++) {
		putc(' ', out);
		if (d->ino)
			fprintf(out, " inode %u,", d->ino);
		if (d->blk)
			fprintf(out, " block %llu,",
				(unsigned long long)d->blk);
		fprintf(out, " %s\n", error_message(d->why));
	}
	if (m->n_damaged < m->damaged_count)
		fprintf(out, "  ...\n");
}

/* Returns whether most of the free space is in free extents below 1 MiB. */
static bool is_dust(const struct e4frag *frag)
{
	const struct e4l_free_histogram *h = &frag->model.free_space;
	uint64_t blocks = 0;
	int i;

	for (i = 0; i < E4L_FREE_BUCKETS &&
		    blocks_size(frag, 1ULL << i) < E4L_LARGE_FREE_BYTES; i++)
		blocks += h->bucket[i].blocks;
	return h->runs > 1 && blocks > h->blocks / 2;
}

static void print_file_savings(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;

	if (frag->improvable.files)
		line(out, "  extents", m->files.excess_extents -
		     m->indirect.excess_extents + m->files.splits,
		     "in %s, by zeroing and copying",
		     THINGS(frag->improvable.files, "file", "files"));
	if (frag->improvable.fragments)
		line(out, "  fragments", frag->improvable.fragments,
		     "of %s", NUM(m->files.fragments));
	if (frag->improvable.tree_blocks)
		line(out, "  tree blocks", frag->improvable.tree_blocks,
		     "of %s", NUM(m->files.tree_blocks));
}

static void print_other_savings(FILE *out, const struct e4frag *frag)
{
	uint64_t free_extents = frag->model.free_space.runs;

	if (frag->sparse.count)
		line(out, "  dir blocks", frag->sparse.spare_blocks,
		     "of %s in sparse directories", NUM(frag->sparse.blocks));
	if (frag->linear)
		line(out, "  linear dirs", frag->linear,
		     "large director%s without an index",
		     frag->linear == 1 ? "y" : "ies");
	if (is_dust(frag))
		line(out, "  free extents", free_extents - 1,
		     "of %s", NUM(free_extents));
	if (frag->spread.count)
		line(out, "  itable blocks", frag->spread.spare_blocks,
		     "of %s, only with --inodes",
		     NUM(frag->spread.itable_blocks));
}

/*
 * Prints upper bounds of the savings of a repack: some files cannot be moved,
 * and the free space may not be sufficient.
 */
static void print_repack(FILE *out, const struct e4frag *frag)
{
	if (!frag->improvable.files && !frag->sparse.count && !frag->linear &&
	    !frag->spread.count && !is_dust(frag)) {
		fprintf(out, "\nA repack would save nothing\n");
		return;
	}
	fprintf(out, "\nA repack would save at most (exact plan: e4repack -n)\n");
	print_file_savings(out, frag);
	print_other_savings(out, frag);
	if (frag->model.damaged_count && !frag->target.mount_point) {
		fputs("Before a repack, repair the damage: e2fsck -f ", out);
		text_puts(out, frag->target.e2fs_words);
		putc('\n', out);
	}
}

static void print_peers(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;
	uint64_t e2fsck = m->peers.e2fsck_files + m->peers.e2fsck_directories;

	fprintf(out, "\nOther tools report for the same files\n");
	line(out, "  filefrag", m->peers.filefrag_extents,
	     "fragments, which filefrag calls \"extents\"");
	line(out, "  e4defrag -c", m->peers.e4defrag_extents,
	     "extents of regular files");
	line(out, "  e2fsck", e2fsck,
	     "\"non-contiguous\" files, %s of used inodes",
	     PERCENT(e2fsck, e4frag_used_inodes(frag)));
}

bool e4frag_print_text(FILE *out, const struct e4frag *frag)
{
	bool ok;

	print_head(out, frag);
	print_files(out, frag);
	print_directories(out, frag);
	print_free_space(out, frag);
	ok = e4frag_print_tables(out, frag);
	print_damaged(out, &frag->model);
	print_repack(out, frag);
	print_peers(out, frag);
	return ok;
}
