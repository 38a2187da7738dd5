/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  setversion GENERATION FILE
 *	sets the generation of FILE, like chattr -v
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	int fd, generation;

	if (argc != 3)
		errx(2, "usage: setversion GENERATION FILE");
	generation = atoi(argv[1]);
	fd = open(argv[2], O_RDONLY);
	if (fd < 0 || ioctl(fd, FS_IOC_SETVERSION, &generation))
		err(1, "%s", argv[2]);
	return 0;
}
