// SPDX-License-Identifier: GPL-2.0-only
/* setxattr PATH NAME LENGTH: set an extended attribute of LENGTH bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

int main(int argc, char **argv)
{
	static char value[4096];
	size_t length;

	if (argc != 4)
		return 2;
	length = strtoul(argv[3], NULL, 10);
	if (length > sizeof(value))
		return 2;
	memset(value, 'x', length);
	if (setxattr(argv[1], argv[2], value, length, 0)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
