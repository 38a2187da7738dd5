/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --shrink: checks its options, truncates an image, and prints the new size and
 * the commands that make the device smaller.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/say.h"
#include "support/text.h"
#include "support/units.h"
#include "e4repack.h"

#define SECTOR_BYTES	512

bool e4repack_shrinks(const struct e4repack *r)
{
	return r->flags & E4L_REPACK_SHRINK;
}

const char *e4repack_shrink_contradiction(const struct e4repack *r)
{
	if (r->free_bytes != NOT_GIVEN && !e4repack_shrinks(r))
		return "--free requires --shrink";
	if (!e4repack_shrinks(r))
		return NULL;
	if (r->free_bytes != NOT_GIVEN && r->shrink_bytes)
		return "--free cannot be given with --shrink=SIZE";
	if (r->n_paths || r->exclude.n)
		return "--shrink requires a whole filesystem, without PATH and "
		       "--exclude";
	if (r->no_move)
		return "--no-move and --shrink cannot be given together";
	if (r->map)
		return "--map and --shrink cannot be given together";
	return NULL;
}

bool e4repack_shrink_refuses(const struct e4repack *r, const char *name)
{
	if (!e4repack_shrinks(r) || (!r->online && !r->target.mount_point))
		return false;
	say("%s: mounted: --shrink requires an unmounted filesystem", name);
	return true;
}

/* Whether the run has changed the size, or a dry run would. */
static bool has_shrunk(const struct e4repack *r)
{
	const struct e4l_shrink_result *s = &r->result.shrink;

	return e4repack_shrinks(r) && s->new_blocks < s->old_blocks &&
	       s->new_blocks;
}

bool e4repack_say_shrink_failure(const struct e4repack *r, errcode_t err)
{
	const struct e4l_shrink_result *s = &r->result.shrink;
	unsigned long long least = e4repack_bytes(r, s->smallest_blocks);
	ext2_ino_t ino = e4l_detail(r->e)->ino;

	if (err == E4L_ET_SHRINK_SIZE && least)
		say("%s: the smallest possible size is %llu bytes, %llu more "
		    "than requested", r->target.name, least,
		    (unsigned long long)(least - r->shrink_bytes));
	else if (err == E4L_ET_SHRINK_SIZE)
		say("%s: the filesystem cannot be made smaller",
		    r->target.name);
	else if (err == E4L_ET_SHRINK_PINNED &&
		 ino == r->target.fs->super->s_journal_inum)
		say("%s: the journal cannot be moved below the new end: remove "
		    "it (tune2fs -O ^has_journal), shrink with -z FILE, and add "
		    "it again (tune2fs -j)", r->target.name);
	else if (err == E4L_ET_SHRINK_PINNED && ino)
		say("%s: inode %u must not be moved, but has blocks beyond the "
		    "new end: see --move", r->target.name, ino);
	else
		return false;
	return true;
}

/* --------------------------------------------------------------- truncating */

/* Whether the target is an image file that contains the filesystem only. */
static bool is_whole_image(const struct e4repack *r)
{
	uint64_t bytes = e4repack_bytes(r, r->result.shrink.old_blocks);
	struct stat st;

	return !r->target.offset_bytes && !r->args.partition &&
	       !r->undo.file && !stat(r->target.device, &st) &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size <= bytes;
}

void e4repack_truncate(struct e4repack *r)
{
	uint64_t bytes = e4repack_bytes(r, r->result.shrink.new_blocks);

	if (r->dry_run || !has_shrunk(r) || !is_whole_image(r))
		return;
	r->truncated = !truncate(r->target.device, bytes);
	if (r->truncated)
		return;
	r->failed = true;
	say("%s: the filesystem is smaller, but the image cannot be truncated: "
	    "%s", r->target.name, say_why(errno));
}

/* ------------------------------------------------------------------- report */

void e4repack_print_new_size(const struct e4repack *r)
{
	const struct e4l_shrink_result *s = &r->result.shrink;
	char a[UNITS_LEN], b[UNITS_LEN];

	if (!has_shrunk(r))
		return;
	printf("%-22s %13s %13s\n", "Size", units_size(e4repack_bytes(r,
	       s->old_blocks), a), units_size(e4repack_bytes(r, s->new_blocks),
	       b));
	printf("%-22s %13s %13s\n", "Blocks", units_count(s->old_blocks, a),
	       units_count(s->new_blocks, b));
	printf("%-22s %13s %13s\n", "Inodes", units_count(s->old_inodes, a),
	       units_count(s->new_inodes, b));
}

/* Prints how to make a partition, a volume or a device smaller. */
static void print_device_commands(const struct e4repack *r, uint64_t bytes)
{
	unsigned long long sectors = (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;

	printf("Next, make the layers below smaller, the upper ones first, "
	       "never below this size:\n"
	       "  LUKS:           cryptsetup resize -b %llu NAME\n"
	       "  logical volume: lvreduce -L %llub VOLUME\n", sectors,
	       (unsigned long long)bytes);
	if (r->args.partition)
		printf("  partition:      echo ', %llu' | sfdisk -N %llu ",
		       sectors, (unsigned long long)r->args.partition);
	else
		printf("  partition:      echo ', %llu' | sfdisk -N NUMBER DISK",
		       sectors);
	if (r->args.partition)
		text_put_word(stdout, r->target.device);
	printf("\nAdd the LUKS header (cryptsetup luksDump) to all layers below "
	       "LUKS.\n");
}

void e4repack_print_next(const struct e4repack *r)
{
	uint64_t bytes = e4repack_bytes(r, r->result.shrink.new_blocks);
	struct stat st;

	if (!has_shrunk(r))
		return;
	printf("\n%s: %llu bytes (%llu sectors of %d bytes)\n",
	       r->dry_run ? "New size" : r->truncated ?
	       "The image was truncated" : "The filesystem has its new size",
	       (unsigned long long)bytes,
	       (unsigned long long)((bytes + SECTOR_BYTES - 1) / SECTOR_BYTES),
	       SECTOR_BYTES);
	if (r->dry_run || r->truncated)
		return;
	if (stat(r->target.device, &st) || !S_ISREG(st.st_mode) ||
	    r->args.partition || r->target.offset_bytes) {
		print_device_commands(r, bytes);
		return;
	}
	printf("The image was not truncated, because %s: truncate -s %llu ",
	       r->undo.file ? "the undo file needs its end" :
	       "it has data after the filesystem", (unsigned long long)bytes);
	text_put_word(stdout, r->target.device);
	putchar('\n');
}

json_t *e4repack_shrink_json(const struct e4repack *r)
{
	const struct e4l_shrink_result *s = &r->result.shrink;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:b}",
			 "old_blocks", (json_int_t)s->old_blocks,
			 "new_blocks", (json_int_t)s->new_blocks,
			 "free_blocks", (json_int_t)s->free_blocks,
			 "old_inodes", (json_int_t)s->old_inodes,
			 "new_inodes", (json_int_t)s->new_inodes,
			 "renumbered_inodes", (json_int_t)s->renumbered,
			 "truncated", r->truncated);
}
