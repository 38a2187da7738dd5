/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  down DIR
 *	aborts the journal of the filesystem that contains DIR, as a disk failure
 *	does
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define EXT4_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#define NOLOGFLUSH		2

int main(int argc, char **argv)
{
	uint32_t how = NOLOGFLUSH;
	int fd;

	if (argc != 2)
		errx(2, "usage: down DIR");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || ioctl(fd, EXT4_IOC_SHUTDOWN, &how))
		err(1, "%s", argv[1]);
	return 0;
}
