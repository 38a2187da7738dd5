/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the stored tunables of mounted filesystems to the kernel.
 *
 * The kernel sends no uevent for a mount, but poll(2) on /proc/self/mountinfo
 * returns after a change of the mounts.  A mounted filesystem is identified by
 * the inode number of its directory in sysfs.  This number changes with each
 * mount; bind mounts have the same number.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/stat.h"
#include "e4layout/open/mounts.h"
#include "support/say.h"
#include "tune4fs.h"

/* Returns whether the comma-separated mount options contain @name=. */
static bool has_option(const char *options, const char *name)
{
	size_t len = strlen(name);

	while (options && (strncmp(options, name, len) || options[len] != '=')) {
		options = strchr(options, ',');
		if (options)
			options++;
	}
	return options;
}

/*
 * If the kernel cannot use @v, sets the reason in @no and returns true.  If the
 * kernel can use @v or has the value already, returns false.
 */
static bool is_skipped(const struct keeper *p, const struct e4l_tunable *v,
		       uint32_t *running, struct skipped *no)
{
	*no = (struct skipped) { .tunable = v };
	if (!v->info) {
		no->why = SKIP_UNKNOWN;
		return true;
	}
	if (!v->valid) {
		no->why = SKIP_RANGE;
		return true;
	}
	no->error = keeper_running(p, v->info, running);
	if (no->error == ENOENT)
		no->why = v->info->since ? SKIP_KERNEL : SKIP_PATCH;
	else if (no->error)
		no->why = SKIP_REFUSED;
	else if (*running == v->number)
		return false;
	else if (has_option(p->options, v->name))
		no->why = SKIP_OPTION;
	else if (!keeper_writable(p, v->info))
		no->why = SKIP_READ_ONLY;
	else
		return false;
	return true;
}

static void apply_tunable(struct report *r, const struct e4l_tunable *v)
{
	struct skipped *no = &r->skipped[r->n_skipped];
	struct change *c = &r->changes[r->n_changes];
	uint32_t running;

	if (is_skipped(r->keeper, v, &running, no)) {
		r->n_skipped++;
		return;
	}
	if (running == v->number)
		return;
	if (!r->cfg->dry_run)
		no->error = keeper_set_running(r->keeper, v->info, v->number);
	if (no->error) {
		no->why = SKIP_REFUSED;
		r->n_skipped++;
		return;
	}
	snprintf(c->number, sizeof(c->number), "%u", running);
	c->name = v->name;
	c->from = c->number;
	c->to = v->value;
	r->n_changes++;
}

/*
 * Applies the stored tunables of @p, and reports the changes.  Returns the exit
 * status.
 */
static int apply_place(const struct tune4fs *cfg, struct keeper *p)
{
	struct report *r = calloc(1, sizeof(*r));
	struct e4l_tunables *t = NULL;
	int status = STATUS_FAILED;
	size_t i;

	if (!r) {
		say_error(p->name, "applying the tunables", ENOMEM);
		return status;
	}
	if (keeper_read(p, &t)) {
		*r = (struct report) {
			.keeper = p, .cfg = cfg, .tunables = t, .running = true,
		};
		for (i = 0; i < e4l_tunables_count(t); i++)
			apply_tunable(r, e4l_tunables_at(t, i));
		if (report_print(r) && !report_failed(r))
			status = STATUS_DONE;
	}
	e4l_tunables_free(t);
	free(r);
	return status;
}

int apply_one(const struct tune4fs *cfg, const char *name)
{
	int status = STATUS_FAILED;
	struct keeper p;

	if (!keeper_open(&p, name, cfg->args.partition))
		return status;
	if (p.dir < 0)
		say("%s: not mounted: tunables can be applied only to a "
		    "mounted filesystem", name);
	else if (p.sysfs < 0)
		say("%s: not found in /sys/fs/ext4", name);
	else
		status = apply_place(cfg, &p);
	keeper_close(&p);
	return status;
}

/* Filesystems whose tunables have been applied, by inode number in sysfs. */
struct seen {
	ino_t *ino;
	size_t n;
};

static bool contains(const struct seen *s, ino_t ino)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->ino[i] == ino)
			return true;
	return false;
}

static bool add(struct seen *s, ino_t ino)
{
	if (e4l_grow(&s->ino, s->n, sizeof(*s->ino)))
		return false;
	s->ino[s->n++] = ino;
	return true;
}

/*
 * Opens the filesystem of mount @m, and sets *@ino to the inode number of its
 * directory in sysfs.  If the filesystem cannot be opened, or if another mount
 * covers @m, returns false.
 */
static bool open_mounted(struct keeper *p, const struct e4l_mount *m,
			 ino_t *ino)
{
	struct stat st;

	if (!keeper_open_mount(p, m->point))
		goto no;
	p->options = m->options;
	if (p->sysfs < 0 || e4l_fstat(p->dir, &st) || st.st_dev != m->dev ||
	    st.st_ino != EXT2_ROOT_INO || e4l_fstat(p->sysfs, &st))
		goto no;
	*ino = st.st_ino;
	return true;
no:
	keeper_close(p);
	return false;
}

/*
 * Applies the tunables of all mounted filesystems that are not in @old, and
 * adds all mounted filesystems to @now.
 */
static int apply_new(const struct tune4fs *cfg, const struct seen *old,
		     struct seen *now)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	int status = STATUS_DONE;
	struct e4l_mount m;
	struct keeper p;
	size_t size = 0;
	ino_t ino;

	if (!f) {
		say_error("/proc/self/mountinfo", "cannot open", errno);
		return STATUS_FAILED;
	}
	while (getline(&line, &size, f) > 0) {
		if (!e4l_mount_parse(line, &m) || !e4l_mount_is_ext(&m) ||
		    !open_mounted(&p, &m, &ino))
			continue;
		if (!contains(now, ino) && add(now, ino) &&
		    !contains(old, ino) && apply_place(cfg, &p))
			status = STATUS_FAILED;
		keeper_close(&p);
	}
	if (!feof(f)) {
		say_error("/proc/self/mountinfo", "cannot read", errno);
		status = STATUS_FAILED;
	}
	free(line);
	fclose(f);
	return status;
}

/* Waits for a change of the mounts. Returns false after a signal. */
static bool wait_for_mount(struct pollfd fds[2])
{
	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return false;
	return !fds[1].revents;
}

static int watch(const struct tune4fs *cfg, struct seen *old)
{
	struct pollfd fds[2] = { { .events = POLLPRI }, { .events = POLLIN } };
	struct seen now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fds[0].fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	fds[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fds[0].fd < 0 || fds[1].fd < 0) {
		say_error("/proc/self/mountinfo", "cannot watch for mounts",
						  errno);
		return STATUS_FAILED;
	}
	do {
		now = (struct seen) { 0 };
		apply_new(cfg, old, &now);
		fflush(stdout);
		free(old->ino);
		*old = now;
	} while (wait_for_mount(fds));
	close(fds[0].fd);
	close(fds[1].fd);
	return STATUS_DONE;
}

int apply_all(const struct tune4fs *cfg)
{
	struct seen old = { 0 }, now = { 0 };
	int status;

	status = cfg->watch ? watch(cfg, &old) : apply_new(cfg, &old, &now);
	free(old.ino);
	free(now.ino);
	return status;
}
