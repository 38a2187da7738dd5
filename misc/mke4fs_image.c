/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a filesystem that mke2fs has made, plans its contents, and writes them
 * to the device.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/plug_io.h"
#include "mke4fs_image.h"
#include "support/say.h"
#include "support/text.h"
#include "support/units.h"

void drop_image(struct image *im)
{
	e4l_populate_free(im->plan);
	e4l_free(im->e);
	if (im->fs)
		ext2fs_free(im->fs);
	e4l_close_fd(im->proto_fd);
	im->plan = NULL;
	im->e = NULL;
	im->fs = NULL;
	im->proto_fd = -1;
}

/*
 * If the filesystem has an MMP block, writes the block.  If SOURCE_DATE_EPOCH
 * is set, the block contains neither the name of this host nor the name of the
 * device, so that the image is reproducible.
 */
static errcode_t write_mmp(const struct config *c, ext2_filsys fs, uint32_t seq)
{
	uint16_t interval = fs->super->s_mmp_update_interval;
	struct mmp_struct mmp = {
		.mmp_magic = ext2fs_cpu_to_le32(EXT4_MMP_MAGIC),
		.mmp_seq = ext2fs_cpu_to_le32(seq),
		.mmp_time = ext2fs_cpu_to_le64(c->now),
	};
	errcode_t err;

	if (!ext2fs_has_feature_mmp(fs->super))
		return 0;
	if (interval < EXT4_MMP_MIN_CHECK_INTERVAL)
		interval = EXT4_MMP_MIN_CHECK_INTERVAL;
	mmp.mmp_check_interval = ext2fs_cpu_to_le16(interval);
	if (!c->clamp_times) {
		gethostname((char *)mmp.mmp_nodename, sizeof(mmp.mmp_nodename));
		strncpy((char *)mmp.mmp_bdevname, c->device,
			sizeof(mmp.mmp_bdevname) - 1);
	}
	err = ext2fs_mmp_csum_set(fs, &mmp);
	if (!err)
		err = io_channel_write_blk64(fs->io, fs->super->s_mmp_block,
					     -(int)sizeof(mmp), &mmp);
	return err ? err : io_channel_flush(fs->io);
}

bool flush_image(const struct config *c, struct image *im)
{
	errcode_t err = fills(c) ? ext2fs_flush(im->fs) : 0;

	if (!err)
		err = write_mmp(c, im->fs, EXT4_MMP_SEQ_CLEAN);
	if (err)
		say_write_error(im->name, im->name,
				"writing the filesystem's structures", err);
	return !err;
}

/*
 * Sets the hash seed of each prototype (a filesystem made by mke2fs in memory)
 * to the hash seed of the first prototype.  mke2fs chooses a new seed in each
 * run, and the seed determines how full the leaves of directories are.
 */
static void keep_seed(struct image *im)
{
	struct ext2_super_block *super = im->fs->super;

	if (im->has_seed) {
		memcpy(super->s_hash_seed, im->hash_seed,
		       sizeof(im->hash_seed));
		ext2fs_mark_super_dirty(im->fs);
	} else {
		memcpy(im->hash_seed, super->s_hash_seed,
		       sizeof(im->hash_seed));
		im->has_seed = true;
	}
}

/*
 * Limits the reserved blocks to half of all blocks, as e2fsck requires.  mke2fs
 * can exceed this limit, because it applies -m before it rounds the size down
 * to clusters.
 */
static void bound_reserved(ext2_filsys fs)
{
	blk64_t half = ext2fs_blocks_count(fs->super) / 2;

	if (ext2fs_r_blocks_count(fs->super) <= half)
		return;
	ext2fs_r_blocks_count_set(fs->super, half);
	ext2fs_mark_super_dirty(fs);
}

bool open_image(const struct config *c, struct image *im, const char *path)
{
	char io_options[40];
	errcode_t err;

	/*
	 * Disable the cache: if there is no memory for the cache,
	 * ext2fs_open2() ignores the error and reads into a missing buffer.
	 */
	snprintf(io_options, sizeof(io_options), "cache=off&offset=%llu",
		 (unsigned long long)c->offset_bytes);
	err = ext2fs_open2(path, io_options, EXT2_FLAG_RW | EXT2_FLAG_64BITS |
			   EXT2_FLAG_EXCLUSIVE | EXT2_FLAG_SKIP_MMP |
			   EXT2_FLAG_JOURNAL_DEV_OK, 0, 0, unix_io_manager,
			   &im->fs);
	if (!err && !fills(c))
		return true;
	if (!err && ext2fs_has_feature_journal_dev(im->fs->super)) {
		say("%s: files cannot be copied into an external journal (-O "
		    "journal_dev)",
		    im->name);
		return false;
	}
	if (!err && im->proto_fd < 0)
		err = e4l_plug_fs(im->fs, E4L_PLUG_LIMIT_BYTES);
	if (!err)
		err = ext2fs_read_bitmaps(im->fs);
	if (err) {
		say_error(im->name, "opening the new filesystem", err);
		return false;
	}
	keep_seed(im);
	bound_reserved(im->fs);
	err = e4l_new(im->fs, &im->e);
	if (err)
		say_e4l(im->name, im->e, err);
	return !err;
}

errcode_t plan_image(const struct config *c, struct e4l_tree *t,
		     struct image *im)
{
	struct e4l_populate_options o = {
		.offset_bytes = c->offset_bytes,
		.window = c->window, .threads = c->threads, .now = c->now,
		.clamp_times = c->clamp_times,
	};
	errcode_t err;

	if (!fills(c)) {
		im->stats = (struct e4l_populate_stats) {
			.free_blocks = ext2fs_free_blocks_count(im->fs->super),
		};
		return 0;
	}
	err = e4l_populate_plan(im->e, t, &o, &im->plan);
	if (im->plan)
		e4l_populate_get_stats(im->plan, &im->stats);
	return err;
}

/*
 * If @wanted is more than @free, writes @before and "not enough WHAT: A are
 * needed, B are free (C are missingADVICE)" to @f, and returns false.  C is a
 * size in bytes or, if @unit_bytes is 0, a count.
 */
static bool add_missing(FILE *f, const char *before, const char *what,
			uint64_t wanted, uint64_t free, uint32_t unit_bytes,
			const char *advice)
{
	char a[UNITS_LEN], b[UNITS_LEN], c[UNITS_LEN];
	uint64_t missing = wanted - free;

	if (wanted <= free)
		return true;
	fprintf(f, "%snot enough %s: %s are needed, %s are free (%s are "
		"missing%s)", before, what, units_count(wanted, a),
		units_count(free, b), unit_bytes ?
		units_size(missing * unit_bytes, c) : units_count(missing, c),
		advice);
	return false;
}

static void say_no_room(const struct image *im)
{
	const struct e4l_populate_stats *s = &im->stats;
	char *text = NULL;
	size_t len;
	FILE *f = text_open(&text, &len);
	bool enough;

	if (f) {
		enough = add_missing(f, "", "blocks", s->wanted_blocks,
				     s->free_blocks, im->fs->blocksize, "");
		add_missing(f, enough ? "" : ", ", "inodes", s->wanted_inodes,
			    s->free_inodes, 0, "; -N sets the number of inodes");
	}
	if (f && text_close(f))
		say("%s: %s", im->name, text);
	else
		say("%s: not enough space", im->name);
	free(text);
}

void say_plan(const struct config *c, struct e4l_tree *t,
	      const struct image *im, errcode_t err)
{
	const char *source = source_name(c, t);
	const char *where = e4l_tree_where(t);

	if (err == E4L_ET_NO_SPACE || err == E4L_ET_NO_INODES)
		say_no_room(im);
	else if (*where)
		say_error(source ? source : im->name, where, err);
	else
		say_e4l(im->name, im->e, err);
}

bool format_device(const struct config *c)
{
	bool failed;

	return run_mke2fs(c, c->device, 0, 0, false, &failed);
}

bool plan_device(const struct config *c, struct e4l_tree *t, struct image *im)
{
	errcode_t err;

	if (!open_image(c, im, c->device))
		return false;
	err = write_mmp(c, im->fs, EXT4_MMP_SEQ_FSCK);
	if (err) {
		say_error(im->name, "starting multiple mount protection", err);
		return false;
	}
	err = plan_image(c, t, im);
	if (err)
		say_plan(c, t, im, err);
	return !err;
}
