/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the parts of tune4fs share. */
#ifndef TUNE4FS_H
#define TUNE4FS_H

#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/target.h"

struct tune4fs {
	struct args_common args;
	bool list, clear, apply, apply_all, watch;
	bool dry_run, force;
	struct target_undo undo;
	struct args_texts sets;		/* lists of -E */
	/* the joined lists of -E; NULL: not given */
	char *set;
};

/* -------------------------------------------------------- tune4fs_keeper.c */

/* A filesystem. A mounted filesystem is accessed through its root directory. */
struct keeper {
	const char *name;	/* name of the target, as given by the user */
	const char *mount_point; /* NULL: not mounted */
	/* mount options of a mounted filesystem; NULL: not looked up */
	const char *options;
	/* descriptor of the root directory; -1: not mounted */
	int dir;
	/* descriptor of /sys/fs/ext4/DEVICE; -1: not open */
	int sysfs;
	struct target target;	/* open if the filesystem is not mounted */
	struct e4l *e;
	bool opened;		/* @target is open */
};

/*
 * Opens @name for reading.  If @partition is not 0, opens that partition of the
 * disk @name.  Returns false after printing an error.
 */
bool keeper_open(struct keeper *p, const char *name, uint64_t partition);

/*
 * Opens the filesystem mounted at @point.  On failure, sets errno, prints
 * nothing and returns false.
 */
bool keeper_open_mount(struct keeper *p, const char *point);

void keeper_close(struct keeper *p);

/* Reads the tunables into *@t. */
errcode_t keeper_get(struct keeper *p, struct e4l_tunables **t);

/* Prints the error of keeper_get(). */
void keeper_say(const struct keeper *p, errcode_t err);

/*
 * Returns whether @err of keeper_get() means that the contents of the attribute
 * are damaged.
 */
bool keeper_is_damage(errcode_t err);

/* Reads the tunables into *@t. Returns false after printing an error. */
bool keeper_read(struct keeper *p, struct e4l_tunables **t);

/*
 * Checks that the filesystem may be written.  Returns false after printing an
 * error.
 */
bool keeper_check(struct keeper *p, const struct tune4fs *cfg);

/* Stores @t in the filesystem. Returns false after printing an error. */
bool keeper_write(struct keeper *p, const struct tune4fs *cfg,
		 const struct e4l_tunables *t);

/*
 * Reads the value that the kernel uses.  Returns 0 or an errno; ENOENT means
 * that the kernel does not have the tunable.
 */
int keeper_running(const struct keeper *p, const struct e4l_tunable_info *info,
		  uint32_t *number);
int keeper_set_running(const struct keeper *p,
		      const struct e4l_tunable_info *info, uint32_t number);

/* Returns whether the kernel allows writing the value. */
bool keeper_writable(const struct keeper *p, const struct e4l_tunable_info *info);

/* ------------------------------------------------------- tune4fs_report.c */

/* The reason why a stored tunable was not applied. */
enum skip {
	SKIP_UNKNOWN,
	SKIP_RANGE,
	SKIP_PATCH,
	SKIP_KERNEL,
	SKIP_READ_ONLY,
	SKIP_OPTION,
	SKIP_REFUSED,
};

struct change {
	const char *name;
	const char *from, *to;		/* NULL: not set */
	char number[12];		/* buffer for @from */
};

struct skipped {
	const struct e4l_tunable *tunable;
	enum skip why;
	int error;			/* errno, for SKIP_REFUSED */
};

/*
 * maximum number of rows or changes in a report: more than twice the number of
 * tunables that fit in the attribute
 */
#define REPORT_MAX 520

struct report {
	const struct keeper *keeper;
	const struct tune4fs *cfg;
	/* the tunables after the changes */
	const struct e4l_tunables *tunables;
	/* @changes are changes of the kernel's values, not of stored values */
	bool running;
	size_t n_changes, n_skipped;
	struct change changes[REPORT_MAX];
	struct skipped skipped[REPORT_MAX];
};

/*
 * Prints the changes, or the table of --list.  Returns false after printing an
 * error.
 */
bool report_print(const struct report *r);

/* Returns whether a tunable was not applied because of an error. */
bool report_failed(const struct report *r);

/* -------------------------------------------------------- tune4fs_apply.c */

/* Actions; each returns the exit status. */
int apply_one(const struct tune4fs *cfg, const char *name);
int apply_all(const struct tune4fs *cfg);

#endif
