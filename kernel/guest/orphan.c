/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  orphan tmpfile|unlinked|replaced|linked|linked-later DIR
 *	writes 4096 times "y" to a file in DIR, and cuts the power after these
 *	steps:
 *	 tmpfile:	the file never has a name; write to DIR/g and fsync() DIR/g
 *	 unlinked:	unlink the file, write to DIR/g and fsync() DIR/g
 *	 replaced:	rename another file over the file, write to DIR/g and
 *			fsync() DIR/g
 *	 linked:	link the file without a name to DIR/l, and fsync() the file
 *	 linked-later:	sync(), link the file without a name to DIR/l, and fsync()
 *			the file
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(int fd)
{
	char block[4096];

	memset(block, 'y', sizeof(block));
	if (fd < 0 || pwrite(fd, block, sizeof(block), 0) != sizeof(block))
		err(1, "pwrite");
}

int main(int argc, char **argv)
{
	char link[64];
	int fd, other;

	if (argc != 3)
		errx(2, "usage: orphan HOW DIR");
	if (chdir(argv[2]))
		err(1, "%s", argv[2]);
	if (!strcmp(argv[1], "unlinked") || !strcmp(argv[1], "replaced"))
		fd = open("f", O_RDWR | O_CREAT, 0600);
	else
		fd = open(".", O_RDWR | O_TMPFILE, 0600);
	put(fd);
	if (!strcmp(argv[1], "linked-later"))
		sync();
	if (!strcmp(argv[1], "unlinked") && unlink("f"))
		err(1, "unlink");
	if (!strcmp(argv[1], "replaced")) {
		other = open("new", O_RDWR | O_CREAT, 0600);
		if (other < 0 || rename("new", "f"))
			err(1, "rename");
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!strncmp(argv[1], "linked", 6)) {
		if (linkat(AT_FDCWD, link, AT_FDCWD, "l", AT_SYMLINK_FOLLOW))
			err(1, "linkat");
		other = fd;
	} else {
		other = open("g", O_RDWR);
		put(other);
	}
	if (fsync(other))
		err(1, "fsync");
	execlp("poweroff", "poweroff", "-f", "-n", NULL);
	err(1, "poweroff");
}
