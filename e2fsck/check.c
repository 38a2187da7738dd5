/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The check, in the order of e2fsck's passes:
 *
 *  0. the superblock, its copies, group descriptors, journal, MMP;
 *  1. inodes, their maps and attributes, and who owns which block;
 *  2. directories: entries, names, indexes;
 *  3. whether directories are connected;
 *  4. how many names inodes have;
 *  5. bitmaps and counts;
 *  6. orphans and quotas.
 *
 * Passes 1, 2 and 5 read and judge on all processors; each announces what it
 * is going to read, so that the device has no rest within a pass.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bad_blocks.h"
#include "encryption.h"
#include "layout.h"
#include "metadata.h"
#include "quota.h"
#include "support/say.h"

static errcode_t make_tables(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	uint64_t n = (uint64_t)sb->s_inodes_count + 1;
	blk64_t last = ext2fs_blocks_count(sb) - 1;

	ck->kind = calloc(n, sizeof(*ck->kind));
	ck->links = calloc(n, sizeof(*ck->links));
	ck->counted = calloc(n, sizeof(*ck->counted));
	ck->owners = e4l_owners_new(EXT2FS_B2C(ck->fs, last) + 1);
	return ck->kind && ck->links && ck->counted && ck->owners ? 0 : ENOMEM;
}

static void free_tables(struct check *ck)
{
	free(ck->kind);
	free(ck->links);
	free(ck->counted);
	e4l_owners_free(ck->owners);
	metadata_free(ck);
	bad_blocks_free(ck);
	free(ck->dirs);
	free(ck->runs);
	free(ck->xattrs);
	free(ck->eas);
	free(ck->symlinks);
	quota_free(ck);
	encryption_free(ck);
}

static errcode_t pass0_metadata(struct check *ck)
{
	errcode_t err = make_tables(ck);

	return err ? err : metadata_claim(ck);
}

static errcode_t pass_layout(struct check *ck)
{
	if (!ck->opt->no_layout)
		layout_judge_tunables(ck);
	return 0;
}

static errcode_t run_passes(struct check *ck)
{
	static errcode_t (*const all[])(struct check *) = {
		pass0_super, pass0_groups, pass0_metadata, pass0_resize_inode,
		pass0_backups, pass0_journal, pass0_mmp,
		pass1_bad_blocks, pass1_inodes, pass1_xattr_blocks, pass1_symlinks,
		pass2_dirs, pass3_connect, pass4_links, pass5_bitmaps,
		pass6_orphans, pass6_quota, pass_layout, NULL
	};
	static errcode_t (*const layout_only[])(struct check *) = {
		pass0_super, pass0_metadata, pass1_inodes, pass2_dirs,
		pass_layout, NULL
	};
	errcode_t (*const *pass)(struct check *);
	errcode_t err = 0;

	for (pass = ck->opt->layout_only ? layout_only : all; *pass && !err;
	     pass++)
		err = (*pass)(ck);
	return err;
}

errcode_t check_noted(struct check *ck, errcode_t err)
{
	if (say_is_no_memory(err))
		findings_fail(ck->found);
	return err;
}

errcode_t check_run(struct e4l *e, const struct check_options *options,
		    struct findings *found)
{
	struct check ck = {
		.e = e, .fs = e4l_fs(e), .opt = options, .found = found,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int flags = ck.fs->flags;
	errcode_t err;

	found->layout_only = options->layout_only;
	found->mounted = options->mounted;
	/* checksums are judged here, once */
	ck.fs->flags |= EXT2_FLAG_IGNORE_CSUM_ERRORS;
	err = run_passes(&ck);
	ck.fs->flags = flags;
	free_tables(&ck);
	if (!err && found->failed)
		err = ENOMEM;
	return err;
}
