/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a filesystem that can be damaged, to check it. */
#include "config.h"
#include <errno.h>
#include "e4layout/check/check.h"
#include "e4layout/open/opened.h"
#include "e4layout/open/refusals.h"
#include "say.h"
#include "target_internal.h"

static errcode_t open_copy(struct target *t, blk64_t super,
			   unsigned int blocksize)
{
	return e4l_open_at(t->hold, NULL,
			   EXT2_FLAG_THREADS | EXT2_FLAG_SKIP_MMP, super,
			   blocksize, unix_io_manager, &t->fs);
}

/*
 * Opens the first backup superblock.  The block size is unknown: for each block
 * size, tries the block to which mke2fs writes this backup.
 */
static errcode_t open_any_copy(struct target *t, struct target_doubt *doubt)
{
	unsigned int blocksize = EXT2_MIN_BLOCK_SIZE;
	errcode_t err = 0;

	for (; blocksize <= EXT2_MAX_BLOCK_SIZE; blocksize *= 2) {
		doubt->backup = 8ULL * blocksize + (blocksize == 1024);
		err = open_copy(t, doubt->backup, blocksize);
		if (!err || say_is_no_memory(err))
			return err;
	}
	doubt->backup = 0;
	return err;
}

/*
 * Opens the backup superblock of group 1, computing the block number from
 * s_blocks_per_group of the primary superblock.  If this fails, opens the
 * primary superblock again.
 */
static errcode_t open_next_copy(struct target *t, struct target_doubt *doubt)
{
	unsigned int blocksize = t->fs->blocksize;
	errcode_t err;

	doubt->backup = t->fs->super->s_blocks_per_group +
			t->fs->super->s_first_data_block;
	ext2fs_close_free(&t->fs);
	err = open_copy(t, doubt->backup, blocksize);
	if (!err || say_is_no_memory(err))
		return err;
	doubt->backup = 0;
	return open_copy(t, 0, 0);
}

static bool has_doubtful_super(errcode_t err)
{
	return err == EXT2_ET_BAD_MAGIC || err == EXT2_ET_SB_CSUM_INVALID ||
	       err == EXT2_ET_CORRUPT_SUPERBLOCK;
}

/*
 * Opens a backup superblock, because opening the primary superblock failed with
 * doubt->super.  Returns false after printing an error.
 */
static bool open_elsewhere(struct target *t, struct target_doubt *doubt)
{
	errcode_t err = doubt->super;

	if (has_doubtful_super(err)) {
		err = open_any_copy(t, doubt);
		if (!err)
			return true;
		if (!say_is_no_memory(err))
			err = doubt->super;
	}
	/* If e4l_peek() fails, it has printed the reason. */
	if (say_is_no_memory(err) || !e4l_peek(t->hold, 0))
		e4l_tell_open_error(t->hold, err);
	return false;
}

static bool open_doubtful(struct target *t, struct target_doubt *doubt)
{
	errcode_t err = open_copy(t, 0, 0);

	*doubt = (struct target_doubt) { .super = err };
	if (err)
		return open_elsewhere(t, doubt);
	doubt->groups = e4l_check_groups(t->fs);
	if (doubt->groups == ENOMEM) {
		say_error(t->name, "cannot check the group descriptors",
			  ENOMEM);
		ext2fs_close_free(&t->fs);
		return false;
	}
	if (!doubt->groups || t->fs->group_desc_count == 1)
		return true;
	err = open_next_copy(t, doubt);
	if (err)
		e4l_tell_open_error(t->hold, err);
	return !err;
}

bool target_is_strange(const struct target *t)
{
	if (e4l_refuse_to_read(t->fs, t->hold) ||
	    e4l_refuse_unknown(t->fs, t->hold))
		return true;
	if (!ext2fs_has_feature_casefold(t->fs->super) || t->fs->encoding)
		return false;
	say("%s: file names use encoding %u, which this version of e4layout "
	    "does not support", t->name, t->fs->super->s_encoding);
	return true;
}

/*
 * Opens the device of an external journal.  If the device is missing, prints an
 * error unless @quiet is true; the filesystem is then checked without the
 * journal.  If memory runs out, returns false.
 */
static bool open_journal(struct target *t, bool quiet)
{
	const struct e4l_teller silent = { 0 };
	errcode_t err = e4l_journal_find(t->fs, quiet ? &silent :
					 &t->hold->teller, 0, &t->journal);

	if (quiet && say_is_no_memory(err))
		say_error(t->name, "cannot open the journal device", ENOMEM);
	return !say_is_no_memory(err);
}

bool target_open_check(struct target *t, const char *name, uint64_t partition,
		       bool quiet, struct target_doubt *doubt)
{
	if (!target_locate(t, name, partition))
		return false;
	if (target_look(t) && open_doubtful(t, doubt)) {
		if (!target_is_strange(t)) {
			if (!quiet)
				target_note_age(t);
			if (open_journal(t, quiet))
				return true;
		}
		ext2fs_close_free(&t->fs);
	}
	target_free(t);
	return false;
}

errcode_t target_new_context(const struct target *t, struct e4l **e)
{
	errcode_t err = e4l_new(t->fs, e);

	if (!err)
		e4l_read_as_suits(*e, t->hold);
	return err;
}

errcode_t target_close_check(struct target *t)
{
	errcode_t err = t->journal ? io_channel_close(t->journal) : 0, err2;

	err2 = ext2fs_close_free(&t->fs);
	err = err ? err : err2;
	if (err)
		say_error(t->name, "cannot close", err);
	e4l_hold_free(t->hold);
	return err;
}
