/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* open: a filesystem that nobody else uses, or only to be read. */
#ifndef E4LAYOUT_OPEN_H
#define E4LAYOUT_OPEN_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Without one of the first two, a filesystem is read whatever its state and
 * whoever uses it: what is mounted or has a journal to replay can look damaged.
 */
#define E4L_OPEN_ALONE		0x01	/* to read what stays as it is */
#define E4L_OPEN_WRITE		0x02	/* to change it, alone as well */
/* These go with E4L_OPEN_WRITE. */
#define E4L_OPEN_UNPROTECTED	0x04	/* one without a journal, too */
#define E4L_OPEN_UNDO		0x08	/* the manager records for e2undo(8) */
#define E4L_OPEN_PLAN		0x10	/* but only to read it, for a plan */

/* What is pointed to must stay valid until e4l_close(). */
struct e4l_open_options {
	unsigned int flags;		/* E4L_OPEN_* */
	uint64_t offset_bytes;		/* where the filesystem begins */
	uint64_t end_bytes;		/* where it has to end; 0: anywhere */
	io_manager manager;		/* NULL: unix_io_manager */
	const char *io_options;		/* for it, beside "cache=off" for
					   unix_io_manager; NULL: none */
	/*
	 * Told why something is refused or has failed, and what to do.
	 * @sentence lacks its subject, "is mounted on /srv: unmount it first:
	 * umount /srv", and is meant to follow a name and ": ".  It has no
	 * newline and is valid during the call; names in it have whatever
	 * bytes they have on the system.  NULL is allowed.
	 */
	void (*say)(const char *sentence, errcode_t err, void *priv);
	void *priv;
	uint64_t reserved[16];
};

/*
 * Opens the filesystem on @device, a block device or an image file, and makes a
 * context of it as e4l_new() does, which owns it: e4l_fs(*@ret) is it, and
 * e4l_close() closes it.  @options may be NULL: to read, and to say nothing.
 *
 * With E4L_OPEN_ALONE or _WRITE, refuses what is mounted, in whatever mount
 * namespace that can be seen, attached to a loop device, or locked by another
 * program (flock(2), or as qemu does), through whatever partitions, loop
 * devices and links; keeps others away by the same locks until e4l_close(), and
 * makes sure, before and after each transaction and in e4l_still_ours(), that
 * nobody has come all the same.
 *
 * With E4L_OPEN_WRITE, opens it exclusively, which refuses swap, RAID, LVM and
 * everything else that holds a device, and what multiple mount protection says
 * is in use on any host; before that, and before anything is written, refuses
 * what a change could hurt: a feature that is not known, a journal to be
 * replayed, recorded errors, orphaned inodes, and, without _UNPROTECTED or
 * _UNDO, what has no journal.  Opens the device of an external journal, found
 * by its UUID, which whatever takes a journal's channel then uses when it gets
 * none.  Does not check the rest of the filesystem.
 *
 * With E4L_OPEN_PLAN as well, refuses the same, and then opens what it did not
 * refuse, and the journal's device, to be read; nothing is written, and
 * multiple mount protection is looked at, but not taken.
 *
 * Errors: E4L_ET_MOUNTED, E4L_ET_IN_USE, EBUSY, EXT2_ET_MMP_*, EROFS: it is
 * used, or cannot be written; E4L_ET_NOT_STORAGE, EXT2_ET_BAD_MAGIC,
 * E4L_ET_IS_JOURNAL, E4L_ET_TRUNCATED, E4L_ET_UNKNOWN_FEATURE: it holds no
 * filesystem that could be opened; E4L_ET_JOURNAL_RECOVERY, E4L_ET_NOT_CLEAN,
 * E4L_ET_BLOCK_SHARED, EXT2_ET_RO_FILSYS: something has to be run first;
 * E4L_ET_NO_JOURNAL, E4L_ET_JOURNAL_DEVICE, E4L_ET_UNDO_JOURNAL,
 * E4L_ET_AT_OFFSET: nothing would protect the change; E4L_ET_OPTION: an option
 * that this version does not know; E4L_ET_BAD_ARGUMENT: one that does not go
 * with the others; those of e4l_new(), of ext2fs_open2() and of the system.
 * say() has been called, *@ret is NULL, and nothing is open or locked, nor has
 * been written, but the block of multiple mount protection, which is as before.
 */
errcode_t e4l_open(const char *device, const struct e4l_open_options *options,
		   struct e4l **ret);

/*
 * Closes what e4l_open() opened, and frees @e, also after an error; NULL is
 * allowed.  libext2fs writes nothing: what was changed in its memory alone is
 * dropped.  What was made of @e, a journal or names, must be closed before.
 * Errors: what closing returns, after say(), which is told once more, with
 * E4L_ET_MMP_KEPT, when multiple mount protection could not be released; but
 * nothing when E4L_ET_NOT_OURS has been returned before.
 */
errcode_t e4l_close(struct e4l *e);

/*
 * Where the filesystem was mounted when it was opened, seen from here, or NULL;
 * valid until e4l_close().
 */
const char *e4l_mount_point(const struct e4l *e);

/*
 * E4L_ET_NOT_OURS when somebody else has come to use what was opened with
 * E4L_OPEN_ALONE or _WRITE, or has changed what was opened to be read alone.
 */
errcode_t e4l_still_ours(struct e4l *e);

#ifdef __cplusplus
}
#endif
#endif
