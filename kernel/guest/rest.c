/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rest FILE
 *	preallocates FILE, and writes four of its blocks with one direct write.
 *	The second half of the buffer becomes readable only when the first half
 *	is being written, so that the kernel writes the second half later.
 *	Meanwhile, the kernel drops the cached extents of the file, and reads a
 *	block of its extent tree again.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK	4096
#define BLOCKS	160
/* distance between writes, in blocks, that is too large for zero-out */
#define APART	32
#define FIRST	8
#define HALF	2

static char *buf;
static int file;

static void *let_go_on(void *unused)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY), i;
	int block = FIRST + HALF;

	usleep(100000);
	for (i = 0; i < 3; i++)
		if (write(fd, "2", 1) != 1)
			err(1, "drop_caches");
	close(fd);
	if (ioctl(file, FIBMAP, &block))
		err(1, "FIBMAP");
	if (mprotect(buf + HALF * BLOCK, HALF * BLOCK, PROT_READ))
		err(1, "mprotect");
	return unused;
}

/*
 * Makes a preallocated file with so many extents that its extent tree has a
 * leaf block.  The kernel then has to read extents from the disk.
 */
static void prepare(const char *path)
{
	int i;

	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0644);
	if (file < 0 || fallocate(file, 0, 0, BLOCKS * BLOCK))
		err(1, "%s", path);
	for (i = APART; i < BLOCKS; i += APART)
		if (pwrite(file, buf, BLOCK, i * BLOCK) != BLOCK)
			err(1, "%s", path);
	if (fsync(file))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	int size = 2 * HALF * BLOCK;
	char got[2 * HALF * BLOCK] __attribute__((aligned(BLOCK)));
	pthread_t thread;
	ssize_t n;

	if (argc != 2)
		errx(2, "usage: rest FILE");
	buf = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		err(1, "buffer");
	memset(buf, 'r', size);
	prepare(argv[1]);
	if (mprotect(buf + size / 2, size / 2, PROT_NONE) ||
	    pthread_create(&thread, NULL, let_go_on, NULL))
		err(1, "thread");
	n = pwrite(file, buf, size, FIRST * BLOCK);
	pthread_join(thread, NULL);
	/*
	 * If the write was short, this kernel does not write the second half
	 * later, so that there is nothing to check.
	 */
	if (n != size)
		return 0;
	if (fsync(file) || pread(file, got, size, FIRST * BLOCK) != size)
		err(1, "%s", argv[1]);
	if (memcmp(got, buf, size))
		errx(1, "%s: written directly, and lost", argv[1]);
	return 0;
}
