/* SPDX-License-Identifier: GPL-2.0-only */
/* checkpoint DIR: flush the journal of the filesystem that contains DIR. */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define EXT4_IOC_CHECKPOINT	_IOW('f', 43, uint32_t)

int main(int argc, char **argv)
{
	uint32_t flags = 0;
	int fd;

	if (argc != 2)
		errx(2, "usage: checkpoint DIR");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || ioctl(fd, EXT4_IOC_CHECKPOINT, &flags))
		err(1, "%s", argv[1]);
	return 0;
}
