/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of mke4fs, as text and as JSON. */
#include "config.h"
#include <stdio.h>
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_dm_verity.h"
#include "support/say.h"
#include "support/text.h"
#include "support/units.h"

/* Writes "1 file" and @one, or "N files" and @many, to @buf. */
static const char *files(uint64_t n, const char *one, const char *many,
			 char buf[2 * UNITS_LEN])
{
	char count[UNITS_LEN];

	snprintf(buf, 2 * UNITS_LEN, "%s file%s", units_count(n, count),
		 n == 1 ? one : many);
	return buf;
}

void warn_of_times(const struct image *im)
{
	const struct e4l_populate_stats *s = &im->stats;
	bool small = EXT2_INODE_SIZE(im->fs->super) == EXT2_GOOD_OLD_INODE_SIZE;
	char n[2 * UNITS_LEN];

	if (s->far_times)
		say("%s: %s timestamps outside the range 1901-12-13 to %s: set "
		    "to the nearest date in the range", im->name,
		    files(s->far_times, " has", "s have", n),
		    small ? "2038-01-19 (-I 256 extends the range to "
			    "2310-04-04)" : "2310-04-04");
	if (s->cut_times)
		say("%s: %s timestamps are rounded down to seconds (-I 256 "
		    "keeps the fractions)", im->name,
		    files(s->cut_times, "'s", "s'", n));
}

static bool report_json(const struct config *c, const struct image *im,
			uint32_t n_entries, uint32_t blocksize,
			json_t *left_out)
{
	const struct e4l_populate_stats *s = &im->stats;

	return json_write(json_pack(
		"{s:s, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:O, s:o}",
		"schema", "mke4fs/1", "target", json_name(c->name),
		"planned_only", c->dry_run,
		"entries", (json_int_t)n_entries,
		"needed_inodes", (json_int_t)s->wanted_inodes,
		"needed_blocks", (json_int_t)s->wanted_blocks,
		"free_blocks", (json_int_t)(s->free_blocks - s->wanted_blocks),
		"written_bytes", (json_int_t)(s->written_blocks * blocksize),
		"writes", (json_int_t)s->writes,
		"far_times", (json_int_t)s->far_times,
		"cut_times", (json_int_t)s->cut_times,
		"left_out", left_out,
		"dm_verity", dm_verity_json(c, im)));
}

static void report_text(const struct config *c, const struct image *im,
			uint32_t n_entries, uint32_t blocksize)
{
	const struct e4l_populate_stats *s = &im->stats;
	char entries[2 * UNITS_LEN], bytes[UNITS_LEN], writes[2 * UNITS_LEN];

	text_puts(stdout, c->device);
	if (!fills(c))
		printf(": empty filesystem, %s %s free\n",
		       units_size(s->free_blocks * blocksize, bytes),
		       c->dry_run ? "would be" : "are");
	else if (c->dry_run)
		printf(": %s would need %s\n",
		       units_things(n_entries, "entry", "entries", entries),
		       units_size(s->wanted_blocks * blocksize, bytes));
	else
		printf(": %s, %s in %s\n",
		       units_things(n_entries, "entry", "entries", entries),
		       units_size(s->written_blocks * blocksize, bytes),
		       units_things(s->writes, "write", "writes", writes));
	dm_verity_report(c, im);
}

bool report(const struct config *c, struct e4l_tree *t, const struct image *im,
	    uint32_t blocksize, json_t *left_out)
{
	uint32_t n_entries = fills(c) ? e4l_tree_entries(t) : 0;

	if (c->common.json)
		return report_json(c, im, n_entries, blocksize, left_out);
	if (!c->common.quiet)
		report_text(c, im, n_entries, blocksize);
	return true;
}
