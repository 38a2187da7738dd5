/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * delay DEVICE READ_MS WRITE_MS
 *	makes /dev/dm-0, which is DEVICE with a delay for each read and each
 *	write; the delays of simultaneous requests overlap
 */
#include <err.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

struct request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char arguments[256];
};

static void control(int fd, unsigned long command, struct request *r)
{
	r->head.version[0] = DM_VERSION_MAJOR;
	r->head.data_size = sizeof(*r);
	r->head.data_start = offsetof(struct request, target);
	strcpy(r->head.name, "slow");
	if (ioctl(fd, command, r))
		err(1, "device mapper");
}

int main(int argc, char **argv)
{
	struct request r = { 0 }, none = { 0 };
	unsigned long long bytes;
	int fd, disk;

	if (argc != 4)
		errx(2, "usage: delay DEVICE READ_MS WRITE_MS");
	disk = open(argv[1], O_RDONLY);
	if (disk < 0 || ioctl(disk, BLKGETSIZE64, &bytes))
		err(1, "%s", argv[1]);
	fd = open("/dev/mapper/control", O_RDWR);
	if (fd < 0)
		err(1, "/dev/mapper/control");
	control(fd, DM_DEV_CREATE, &none);
	r.head.target_count = 1;
	r.target.length = bytes / 512;
	strcpy(r.target.target_type, "delay");
	snprintf(r.arguments, sizeof(r.arguments), "%s 0 %s %s 0 %s", argv[1],
		 argv[2], argv[1], argv[3]);
	control(fd, DM_TABLE_LOAD, &r);
	memset(&none, 0, sizeof(none));
	control(fd, DM_DEV_SUSPEND, &none);	/* resumes the device */
	return 0;
}
