/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The check, in the order of e2fsck's passes:
 *
 *  0. the superblock, its copies, group descriptors, journal, MMP;
 *  1. inodes, their maps and attributes, and the owner of each block;
 *  2. directories: entries, names, indexes;
 *  3. connectivity of directories;
 *  4. link counts of inodes;
 *  5. bitmaps and counts;
 *  6. orphans and quotas.
 *
 * Passes 1, 2 and 5 use all processors, and request reads ahead of time to keep
 * the device busy.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "bad_blocks.h"
#include "encryption.h"
#include "layout.h"
#include "metadata.h"
#include "usage.h"
#include "e4layout/open/refusals.h"

#define KNOWN_FLAGS (E4L_CHECK_NO_LAYOUT | E4L_CHECK_LAYOUT_ONLY | \
		     E4L_CHECK_MOUNTED)

static errcode_t make_tables(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	uint64_t n = (uint64_t)sb->s_inodes_count + 1;
	blk64_t last = ext2fs_blocks_count(sb) - 1;

	ck->kind = e4l_array_zalloc(n, sizeof(*ck->kind));
	ck->links = e4l_array_zalloc(n, sizeof(*ck->links));
	ck->counted = e4l_array_zalloc(n, sizeof(*ck->counted));
	ck->owners = e4l_owners_new(EXT2FS_B2C(ck->fs, last) + 1);
	return ck->kind && ck->links && ck->counted && ck->owners ? 0 : ENOMEM;
}

static void free_tables(struct check *ck)
{
	free(ck->kind);
	free(ck->links);
	free(ck->counted);
	e4l_owners_free(ck->owners);
	e4l_metadata_free(ck);
	e4l_bad_blocks_free(ck);
	free(ck->dirs);
	free(ck->runs);
	free(ck->xattrs);
	free(ck->eas);
	free(ck->symlinks);
	e4l_usage_free(ck);
	e4l_encryption_free(ck);
}

static errcode_t pass0_metadata(struct check *ck)
{
	errcode_t err = make_tables(ck);

	return err ? err : e4l_metadata_claim(ck);
}

static errcode_t pass_layout(struct check *ck)
{
	if (!(ck->opt->flags & E4L_CHECK_NO_LAYOUT))
		e4l_layout_judge_tunables(ck);
	return 0;
}

static errcode_t run_passes(struct check *ck)
{
	static errcode_t (*const all[])(struct check *) = {
		e4l_pass0_super, e4l_pass0_groups, pass0_metadata,
		e4l_pass0_resize_inode, e4l_pass0_backups,
		e4l_pass0_journal, e4l_pass0_mmp, e4l_pass1_bad_blocks,
		e4l_pass1_inodes, e4l_pass1_xattr_blocks,
		e4l_pass1_symlinks, e4l_pass2_dirs, e4l_pass3_connect,
		e4l_pass4_links, e4l_pass5_bitmaps,
		e4l_pass6_orphans, e4l_pass6_quota, pass_layout, NULL
	};
	static errcode_t (*const layout_only[])(struct check *) = {
		e4l_pass0_super, pass0_metadata, e4l_pass1_inodes,
		e4l_pass2_dirs,
		pass_layout, NULL
	};
	errcode_t (*const *pass)(struct check *);
	errcode_t err = 0;

	pass = ck->opt->flags & E4L_CHECK_LAYOUT_ONLY ? layout_only : all;
	for (; *pass && !err; pass++)
		err = (*pass)(ck);
	return err;
}

errcode_t e4l_check_noted(struct check *ck, errcode_t err)
{
	if (err == ENOMEM || err == EXT2_ET_NO_MEMORY)
		e4l_findings_fail(ck->found);
	return err;
}

/* Whether a check with @options tests for all errors. */
static bool is_complete(const struct e4l_check_options *options)
{
	return !(options->flags & (E4L_CHECK_LAYOUT_ONLY | E4L_CHECK_MOUNTED));
}

errcode_t e4l_check_run(struct e4l *e, const struct e4l_check_options *options,
			struct findings *found)
{
	struct check ck = {
		.e = e, .fs = e4l_fs(e), .opt = options, .found = found,
		.journal = options->journal ? options->journal : e->journal,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int flags = ck.fs->flags;
	errcode_t err;

	e->sound = false;
	found->layout_only = options->flags & E4L_CHECK_LAYOUT_ONLY;
	found->mounted = options->flags & E4L_CHECK_MOUNTED;
	/*
	 * The passes report wrong checksums as findings.  Therefore libext2fs
	 * must ignore wrong checksums.
	 */
	ck.fs->flags |= EXT2_FLAG_IGNORE_CSUM_ERRORS;
	err = run_passes(&ck);
	ck.fs->flags = flags;
	free_tables(&ck);
	if (!err && found->failed)
		err = ENOMEM;
	e->sound = !err && is_complete(options) &&
		   !found->severity[E4L_SEVERITY_ERROR];
	return err;
}

/*
 * Calls ext2fs_check_desc() with bitmaps of type rbtree, because a bit array
 * for 2^32 blocks would need 512 MiB.
 */
errcode_t e4l_check_groups(ext2_filsys fs)
{
	int type = fs->default_bitmap_type;
	errcode_t err;

	fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
	err = ext2fs_check_desc(fs);
	fs->default_bitmap_type = type;
	return err == EXT2_ET_NO_MEMORY ? ENOMEM : err;
}

/* Returns an error if the passes cannot read the filesystem. */
static errcode_t can_be_checked(struct e4l *e)
{
	char no_device[] = "";
	const struct e4l_hold silent = { .device = no_device, .lock_fd = -1 };
	const struct e4l_hold *hold = e->hold ? e->hold : &silent;
	errcode_t err = e4l_refuse_to_read(e->fs, hold);

	if (!err)
		err = e4l_refuse_unknown(e->fs, hold);
	if (!err)
		err = e4l_check_groups(e->fs);
	return err ? e4l_fail(e, err, "checking the filesystem", 0, 0) : 0;
}

static errcode_t check_all(struct e4l *e,
			   const struct e4l_check_options *options,
			   struct findings *found)
{
	errcode_t err = can_be_checked(e);

	if (!err)
		err = e4l_check_run(e, options, found);
	e4l_findings_sort(found);
	return err;
}

static void pass_on(const struct e4l_check_options *options,
		    const struct findings *found)
{
	struct e4l_finding finding;
	char text[FINDING_TEXT_LEN];
	size_t i;

	for (i = 0; i < found->n; i++) {
		e4l_finding_public(&found->v[i], text, &finding);
		options->finding(&finding, options->priv);
	}
}

errcode_t e4l_check(struct e4l *e, const struct e4l_check_options *options,
		    struct e4l_check_result *result)
{
	static const struct e4l_check_options none = { .flags = 0 };
	struct findings found;
	errcode_t err;

	if (!options)
		options = &none;
	e4l_fail(e, 0, NULL, 0, 0);
	e4l_clear(result);
	if (options->flags & ~KNOWN_FLAGS || E4L_HAS_UNKNOWN(options))
		return e4l_fail(e, E4L_ET_OPTION, "checking the filesystem",
				0, 0);
	e4l_findings_init(&found, options->finding ? options->max_findings : 0);
	err = check_all(e, options, &found);
	if (!err) {
		result->errors = found.severity[E4L_SEVERITY_ERROR];
		result->warnings = found.severity[E4L_SEVERITY_WARNING];
		result->layout = found.severity[E4L_SEVERITY_LAYOUT];
		pass_on(options, &found);
	}
	e4l_findings_free(&found);
	return err;
}

errcode_t e4l_require_sound(struct e4l *e, io_channel journal)
{
	const struct e4l_check_options options = {
		.flags = E4L_CHECK_NO_LAYOUT, .journal = journal,
	};
	struct findings found;
	errcode_t err;

	if (e->sound)
		return 0;
	e4l_findings_init(&found, 1);
	err = check_all(e, &options, &found);
	if (!err && found.severity[E4L_SEVERITY_ERROR])
		err = e4l_finding_fail(e, &found.v[0]);
	e4l_findings_free(&found);
	return err;
}

errcode_t e4l_sound_after(struct e4l *e, errcode_t err)
{
	if (err)
		e->sound = false;
	return err;
}
