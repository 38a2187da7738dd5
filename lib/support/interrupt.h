/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupt: after SIGINT or SIGTERM, ends the work of a tool at the next safe
 * point.
 */
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
	/* @signals, and the signal that ends @thread */
	sigset_t awaited;
	pthread_t thread;
	bool active;
	atomic_bool heard;
	_Atomic(const char *) first, second;	/* texts of interrupt_say() */
};

/*
 * After this call, the first SIGINT or SIGTERM calls e4l_interrupt() on @e, so
 * that functions on @e end with E4L_ET_INTERRUPTED.  If @e is NULL, the signal
 * only makes interrupt_heard() true.  The second signal kills the process.  A
 * signal that the process ignores stays ignored.
 *
 * Call this function before any thread is created, because threads inherit the
 * blocked signals.  A separate thread waits for the signals, so that no global
 * state is needed.  Returns 0, E4L_ET_NO_THREAD, or an errno.
 */
errcode_t interrupt_start(struct interrupt *in, struct e4l *e);

/*
 * Sets the texts that are printed to stderr when a signal arrives: @first for
 * the first signal, and @second for the second signal, which kills the process.
 * The texts must stay valid until interrupt_stop().
 */
void interrupt_say(struct interrupt *in, const char *first,
		   const char *second);

/*
 * From this call on, a signal interrupts @e instead of the previous context.
 * If a signal has already arrived, interrupts @e immediately.  If @e is NULL, a
 * signal interrupts no context.
 */
void interrupt_watch(struct interrupt *in, struct e4l *e);

/* Whether a signal has arrived. Any thread can call this function. */
static inline bool interrupt_heard(struct interrupt *in)
{
	return atomic_load(&in->heard);
}

/*
 * Restores the signal handling from before interrupt_start().  The context that
 * a signal would have interrupted can be freed afterwards.
 */
void interrupt_stop(struct interrupt *in);

#endif
