/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  extend logged|listed|unlinked DIR
 *	starts a direct write that extends DIR/x, and cuts the power after these
 *	steps; each write to the disk takes 100 ms:
 *	 logged:	during the direct write, write 4096 times "y" to DIR/g
 *			and fsync() DIR/g
 *	 listed:	during the direct write, sync() while a file without a
 *			name is open; after the direct write, write to DIR/g and
 *			fsync() DIR/g
 *	 unlinked:	during the direct write, sync(); after the direct write,
 *			unlink DIR/x, write to DIR/g and fsync() DIR/g
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	(1u << 20)

static void put(int fd, const void *data, size_t bytes, off_t at)
{
	if (fd < 0 || pwrite(fd, data, bytes, at) != (ssize_t)bytes)
		err(1, "pwrite");
}

int main(int argc, char **argv)
{
	char *data = aligned_alloc(4096, BYTES), block[4096];
	int x, g, nameless;
	pid_t writer;

	if (argc != 3 || !data)
		errx(2, "usage: extend HOW DIR");
	if (chdir(argv[2]))
		err(1, "%s", argv[2]);
	memset(data, 'x', BYTES);
	memset(block, 'y', sizeof(block));
	g = open("g", O_RDWR);
	x = open("x", O_RDWR | O_CREAT | O_DIRECT, 0600);
	put(x, data, 4096, 0);
	if (!strcmp(argv[1], "listed")) {
		nameless = open(".", O_RDWR | O_TMPFILE, 0600);
		put(nameless, block, sizeof(block), 0);
	}
	if (g < 0 || syncfs(g))
		err(1, "g");
	writer = fork();
	if (!writer) {
		put(x, data, BYTES, 4096);
		_exit(0);
	}
	usleep(50000);
	if (strcmp(argv[1], "logged")) {
		if (syncfs(g) || waitpid(writer, NULL, 0) != writer)
			err(1, "syncfs");
		if (!strcmp(argv[1], "unlinked") && (close(x) || unlink("x")))
			err(1, "unlink");
	}
	put(g, block, sizeof(block), 0);
	if (fsync(g))
		err(1, "fsync");
	execlp("poweroff", "poweroff", "-f", "-n", NULL);
	err(1, "poweroff");
}
