/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <string.h>
#include <unistd.h>
#include "interrupt.h"
#include "say.h"

static void answer(const char *sentence)
{
	if (sentence)
		say("%s", sentence);
}

static void *wait_for_signal(void *priv)
{
	struct interrupt *in = priv;
	struct e4l *e;
	int sig;

	if (sigwait(&in->signals, &sig))
		return NULL;
	atomic_store(&in->heard, true);
	answer(atomic_load(&in->first));
	e = atomic_load(&in->e);
	if (e)
		e4l_interrupt(e);
	if (sigwait(&in->signals, &sig))
		return NULL;
	/* whoever asks twice does not want to wait */
	answer(atomic_load(&in->second));
	pthread_sigmask(SIG_UNBLOCK, &in->signals, NULL);
	kill(getpid(), sig);
	for (;;)
		pause();
}

/* What was ignored when the process started stays so. */
static void add_unless_ignored(sigset_t *signals, int sig)
{
	struct sigaction now;

	if (!sigaction(sig, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaddset(signals, sig);
}

int interrupt_start(struct interrupt *in, struct e4l *e)
{
	int err;

	atomic_init(&in->e, e);
	atomic_init(&in->heard, false);
	atomic_init(&in->first, NULL);
	atomic_init(&in->second, NULL);
	sigemptyset(&in->signals);
	add_unless_ignored(&in->signals, SIGINT);
	add_unless_ignored(&in->signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &in->signals, &in->before);
	err = pthread_create(&in->thread, NULL, wait_for_signal, in);
	if (err)
		pthread_sigmask(SIG_SETMASK, &in->before, NULL);
	in->active = !err;
	return err;
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

void interrupt_stop(struct interrupt *in)
{
	if (!in->active)
		return;
	pthread_cancel(in->thread);
	pthread_join(in->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &in->before, NULL);
	in->active = false;
}
