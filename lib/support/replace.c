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
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "replace.h"
#include "say.h"

static char *temporary_name(const char *path)
{
	char *name;

	return asprintf(&name, "%s.XXXXXX", path) < 0 ? NULL : name;
}

int replace_prevented(const char *path)
{
	char *name = temporary_name(path), *slash;
	struct stat st;
	int err = !name ? ENOMEM : e4l_lstat(name, &st) ? errno : 0;

	if (err && err != ENOENT)
		goto out;
	slash = strrchr(name, '/');
	if (slash)
		slash[1] = '\0';
	err = access(slash ? name : ".", W_OK) ? errno : 0;
out:
	free(name);
	return err;
}

/*
 * Gives the new file the permissions of the file at @path.  If no file exists
 * at @path, the new file gets the default permissions.
 */
static int set_mode(int fd, const char *path)
{
	mode_t mask = umask(0);
	struct stat old;

	umask(mask);
	return fchmod(fd, e4l_lstat(path, &old) ? 0666 & ~mask :
					      old.st_mode & 0777) ? errno : 0;
}

/* A function that writes the content of the new file, and its argument. */
struct content {
	bool (*write)(int fd, void *priv);
	void *priv;
};

struct bytes {
	const char *path;
	const char *bytes;
	size_t n;
};

static bool say_failed(const char *path, int err)
{
	say_write_error(path, path, "cannot write", err);
	return false;
}

static bool write_bytes(int fd, void *priv)
{
	const struct bytes *b = priv;
	const char *bytes = b->bytes;
	size_t n = b->n;
	ssize_t done;

	for (; n; bytes += done, n -= done) {
		done = write(fd, bytes, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return say_failed(b->path, done ? errno : EIO);
	}
	return true;
}

/*
 * Opens the directory of @path, which must be flushed to make the new name
 * durable.  On failure, returns -1 and sets errno.
 */
static int open_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(dir);
	return fd;
}

static bool write_beside(char *temporary, const char *path,
			 const struct content *content)
{
	int fd = mkostemp(temporary, O_CLOEXEC), err;
	bool written;

	if (fd < 0)
		return say_failed(path, errno);
	err = set_mode(fd, path);
	written = !err && content->write(fd, content->priv);
	if (written && fsync(fd))
		err = errno;
	if (close(fd) && !err)
		err = errno;
	if (written && !err && rename(temporary, path))
		err = errno;
	if (!written || err)
		unlink(temporary);
	return err ? say_failed(path, err) : written;
}

/*
 * Blocks signals while the temporary file exists, so that a signal that ends
 * the process does not leave the temporary file in the directory.  Returns
 * false after printing an error.
 */
static bool write_undisturbed(char *temporary, const char *path,
			      const struct content *content)
{
	sigset_t all, old;
	bool done;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	done = write_beside(temporary, path, content);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return done;
}

static bool replace(const char *path, const struct content *content)
{
	char *temporary;
	struct stat st;
	bool done;
	int dir;

	if (!e4l_lstat(path, &st) && !S_ISREG(st.st_mode)) {
		say("%s: not a regular file; not replaced", path);
		return false;
	}
	temporary = temporary_name(path);
	if (!temporary) {
		say_error(path, "cannot write", ENOMEM);
		return false;
	}
	/*
	 * Open the directory before the file is replaced, because opening the
	 * directory can fail.
	 */
	dir = open_directory(path);
	done = dir < 0 ? say_failed(path, errno) :
			 write_undisturbed(temporary, path, content);
	if (done && fsync(dir))
		done = say_failed(path, errno);
	e4l_close_fd(dir);
	free(temporary);
	return done;
}

bool replace_file_by(const char *path, bool (*write)(int fd, void *priv),
		     void *priv)
{
	const struct content content = { write, priv };

	return replace(path, &content);
}

bool replace_file(const char *path, const char *bytes, size_t n)
{
	struct bytes all = { path, bytes, n };

	return replace_file_by(path, write_bytes, &all);
}
