/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs mke2fs, and forwards its messages. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "mke4fs_image.h"
#include "support/say.h"
#include "support/text.h"

extern char **environ;

/* How the output of mke2fs is forwarded. */
enum voice {
	/* print everything, because mke2fs can ask a question */
	VOICE_ALL,
	VOICE_STDERR,	/* print everything on stderr */
	VOICE_QUESTION,	/* print questions; if mke2fs fails, print errors */
	VOICE_ERRORS,
	VOICE_FAILURE,	/* if mke2fs fails, print errors */
	VOICE_NONE,
};

/*
 * Returns whether @path is executable, and is not mke4fs itself under the name
 * mke2fs.
 */
static bool is_mke2fs(const char *path, const struct stat *own)
{
	struct stat st;

	return !access(path, X_OK) && !e4l_stat(path, &st) && S_ISREG(st.st_mode) &&
	       (st.st_dev != own->st_dev || st.st_ino != own->st_ino);
}

/*
 * Sets @path (PATH_MAX bytes) to the path of mke2fs.  If mke4fs is installed as
 * mke2fs, uses the name to which dpkg-divert(1) renamed the original.  Returns
 * false if there is no mke2fs.
 */
static bool find_mke2fs(char *path)
{
	static const char *const names[] = { "mke2fs", "mke2fs.distrib" };
	const char *dirs = getenv("PATH"), *dir;
	struct stat own = { 0 };
	char *all;
	size_t i, len;
	bool found = false;

	e4l_stat("/proc/self/exe", &own);
	if (asprintf(&all, "%s:/sbin:/usr/sbin", dirs ? dirs : "") < 0)
		return false;
	for (i = 0; i < 2 && !found; i++) {
		for (dir = all; *dir && !found; dir += len + (dir[len] == ':')) {
			len = strcspn(dir, ":");
			if (!len || snprintf(path, PATH_MAX, "%.*s/%s",
					     (int)len, dir, names[i]) >=
				    PATH_MAX)
				continue;
			found = is_mke2fs(path, &own);
		}
	}
	free(all);
	return found;
}

static void discard_output(posix_spawn_file_actions_t *actions, int fd)
{
	posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY,
					 0);
}

/*
 * Starts mke2fs.  If @err_fd is not -1, redirects stderr of mke2fs to @err_fd.
 * If @voice does not forward stdout, redirects stdout to @out_fd or, if @out_fd
 * is -1, to /dev/null.
 */
static int spawn_mke2fs(char **argv, enum voice voice, int err_fd, int out_fd,
			pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	char path[PATH_MAX];
	int err;

	if (!find_mke2fs(path))
		return ENOENT;
	/* mke2fs must not inherit the blocked signals of mke4fs. */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	if (voice == VOICE_STDERR)
		posix_spawn_file_actions_adddup2(&actions, 2, 1);
	if (voice >= VOICE_ERRORS && out_fd >= 0)
		posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
	else if (voice >= VOICE_ERRORS)
		discard_output(&actions, 1);
	if (err_fd >= 0)
		posix_spawn_file_actions_adddup2(&actions, err_fd, 2);
	if (voice == VOICE_NONE)
		discard_output(&actions, 2);
	err = posix_spawn(pid, path, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

/* The arguments of mke2fs, and buffers for some of the arguments. */
struct arguments {
	char **v;
	int n;
	char *extended;
	char inodes[32], size[32], journal[32], resize[40];
};

static void add(struct arguments *a, const char *arg)
{
	a->v[a->n++] = (char *)arg;
}

static void add_general(struct arguments *a, const struct config *c,
			uint64_t bytes)
{
	if ((bytes || c->growth.blocks || c->dm_verity || c->verity.n) &&
	    !c->has_blocksize)
		add(a, "-b4096");
	if (c->common.verbose)
		add(a, "-v");
	if (c->common.quiet || !c->common.verbose)
		add(a, "-q");
	if (!c->growth.journal_mib)
		return;
	/* A -J option of the user follows, and takes precedence. */
	snprintf(a->journal, sizeof(a->journal), "-Jsize=%u",
		 c->growth.journal_mib);
	add(a, a->journal);
}

static void add_passed(struct arguments *a, const struct config *c,
		       const char *path)
{
	int i;

	for (i = 0; i < c->n_pass; i++) {
		if (c->pass[i].device_only && path != c->device)
			continue;
		add(a, c->pass[i].option);
		if (c->pass[i].value)
			add(a, c->pass[i].value);
	}
	if (!c->features)
		return;
	add(a, "-O");
	add(a, c->features);
}

static bool reserves_growth(const struct config *c, uint64_t bytes)
{
	return c->growth.resize_inode && !c->has_resize &&
	       (!bytes || bytes < c->grow_bytes);
}

/*
 * If there are extended options, adds -E.  If there is no memory, returns
 * false.
 */
static bool add_extended(struct arguments *a, const struct config *c,
			 uint64_t bytes)
{
	const char *carried = fills(c) ? NULL : c->carried;
	bool any = c->extended || carried;

	/*
	 * resize= must be last, because mke2fs needs the values of the
	 * other options.
	 */
	if (reserves_growth(c, bytes))
		snprintf(a->resize, sizeof(a->resize), "%sresize=%llu",
			 any ? "," : "",
			 (unsigned long long)c->growth.blocks);
	if (!any && !*a->resize)
		return true;
	if (asprintf(&a->extended, "-E%s%s%s%s",
		     c->extended ? c->extended : "",
		     c->extended && carried ? "," : "",
		     carried ? carried : "", a->resize) < 0) {
		a->extended = NULL;
		return false;
	}
	add(a, a->extended);
	return true;
}

static void add_inodes(struct arguments *a, const struct config *c,
		       uint64_t inodes)
{
	if (!inodes && !c->has_inodes)
		inodes = c->growth.inodes;
	if (!inodes)
		return;
	snprintf(a->inodes, sizeof(a->inodes), "-N%llu",
		 (unsigned long long)inodes);
	add(a, a->inodes);
}

static void add_size(struct arguments *a, const struct config *c,
		     uint64_t bytes)
{
	snprintf(a->size, sizeof(a->size), "%lluk",
		 (unsigned long long)bytes >> 10);
	if (bytes)
		add(a, a->size);
	else if (c->size)
		add(a, c->size);
}

/*
 * Makes the arguments for running mke2fs on @path.  If there is no memory,
 * returns false.  The caller frees @a->v and @a->extended.  @bytes is the size
 * of the filesystem; if @bytes is 0, uses the size in @c.  @inodes is the
 * number of inodes; if @inodes is 0, uses the default of mke2fs.
 */
static bool make_argv(const struct config *c, const char *path,
		      uint64_t bytes, uint64_t inodes, struct arguments *a)
{
	a->v = calloc(c->n_pass * 2 + 12, sizeof(*a->v));
	if (!a->v)
		return false;
	add(a, c->called);
	add_general(a, c, bytes);
	add_passed(a, c, path);
	if (!add_extended(a, c, bytes))
		return false;
	add_inodes(a, c, inodes);
	add(a, path);
	add_size(a, c, bytes);
	return true;
}

/*
 * Forwards messages from @fd to @to, and closes @fd.  If @fd is -1, forwards
 * nothing.  In the messages, replaces @path, which can be the path of a file in
 * memory, by @name.
 */
static void pass_said(int fd, const char *path, const char *name, FILE *to)
{
	FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL, *at;
	size_t room = 0;

	if (!in) {
		e4l_close_fd(fd);
		return;
	}
	while (getline(&line, &room, in) >= 0) {
		at = strstr(line, path);
		if (at)
			fprintf(to, "%.*s%s%s", (int)(at - line), line, name,
				at + strlen(path));
		else
			fputs(line, to);
	}
	free(line);
	fclose(in);
}

static bool has_failed(int status)
{
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Returns whether output is printed only after mke2fs has ended. */
static bool waits(enum voice voice)
{
	return voice == VOICE_QUESTION || voice == VOICE_FAILURE;
}

/*
 * Reads the output of the process @pid from @fd until the process ends; if @fd
 * is -1, only waits.  Prints the output on stderr.  If waits(@voice) is true,
 * prints the output only if the process fails.  Returns the status of
 * waitpid(2).
 */
static int hear(int fd, pid_t pid, enum voice voice, const char *path,
		const char *name)
{
	char *text = NULL;
	size_t len = 0;
	FILE *kept = waits(voice) ? text_open(&text, &len) : NULL;
	int status;

	pass_said(fd, path, name, kept ? kept : stderr);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (kept)
		fclose(kept);
	if (text && has_failed(status))
		fputs(text, stderr);
	free(text);
	return status;
}

/*
 * Runs mke2fs and forwards its output.  Returns the status of waitpid(2), or -1
 * after printing an error.
 */
static int hear_mke2fs(const struct config *c, char **argv, enum voice voice,
		       const char *path)
{
	/*
	 * mke2fs prints some errors on stdout, so the output on stdout is also
	 * stored until the exit status is known
	 */
	int out = voice == VOICE_ERRORS || voice == VOICE_FAILURE ?
		  memfd_create("mke2fs", MFD_CLOEXEC) : -1;
	int fd[2] = { -1, -1 }, err = 0, status;
	pid_t pid;

	if ((path != c->device || waits(voice)) && pipe2(fd, O_CLOEXEC))
		err = errno;
	if (!err)
		err = spawn_mke2fs(argv, voice, fd[1], out, &pid);
	e4l_close_fd(fd[1]);
	if (err) {
		say_error("mke2fs", "cannot run", err);
		status = -1;
		e4l_close_fd(fd[0]);
	} else {
		status = hear(fd[0], pid, voice, path, c->device);
	}
	if (out >= 0 && status >= 0 && has_failed(status)) {
		lseek(out, 0, SEEK_SET);
		pass_said(out, path, c->device, stderr);
	} else if (out >= 0) {
		close(out);
	}
	return status;
}

/*
 * Chooses how to forward the output of mke2fs; if @silent is true, forwards
 * nothing.  Even with -q, mke2fs prints an empty line, which must not be
 * forwarded.
 */
static enum voice voice_of(const struct config *c, const char *path,
			   bool silent)
{
	bool quiet = c->common.quiet && !c->common.verbose;

	if (silent)
		return VOICE_NONE;
	if (path != c->device && !c->common.verbose)
		return quiet ? VOICE_FAILURE : VOICE_ERRORS;
	/*
	 * Questions must stay on stdout, because mke2fs asks them only if
	 * stdout is a terminal.
	 */
	if (c->common.json && (!isatty(1) || isatty(2)))
		return VOICE_STDERR;
	return quiet ? VOICE_QUESTION : VOICE_ALL;
}

/* If mke2fs has failed and @silent is false, prints an error. */
static void say_failed(const struct config *c, const char *path, bool silent)
{
	if (!silent && say_is_full(path))
		say_write_error(c->device, path, "mke2fs failed", ENOSPC);
	else if (!silent)
		say("%s: mke2fs failed", c->device);
}

bool run_mke2fs(const struct config *c, const char *path, uint64_t bytes,
		uint64_t inodes, bool silent, bool *failed)
{
	struct arguments args = { 0 };
	bool made = make_argv(c, path, bytes, inodes, &args);
	int status = -1;

	if (!made)
		say("out of memory");
	else
		status = hear_mke2fs(c, args.v, voice_of(c, path, silent),
				     path);
	free(args.extended);
	free(args.v);
	*failed = status >= 0 && has_failed(status);
	if (*failed)
		say_failed(c, path, silent);
	return status >= 0 && !*failed;
}
