/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that all modules of the library use, but that are not exported.
 */
#ifndef E4L_INTERNAL_H
#define E4L_INTERNAL_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <pthread.h>
#include <e4layout/context.h>

struct e4l_hold;

/* The sizes of reads from a device, chosen by e4l_reading_for(). */
struct e4l_reading {
	/* largest gap between two wanted ranges that are read at once */
	uint32_t gap_bytes;
	uint32_t gather_bytes;	/* largest size of a read of several ranges */
	bool rotates;
};

struct e4l {
	ext2_filsys fs;
	struct e4l_hold *hold;	/* set by e4l_open(); NULL with e4l_new() */
	/*
	 * channel of the external journal that e4l_open() has found; NULL: no
	 * external journal was found
	 */
	io_channel journal;
	unsigned int threads;
	struct e4l_reading reading;
	atomic_bool interrupted;
	struct e4l_detail detail;
	pthread_mutex_t detail_lock;	/* protects the detail of a failure */
	/* serializes I/O if threads cannot share the I/O channel of @fs */
	pthread_mutex_t io_lock;
	atomic_ullong reads, read_bytes, readaheads;
	bool sound;		/* the last e4l_check() has found no errors */
	/* set by e4l_set_guard(); NULL: all changes are permitted */
	errcode_t (*guard)(void *priv);
	void *guard_priv;
	/* the original of a copy made by e4l_overlay_new(); NULL: not a copy */
	struct e4l *over;
};

/*
 * Returns whether the journal is external.  Returns false for a damaged
 * superblock that has the journal feature, but neither a journal inode nor the
 * UUID of a journal device.
 */
bool e4l_has_external_journal(const struct ext2_super_block *sb);

/*
 * Returns whether e4l_interrupt() was called, and e4l_clear_interrupt() was not
 * called afterwards.
 */
static inline bool e4l_is_interrupted(const struct e4l *e)
{
	return atomic_load_explicit(&e->interrupted, memory_order_relaxed) ||
	       (e->over && atomic_load(&e->over->interrupted));
}

/*
 * Sets the failure detail of @e and returns @err, for `return e4l_fail(...)`.
 */
errcode_t e4l_fail(struct e4l *e, errcode_t err, const char *doing,
		   ext2_ino_t ino, blk64_t blk);
errcode_t e4l_fail_group(struct e4l *e, errcode_t err, const char *doing,
			 dgrp_t group, blk64_t blk);

/*
 * Like pthread_create(3), but returns E4L_ET_NO_THREAD instead of EAGAIN,
 * because the message of EAGAIN is misleading.
 */
static inline errcode_t e4l_start_thread(pthread_t *thread,
					 void *(*run)(void *), void *priv)
{
	int err = pthread_create(thread, NULL, run, priv);

	return err == EAGAIN ? E4L_ET_NO_THREAD : err;
}

/*
 * Returns the number of blocks of @blocksize bytes for @bytes bytes, rounded
 * up.
 */
static inline uint64_t e4l_blocks_of(uint64_t bytes, uint32_t blocksize)
{
	return bytes / blocksize + (bytes % blocksize != 0);
}

/*
 * Returns whether one of the @n bytes is not zero.
 *
 * A newer version of the library can use reserved members of a struct.  If a
 * program sets a reserved member of its options, functions return
 * E4L_ET_OPTION.  Reserved members of results are never written.
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
 * Makes the library call @guard with @priv at the beginning of each change of
 * the filesystem, before the commit, and at the end of the change.  Only one
 * call runs at a time.  If @guard returns an error (E4L_ET_NOT_OURS: another
 * program uses the device), the change fails and nothing more is written.  The
 * context must be from e4l_new(), because e4l_open() sets a guard.
 *
 * Even without a guard, the library tests that the superblocks of the
 * filesystem and of the journal have not changed.  Therefore the library
 * detects another program that has mounted or repaired the filesystem.
 */
void e4l_set_guard(struct e4l *e, errcode_t (*guard)(void *priv), void *priv);

/* Returns the block that contains the descriptor of @group. */
blk64_t e4l_descriptor_blk(ext2_filsys fs, dgrp_t group);

/*
 * Registers the error tables with com_err(3).  Threads can call this function at
 * the same time.
 */
void e4l_init_errors(void);

#endif
