/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to the stored tunables, and to the values that the kernel uses. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/shell_word.h"
#include "e4layout/base/stat.h"
#include "support/verify.h"
#include "support/say.h"
#include "support/undo_guard.h"
#include "tune4fs.h"

/*
 * Opens /sys/fs/ext4/DEVICE, where DEVICE is the kernel's name of @dev.  On
 * failure, returns -1.
 */
static int open_sysfs(dev_t dev)
{
	char link[64], target[512], path[600];
	const char *name;
	ssize_t len;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev),
		 minor(dev));
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return -1;
	target[len] = '\0';
	name = strrchr(target, '/');
	if (!name)
		return -1;
	snprintf(path, sizeof(path), "/sys/fs/ext4%s", name);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool keeper_open_mount(struct keeper *p, const char *point)
{
	struct stat st;

	*p = (struct keeper) {
		.name = point, .mount_point = point, .sysfs = -1,
	};
	p->dir = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0 || e4l_fstat(p->dir, &st))
		return false;
	p->sysfs = open_sysfs(st.st_dev);
	return true;
}

/*
 * Opens a mounted filesystem at its mount point.  @p->target stays open until
 * keeper_close(), because @p->target owns the name of the mount point.  Returns
 * false after printing an error.
 */
static bool open_online(struct keeper *p)
{
	struct target target = p->target;
	const char *name = p->name;
	bool ok;

	ok = keeper_open_mount(p, target.mount_point);
	p->name = name;
	p->target = target;
	p->opened = true;
	if (!ok)
		say_error(name, "cannot open", errno);
	return ok;
}

bool keeper_open(struct keeper *p, const char *name, uint64_t partition)
{
	struct stat st;
	bool ok;

	if (!partition && !e4l_stat(name, &st) && S_ISDIR(st.st_mode)) {
		ok = keeper_open_mount(p, name);
		if (!ok)
			say_error(name, "cannot open", errno);
	} else {
		*p = (struct keeper) { .name = name, .dir = -1, .sysfs = -1 };
		p->opened = target_open_read(&p->target, name, partition, true);
		ok = p->opened;
		if (ok && p->target.mount_point)
			ok = open_online(p);
		else if (ok)
			p->e = p->target.e;
	}
	if (!ok)
		keeper_close(p);
	return ok;
}

void keeper_close(struct keeper *p)
{
	p->e = NULL;
	e4l_close_fd(p->dir);
	e4l_close_fd(p->sysfs);
	p->dir = p->sysfs = -1;
	if (p->opened)
		target_close(&p->target);
	p->opened = false;
}

errcode_t keeper_get(struct keeper *p, struct e4l_tunables **t)
{
	return p->dir < 0 ? e4l_tunables_read(p->e, t) :
			    e4l_tunables_read_fd(p->dir, t);
}

bool keeper_is_damage(errcode_t err)
{
	return err == E4L_ET_TUNABLE_SYNTAX || err == E4L_ET_TUNABLE_TWICE ||
	       err == E4L_ET_TUNABLES_LONG;
}

void keeper_say(const struct keeper *p, errcode_t err)
{
	if (p->dir < 0)
		target_say_e4l(&p->target, p->e, err);
	else
		say_error(p->name, "reading the tunables", err);
}

bool keeper_read(struct keeper *p, struct e4l_tunables **t)
{
	errcode_t err = keeper_get(p, t);
	char *word;

	if (keeper_is_damage(err)) {
		word = e4l_shell_word(p->name);
		say("%s: the stored tunables are damaged: %s: to remove them, "
		    "run tune4fs --clear %s", p->name, error_message(err),
		    word ? word : p->name);
		free(word);
	} else if (err) {
		keeper_say(p, err);
	}
	return !err;
}

/*
 * Checks an unmounted filesystem, because a filesystem with errors must not be
 * written.  Returns false after printing an error.
 */
static bool check_sound(const struct target *t, struct e4l *e,
			const struct tune4fs *cfg)
{
	struct interrupt in;
	errcode_t err = interrupt_start(&in, NULL);
	bool sound;

	if (err) {
		say_error(t->name, "cannot start a thread for signals", err);
		return false;
	}
	sound = verify_before(t, e, &cfg->args, &in);
	interrupt_stop(&in);
	return sound;
}

/*
 * Refuses --undo-file for a mounted filesystem, because changes by the kernel
 * cannot be recorded in an undo file.  Returns false after printing an error.
 */
static bool has_only_its_options(const struct keeper *p,
				 const struct tune4fs *cfg)
{
	if (p->dir < 0 || !cfg->undo.file)
		return true;
	say_only_unmounted(p->name, "--undo-file");
	return false;
}

/*
 * If the superblock of a mounted filesystem has recorded errors, prints an
 * error and returns false.  A full check is not possible, because a mounted
 * filesystem changes while it is read.
 */
static bool mount_has_no_errors(const struct keeper *p)
{
	struct target t;
	bool ok;

	if (p->opened)
		return target_has_no_errors(&p->target);
	if (!target_open_read(&t, p->name, 0, true))
		return false;
	ok = target_has_no_errors(&t);
	target_close(&t);
	return ok;
}

bool keeper_check(struct keeper *p, const struct tune4fs *cfg)
{
	return has_only_its_options(p, cfg) &&
	       (p->dir >= 0 ? mount_has_no_errors(p) :
			      check_sound(&p->target, p->e, cfg));
}

static void say_change_error(const struct target *t, errcode_t err)
{
	if (err == EXT2_ET_MISSING_EA_FEATURE)
		say("%s: the filesystem lacks the feature ext_attr: run "
		    "debugfs -w -R 'feature ext_attr' %s", t->name,
		    t->e2fs_words);
	else
		target_say_e4l(t, t->e, err);
}

static bool write_offline(struct keeper *p, const struct tune4fs *cfg,
			  const struct e4l_tunables *t)
{
	const char *name = p->name;
	struct target target;
	errcode_t err = 0;
	bool ok;

	keeper_close(p);
	if (!target_open_change(&target, name, cfg->args.partition, &cfg->undo))
		return false;
	ok = check_sound(&target, target.e, cfg);
	if (ok)
		err = e4l_tunables_write(target.e, NULL, t);
	if (err && !undo_guard_failed())
		say_change_error(&target, err);
	return target_close(&target) && ok && !err;
}

bool keeper_write(struct keeper *p, const struct tune4fs *cfg,
		 const struct e4l_tunables *t)
{
	errcode_t err;

	if (!has_only_its_options(p, cfg))
		return false;
	if (p->dir < 0)
		return write_offline(p, cfg, t);
	if (!mount_has_no_errors(p))
		return false;
	err = e4l_tunables_write_fd(p->dir, t);
	if (err)
		say_error(p->name, "changing the tunables", err);
	return !err;
}

int keeper_running(const struct keeper *p, const struct e4l_tunable_info *info,
		  uint32_t *number)
{
	unsigned long value;
	char text[32], *end;
	ssize_t len;
	int fd;

	if (p->sysfs < 0)
		return ENOENT;
	fd = openat(p->sysfs, info->sysfs, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return len ? errno : EIO;
	text[len] = '\0';
	value = strtoul(text, &end, 10);
	if (end == text || value > UINT32_MAX)
		return ERANGE;
	*number = value;
	return 0;
}

int keeper_set_running(const struct keeper *p,
		      const struct e4l_tunable_info *info, uint32_t number)
{
	int fd = openat(p->sysfs, info->sysfs, O_WRONLY | O_CLOEXEC);
	uint32_t now;
	int err;

	if (fd < 0)
		return errno;
	err = dprintf(fd, "%u\n", number) < 0 ? errno : 0;
	close(fd);
	if (!err)
		err = keeper_running(p, info, &now);
	return err ? err : now == number ? 0 : EINVAL;
}

bool keeper_writable(const struct keeper *p, const struct e4l_tunable_info *info)
{
	struct stat st;

	return !e4l_fstatat(p->sysfs, info->sysfs, 0, &st, NULL) &&
	       st.st_mode & 0222;
}
