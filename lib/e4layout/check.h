/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check: whether a filesystem is sound, and how its layout could be better. */
#ifndef E4LAYOUT_CHECK_H
#define E4LAYOUT_CHECK_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum e4l_severity {
	E4L_SEVERITY_ERROR,	/* e2fsck -fn ends with exit code 4 for it */
	E4L_SEVERITY_WARNING,	/* e2fsck reports it, and ends with 0 */
	E4L_SEVERITY_LAYOUT,	/* sound, but could be laid out better */
	E4L_SEVERITIES
};

/* What fixes a finding. */
enum e4l_fix {
	E4L_FIX_NOTHING,	/* no program does */
	E4L_FIX_FSCK,		/* e2fsck, asked to repair everything */
	E4L_FIX_RECOVER,	/* e2fsck, or a mount, replaying the journal */
	E4L_FIX_CLEAR_MMP,	/* clearing multiple mount protection */
	E4L_FIX_CLEAR_JOURNAL_UUID,	/* clearing s_journal_uuid */
	E4L_FIX_WRITE_BACKUPS,	/* writing all backups of superblock and
				 * group descriptors */
	E4L_FIX_REPACK_MERGE,	/* a repack of trees, without zeroing */
	E4L_FIX_REPACK_ZERO,	/* a repack of trees */
	E4L_FIX_REPACK_MOVE,	/* a repack of files */
	E4L_FIX_REPACK_INDEX,	/* a repack of directories */
	E4L_FIX_REPACK_INODES,	/* a repack of inodes */
	E4L_FIX_TUNE_CLEAR,	/* removing the tunables */
	E4L_FIXES
};

/* One finding. */
struct e4l_finding {
	const char *code;	/* static text that never changes: "inode-mode" */
	enum e4l_severity severity;
	const char *text;	/* one sentence; valid during the callback */
	const char *e2fsck;	/* the problem in e2fsck's words: static text
				 * such as "PR_1_MODE"; or NULL */
	enum e4l_fix fix;
	ext2_ino_t ino;		/* 0: no inode is concerned */
	blk64_t blk;		/* 0: no block is concerned */
	dgrp_t group;		/* meaningful when has_group is set */
	bool has_group;
	uint64_t reserved[4];
};

#define E4L_CHECK_NO_LAYOUT	0x1	/* errors and warnings only */
#define E4L_CHECK_LAYOUT_ONLY	0x2	/* layout only */
/*
 * The filesystem is mounted: a journal in use, orphans and multiple mount
 * protection are no findings.
 */
#define E4L_CHECK_MOUNTED	0x4

struct e4l_check_options {
	unsigned int flags;	/* E4L_CHECK_* */
	/*
	 * How many findings are passed to finding(): the most severe ones,
	 * ordered by severity, inode, group and block.
	 */
	size_t max_findings;
	/*
	 * The channel of an external journal's device, borrowed.  NULL:
	 * e4l_open() has opened it, or the journal is not external.
	 */
	io_channel journal;
	/* Called for each finding when the check has ended.  May be NULL. */
	void (*finding)(const struct e4l_finding *finding, void *priv);
	/*
	 * Called while the check runs, from one thread at a time.  @doing is
	 * static text, a different pointer for each pass.  May be NULL.
	 */
	void (*progress)(const char *doing, uint64_t done, uint64_t total,
			 void *priv);
	void *priv;
	uint64_t reserved[4];
};

struct e4l_check_result {
	uint64_t errors, warnings, layout;	/* findings, all of them */
	uint64_t reserved[3];
};

/*
 * Checks the whole filesystem of @e without changing it, as e2fsck -fn does.
 * @options may be NULL.
 * e4l_interrupt() ends the check.  After a check without errors, functions that
 * change the filesystem of @e do not check it again; if the caller then changes
 * the filesystem in any other way, the caller must check it again.
 * Errors: E4L_ET_INTERRUPTED, E4L_ET_UNKNOWN_FEATURE, E4L_ET_OPTION, ENOMEM,
 * EXT2_ET_GDESC_* if the group descriptors are so damaged that nothing else can
 * be checked.  *@result is valid only on success.
 */
errcode_t e4l_check(struct e4l *e, const struct e4l_check_options *options,
		    struct e4l_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
