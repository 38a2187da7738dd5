/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a tool works on: a block device, an image file, a partition of one or
 * what begins at an offset in it (IMAGE?offset=BYTES); LABEL=, UUID=,
 * PARTLABEL= or PARTUUID=; the mount point of a filesystem, or a directory in it.
 */
#ifndef SUPPORT_TARGET_H
#define SUPPORT_TARGET_H

#include <stdbool.h>
#include <sys/types.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <e4layout/e4layout.h>

struct e4l_hold;

struct target {
	const char *name;	/* as the user gave it */
	char *device;		/* the device or image that it means */
	uint64_t offset_bytes;	/* where in it the filesystem begins, and what */
	uint64_t end_bytes;	/* it may not reach beyond; UINT64_MAX: nothing */
	char *subtree;		/* the directory that was given; NULL: none */
	bool is_dir;		/* the user gave the mount point */
	const struct target_undo *undo;	/* of target_open_change() */
	struct e4l *e;		/* NULL: of target_open_check() or _claim() */
	struct e4l_hold *hold;	/* of @e, or ours */
	ext2_filsys fs;
	/* What @hold and @e have of it. */
	const char *e2fs_name;	/* for e2fsprogs' tools */
	const char *mount_point; /* NULL: not mounted where we could see it */
	io_channel journal;	/* of an external journal's device, or NULL */
	int lock_fd;		/* of target_open_source() */
};

/*
 * Opens @name, or the partition of it that is numbered @partition (0: it is no
 * disk) to read it.  On failure says why and returns false; @t needs no
 * target_close() then.  Unless @quiet, says that the picture may be a moment old
 * when the filesystem is mounted, or has a journal to replay.
 */
bool target_open_read(struct target *t, const char *name, uint64_t partition,
		      bool quiet);

/*
 * The same for what must stay as it is until @t is closed: refuses what is
 * mounted anywhere or attached, and keeps away who asks for locks; @t->lock_fd is
 * open for reading.
 */
bool target_open_source(struct target *t, const char *name, uint64_t partition);

/* What of a filesystem that was opened all the same cannot be believed. */
struct target_doubt {
	errcode_t super;	/* why not the first superblock; 0: it can */
	errcode_t groups;	/* why not the first group descriptors */
	blk64_t backup;		/* the copy in use instead; 0: none */
};

/*
 * Opens @name to find out what is wrong with it: as target_open_read(), but
 * goes on with the first copy of the superblock and the group descriptors where
 * the first ones cannot be believed, as e2fsck does; *@doubt tells.  Refuses
 * every feature that is not known, also those that do not hinder reading.
 * Opens the device of an external journal too; without it @t->journal is NULL,
 * and, unless @quiet, a sentence says why.
 */
bool target_open_check(struct target *t, const char *name, uint64_t partition,
		       bool quiet, struct target_doubt *doubt);

/* A context over what that opened, as e4l_new(), and freed like it. */
errcode_t target_new_context(const struct target *t, struct e4l **e);

/*
 * True after saying what of @t, which is open, is not known, so that it cannot
 * be checked: a feature, or the encoding of names.
 */
bool target_is_strange(const struct target *t);

/*
 * Takes the device or the file @name from @offset_bytes on to overwrite all of
 * it, whatever it holds: refuses what is in use, and keeps others away until
 * target_release().  False after saying why not.
 */
bool target_claim(struct target *t, const char *name, uint64_t offset_bytes);
void target_release(struct target *t);

/*
 * Whether the regular file @path is what a device or a mount shows, so that it
 * must not be replaced; true after saying so, or why that cannot be told.
 */
bool target_is_attached(const char *path);

/* What protects a change of a filesystem, beside its journal. */
struct target_undo {
	const char *file;	/* for e2undo(8); NULL: none */
	bool none;		/* nothing has to */
};

/*
 * Opens @name to change it in transactions, for this process alone.  Refuses
 * whatever could be hurt by that, with a sentence that says what to run
 * instead, before anything is written; so also a filesystem without a journal,
 * unless @undo, which must live as long as @t, says otherwise.  Records to the
 * undo file, which must not exist yet.
 */
bool target_open_change(struct target *t, const char *name, uint64_t partition,
			const struct target_undo *undo);

/*
 * Whether a filesystem that is mounted may be changed: false after telling that
 * it has recorded errors, as for one that is not mounted.
 */
bool target_has_no_errors(const struct target *t);

/*
 * Opens @name to plan such a change: refuses whatever that refuses, with the same
 * sentences, and then only reads.  But what is named by a directory is for a
 * change while it is mounted, and is opened as by target_open_read(); only
 * recorded errors are refused.
 */
bool target_open_plan(struct target *t, const char *name, uint64_t partition,
		      const struct target_undo *undo, bool quiet);

/*
 * Whether nobody else uses @t, which is a source, claimed or open to be
 * changed, nor has changed what is a source; false after saying so.  True of
 * what else is open for reading.
 */
bool target_is_ours(const struct target *t);

/* Whether somebody else does use it; says nothing. */
bool target_is_used(const struct target *t);

/*
 * Makes an inode bitmap of the @n files and subtrees @paths, as e4l_subtree()
 * does; to be freed; NULL for no paths.  When @t was given as a mount point,
 * paths may begin with it, and lose it.  When *@said is true, the error is a
 * path's fault and has been said.
 */
errcode_t target_subtree(const struct target *t, struct e4l *e,
			 const char **paths, size_t n,
			 ext2fs_inode_bitmap *ret, bool *said);

/*
 * The same for what a tool is to work on: without paths, the directory that @t
 * was given as, if it was.
 */
errcode_t target_only(const struct target *t, struct e4l *e,
		      const char **paths, size_t n, ext2fs_inode_bitmap *ret,
		      bool *said);

/*
 * Closes @t and frees what it holds; what was changed by the library stays as
 * it is, and libext2fs writes nothing.  False after saying what failed; if that
 * was the undo file (undo_guard_failed()), what to do now.
 */
bool target_close(struct target *t);

#endif
