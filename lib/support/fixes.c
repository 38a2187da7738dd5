/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stddef.h>
#include "fixes.h"

static const char *const commands[E4L_FIXES] = {
	[E4L_FIX_FSCK] = "e2fsck -fy",
	[E4L_FIX_RECOVER] = "e2fsck -p",
	[E4L_FIX_CLEAR_MMP] = "tune2fs -f -E clear_mmp",
	/*
	 * If the superblock names an internal and an external journal, e2fsck
	 * exits with 12 and changes nothing.  tune2fs does not clear the UUID
	 * of the external journal.
	 */
	[E4L_FIX_CLEAR_JOURNAL_UUID] =
		"debugfs -w -R 'ssv journal_uuid clear'",
	/*
	 * If the primary superblock is sound, neither e2fsck nor tune2fs
	 * rewrites a backup.
	 */
	[E4L_FIX_WRITE_BACKUPS] =
		"(echo dirty; echo close -a) | debugfs -w -f -",
	[E4L_FIX_CLEAR_JOURNAL_XATTR] = "debugfs -w -R 'sif <8> file_acl 0'",
	/*
	 * If s_journal_inum is wrong, e2fsck uses the backup of the journal's
	 * block map, but does not correct s_journal_inum.
	 */
	[E4L_FIX_SET_JOURNAL_INODE] = "debugfs -w -R 'ssv journal_inum 8'",
	/*
	 * e2fsck does not detect wrong block numbers of reserved blocks in the
	 * resize inode.  If the inode is cleared, e2fsck makes a new resize
	 * inode.
	 */
	[E4L_FIX_CLEAR_RESIZE_INODE] = "debugfs -w -R 'clri <7>'",
	[E4L_FIX_REPACK_MERGE] = "e4repack --only=trees",
	[E4L_FIX_REPACK_ZERO] = "e4repack --only=trees",
	[E4L_FIX_REPACK_MOVE] = "e4repack",
	[E4L_FIX_REPACK_INDEX] = "e4repack --only=directories",
	[E4L_FIX_REPACK_INODES] = "e4repack --only=inodes",
	[E4L_FIX_TUNE_CLEAR] = "tune4fs --clear",
};

const char *fix_command(enum e4l_fix fix)
{
	return commands[fix];
}
