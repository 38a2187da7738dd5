/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defines an io_manager that stacks over another io_manager.  It records every
 * write and flush in order, and can make one write or flush fail.
 */
#ifndef CRASH_TAP_IO_H
#define CRASH_TAP_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#define TAP_DEVICES 3

enum tap_type {
	TAP_WRITE,
	TAP_FLUSH,
	TAP_MARK,	/* a transaction is complete */
};

struct tap_event {
	enum tap_type type;
	int dev;
	uint64_t offset;	/* in bytes */
	size_t len;
	uint8_t *data;
	bool discard;	/* a discard: the content becomes undefined */
};

enum tap_fault {
	TAP_EIO,	/* the call fails */
	TAP_DEAD,	/* the call and all later calls fail */
	TAP_ENOSPC,
	TAP_SHORT,	/* half of the data is written, then the call fails */
	TAP_FAULTS
};

struct tap_log {
	const char *paths[TAP_DEVICES];	/* indexed by device */
	struct tap_event *ev;
	size_t n, room;
	/* number of writes up to the last marked transaction */
	size_t marked;
	size_t calls;		/* writes and flushes so far */
	size_t fail_at;		/* number of the failing call; 0: none */
	enum tap_fault fault;
	size_t failed;		/* number of failed writes and flushes */
	bool excused;		/* @failed does not count failed flushes */
};

/*
 * An io_manager over unix_io_manager, without a cache.  tap_set() sets the log
 * to which all channels record that are opened after the call.
 */
extern io_manager tap_io_manager;
void tap_set(struct tap_log *log);

/* Begins the first transaction: earlier writes belong to no transaction. */
void tap_begin(struct tap_log *log);

/* Appends a TAP_MARK, unless nothing was written after the last TAP_MARK. */
void tap_mark(struct tap_log *log);

/* Clears the events, the counters and fail_at.  The paths stay. */
void tap_clear(struct tap_log *log);

#endif
