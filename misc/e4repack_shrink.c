/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --shrink: checks its options, truncates an image, and prints the new size and
 * the commands that make the device smaller.
 */
#include "config.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "e4layout/base/stat.h"
#include "support/say.h"
#include "support/text.h"
#include "support/units.h"
#include "e4repack.h"

#define SECTOR_BYTES	512
#define KIB		1024
#define LUKS_BYTES	4096	/* largest sector of LUKS */

bool e4repack_shrinks(const struct e4repack *r)
{
	return r->flags & E4L_REPACK_SHRINK;
}

uint64_t e4repack_shrink_blocks(const struct e4repack *r)
{
	uint64_t blocks = r->shrink_bytes / r->target.fs->blocksize;

	if (!e4repack_shrinks(r) || !r->shrink_bytes)
		return 0;
	/* 0 blocks would mean the smallest size. */
	return blocks ? blocks : 1;
}

const char *e4repack_shrink_contradiction(const struct e4repack *r)
{
	if (r->free_bytes != NOT_GIVEN && !e4repack_shrinks(r))
		return "--free requires --shrink";
	if (r->journal_bytes != NOT_GIVEN && !e4repack_shrinks(r))
		return "--journal requires --shrink";
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
	if (!e4repack_shrinks(r))
		return false;
	if (r->online || r->target.mount_point)
		say("%s: mounted: --shrink requires an unmounted filesystem",
		    name);
	else if (r->journal_bytes != NOT_GIVEN &&
		 !r->target.fs->super->s_journal_inum)
		say("%s: --journal requires a journal inside the filesystem",
		    name);
	else
		return false;
	return true;
}

/*
 * Returns whether the run has changed the size or, in a dry run, would change
 * the size.
 */
static bool has_shrunk(const struct e4repack *r)
{
	const struct e4l_shrink_result *s = &r->result.shrink;

	return e4repack_shrinks(r) && s->new_blocks < s->old_blocks &&
	       s->new_blocks;
}

void e4repack_say_larger(const struct e4repack *r)
{
	uint64_t blocks = r->result.shrink.new_blocks;

	if (r->dry_run || !has_shrunk(r) || blocks <= r->planned_blocks)
		return;
	say("%s: the filesystem is %llu bytes larger than planned", r->target.name,
	    (unsigned long long)e4repack_bytes(r, blocks - r->planned_blocks));
}

void e4repack_say_limit(const struct e4repack *r)
{
	const struct e4l_shrink_result *s = &r->result.shrink;
	const char *name = r->target.name;

	if (r->result.stopped)
		return;
	if (s->limit == E4L_ET_SHRINK_PINNED &&
	    s->limit_inode == r->target.fs->super->s_journal_inum)
		say("%s: the size is limited by the journal (inode %u), which "
		    "cannot be moved", name, s->limit_inode);
	else if (s->limit == E4L_ET_SHRINK_PINNED)
		say("%s: the size is limited by inode %u, which must not be "
		    "moved: see --move", name, s->limit_inode);
	else if (s->limit == E4L_ET_SHRINK_NUMBER)
		say("%s: the size is limited by inode %u, which must keep its "
		    "number", name, s->limit_inode);
	else if (s->limit)
		say("%s: the size is limited by the journal, which is too "
		    "small for the metadata of a smaller filesystem", name);
}

static void say_too_small(const struct e4repack *r)
{
	unsigned long long least = e4repack_bytes(r,
						  r->result.shrink.smallest_blocks);
	const char *name = r->target.name;

	if (least > r->shrink_bytes)
		say("%s: the smallest possible size is %llu bytes, %llu more "
		    "than requested", name, least,
		    (unsigned long long)(least - r->shrink_bytes));
	else if (least)
		say("%s: the requested size is not possible: the smallest "
		    "possible size is %llu bytes", name, least);
	else
		say("%s: the repack was successful, but the filesystem does "
		    "not fit into the requested size: give a larger size", name);
}

bool e4repack_say_shrink_failure(const struct e4repack *r, errcode_t err)
{
	ext2_ino_t ino = e4l_detail(r->e)->ino;

	if (err == E4L_ET_SHRINK_SIZE)
		say_too_small(r);
	else if (err == E4L_ET_SHRINK_PINNED && ino == EXT2_BAD_INO)
		say("%s: a filesystem with a list of bad blocks cannot be made "
		    "smaller: see -c and -L in e2fsck(8)", r->target.name);
	else if (err == E4L_ET_SHRINK_PINNED &&
		 ino == r->target.fs->super->s_journal_inum)
		say("%s: the journal cannot be moved below the new end: remove "
		    "the journal (tune2fs -O ^has_journal), shrink with -z "
		    "FILE, and add a journal (tune2fs -j)", r->target.name);
	else if (err == E4L_ET_SHRINK_PINNED && ino)
		say("%s: inode %u must not be moved, but has blocks beyond the "
		    "new end: see --move", r->target.name, ino);
	else
		return false;
	return true;
}

/* --------------------------------------------------------------- truncating */

/* Returns whether the filesystem begins at the start of a regular file. */
static bool is_image(const struct e4repack *r, struct stat *st)
{
	const struct target *t = &r->target;

	return !t->offset_bytes && !r->args.partition &&
	       !(t->lock_fd >= 0 ? e4l_fstat(t->lock_fd, st) :
				   e4l_stat(t->device, st)) &&
	       S_ISREG(st->st_mode);
}

/* Returns whether the target is an image with only the filesystem. */
static bool is_whole_image(const struct e4repack *r)
{
	uint64_t bytes = e4repack_bytes(r, r->result.shrink.old_blocks);
	struct stat st;

	return is_image(r, &st) && (uint64_t)st.st_size <= bytes;
}

/*
 * Truncates the open file instead of the name of the image, because another
 * file can have this name by now.
 */
void e4repack_truncate(struct e4repack *r)
{
	unsigned long long bytes = e4repack_bytes(r,
						  r->result.shrink.new_blocks);

	if (r->dry_run || !has_shrunk(r) || r->undo.file || !is_whole_image(r))
		return;
	r->truncated = !ftruncate(r->target.lock_fd, bytes);
	if (r->truncated)
		return;
	r->failed = true;
	say("%s: the filesystem has its new size, but the image cannot be "
	    "truncated: %s: run truncate -s %llu %s", r->target.name,
	    say_why(errno), bytes, r->target.device_word);
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

/* Rounds @n up to a multiple of @unit. */
static unsigned long long round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static void print_command(const char *layer, const char *format, ...)
{
	va_list args;

	printf("  %-15s ", layer);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

/*
 * Returns whether the target is a loop device that begins at the start of its
 * file.
 */
static bool is_loop(const struct e4repack *r)
{
	char path[sizeof("/sys/dev/block/4294967295:4294967295/loop/offset")];
	unsigned long long offset = 1;
	struct stat st;
	FILE *f;

	if (r->target.offset_bytes || e4l_stat(r->target.device, &st) ||
	    !S_ISBLK(st.st_mode))
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/loop/offset",
		 major(st.st_rdev), minor(st.st_rdev));
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%llu", &offset) != 1)
		offset = 1;
	fclose(f);
	return !offset;
}

/*
 * Prints how to make a volume or a device smaller.  If LUKS uses sectors of 4
 * KiB, cryptsetup requires multiples of 4 KiB.  sfdisk reads a number without a
 * unit as sectors of the disk, so the printed number has a unit.
 */
static void print_layers(const struct e4repack *r, unsigned long long bytes)
{
	printf("Next, make the layers below the filesystem smaller, in this "
	       "order:\n");
	print_command("LUKS:", "cryptsetup resize -b %llu NAME\n",
		      round_up(bytes, LUKS_BYTES) / SECTOR_BYTES);
	print_command("logical volume:", "lvreduce -L %llub VOLUME\n", bytes);
	print_command("partition:", "echo ', %lluKiB' | sfdisk -N NUMBER DISK\n",
		      round_up(bytes, KIB) / KIB);
	if (is_loop(r))
		print_command("loop device:", "truncate -s %llu FILE && "
			      "losetup -c %s\n", bytes, r->target.device_word);
	printf("No layer may become smaller than the layer above.  If LUKS is "
	       "used, the layers\nbelow LUKS need more space: add the size of "
	       "the LUKS header (shown by\ncryptsetup luksDump).\n");
}

static void print_device_commands(const struct e4repack *r, uint64_t bytes)
{
	if (r->args.partition) {
		printf("Next, make the partition smaller:\n");
		print_command("partition:", "echo ', %lluKiB' | sfdisk -N %llu "
			      "%s\n", round_up(bytes, KIB) / KIB,
			      (unsigned long long)r->args.partition,
			      r->target.device_word);
	} else {
		print_layers(r, bytes);
	}
	printf("A smaller layer loses other data after the filesystem.\n");
}

/* Prints the next step after a run that has changed the size. */
static void print_next(const struct e4repack *r, uint64_t bytes)
{
	struct stat st;

	if (!is_image(r, &st)) {
		print_device_commands(r, bytes);
	} else if (r->truncated) {
		printf("The image was truncated to this size.\n");
	} else if (!is_whole_image(r)) {
		printf("The image was not truncated, because it has data after "
		       "the filesystem.\n");
	} else if (r->undo.file) {
		printf("The image was not truncated, because e2undo needs the "
		       "whole image.  When the\nundo file is no longer needed, "
		       "run: truncate -s %llu %s\n",
		       (unsigned long long)bytes, r->target.device_word);
	}
}

/*
 * Returns the number of bytes between the end of the filesystem and the end of
 * its image, device or partition.  If the end of the image, device or partition
 * is unknown, returns 0.
 */
static uint64_t bytes_behind(const struct e4repack *r, uint64_t bytes)
{
	uint64_t end = r->target.end_bytes;
	blk64_t all = 0;

	if (end == UINT64_MAX &&
	    !ext2fs_get_device_size2(r->target.device, 1, &all))
		end = all;
	bytes += r->target.offset_bytes;
	return end == UINT64_MAX || end < bytes ? 0 : end - bytes;
}

/*
 * If bytes follow the filesystem, prints the commands that remove these bytes.
 * Call this function after a run that changed nothing: an earlier run can have
 * been interrupted between the change of the size and the truncation.
 */
static void print_rest(const struct e4repack *r, uint64_t bytes)
{
	unsigned long long behind = bytes_behind(r, bytes);
	struct stat st;

	/* A device can end with an incomplete block. */
	if (behind < (is_image(r, &st) ? 1 : r->target.fs->blocksize))
		return;
	printf("\nSize of the filesystem: %llu bytes; %llu bytes follow the "
	       "filesystem\n", (unsigned long long)bytes, behind);
	if (!is_image(r, &st))
		print_device_commands(r, bytes);
	else
		printf("If these bytes are left from an interrupted run of "
		       "--shrink, and are not other\ndata, run: truncate -s "
		       "%llu %s\n", (unsigned long long)bytes,
		       r->target.device_word);
}

void e4repack_print_next(const struct e4repack *r)
{
	uint64_t bytes = e4repack_bytes(r, r->result.shrink.new_blocks);

	if (!e4repack_shrinks(r))
		return;
	if (!has_shrunk(r)) {
		if (!r->planned && !r->result.stopped)
			print_rest(r, bytes);
		return;
	}
	printf("\nNew size of the filesystem: %llu bytes (%llu sectors of %d "
	       "bytes)\n", (unsigned long long)bytes,
	       round_up(bytes, SECTOR_BYTES) / SECTOR_BYTES, SECTOR_BYTES);
	if (!r->dry_run)
		print_next(r, bytes);
}

json_t *e4repack_shrink_json(const struct e4repack *r)
{
	const struct e4l_shrink_result *s = &r->result.shrink;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:b}",
			 "old_blocks", (json_int_t)s->old_blocks,
			 "new_blocks", (json_int_t)s->new_blocks,
			 "smallest_blocks", (json_int_t)s->smallest_blocks,
			 "free_blocks", (json_int_t)s->free_blocks,
			 "old_inodes", (json_int_t)s->old_inodes,
			 "new_inodes", (json_int_t)s->new_inodes,
			 "renumbered_inodes", (json_int_t)s->renumbered,
			 "limit_inode", (json_int_t)s->limit_inode,
			 "truncated", r->truncated);
}
