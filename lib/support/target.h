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
	TARGET_HINT_LAYOUT,	/* e4frag reports the layout of the file */
	TARGET_HINT_ARCHIVE,	/* mke4fs reads an archive with -d */
};

struct target {
	const char *name;	/* as the user gave it */
	char *device;		/* the device or image that @name refers to */
	uint64_t offset_bytes;	/* start of the filesystem on @device */
	/* the filesystem ends before this byte; UINT64_MAX for no limit */
	uint64_t end_bytes;
	/*
	 * path in the filesystem if @name is a file or a directory below the
	 * mount point; otherwise, NULL
	 */
	char *subtree;
	/*
	 * shell words for @device and for its filesystem, for commands in
	 * messages
	 */
	char *device_word, *e2fs_words;
	bool is_dir;		/* @name is a mount point */
	enum target_hint hint;
	/* set by target_open_change() and target_open_plan() */
	const struct target_undo *undo;
	/* NULL after target_open_check() and target_claim() */
	struct e4l *e;
	/* If @e is NULL, this struct owns @hold; otherwise, @e owns @hold. */
	struct e4l_hold *hold;
	ext2_filsys fs;
	/*
	 * @hold or @e owns the name, the mount point and the journal's channel.
	 */
	const char *e2fs_name;	/* name for the tools of e2fsprogs */
	/* NULL if not mounted in this mount namespace */
	const char *mount_point;
	/* channel of the external journal's device; NULL: not opened */
	io_channel journal;
	/* descriptor of the source; see target_open_source() */
	int lock_fd;
};

/*
 * Opens @name for reading; if @partition is not 0, opens that partition of
 * @name.  On failure, prints the reason and returns false; the caller must not
 * close @t.
 *
 * If the filesystem is mounted or has a journal to replay, the report can lack
 * the latest changes.  Unless @quiet is true, prints a note about the missing
 * changes.
 */
bool target_open_read(struct target *t, const char *name, uint64_t partition,
		      bool quiet);

/*
 * Opens @name like target_open_read(), with the same @quiet.  If @name is a
 * regular file on a mounted ext4 filesystem and contains no filesystem, the
 * error message recommends the e4frag command that reports the layout of the
 * file.  Returns false after printing an error.
 */
bool target_open_report(struct target *t, const char *name, uint64_t partition,
			bool quiet);

/*
 * Whether @name is a regular file on a mounted ext4 filesystem, and contains
 * neither an ext2, ext3 or ext4 filesystem nor partitions.  Such a file is not
 * an image, and e4frag reports the layout of the file itself.
 */
bool target_is_file(const char *name);

/*
 * Opens the mounted filesystem that contains the file or directory @name, like
 * target_open_read() with the argument quiet true.  Sets @t->subtree to the
 * path of @name in the filesystem.  Returns false after printing an error.
 */
bool target_open_around(struct target *t, const char *name);

/*
 * Returns the path of the file or directory @name in the mounted filesystem @t;
 * the caller frees the path.  If @name does not exist or is on another
 * filesystem, prints an error and returns NULL.
 */
char *locate_inside(const struct target *t, const char *name);

/*
 * Opens a source that must not change until target_close(), like
 * target_open_read().  Refuses a source that is mounted or attached to a loop
 * device, and takes a shared lock on the source.  @t->lock_fd is open for
 * reading.  Returns false after printing an error.
 */
bool target_open_source(struct target *t, const char *name, uint64_t partition);

/* Damage that target_open_check() found when it opened a filesystem. */
struct target_doubt {
	/* error of the primary superblock; 0: no error was found */
	errcode_t super;
	/* error of the primary group descriptors; 0: no error was found */
	errcode_t groups;
	/*
	 * block of the backup superblock in use, or 0 if the primary superblock
	 * is in use
	 */
	blk64_t backup;
};

/*
 * Opens @name for a check, like target_open_read().  If the primary superblock
 * or the primary group descriptors are damaged, uses their first backup, as
 * e2fsck does; *@doubt returns the errors.  Refuses every unknown feature, even
 * if the feature permits reading.
 *
 * If the filesystem has an external journal, also opens the journal's device.
 * If the device is missing, @t->journal is NULL and, unless @quiet is true, a
 * message is printed.
 */
bool target_open_check(struct target *t, const char *name, uint64_t partition,
		       bool quiet, struct target_doubt *doubt);

/*
 * Makes a context for a target opened by target_open_check(), as e4l_new()
 * does.  The caller frees the context with e4l_free().
 */
errcode_t target_new_context(const struct target *t, struct e4l **e);

/*
 * If this version cannot check a feature or the name encoding of the open
 * target @t, prints the reason and returns true.
 */
bool target_is_strange(const struct target *t);

/*
 * Locks the device or file @name, which the caller will overwrite completely
 * from @offset_bytes on.  Refuses a device in use, and keeps other programs
 * from using it until target_release().  Returns false after printing an error.
 */
bool target_claim(struct target *t, const char *name, uint64_t offset_bytes);
void target_release(struct target *t);

/*
 * Whether the regular file @path is attached to a loop device or mounted.  If
 * the file is in use, or if its use cannot be determined, prints a message and
 * returns true.  The caller must then not replace the file.
 */
bool target_is_attached(const char *path);

/* How to protect a change to a filesystem without a journal. */
struct target_undo {
	/* undo file for e2undo(8); NULL: no undo file */
	const char *file;
	bool none;		/* permits a change without any protection */
};

/*
 * Opens @name exclusively, to change it in transactions.  Before anything is
 * written, refuses every state that makes a change unsafe, and prints the
 * remedy.  A filesystem without a journal is refused unless @undo permits the
 * change.
 *
 * If @undo names an undo file, which must not exist, old contents are recorded
 * to the undo file.  @undo is borrowed until target_close().  Returns false
 * after printing an error.
 */
bool target_open_change(struct target *t, const char *name, uint64_t partition,
			const struct target_undo *undo);

/*
 * Returns whether a mounted filesystem may be changed.  If the filesystem has
 * recorded errors, prints a message and returns false.
 */
bool target_has_no_errors(const struct target *t);

/*
 * Opens @name for reading, to plan a change.  Refuses every state that
 * target_open_change() refuses, with the same messages.  A directory of a
 * mounted filesystem is opened as by target_open_read() with @quiet, and is
 * refused only if the filesystem has recorded errors.  Returns false after
 * printing an error.
 */
bool target_open_plan(struct target *t, const char *name, uint64_t partition,
		      const struct target_undo *undo, bool quiet);

/*
 * If another program uses @t, or if @t is a source and was changed, prints a
 * message and returns false.  Otherwise, returns true.  Call this function for
 * a source, a claimed target or a target open for changes; for a target open
 * for reading, target_is_ours() always returns true.
 */
bool target_is_ours(const struct target *t);

/* Returns whether another program uses @t. Prints nothing. */
bool target_is_used(const struct target *t);

/*
 * Makes an inode bitmap of the @n files and subtrees @paths, as e4l_subtree()
 * does; the caller frees the bitmap.  If @n is 0, *@ret is NULL.  If @t was
 * given as a mount point, a path may begin with the mount point.  If a path
 * causes the error, prints the error and sets *@said to true.
 */
errcode_t target_subtree(const struct target *t, struct e4l *e,
			 const char **paths, size_t n,
			 ext2fs_inode_bitmap *ret, bool *said);

/*
 * Makes an inode bitmap of @paths like target_subtree().  If @n is 0, and @t
 * was given as a directory or file below a mount point, the bitmap contains the
 * directory or file.  If a path causes the error, prints the error and sets
 * *@said to true.
 */
errcode_t target_only(const struct target *t, struct e4l *e,
		      const char **paths, size_t n, ext2fs_inode_bitmap *ret,
		      bool *said);

/*
 * Prints a failure of the library like say_e4l().  If @err means damage or a
 * journal that needs recovery, the message contains the command to run.
 */
void target_say_e4l(const struct target *t, const struct e4l *e, errcode_t err);

/*
 * Closes @t and frees its memory; libext2fs writes nothing at this point.  On
 * failure, prints the error and returns false.  If writing the undo file failed
 * (undo_guard_failed()), the message contains the remedy.
 */
bool target_close(struct target *t);

#endif
