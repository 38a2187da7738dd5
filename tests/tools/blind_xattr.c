/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: each file has an unreadable attribute security.selinux, as in
 * a container on a host with SELinux.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

static const char name[] = "security.selinux";

ssize_t llistxattr(const char *path, char *list, size_t size)
{
	(void)path;
	if (size && size < sizeof(name)) {
		errno = ERANGE;
		return -1;
	}
	if (size)
		memcpy(list, name, sizeof(name));
	return sizeof(name);
}

ssize_t lgetxattr(const char *path, const char *attr, void *value, size_t size)
{
	(void)path, (void)attr, (void)value, (void)size;
	errno = EOPNOTSUPP;
	return -1;
}
