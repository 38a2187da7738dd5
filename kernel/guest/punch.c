/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  punch FILE BYTES
 *	makes a hole of BYTES bytes at the beginning of FILE
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int fd;

	if (argc != 3)
		errx(2, "usage: punch FILE BYTES");
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				0, atoll(argv[2])))
		err(1, "%s", argv[1]);
	return 0;
}
