/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repacking a mounted filesystem: supported options, --rate and --idle. */
#include "config.h"
#include <errno.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/stat.h"
#include "support/say.h"
#include "e4repack.h"

#define NAP_SECONDS 0.2
#define NAPS_TO_NOTE 10
/*
 * Maximum duration of one wait for --rate.  After each wait, the run releases
 * reserved free space that other programs need.
 */
#define SHORT_NAP_SECONDS 0.02

bool e4repack_is_mounted(const struct e4repack *r, const char *name)
{
	struct stat st;

	if (!e4l_stat(name, &st) && S_ISDIR(st.st_mode))
		return true;
	return !r->args.partition && target_is_file(name);
}

/* ------------------------------------------------------------ ordinary paths */

static bool add_inside(struct e4repack *r, const char *name)
{
	char *path = locate_inside(&r->target, name);

	if (path)
		r->inside[r->n_inside++] = path;
	return path;
}

bool e4repack_resolve(struct e4repack *r)
{
	size_t i;

	r->inside = e4l_array_zalloc(1 + r->n_paths + r->exclude.n,
				     sizeof(*r->inside));
	if (!r->inside) {
		say_error(r->target.name, "cannot open", ENOMEM);
		return false;
	}
	if (!add_inside(r, r->target.name))
		return false;
	for (i = 0; i < r->n_paths; i++)
		if (!add_inside(r, r->paths[i]))
			return false;
	for (i = 0; i < r->exclude.n; i++)
		if (!add_inside(r, r->exclude.v[i]))
			return false;
	return true;
}

void e4repack_free_resolved(struct e4repack *r)
{
	while (r->n_inside)
		free(r->inside[--r->n_inside]);
	free(r->inside);
}

/* -------------------------------------------------------------------- open */

/*
 * Returns an option that was given and requires an unmounted filesystem.  If
 * there is no such option, returns NULL.
 */
static const char *offline_option(const struct e4repack *r)
{
	return r->undo.file ? "--undo-file" : r->undo.none ? "--no-undo" :
	       r->discard ? "--discard" : r->verify ? "--verify" :
	       r->map ? "--map" : r->move ? "--move" :
	       r->renumber_anyway ? "--renumber-anyway" :
	       r->all ? "--all" : r->inodes ? "--inodes" :
	       r->flags & E4L_REPACK_INODES ? "--only=inodes" :
	       r->only && r->flags & E4L_REPACK_DIRS ? "--only=directories" :
	       NULL;
}

static bool is_root(const char *mount_point)
{
	struct stat st;

	return mount_point && !e4l_stat(mount_point, &st) &&
	       st.st_ino == EXT2_ROOT_INO;
}

bool e4repack_open_online(struct e4repack *r, const char *name)
{
	const char *option = offline_option(r);

	if (option) {
		say_only_unmounted(name, option);
		return false;
	}
	if (r->args.partition) {
		say("%s: --partition requires a disk or a disk image", name);
		return false;
	}
	if (!target_open_around(&r->target, name))
		return false;
	if (!is_root(r->target.mount_point))
		say("%s: the root directory of the filesystem is not visible "
		    "in this mount namespace", name);
	else if (target_has_no_errors(&r->target))
		return true;
	target_close(&r->target);
	return false;
}

static void rest(double seconds)
{
	const struct timespec t = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	nanosleep(&t, NULL);
}

static bool is_busy(void)
{
	double load;

	return getloadavg(&load, 1) == 1 &&
	       load > (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns how many seconds to wait for --rate after writing @bytes. */
static double ahead(struct e4repack *r, uint64_t bytes)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return pace_wait(&r->pace, bytes, r->rate,
			 (double)now.tv_sec + (double)now.tv_nsec / 1e9);
}

/*
 * With --idle, waiting can take minutes.  Prints the reason once, after
 * NAPS_TO_NOTE waits.
 */
static void note_wait(struct e4repack *r)
{
	double load;

	if (r->args.quiet || ++r->busy_naps != NAPS_TO_NOTE ||
	    getloadavg(&load, 1) != 1)
		return;
	say("%s: --idle: waiting for other processes: the load average (%.1f) "
	    "is above the number of CPUs (%ld)", r->target.name, load,
	    sysconf(_SC_NPROCESSORS_ONLN));
}

/* If --rate or --idle requires a wait, waits and returns true. */
static bool pace(uint64_t bytes, void *priv)
{
	struct e4repack *r = priv;
	double seconds = 0;

	if (r->rate != UINT64_MAX)
		seconds = ahead(r, bytes);
	if (seconds > SHORT_NAP_SECONDS)
		seconds = SHORT_NAP_SECONDS;
	if (seconds <= 0 && r->idle && is_busy()) {
		note_wait(r);
		seconds = NAP_SECONDS;
	}
	if (seconds <= 0)
		return false;
	rest(seconds);
	return true;
}

errcode_t e4repack_online(struct e4repack *r,
			  const struct e4l_repack_what *what,
			  const struct e4l_repack_limits *limits,
			  const struct e4l_repack_callbacks *callbacks)
{
	bool paced = r->idle || r->rate != UINT64_MAX;
	errcode_t err;

	if (r->idle)
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
			IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	err = e4l_online(r->e, r->target.mount_point, what, limits, callbacks,
			 paced ? pace : NULL, &r->result);
	if (err != E4L_ET_INTERRUPTED)
		return err;
	/*
	 * An interrupted scan has changed nothing, and its sums are incomplete.
	 */
	r->result = (struct e4l_repack_result) { .stopped = true };
	r->n_skipped = 0;
	return 0;
}
