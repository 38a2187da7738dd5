/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/stat.h"
#include "replace.h"
#include "say.h"

/*
 * Gives the new file the mode of the file at @path, or the default mode of a
 * new file.
 */
static int set_mode(int fd, const char *path)
{
	mode_t mask = umask(0);
	struct stat old;

	umask(mask);
	return fchmod(fd, e4l_lstat(path, &old) ? 0666 & ~mask :
					      old.st_mode & 0777) ? errno : 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
	ssize_t done;

	for (; n; bytes += done, n -= done) {
		done = write(fd, bytes, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return done ? errno : EIO;
	}
	return fsync(fd) ? errno : 0;
}

/*
 * Opens the directory of @path, which must be flushed to make the new name
 * durable.  Returns -1 and sets errno on failure.
 */
static int open_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(dir);
	return fd;
}

static int write_beside(char *temporary, const char *path, const char *bytes,
			size_t n)
{
	int fd = mkostemp(temporary, O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	err = set_mode(fd, path);
	if (!err)
		err = write_all(fd, bytes, n);
	if (close(fd) && !err)
		err = errno;
	if (!err && rename(temporary, path))
		err = errno;
	if (err)
		unlink(temporary);
	return err;
}

/*
 * Blocks signals while the temporary file exists, so that a signal that ends
 * the process leaves no file beside @path.
 */
static int write_undisturbed(char *temporary, const char *path,
			     const char *bytes, size_t n)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	err = write_beside(temporary, path, bytes, n);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

bool replace_file(const char *path, const char *bytes, size_t n)
{
	char *temporary;
	struct stat st;
	int err, dir;

	if (!e4l_lstat(path, &st) && !S_ISREG(st.st_mode)) {
		say("%s: not a regular file; not replaced", path);
		return false;
	}
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		say_error(path, "cannot write", ENOMEM);
		return false;
	}
	/*
	 * Everything that can lack memory comes before the new name is created.
	 */
	dir = open_directory(path);
	err = dir < 0 ? errno :
	      write_undisturbed(temporary, path, bytes, n);
	if (!err && fsync(dir))
		err = errno;
	if (dir >= 0)
		close(dir);
	free(temporary);
	if (err)
		say_write_error(path, path, "cannot write", err);
	return !err;
}
