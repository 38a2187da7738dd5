/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of tune4fs share. */
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
	struct args_texts sets;		/* -E */
	char *set;			/* all of them; NULL: none */
};

/* -------------------------------------------------------- tune4fs_keeper.c */

/* A filesystem: mounted, and then reached through its root directory, or not. */
struct keeper {
	const char *name;	/* as the user gave it */
	const char *mount_point; /* NULL: not mounted */
	const char *options;	/* of the mount; NULL: nobody asked */
	int dir;		/* its root directory; -1: not mounted */
	int sysfs;		/* /sys/fs/ext4/DEVICE; -1: none */
	struct target target;	/* open when not mounted */
	struct e4l *e;
	bool opened;		/* by way of @target */
};

/* Opens @name to read it; false after saying why not. */
bool keeper_open(struct keeper *p, const char *name, uint64_t partition);

/* Opens what is mounted at @point, silently; sets errno. */
bool keeper_open_mount(struct keeper *p, const char *point);

void keeper_close(struct keeper *p);

/* Reads the tunables into *@t. */
errcode_t keeper_get(struct keeper *p, struct e4l_tunables **t);

/* Says why that failed. */
void keeper_say(const struct keeper *p, errcode_t err);

/* Whether that failed because of what is in the attribute. */
bool keeper_is_damage(errcode_t err);

/* Reads the tunables into *@t; false after saying why not. */
bool keeper_read(struct keeper *p, struct e4l_tunables **t);

/* What is not mounted must be sound; false after saying why it is not. */
bool keeper_check(struct keeper *p, const struct tune4fs *cfg);

/* Stores @t, in what is sound; false after saying why not. */
bool keeper_write(struct keeper *p, const struct tune4fs *cfg,
		 const struct e4l_tunables *t);

/* The kernel's value.  Returns 0 or an errno; ENOENT: it has no such thing. */
int keeper_running(const struct keeper *p, const struct e4l_tunable_info *info,
		  uint32_t *number);
int keeper_set_running(const struct keeper *p,
		      const struct e4l_tunable_info *info, uint32_t number);

/* Whether the kernel lets anybody write the value. */
bool keeper_writable(const struct keeper *p, const struct e4l_tunable_info *info);

/* ------------------------------------------------------- tune4fs_report.c */

/* Why a tunable that the filesystem keeps was not applied. */
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
	char number[12];		/* where @from may point */
};

struct skipped {
	const struct e4l_tunable *tunable;
	enum skip why;
	int error;			/* errno, for SKIP_REFUSED */
};

#define REPORT_MAX 520			/* two full sets, and some */

struct report {
	const struct keeper *keeper;
	const struct tune4fs *cfg;
	const struct e4l_tunables *tunables;	/* after the changes */
	bool running;			/* the changes are the kernel's */
	size_t n_changes, n_skipped;
	struct change changes[REPORT_MAX];
	struct skipped skipped[REPORT_MAX];
};

/* Prints what was done, or the table if that was asked for. */
bool report_print(const struct report *r);

/* True when something that was not applied is an error. */
bool report_failed(const struct report *r);

/* -------------------------------------------------------- tune4fs_apply.c */

/* Each returns an exit status. */
int apply_one(const struct tune4fs *cfg, const char *name);
int apply_all(const struct tune4fs *cfg);

#endif
