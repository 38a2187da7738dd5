/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "interrupt.h"
#include "say.h"

static void answer(const char *sentence)
{
	if (sentence)
		say("%s", sentence);
}

/*
 * The signal that ends the waiting thread.  pthread_cancel() is not used,
 * because it ends the process if there is no memory.  SIGRTMAX is not used,
 * because valgrind reserves it.
 */
#define END_SIGNAL SIGRTMIN

static bool next_signal(struct interrupt *in, int *sig)
{
	return !sigwait(&in->awaited, sig) && *sig != END_SIGNAL;
}

static void *wait_for_signal(void *priv)
{
	struct interrupt *in = priv;
	struct e4l *e;
	int sig;

	if (!next_signal(in, &sig))
		return NULL;
	atomic_store(&in->heard, true);
	answer(atomic_load(&in->first));
	e = atomic_load(&in->e);
	if (e)
		e4l_interrupt(e);
	if (!next_signal(in, &sig))
		return NULL;
	/* a second signal ends the process without waiting for a safe point */
	answer(atomic_load(&in->second));
	pthread_sigmask(SIG_UNBLOCK, &in->signals, NULL);
	kill(getpid(), sig);
	return NULL;
}

/* Adds @sig to @signals unless the process ignores @sig. */
static void add_unless_ignored(sigset_t *signals, int sig)
{
	struct sigaction now;

	if (!sigaction(sig, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaddset(signals, sig);
}

errcode_t interrupt_start(struct interrupt *in, struct e4l *e)
{
	int err;

	atomic_init(&in->e, e);
	atomic_init(&in->heard, false);
	atomic_init(&in->first, NULL);
	atomic_init(&in->second, NULL);
	sigemptyset(&in->signals);
	add_unless_ignored(&in->signals, SIGINT);
	add_unless_ignored(&in->signals, SIGTERM);
	in->awaited = in->signals;
	sigaddset(&in->awaited, END_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &in->awaited, &in->before);
	err = pthread_create(&in->thread, NULL, wait_for_signal, in);
	in->active = !err;
	if (!err)
		return 0;
	pthread_sigmask(SIG_SETMASK, &in->before, NULL);
	initialize_e4l_error_table();
	return err == EAGAIN ? E4L_ET_NO_THREAD : err;
}

void interrupt_say(struct interrupt *in, const char *first, const char *second)
{
	atomic_store(&in->second, second);
	atomic_store(&in->first, first);
}

void interrupt_watch(struct interrupt *in, struct e4l *e)
{
	atomic_store(&in->e, e);
	if (e && interrupt_heard(in))
		e4l_interrupt(e);
}

/*
 * Checks for a signal that the thread did not receive: the thread receives
 * END_SIGNAL before a pending SIGINT, even if SIGINT was sent first.
 */
static void take_late(struct interrupt *in)
{
	static const struct timespec at_once;

	if (!interrupt_heard(in) &&
	    sigtimedwait(&in->signals, NULL, &at_once) > 0)
		atomic_store(&in->heard, true);
}

void interrupt_stop(struct interrupt *in)
{
	if (!in->active)
		return;
	pthread_kill(in->thread, END_SIGNAL);
	pthread_join(in->thread, NULL);
	take_late(in);
	pthread_sigmask(SIG_SETMASK, &in->before, NULL);
	in->active = false;
}
