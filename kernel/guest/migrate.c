/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  migrate extents|blocks FILE
 *	converts FILE to extents, like chattr +e, or to block maps, like chattr -e
 */
#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	int fd, flags;

	if (argc != 3)
		errx(2, "usage: migrate extents|blocks FILE");
	fd = open(argv[2], O_RDWR);
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags))
		err(1, "%s", argv[2]);
	flags &= ~FS_EXTENT_FL;
	if (!strcmp(argv[1], "extents"))
		flags |= FS_EXTENT_FL;
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags))
		err(1, "%s", argv[2]);
	return 0;
}
