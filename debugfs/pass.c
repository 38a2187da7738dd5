/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Uses the system's debugfs to run requests that e4debug does not have. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/say.h"
#include "e4debug.h"

/*
 * Requests that only set a state of the debugfs process are useless, because
 * the process ends with the request.
 */
#define FORGOTTEN "has no effect, because each request runs in a new debugfs: "
#define BY_PATH FORGOTTEN "give full paths"
#define BY_ITSELF FORGOTTEN "run debugfs directly"
static const struct refused {
	const char *name, *why;
} refused[] = {
	{ "change_working_directory", BY_PATH }, { "cd", BY_PATH },
	{ "change_root_directory", BY_PATH }, { "chroot", BY_PATH },
	{ "lcd", BY_PATH },
	{ "set_current_time", BY_ITSELF },
	{ "journal_open", BY_ITSELF }, { "jo", BY_ITSELF },
	{ "journal_write", BY_ITSELF }, { "jw", BY_ITSELF },
	{ "journal_close", BY_ITSELF }, { "jc", BY_ITSELF },
	{ "open_filesys", FORGOTTEN "use open" },
	{ "close_filesys", FORGOTTEN "use close" },
	{ "init_filesys", "would overwrite the filesystem: use mke4fs" },
};

static bool is_refused(const char *line)
{
	size_t len = strcspn(line, " \t"), i;

	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (strlen(refused[i].name) != len ||
		    strncmp(refused[i].name, line, len))
			continue;
		say("%s: %s", refused[i].name, refused[i].why);
		return true;
	}
	return false;
}

/*
 * Forwards the messages of debugfs, except its banner.  If there are messages,
 * or if the messages cannot be read, returns true.
 */
static bool pass_errors(FILE *errors)
{
	bool said = false;
	char *line = NULL;
	size_t room = 0;

	rewind(errors);
	while (getline(&line, &room, errors) >= 0) {
		if (!strncmp(line, "debugfs 1.", 10))
			continue;
		fputs(line, stderr);
		said = true;
	}
	if (!feof(errors)) {
		say_error("debugfs", "cannot read the output", errno);
		said = true;
	}
	free(line);
	return said;
}

/*
 * Copies the output of debugfs to stdout.  If stdout cannot be written, returns
 * false.
 */
static bool pass_output(int fd)
{
	char buf[4096];
	ssize_t n;
	bool ok;

	do {
		n = read(fd, buf, sizeof(buf));
		ok = n <= 0 || fwrite(buf, 1, n, stdout) == (size_t)n;
	} while (ok && (n > 0 || (n < 0 && errno == EINTR)));
	return fflush(stdout) != EOF && ok;
}

/*
 * Starts debugfs.  debugfs writes its output to @out and its messages to
 * @errors, and SIGINT can end debugfs.
 */
static int start(const struct shell *s, char *const *argv, int out, int errors,
		 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t signals = s->interrupt.before;
	int err;

	sigdelset(&signals, SIGINT);
	err = posix_spawnattr_init(&attr);
	if (err)
		return err;
	err = posix_spawn_file_actions_init(&actions);
	if (err) {
		posix_spawnattr_destroy(&attr);
		return err;
	}
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &signals);
	err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, errors,
						       STDERR_FILENO);
	if (!err)
		err = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

/*
 * Forwards the output and messages of debugfs.  Any message counts as an error,
 * because debugfs exits with 0 even after an error.  Returns false if debugfs
 * has failed or has printed a message.
 */
static bool hear(char *const *argv, pid_t pid, int out, FILE *errors)
{
	bool printed = pass_output(out), said;
	int status;

	close(out);	/* debugfs ends when its output is closed */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	said = pass_errors(errors);
	if (printed && WIFSIGNALED(status))
		say("%s: killed by signal %d", argv[0], WTERMSIG(status));
	return printed && !said && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool run(const struct shell *s, char *const *argv)
{
	FILE *errors = tmpfile();
	int fd[2], err = 0;
	bool ok = false;
	pid_t pid;

	if (!errors || pipe2(fd, O_CLOEXEC)) {
		err = errno;
		goto out;
	}
	fflush(stdout);
	/* A pager would wait for a key. */
	setenv("DEBUGFS_PAGER", "__none__", true);
	setenv("PAGER", "cat", true);
	err = start(s, argv, fd[1], fileno(errors), &pid);
	close(fd[1]);
	if (err)
		close(fd[0]);
	else
		ok = hear(argv, pid, fd[0], errors);
out:
	if (err)
		say_error(argv[0], "cannot run", err);
	if (errors)
		fclose(errors);
	return ok;
}

char *program_path(char *built_in)
{
	char *slash = strrchr(built_in, '/');

	return slash && access(built_in, X_OK) ? slash + 1 : built_in;
}

struct passing {
	const char *line, *device;
	bool write;
};

static bool pass(struct shell *s, void *priv)
{
	const struct passing *p = priv;
	char built_in[] = DEBUGFS, *program = program_path(built_in);
	char write[] = "-w", request[] = "-R";
	char *argv[6], **arg = argv;
	errcode_t err;
	bool ok;

	*arg++ = program;
	if (p->write)
		*arg++ = write;
	*arg++ = request;
	*arg++ = (char *)p->line;
	if (p->device)
		*arg++ = (char *)p->device;
	*arg = NULL;
	err = interrupt_start(&s->interrupt, NULL);
	if (err) {
		say_error(program, "cannot run", err);
		return false;
	}
	ok = run(s, argv);
	interrupt_stop(&s->interrupt);
	return ok;
}

bool shell_pass(struct shell *s, const char *line)
{
	struct passing p = { .line = line };
	char *device;
	bool ok;

	if (is_refused(line))
		return false;
	s->request = "debugfs";
	if (!s->open)
		return pass(s, &p);
	device = strdup(s->target.e2fs_name);
	if (!device)
		return shell_fails(s, line, ENOMEM);
	p.device = device;
	/*
	 * If there is an undo file, debugfs must not write, because its writes
	 * would not be recorded.
	 */
	p.write = s->write && !s->undo.file;
	/*
	 * If debugfs can write, the filesystem must be checked again before the
	 * next change.
	 */
	s->checked &= !p.write;
	ok = p.write ? shell_around(s, pass, &p) : pass(s, &p);
	free(device);
	return ok;
}
