/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <e2p/e2p.h>
#include <unistd.h>
#include "e4layout/base/internal.h"
#include "refusals.h"

/* ---------------------------------------------------------------- features */

/* The feature bits that the library knows.  Other bits are refused. */
#define KNOWN_COMPAT ( \
	EXT2_FEATURE_COMPAT_DIR_PREALLOC | EXT2_FEATURE_COMPAT_IMAGIC_INODES | \
	EXT3_FEATURE_COMPAT_HAS_JOURNAL | EXT2_FEATURE_COMPAT_EXT_ATTR | \
	EXT2_FEATURE_COMPAT_RESIZE_INODE | EXT2_FEATURE_COMPAT_DIR_INDEX | \
	EXT4_FEATURE_COMPAT_SPARSE_SUPER2 | EXT4_FEATURE_COMPAT_FAST_COMMIT | \
	EXT4_FEATURE_COMPAT_STABLE_INODES | EXT4_FEATURE_COMPAT_ORPHAN_FILE)
#define KNOWN_INCOMPAT ( \
	EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_RECOVER | \
	EXT3_FEATURE_INCOMPAT_JOURNAL_DEV | EXT2_FEATURE_INCOMPAT_META_BG | \
	EXT3_FEATURE_INCOMPAT_EXTENTS | EXT4_FEATURE_INCOMPAT_64BIT | \
	EXT4_FEATURE_INCOMPAT_MMP | EXT4_FEATURE_INCOMPAT_FLEX_BG | \
	EXT4_FEATURE_INCOMPAT_EA_INODE | EXT4_FEATURE_INCOMPAT_CSUM_SEED | \
	EXT4_FEATURE_INCOMPAT_LARGEDIR | EXT4_FEATURE_INCOMPAT_INLINE_DATA | \
	EXT4_FEATURE_INCOMPAT_ENCRYPT | EXT4_FEATURE_INCOMPAT_CASEFOLD)
#define KNOWN_RO_COMPAT ( \
	EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER | \
	EXT2_FEATURE_RO_COMPAT_LARGE_FILE | \
	EXT4_FEATURE_RO_COMPAT_HUGE_FILE | EXT4_FEATURE_RO_COMPAT_GDT_CSUM | \
	EXT4_FEATURE_RO_COMPAT_DIR_NLINK | \
	EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE | EXT4_FEATURE_RO_COMPAT_QUOTA | \
	EXT4_FEATURE_RO_COMPAT_BIGALLOC | \
	EXT4_FEATURE_RO_COMPAT_METADATA_CSUM | \
	EXT4_FEATURE_RO_COMPAT_READONLY | EXT4_FEATURE_RO_COMPAT_PROJECT | \
	EXT4_FEATURE_RO_COMPAT_SHARED_BLOCKS | EXT4_FEATURE_RO_COMPAT_VERITY | \
	EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT)

static errcode_t refuse_feature(const struct e4l_hold *h, int set,
				uint32_t unknown)
{
	if (!unknown)
		return 0;
	return e4l_tell(&h->teller, E4L_ET_UNKNOWN_FEATURE,
			"the filesystem has the feature %s, which this version "
			"of e4layout does not support",
			e2p_feature2string(set, unknown & -unknown));
}

static errcode_t refuse_truncated(ext2_filsys fs, const struct e4l_hold *h)
{
	blk64_t want = ext2fs_blocks_count(fs->super), have;

	if (ext2fs_get_device_size2(h->device, 1, &have))
		return 0;
	if (have > h->end_bytes)
		have = h->end_bytes;
	have = have > h->offset_bytes ?
	       (have - h->offset_bytes) / fs->blocksize : 0;
	if (have >= want)
		return 0;
	return e4l_tell(&h->teller, E4L_ET_TRUNCATED,
		"truncated: the filesystem has %llu blocks, but the device has "
		"only %llu", (unsigned long long)want,
		(unsigned long long)have);
}

errcode_t e4l_refuse_to_read(ext2_filsys fs, const struct e4l_hold *h)
{
	const struct ext2_super_block *sb = fs->super;
	errcode_t err;

	err = refuse_feature(h, E2P_FEATURE_INCOMPAT,
			     sb->s_feature_incompat & ~KNOWN_INCOMPAT);
	if (err)
		return err;
	if (sb->s_feature_incompat & EXT3_FEATURE_INCOMPAT_JOURNAL_DEV)
		return e4l_tell(&h->teller, E4L_ET_IS_JOURNAL,
			"an external journal, not a filesystem: give the "
			"filesystem that uses the journal");
	return refuse_truncated(fs, h);
}

errcode_t e4l_refuse_unknown(ext2_filsys fs, const struct e4l_hold *h)
{
	const struct ext2_super_block *sb = fs->super;
	errcode_t err;

	err = refuse_feature(h, E2P_FEATURE_COMPAT,
			     sb->s_feature_compat & ~KNOWN_COMPAT);
	return err ? err :
	       refuse_feature(h, E2P_FEATURE_RO_INCOMPAT,
			      sb->s_feature_ro_compat & ~KNOWN_RO_COMPAT);
}

/* ------------------------------------------------------------------ journal */

/*
 * Refuses a filesystem without a journal, unless the caller has an undo file or
 * permits unprotected changes.  Also refuses an undo file together with an
 * external journal.  After e2undo, the external journal would be replayed over
 * the restored blocks.
 */
static errcode_t refuse_unprotected(ext2_filsys fs, const struct e4l_hold *h,
				    unsigned int flags)
{
	const unsigned int other = E4L_OPEN_UNDO | E4L_OPEN_UNPROTECTED;

	if (!ext2fs_has_feature_journal(fs->super) && !(flags & other))
		return e4l_tell(&h->teller, E4L_ET_NO_JOURNAL,
			"the filesystem has no journal");
	if (flags & E4L_OPEN_UNDO && e4l_has_external_journal(fs->super))
		return e4l_tell(&h->teller, E4L_ET_UNDO_JOURNAL,
			"the journal is on another device, which an undo file "
			"does not cover");
	return 0;
}

/*
 * If the filesystem does not start at byte 0 of the device, refuses an undo
 * file and features that do not support an offset.
 */
static errcode_t refuse_misplaced(ext2_filsys fs, const struct e4l_hold *h,
				  unsigned int flags)
{
	const char *what = NULL;

	if (!h->offset_bytes)
		return 0;
	if (ext2fs_has_feature_mmp(fs->super))
		what = "multiple mount protection";
	else if (e4l_has_external_journal(fs->super))
		what = "a journal on another device";
	else if (flags & E4L_OPEN_UNDO)
		what = "e2undo";
	if (!what)
		return 0;
	return e4l_tell(&h->teller, E4L_ET_AT_OFFSET,
		"%s is not supported at an offset: attach the image with "
		"losetup -f --show -o %llu %s, and use the loop device",
		what, (unsigned long long)h->offset_bytes, h->device_word);
}

/* ---------------------------------------------------------------------- MMP */

/*
 * Reports a damaged MMP block, for example after a power failure while the
 * block was written.
 */
static errcode_t tell_torn(const struct e4l_hold *h, errcode_t err)
{
	return e4l_tell(&h->teller, err,
		"the multiple mount protection block is damaged: %s: if no "
		"host uses the filesystem, run tune2fs -f -E clear_mmp %s, and "
		"then e2fsck -p %s", error_message(err), h->e2fs_words,
		h->e2fs_words);
}

errcode_t e4l_tell_mmp(const struct e4l_hold *h, errcode_t err)
{
	if (err == EXT2_ET_MMP_MAGIC_INVALID || err == EXT2_ET_MMP_CSUM_INVALID)
		return tell_torn(h, err);
	return e4l_tell(&h->teller, err, "multiple mount protection: %s: wait "
			"until no host uses the filesystem; after a crash, "
			"run tune2fs -f -E clear_mmp %s, and then e2fsck -p %s",
			error_message(err), h->e2fs_words, h->e2fs_words);
}

/*
 * Reads the MMP block into a new buffer *@mmp.  Even after an error, the caller
 * must free *@mmp with ext2fs_free_mem().
 */
static errcode_t read_mmp(ext2_filsys fs, struct mmp_struct **mmp)
{
	errcode_t err;

	*mmp = NULL;
	err = io_channel_alloc_buf(fs->io, 1, mmp);
	return err ? err : ext2fs_mmp_read(fs, fs->super->s_mmp_block, *mmp);
}

/*
 * Refuses a filesystem that e2fsck has marked as in use.  Must be called before
 * refuse_state(), which can recommend e2fsck, because e2fsck also refuses a
 * filesystem that is marked as in use.
 */
static errcode_t refuse_held(ext2_filsys fs, const struct e4l_hold *h)
{
	struct mmp_struct *mmp;
	errcode_t err;
	bool held;

	if (!ext2fs_has_feature_mmp(fs->super))
		return 0;
	err = read_mmp(fs, &mmp);
	held = !err && mmp->mmp_seq == EXT4_MMP_SEQ_FSCK;
	ext2fs_free_mem(&mmp);
	/* ext2fs_open2() handles the other states of the MMP block */
	return held ? e4l_tell_mmp(h, EXT2_ET_MMP_FSCK_ON) : 0;
}

/*
 * Returns the longest time, in seconds, between two updates of the MMP block by
 * a host that uses the filesystem.  The calculation is that of
 * ext2fs_mmp_start().
 */
static unsigned int seconds_to_wait(ext2_filsys fs, const struct mmp_struct *mmp)
{
	unsigned int seconds = fs->super->s_mmp_update_interval;

	if (!seconds)
		seconds = EXT4_MMP_UPDATE_INTERVAL;
	if (mmp->mmp_check_interval > seconds)
		seconds = mmp->mmp_check_interval;
	return 2 * seconds + 1 < seconds + 60 ? 2 * seconds + 1 : seconds + 60;
}

errcode_t e4l_mmp_look(ext2_filsys fs)
{
	struct mmp_struct *mmp;
	unsigned int seq;
	errcode_t err;

	if (!ext2fs_has_feature_mmp(fs->super))
		return 0;
	err = read_mmp(fs, &mmp);
	seq = err ? EXT4_MMP_SEQ_CLEAN : mmp->mmp_seq;
	if (!err && seq == EXT4_MMP_SEQ_FSCK)
		err = EXT2_ET_MMP_FSCK_ON;
	else if (!err && seq != EXT4_MMP_SEQ_CLEAN && seq > EXT4_MMP_SEQ_MAX)
		err = EXT2_ET_MMP_UNKNOWN_SEQ;
	if (!err && seq != EXT4_MMP_SEQ_CLEAN) {
		sleep(seconds_to_wait(fs, mmp));
		err = ext2fs_mmp_read(fs, fs->super->s_mmp_block, mmp);
		if (!err && mmp->mmp_seq != seq)
			err = EXT2_ET_MMP_FAILED;
	}
	ext2fs_free_mem(&mmp);
	return err;
}

/* -------------------------------------------------------------------- state */

static bool needs_recovery(const struct ext2_super_block *sb)
{
	return sb->s_feature_incompat & EXT3_FEATURE_INCOMPAT_RECOVER;
}

static bool needs_mount(const struct ext2_super_block *sb)
{
	return needs_recovery(sb) &&
	       sb->s_feature_compat & EXT4_FEATURE_COMPAT_FAST_COMMIT;
}

static bool has_errors(const struct ext2_super_block *sb)
{
	return sb->s_state & EXT2_ERROR_FS || sb->s_error_count;
}

static bool is_unclean(const struct ext2_super_block *sb)
{
	return !(sb->s_state & EXT2_VALID_FS);
}

static bool has_orphans(const struct ext2_super_block *sb)
{
	return sb->s_last_orphan || sb->s_feature_ro_compat &
				    EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT;
}

static bool is_readonly(const struct ext2_super_block *sb)
{
	return sb->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_READONLY;
}

static bool has_shared_blocks(const struct ext2_super_block *sb)
{
	return sb->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_SHARED_BLOCKS;
}

/* The refused states, in the order in which the user must fix them. */
static const struct refusal {
	bool (*applies)(const struct ext2_super_block *sb);
	errcode_t err;
	const char *why;
	/*
	 * command that fixes the state, without the device name; NULL: no
	 * command
	 */
	const char *run;
} refusals[] = {
	{ needs_mount, E4L_ET_JOURNAL_RECOVERY,
	  "the journal contains fast commits, which e2fsck can lose: mount and "
	  "unmount the filesystem first", NULL },
	{ needs_recovery, E4L_ET_JOURNAL_RECOVERY,
	  "the journal needs recovery", "e2fsck -p" },
	{ has_errors, E4L_ET_NOT_CLEAN,
	  "the filesystem has recorded errors", "e2fsck -f" },
	{ is_unclean, E4L_ET_NOT_CLEAN,
	  "the filesystem was not cleanly unmounted", "e2fsck -f" },
	{ has_orphans, E4L_ET_NOT_CLEAN,
	  "the filesystem has a list of orphaned inodes", "e2fsck -f" },
	{ is_readonly, EXT2_ET_RO_FILSYS,
	  "the filesystem is marked read-only", "tune2fs -O ^read-only" },
	{ has_shared_blocks, E4L_ET_BLOCK_SHARED,
	  "files of the filesystem share blocks",
	  "e2fsck -E unshare_blocks -f" },
};

static errcode_t tell_refusal(const struct refusal *r, const struct e4l_hold *h)
{
	if (!r->run)
		return e4l_tell(&h->teller, r->err, "%s", r->why);
	return e4l_tell(&h->teller, r->err, "%s: %srun %s %s", r->why,
			e4l_hold_unmount(h), r->run, h->e2fs_words);
}

static errcode_t refuse_state(ext2_filsys fs, const struct e4l_hold *h)
{
	const struct refusal *r = refusals;

	for (; r < refusals + sizeof(refusals) / sizeof(*refusals); r++)
		if (r->applies(fs->super))
			return tell_refusal(r, h);
	return 0;
}

errcode_t e4l_refuse_errors(ext2_filsys fs, const struct e4l_hold *h)
{
	const struct refusal *r = refusals;

	while (r->applies != has_errors)
		r++;
	return r->applies(fs->super) ? tell_refusal(r, h) : 0;
}

errcode_t e4l_refuse_to_change(ext2_filsys fs, const struct e4l_hold *h,
			       unsigned int flags)
{
	errcode_t err = e4l_refuse_to_read(fs, h);

	if (!err)
		err = e4l_refuse_unknown(fs, h);
	if (!err)
		err = refuse_misplaced(fs, h, flags);
	if (!err)
		err = refuse_unprotected(fs, h, flags);
	if (!err)
		err = refuse_held(fs, h);
	return err ? err : refuse_state(fs, h);
}
