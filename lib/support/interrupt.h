/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIGINT and SIGTERM end work at its next safe point. */
#ifndef SUPPORT_INTERRUPT_H
#define SUPPORT_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <e4layout/e4layout.h>

struct interrupt {
	_Atomic(struct e4l *) e;
	sigset_t signals, before;
	sigset_t awaited;	/* these, and the one that ends the thread */
	pthread_t thread;
	bool active;
	atomic_bool heard;
	_Atomic(const char *) first, second;	/* see interrupt_say() */
};

/*
 * From now on the first SIGINT or SIGTERM calls e4l_interrupt() on @e, so that
 * what runs on it ends with E4L_ET_INTERRUPTED; with a NULL it only makes
 * interrupt_heard() true.  A second one kills the process.  Call it before
 * threads are made: they inherit the blocked signals (a thread of its own waits
 * for them, which needs no global state).
 * Returns 0, E4L_ET_NO_THREAD, or an errno.
 */
errcode_t interrupt_start(struct interrupt *in, struct e4l *e);

/*
 * From now on the first signal is answered at once, on stderr, by @first, and
 * the second, which kills the process, by @second; both are borrowed.
 */
void interrupt_say(struct interrupt *in, const char *first,
		   const char *second);

/*
 * @e is interrupted, too; at once when there was a signal already.  NULL: from
 * now on nobody is.
 */
void interrupt_watch(struct interrupt *in, struct e4l *e);

/* Whether there was a signal.  For any thread. */
static inline bool interrupt_heard(struct interrupt *in)
{
	return atomic_load(&in->heard);
}

/* Back to what was before interrupt_start().  @e can be freed then. */
void interrupt_stop(struct interrupt *in);

#endif
