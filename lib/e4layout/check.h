/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check: errors and layout problems of a filesystem. */
#ifndef E4LAYOUT_CHECK_H
#define E4LAYOUT_CHECK_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum e4l_severity {
	E4L_SEVERITY_ERROR,	/* e2fsck -fn exits with status 4 */
	/* e2fsck -fn does not detect the problem, or exits with status 0 */
	E4L_SEVERITY_WARNING,
	/* the metadata is valid, but the layout could be better */
	E4L_SEVERITY_LAYOUT,
	E4L_SEVERITIES
};

/* What fixes a finding: a program, or a change of the filesystem. */
enum e4l_fix {
	E4L_FIX_NOTHING,	/* no known fix */
	E4L_FIX_FSCK,		/* e2fsck -fy */
	/* replaying the journal with e2fsck -p or a mount */
	E4L_FIX_RECOVER,
	E4L_FIX_CLEAR_MMP,	/* clearing multiple mount protection */
	E4L_FIX_CLEAR_JOURNAL_UUID,	/* clearing s_journal_uuid */
	/* writing all backups of the superblock and of the descriptors */
	E4L_FIX_WRITE_BACKUPS,
	E4L_FIX_CLEAR_JOURNAL_XATTR,	/* clearing the journal's i_file_acl */
	E4L_FIX_SET_JOURNAL_INODE,	/* setting s_journal_inum to 8 */
	/* clearing the resize inode; e2fsck -fy then makes a new one */
	E4L_FIX_CLEAR_RESIZE_INODE,
	E4L_FIX_REPACK_MERGE,	/* a repack of extent trees, without zeroing */
	E4L_FIX_REPACK_ZERO,	/* a repack of extent trees, with zeroing */
	E4L_FIX_REPACK_MOVE,	/* a repack of files */
	E4L_FIX_REPACK_INDEX,	/* a repack of directories */
	E4L_FIX_REPACK_INODES,	/* a repack of inodes */
	E4L_FIX_TUNE_CLEAR,	/* removing the tunables */
	E4L_FIXES
};

/* One finding. */
struct e4l_finding {
	/*
	 * static text such as "inode-mode"; a code keeps its meaning in later
	 * versions
	 */
	const char *code;
	enum e4l_severity severity;
	const char *text;	/* one sentence; valid during the callback */
	/*
	 * static text such as "PR_1_MODE", the name of the problem in e2fsck's
	 * problem.h; NULL: e2fsck does not detect the problem
	 */
	const char *e2fsck;
	enum e4l_fix fix;
	ext2_ino_t ino;		/* 0: no inode */
	blk64_t blk;		/* 0: no block */
	dgrp_t group;		/* valid if has_group is set */
	bool has_group;
	uint64_t reserved[4];
};

#define E4L_CHECK_NO_LAYOUT	0x1	/* report no layout problems */
#define E4L_CHECK_LAYOUT_ONLY	0x2	/* report layout problems only */
/*
 * The filesystem is mounted: do not report conditions that are normal for a
 * mounted filesystem, which are a journal in use, orphaned inodes, and active
 * multiple mount protection.
 */
#define E4L_CHECK_MOUNTED	0x4

struct e4l_check_options {
	unsigned int flags;	/* E4L_CHECK_* */
	/*
	 * The largest number of findings passed to finding().  Findings are
	 * sorted by severity, inode, group and block.  If there are more
	 * findings, the least severe findings are not passed.
	 */
	size_t max_findings;
	/*
	 * The channel of an external journal's device, borrowed.  NULL if
	 * e4l_open() has opened the device, or if the journal is not external.
	 */
	io_channel journal;
	/* Called for each finding at the end of the check. May be NULL. */
	void (*finding)(const struct e4l_finding *finding, void *priv);
	/*
	 * Called while the check runs, from one thread at a time.  @doing is
	 * static text that describes the current pass.  The pointer @doing
	 * changes when a new pass begins.  progress() may be NULL.
	 */
	void (*progress)(const char *doing, uint64_t done, uint64_t total,
			 void *priv);
	void *priv;
	uint64_t reserved[4];
};

struct e4l_check_result {
	/*
	 * numbers of all findings, including the findings beyond max_findings
	 */
	uint64_t errors, warnings, layout;
	uint64_t reserved[3];
};

/*
 * Checks the whole filesystem of @e without changing it, as e2fsck -fn does.
 * @options may be NULL.  e4l_interrupt() ends the check.
 *
 * If the check ran without E4L_CHECK_LAYOUT_ONLY and E4L_CHECK_MOUNTED, and
 * found no errors, functions that change the filesystem of @e do not check the
 * filesystem again.  If the caller changes the filesystem by other means, the
 * caller must call e4l_check() again.
 *
 * Errors: E4L_ET_INTERRUPTED; E4L_ET_UNKNOWN_FEATURE; E4L_ET_OPTION;
 * E4L_ET_BAD_GEOMETRY: a field of the superblock is invalid, and no finding is
 * reported; EXT2_ET_GDESC_*: the group descriptors are too damaged for the
 * check to continue; ENOMEM.  *@result is valid only on success.
 */
errcode_t e4l_check(struct e4l *e, const struct e4l_check_options *options,
		    struct e4l_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
