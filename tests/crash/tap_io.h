/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An io_manager that stacks over another, remembers every write and flush in
 * order, and can make one of them fail.
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
	TAP_MARK,	/* a transaction has been reported as made */
};

struct tap_event {
	enum tap_type type;
	int dev;
	uint64_t offset;	/* bytes */
	size_t len;
	uint8_t *data;
	bool discard;		/* what a device may read there afterwards */
};

enum tap_fault {
	TAP_EIO,	/* this one fails */
	TAP_DEAD,	/* and so does everything after it */
	TAP_ENOSPC,
	TAP_SHORT,	/* half of it is written, then it fails */
	TAP_FAULTS
};

struct tap_log {
	const char *paths[TAP_DEVICES];	/* the index is the device */
	struct tap_event *ev;
	size_t n, room;
	/* number of writes up to the last marked transaction */
	size_t marked;
	size_t calls;		/* writes and flushes so far */
	size_t fail_at;		/* which of them fails; 0: none */
	enum tap_fault fault;
	size_t failed;		/* number of failed writes */
	bool excused;		/* flushes that fail now are not counted */
};

/*
 * Stacks over unix_io_manager, without its cache.  What is opened is looked up
 * in the log given last.
 */
extern io_manager tap_io_manager;
void tap_set(struct tap_log *log);

/* What was written so far belongs to no transaction. */
void tap_begin(struct tap_log *log);

/* Appends a TAP_MARK, unless nothing has been written since the last. */
void tap_mark(struct tap_log *log);

/* Forgets the events and counters; the paths stay. */
void tap_clear(struct tap_log *log);

#endif
