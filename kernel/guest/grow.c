/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grow DIRECTORY BLOCKS
 *	grows the ext4 filesystem mounted at DIRECTORY, as resize2fs(8) does
 */
#include <err.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* fs/ext4/ext4.h */
#define EXT4_IOC_RESIZE_FS _IOW('f', 16, uint64_t)

int main(int argc, char **argv)
{
	uint64_t blocks;
	int fd;

	if (argc != 3)
		errx(2, "usage: grow DIRECTORY BLOCKS");
	blocks = strtoull(argv[2], NULL, 10);
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || ioctl(fd, EXT4_IOC_RESIZE_FS, &blocks))
		err(1, "%s", argv[1]);
	return 0;
}
