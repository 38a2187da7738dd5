/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary for people: 80 columns, the answer first. */
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
#define BAR_WIDTH 28	/* what is before it takes 52 of 80 columns */

/* Numbers as text; what they return lives as long as the caller's block. */
#define NUM(n) units_count(n, (char[UNITS_LEN]){ 0 })
#define THINGS(n, one, many) \
	units_things(n, one, many, (char[2 * UNITS_LEN]){ 0 })
#define SIZE(n) units_size(n, (char[UNITS_LEN]){ 0 })
#define PERCENT(part, whole) units_percent(part, whole, (char[UNITS_LEN]){ 0 })

/* "LABEL   1,234,567   NOTE": one line of a section. */
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

/* ------------------------------------------------------------------ summary */

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
	     "entries on disk, %s of them unwritten",
	     NUM(m->files.unwritten_extents));
	line(out, "  fragments", m->files.fragments,
	     "runs that are contiguous on disk");
	line(out, "  ideal", m->files.ideal_extents,
	     "the fewest that could hold the same");
	line(out, "  excess", m->files.excess_extents,
	     "extents beyond the ideal");
	line(out, "  splits", m->files.splits,
	     "contiguous, but written beside unwritten");
	line(out, "  mergeable", m->files.mergeable,
	     "contiguous, alike, and yet two entries");
	line(out, "Tree blocks", m->files.tree_blocks, "%s; %s (%s) would do",
	     SIZE(blocks_size(frag, m->files.tree_blocks)),
	     NUM(m->files.ideal_tree_blocks),
	     SIZE(blocks_size(frag, m->files.ideal_tree_blocks)));
	if (m->files.indirect_mapped)
		line(out, "Block-mapped", m->files.indirect_mapped,
		     "files with no extents: a fragment counts as one");
}

static void print_directories(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;

	putc('\n', out);
	line(out, "Directories", m->directories.count,
	     "each is read with its entries' inodes:");
	line(out, "  itable blocks", m->directories.itable_blocks,
	     "hold those inodes; %s would do",
	     NUM(m->directories.itable_blocks_ideal));
	line(out, "  unused inodes", m->directories.unused_inodes_read_by_fsck,
	     "are read by e2fsck in vain");
}

static void print_bucket(FILE *out, const struct e4frag *frag, int i)
{
	const struct e4l_free_histogram *h = &frag->model.free_space;
	char bar[BAR_WIDTH + 1];

	fprintf(out, "  %8s up %13s run%s %9s %7s  %s\n",
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
	     SIZE(blocks_size(frag, h->blocks)), THINGS(h->runs, "run", "runs"),
	     SIZE(blocks_size(frag, h->largest_blocks)));
	for (i = 0; i < E4L_FREE_BUCKETS; i++)
		if (h->bucket[i].runs)
			print_bucket(out, frag, i);
}

/* ------------------------------------------------------------------ the end */

static void print_damaged(FILE *out, const struct e4l_model *m)
{
	const struct e4l_damage *d = m->damaged;
	size_t i;

	if (!m->damaged_count)
		return;
	putc('\n', out);
	line(out, "Damaged", m->damaged_count,
	     m->damaged_count == 1 ?
	     "place was stepped over and counts for nothing" :
	     "places were stepped over and count for nothing");
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

/* What a perfect layout of the same files would save. */
static void print_most(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;
	uint64_t ideal_tree = m->files.ideal_tree_blocks +
			      m->indirect.excess_tree_blocks;

	fprintf(out, "\nA repair would save, at most\n");
	line(out, "  extents", m->files.excess_extents -
	     m->indirect.excess_extents + m->files.splits,
	     "of %s", NUM(m->files.extents));
	line(out, "  tree blocks", m->files.tree_blocks > ideal_tree ?
	     m->files.tree_blocks - ideal_tree : 0,
	     "of %s", NUM(m->files.tree_blocks));
	if (frag->no_repair == E4L_ET_DAMAGED && frag->target.mount_point)
		fprintf(out, "  How much of that is not known: it was changed "
			"meanwhile, or is damaged\n");
	else if (frag->no_repair == E4L_ET_DAMAGED) {
		fputs("  once the damage is repaired: e2fsck -f ", out);
		text_puts(out, frag->target.e2fs_name);
		fputc('\n', out);
	} else if (frag->no_repair == EFBIG)
		fprintf(out, "  How much of that with the free space there is, "
			"e4repack -n says.\n");
	else
		fprintf(out, "  How much of that is not known: %s\n",
			error_message(frag->no_repair));
}

/* Whether most of what is free is in runs that are not long. */
static bool is_dust(const struct e4frag *frag)
{
	const struct e4l_free_histogram *h = &frag->model.free_space;
	uint64_t blocks = 0;
	int i;

	for (i = 0; i < E4L_FREE_BUCKETS &&
		    blocks_size(frag, 1ULL << i) < E4L_LONG_RUN_BYTES; i++)
		blocks += h->bucket[i].blocks;
	return h->runs > 1 && blocks > h->blocks / 2;
}

/* How many kinds of repair, of which --all does one after the other. */
static unsigned int count_parts(const struct e4frag *frag)
{
	return (frag->repair.files_planned || frag->repair.no_room_extents) +
	       (frag->sparse.count || frag->linear) + !!frag->spread.count +
	       is_dust(frag);
}

static bool is_whole(const struct e4frag *frag)
{
	return !frag->n_paths && !frag->target.subtree;
}

/*
 * What saves extents, fragments and blocks of trees: words of --only.  Blocks of
 * trees that merging frees may be what fragments move to.
 */
#define MAPS_AND_DATA "merge,zeroout,move,dirs"

/* What e4repack would say of its plan. */
static void print_repair(FILE *out, const struct e4frag *frag)
{
	const struct e4l_repack_result *r = &frag->repair;

	if (count_parts(frag))
		fprintf(out, "\nA repair now would save\n");
	else if (frag->left.n)
		fprintf(out, "\nNothing can be repaired as things are\n");
	else
		fprintf(out, "\nThere is nothing to repair\n");
	if (r->files_planned) {
		line(out, "  extents", r->extents_before - r->extents_after,
		     "of %s: --only=" MAPS_AND_DATA,
		     NUM(r->extents_before));
		line(out, "  fragments",
		     r->fragments_before - r->fragments_after,
		     "of %s: --only=" MAPS_AND_DATA,
		     NUM(r->fragments_before));
		if (r->tree_blocks_before)
			line(out, "  tree blocks",
			     r->tree_blocks_before - r->tree_blocks_after,
			     "of %s: --only=" MAPS_AND_DATA,
			     NUM(r->tree_blocks_before));
		line(out, "  in", r->files_planned,
		     "file%s, copying %s and zeroing %s",
		     r->files_planned == 1 ? "" : "s",
		     SIZE(blocks_size(frag, r->planned_copy_blocks)),
		     SIZE(blocks_size(frag, r->planned_zero_blocks)));
	}
	if (r->no_room_extents)
		line(out, "  with room for", r->no_room_extents,
		     "extent%s more at most: --only=move,room",
		     r->no_room_extents == 1 ? "" : "s");
	if (frag->sparse.count)
		line(out, "  in directories", frag->sparse.spare_blocks,
		     "blocks at least, of %s: --only=index",
		     NUM(frag->sparse.blocks));
	if (frag->linear)
		line(out, "  searches of", frag->linear,
		     "director%s without an index: --only=index",
		     frag->linear == 1 ? "y" : "ies");
	if (frag->spread.count)
		line(out, "  itable blocks", frag->spread.spare_blocks,
		     "at most, of %s: --only=inodes",
		     NUM(frag->spread.itable_blocks));
	if (is_dust(frag))
		line(out, "  free runs", frag->model.free_space.runs - 1,
		     "at most, of %s: --only=free",
		     NUM(frag->model.free_space.runs));
	if (count_parts(frag) > 1 && is_whole(frag))
		fprintf(out, "All of that, one after the other: --all\n");
	reasons_print(out, &frag->left, "file", "files", "extent");
}

static void print_peers(FILE *out, const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;
	uint64_t e2fsck = m->peers.e2fsck_files + m->peers.e2fsck_directories;

	fprintf(out, "\nOther tools count, of the same\n");
	line(out, "  filefrag", m->peers.filefrag_extents,
	     "\"extents\": what is a fragment here");
	line(out, "  e4defrag -c", m->peers.e4defrag_extents,
	     "\"extents\": extents, of regular files only");
	line(out, "  e2fsck", e2fsck,
	     "\"non-contiguous\" files: %s of all in use",
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
	if (frag->no_repair)
		print_most(out, frag);
	else
		print_repair(out, frag);
	print_peers(out, frag);
	return ok;
}
