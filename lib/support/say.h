/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One sentence on stderr, after the name of the tool. */
#ifndef SUPPORT_SAY_H
#define SUPPORT_SAY_H

#include <stdbool.h>
#include <et/com_err.h>
#include <e4layout/e4layout.h>

/* Exit codes of every tool but e4check. */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

/*
 * Keeps standard input, output and error from being what is opened next when
 * the caller closed them: a report would be written into the filesystem.  Each
 * of them fails with EBADF, as before.  To be called first of all; false: not
 * possible, and nothing may be opened.
 */
bool say_start(void);

/* "tool: SENTENCE".  @fmt has no newline at its end. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The text of @err, or of what a limit on the size of files does. */
const char *say_why(errcode_t err);

/* "tool: TARGET: WHAT: why", why from say_why(). */
void say_error(const char *target, const char *what, errcode_t err);

/*
 * The same for what is written to the device or image @path: where there is no
 * more room for an image, what to do.
 */
void say_write_error(const char *target, const char *path, const char *what,
		     errcode_t err);

/* Whether @path is a file on a disk without room for another. */
bool say_is_full(const char *path);

/* The same for a failure of the library; WHAT is the detail of @e. */
void say_e4l(const char *target, const struct e4l *e, errcode_t err);

/* Whether @err says that the filesystem is damaged: e2fsck is to be run. */
bool say_is_damage(errcode_t err);

/* Whether @err says that there is no memory: errno's, or libext2fs'. */
bool say_is_no_memory(errcode_t err);

/* @option was given for what is mounted, where it has no meaning. */
void say_only_unmounted(const char *target, const char *option);

/* e4l_tunables_change() refused the part of a list that begins at @where. */
void say_tunable(const char *target, const char *where, errcode_t err);

/* What the reading through @e cost, for --verbose. */
void say_reads(const char *target, const struct e4l *e);

/*
 * Flushes stdout, which is where a full disk or a broken pipe shows.  Returns
 * @status, or STATUS_FAILED after a sentence.
 */
int say_done(int status);

#endif
