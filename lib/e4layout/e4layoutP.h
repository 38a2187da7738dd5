/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's modules share and nobody else sees. */
#ifndef E4LAYOUTP_H
#define E4LAYOUTP_H

#include <stdatomic.h>
#include <pthread.h>
#include <e4layout/e4layout.h>

struct e4l {
	ext2_filsys fs;
	unsigned int threads;
	atomic_bool interrupted;
	struct e4l_detail detail;
	pthread_mutex_t detail_lock;	/* a failing thread may set it */
	pthread_mutex_t io_lock;	/* held around reads of a channel that
					 * cannot be shared by threads */
	atomic_ullong reads, read_bytes, readaheads;
	errcode_t (*guard)(void *priv);	/* NULL: none */
	void *guard_priv;
};

/* Sets the detail of @e and returns @err, for `return e4l_fail(…)`. */
errcode_t e4l_fail(struct e4l *e, errcode_t err, const char *doing,
		   ext2_ino_t ino, blk64_t blk);
errcode_t e4l_fail_group(struct e4l *e, errcode_t err, const char *doing,
			 dgrp_t group, blk64_t blk);

/* The block that holds @group's descriptor. */
blk64_t e4l_descriptor_blk(ext2_filsys fs, dgrp_t group);

/*
 * journal.c: what e4l_journal_capacity() is going to be, as far as that can be
 * told before the journal is opened, and of a filesystem that is only read.
 */
uint32_t e4l_journal_room(struct e4l *e, io_channel external);

/*
 * journal.c: E4L_ET_NOT_OURS when somebody else has changed the filesystem's
 * superblock or the journal's since it was opened; nothing more is written then.
 */
errcode_t e4l_journal_check(struct e4l_journal *j);

#endif
