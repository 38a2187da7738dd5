/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qemu_lock IMAGE BYTE...: locks bytes of IMAGE as qemu does, prints a line,
 * and holds the locks until the end of its input.  Bytes from 100 on stand for
 * operations on the image.  Bytes from 200 on stand for operations that other
 * programs must not do.  The locks belong to the open file and not to the
 * process.
 *
 * Byte 200 + N is the opposite of byte 100 + N.  If another program holds the
 * opposite of a requested lock, qemu_lock fails.
 */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct flock at_byte(short type, off_t byte)
{
	return (struct flock) {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte,
		.l_len = 1,
	};
}

static int lock_byte(int fd, off_t byte)
{
	struct flock ours = at_byte(F_RDLCK, byte);
	struct flock theirs = at_byte(F_WRLCK, byte < 200 ? byte + 100 :
				      byte - 100);

	return !fcntl(fd, F_OFD_SETLK, &ours) &&
	       !fcntl(fd, F_OFD_GETLK, &theirs) && theirs.l_type == F_UNLCK;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	char c;
	int i;

	if (fd < 0) {
		fputs("qemu_lock: cannot open the image\n", stderr);
		return EXIT_FAILURE;
	}
	for (i = 2; i < argc; i++) {
		if (!lock_byte(fd, strtol(argv[i], NULL, 10))) {
			fputs("qemu_lock: Failed to get a lock\n", stderr);
			return EXIT_FAILURE;
		}
	}
	puts("locked");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return EXIT_SUCCESS;
}
