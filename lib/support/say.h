/* SPDX-License-Identifier: GPL-2.0-or-later */
/* say: prints messages on stderr, after the name of the tool. */
#ifndef SUPPORT_SAY_H
#define SUPPORT_SAY_H

#include <stdbool.h>
#include <et/com_err.h>
#include <e4layout/e4layout.h>

/* Exit statuses of all tools except e4check. */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

/*
 * Call this function first.  If standard input, output or error is closed,
 * opens its descriptor with O_PATH, so that no file opened later gets the
 * descriptor.  If a file got the descriptor of standard output, a report could
 * be written into the filesystem.  Reads and writes through the O_PATH
 * descriptor still fail with EBADF.  If this function returns false, do not
 * open any file.
 */
bool say_start(void);

/* Prints "tool: SENTENCE". @fmt has no newline at its end. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Returns whether the process has a limit on the file size (ulimit -f), and a
 * write that exceeds this limit can fail with @err.
 */
bool say_is_limited(errcode_t err);

/*
 * Returns the error message of @err.  If say_is_limited() is true for @err,
 * returns a message about ulimit -f instead.
 */
const char *say_why(errcode_t err);

/* Prints "tool: TARGET: WHAT: MESSAGE" with the message of say_why(). */
void say_error(const char *target, const char *what, errcode_t err);

/*
 * Prints a failed write to the device or image @path like say_error().  If the
 * disk that contains the image is full, also prints the remedy.
 */
void say_write_error(const char *target, const char *path, const char *what,
		     errcode_t err);

/* Whether @path is a file on a disk that is full. */
bool say_is_full(const char *path);

/*
 * Prints a failure of the library like say_error(), with the detail of @e as
 * WHAT.
 */
void say_e4l(const char *target, const struct e4l *e, errcode_t err);

/*
 * Returns whether @err means that the filesystem is damaged, or that another
 * program has changed it.
 */
bool say_is_damage(errcode_t err);

/* Returns whether @err is an error for a lack of memory. */
bool say_is_no_memory(errcode_t err);

/* Reports that @option cannot be used on a mounted filesystem. */
void say_only_unmounted(const char *target, const char *option);

/*
 * Reports why e4l_tunables_change() refused a change.  The refused change
 * begins at @where in the list of changes.
 */
void say_tunable(const char *target, const char *where, errcode_t err);

/* Prints the number and size of the reads through @e, for --verbose. */
void say_reads(const char *target, const struct e4l *e);

/*
 * Flushes stdout, which reveals a full disk or a broken pipe.  If everything
 * was written, returns @status.  Otherwise, prints an error and returns
 * STATUS_FAILED.
 */
int say_done(int status);

#endif
