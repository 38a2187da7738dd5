/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *  move FILE DONOR BLOCKS
 *	exchanges the first BLOCKS blocks of FILE and DONOR with
 *	EXT4_IOC_MOVE_EXT
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

struct move_extent {
	uint32_t reserved, donor_fd;
	uint64_t orig_start, donor_start, len, moved_len;
};
#define EXT4_IOC_MOVE_EXT _IOWR('f', 15, struct move_extent)

static int open_file(const char *path)
{
	int fd = open(path, O_RDWR);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

int main(int argc, char **argv)
{
	struct move_extent move = { 0 };
	int fd;

	if (argc != 4)
		errx(2, "usage: move FILE DONOR BLOCKS");
	fd = open_file(argv[1]);
	move.donor_fd = open_file(argv[2]);
	move.len = atoi(argv[3]);
	if (ioctl(fd, EXT4_IOC_MOVE_EXT, &move))
		err(1, "%s", argv[1]);
	if (move.moved_len != move.len)
		errx(1, "%s: %llu blocks of %s moved", argv[1],
		     (unsigned long long)move.moved_len, argv[3]);
	return 0;
}
