/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target of a tool: a block device, an image file, a partition of a disk, a
 * filesystem at an offset (IMAGE?offset=BYTES), a tag (LABEL=, UUID=,
 * PARTLABEL=, PARTUUID=), a mount point, or a directory of a mounted
 * filesystem.
 */
#ifndef SUPPORT_TARGET_H
#define SUPPORT_TARGET_H

#include <stdbool.h>
#include <sys/types.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <e4layout/e4layout.h>

struct e4l_hold;

/* Advice for a file that contains no filesystem. */
enum target_hint {
	TARGET_NO_HINT,
	TARGET_HINT_LAYOUT,	/* e4frag reports the layout of the file itself */
	TARGET_HINT_ARCHIVE,	/* mke4fs reads an archive with -d */
};

struct target {
	const char *name;	/* as the user gave it */
	char *device;		/* the device or image that @name refers to */
	uint64_t offset_bytes;	/* start of the filesystem on @device */
	/* the filesystem ends before this byte; UINT64_MAX: no limit */
	uint64_t end_bytes;
	/* path of the given directory or file in the filesystem; NULL: none */
	char *subtree;
	/* @device, and its filesystem, in commands that messages recommend */
	char *device_word, *e2fs_words;
	bool is_dir;		/* @name is a mount point */
	enum target_hint hint;
	const struct target_undo *undo;	/* set by target_open_change() */
	/* NULL after target_open_check() and target_claim() */
	struct e4l *e;
	/* belongs to @e, or to this struct if @e is NULL */
	struct e4l_hold *hold;
	ext2_filsys fs;
	/* Borrowed from @hold or @e: */
	const char *e2fs_name;	/* name for the tools of e2fsprogs */
	const char *mount_point; /* NULL: not mounted in this mount namespace */
	/* channel of an external journal's device, or NULL */
	io_channel journal;
	int lock_fd;		/* set by target_open_source() */
};

/*
 * Opens @name, or partition @partition of it (0: no partition), for reading.
 * On failure, prints why and returns false; @t must not be closed then.  Unless
 * @quiet, prints a note if the filesystem is mounted or has a journal to
 * replay, because the report can lack the latest changes.
 */
bool target_open_read(struct target *t, const char *name, uint64_t partition,
		      bool quiet);

/*
 * As target_open_read().  If @name is a regular file on a mounted ext4
 * filesystem, but no filesystem, recommends the command of e4frag that reports
 * its layout.
 */
bool target_open_report(struct target *t, const char *name, uint64_t partition,
			bool quiet);

/*
 * Returns true if @name is a regular file on a mounted ext4 filesystem, and
 * contains neither an ext2, ext3 or ext4 filesystem nor partitions: not an image,
 * but a file whose own layout is meant.
 */
bool target_is_file(const char *name);

/*
 * As target_open_read() with @quiet, for the mounted filesystem on which the file
 * or directory @name lies; @t->subtree is its path there.
 */
bool target_open_around(struct target *t, const char *name);

/*
 * Returns the path of the file or directory @name in the mounted filesystem @t,
 * to be freed, or NULL after printing an error: another filesystem, or no such
 * file.
 */
char *locate_inside(const struct target *t, const char *name);

/*
 * As target_open_read(), for a source that must not change until
 * target_close().  Refuses a source that is mounted anywhere or attached, and
 * takes a shared lock; @t->lock_fd is open for reading.
 */
bool target_open_source(struct target *t, const char *name, uint64_t partition);

/* The damaged parts of a filesystem that was opened nevertheless. */
struct target_doubt {
	errcode_t super;	/* error of the primary superblock; 0: valid */
	/* error of the primary group descriptors; 0: valid */
	errcode_t groups;
	/* block of the backup superblock in use; 0: the primary one is used */
	blk64_t backup;
};

/*
 * Opens @name for a check.  Like target_open_read(), but uses the first backup
 * of the superblock and of the group descriptors if the primary ones are
 * damaged, as e2fsck does; *@doubt returns the errors.  Refuses all unknown
 * features, also those that permit reading.  Also opens the device of an
 * external journal.  If the device is missing, @t->journal is NULL, and, unless
 * @quiet, a message is printed.
 */
bool target_open_check(struct target *t, const char *name, uint64_t partition,
		       bool quiet, struct target_doubt *doubt);

/*
 * Makes a context for a target opened by target_open_check(), as e4l_new()
 * does.  Free it with e4l_free().
 */
errcode_t target_new_context(const struct target *t, struct e4l **e);

/*
 * Returns true, after printing the reason, if the open target @t has a feature
 * or a name encoding that this version cannot check.
 */
bool target_is_strange(const struct target *t);

/*
 * Takes the device or file @name from @offset_bytes on, to overwrite it
 * completely.  Refuses a device in use, and keeps other programs away until
 * target_release().  Returns false after printing an error.
 */
bool target_claim(struct target *t, const char *name, uint64_t offset_bytes);
void target_release(struct target *t);

/*
 * Returns true, after printing a message, if the regular file @path is attached
 * to a loop device or mounted, or if this cannot be determined: such a file
 * must not be replaced.
 */
bool target_is_attached(const char *path);

/* Protection of a change in addition to the journal. */
struct target_undo {
	/* undo file for e2undo(8); NULL: no undo file */
	const char *file;
	bool none;		/* no protection is required */
};

/*
 * Opens @name exclusively, to change it in transactions.  Before anything is
 * written, refuses every state that makes a change unsafe, and prints the
 * remedy.  A filesystem without a journal is refused unless @undo permits the
 * change; @undo is borrowed until target_close().  Old contents are recorded to
 * the undo file, which must not exist.
 */
bool target_open_change(struct target *t, const char *name, uint64_t partition,
			const struct target_undo *undo);

/*
 * Returns whether a mounted filesystem may be changed: false, after printing a
 * message, if the filesystem has recorded errors.
 */
bool target_has_no_errors(const struct target *t);

/*
 * Opens @name for reading, to plan a change: refuses the same states as
 * target_open_change(), with the same messages.  A directory of a mounted
 * filesystem is opened as by target_open_read(), and refused only if the
 * filesystem has recorded errors.
 */
bool target_open_plan(struct target *t, const char *name, uint64_t partition,
		      const struct target_undo *undo, bool quiet);

/*
 * Returns whether no other program uses @t (a source, a claimed target, or a
 * target open for changes), and whether a source is unchanged.  Otherwise
 * prints a message and returns false.  Always true for a target open for
 * reading.
 */
bool target_is_ours(const struct target *t);

/* Returns whether another program uses @t. Prints nothing. */
bool target_is_used(const struct target *t);

/*
 * Makes an inode bitmap of the @n files and subtrees @paths, as e4l_subtree()
 * does; the caller frees it.  Without paths, *@ret is NULL.  If @t was given as
 * a mount point, paths may begin with the mount point, which is removed.  If
 * *@said is true, the error is caused by a path and has been printed.
 */
errcode_t target_subtree(const struct target *t, struct e4l *e,
			 const char **paths, size_t n,
			 ext2fs_inode_bitmap *ret, bool *said);

/*
 * As target_subtree(); but without paths, and if @t was given as a directory,
 * the bitmap is of that directory.
 */
errcode_t target_only(const struct target *t, struct e4l *e,
		      const char **paths, size_t n, ext2fs_inode_bitmap *ret,
		      bool *said);

/*
 * As say_e4l(); but if @err means damage or a journal that needs recovery, with
 * the command of e2fsck to run.
 */
void target_say_e4l(const struct target *t, const struct e4l *e, errcode_t err);

/*
 * Closes @t and frees its memory; libext2fs writes nothing at this point.
 * Returns false after printing the error.  If the undo file failed
 * (undo_guard_failed()), the message contains the remedy.
 */
bool target_close(struct target *t);

#endif
