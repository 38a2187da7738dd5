/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's modules share and nobody else sees. */
#ifndef E4L_INTERNAL_H
#define E4L_INTERNAL_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <pthread.h>
#include <e4layout/context.h>

struct e4l_hold;

/* How to read from a device: see e4l_reading_for(). */
struct e4l_reading {
	uint32_t gap_bytes;	/* between two wanted ranges: read along */
	uint32_t gather_bytes;	/* at most by one call */
	bool rotates;
};

struct e4l {
	ext2_filsys fs;
	struct e4l_hold *hold;	/* of e4l_open(); NULL: of e4l_new() */
	io_channel journal;	/* the journal's device that e4l_open() found */
	unsigned int threads;
	struct e4l_reading reading;
	atomic_bool interrupted;
	struct e4l_detail detail;
	pthread_mutex_t detail_lock;	/* a failing thread may set it */
	pthread_mutex_t io_lock;	/* held around reads of a channel that
					 * cannot be shared by threads */
	atomic_ullong reads, read_bytes, readaheads;
	bool sound;		/* the last e4l_check() found no errors */
	errcode_t (*guard)(void *priv);	/* NULL: none */
	void *guard_priv;
	struct e4l *over;		/* of an overlay: what is below it */
};

/* Whether e4l_interrupt() was called. */
static inline bool e4l_is_interrupted(const struct e4l *e)
{
	return atomic_load_explicit(&e->interrupted, memory_order_relaxed) ||
	       (e->over && atomic_load(&e->over->interrupted));
}

/* Sets the detail of @e and returns @err, for `return e4l_fail(...)`. */
errcode_t e4l_fail(struct e4l *e, errcode_t err, const char *doing,
		   ext2_ino_t ino, blk64_t blk);
errcode_t e4l_fail_group(struct e4l *e, errcode_t err, const char *doing,
			 dgrp_t group, blk64_t blk);

/* pthread_create(3), whose EAGAIN tells nobody what to do. */
static inline errcode_t e4l_start_thread(pthread_t *thread,
					 void *(*run)(void *), void *priv)
{
	int err = pthread_create(thread, NULL, run, priv);

	return err == EAGAIN ? E4L_ET_NO_THREAD : err;
}

/* The blocks that @bytes take. */
static inline uint64_t e4l_blocks_of(uint64_t bytes, uint32_t blocksize)
{
	return bytes / blocksize + (bytes % blocksize != 0);
}

/*
 * A program's structs are as large as when it was built, and what this version
 * reserves in them can have a meaning in that one: options with something there
 * are refused (E4L_ET_OPTION), and of results only what is known here is set.
 */
static inline bool e4l_any_byte(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	while (n && !*b++)
		n--;
	return n;
}

#define E4L_HAS_UNKNOWN(options) \
	e4l_any_byte((options)->reserved, sizeof((options)->reserved))
#define E4L_KNOWN_BYTES(result) offsetof(typeof(*(result)), reserved)
#define e4l_clear(result) memset(result, 0, E4L_KNOWN_BYTES(result))
#define e4l_copy_out(result, from) \
	memcpy(result, from, E4L_KNOWN_BYTES(result))

/*
 * Has @guard called with @priv whenever a change of the filesystem is about to
 * begin, to be committed or to be ended, never twice at a time: an error from
 * it, E4L_ET_NOT_OURS when somebody else uses the device, is the end before
 * anything more is written.  For contexts of e4l_new(): those of e4l_open() have
 * one.  In any case the library makes sure that the filesystem's superblock and
 * the journal's are still what they were when they were read or written last:
 * they are not once somebody has mounted the filesystem to write, or has
 * repaired it.
 */
void e4l_set_guard(struct e4l *e, errcode_t (*guard)(void *priv), void *priv);

/* The block that holds @group's descriptor. */
blk64_t e4l_descriptor_blk(ext2_filsys fs, dgrp_t group);

#endif
