/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether setxattr(2) of Linux would accept an extended attribute. */
#include "config.h"
#include <string.h>
#include "e4layout/populate/tree.h"
#include "mke4fs_source.h"

#define MAX_NAME	255	/* including the namespace */
#define MAX_BYTES	65536

/* Returns whether @v is a struct vfs_cap_data or vfs_ns_cap_data of Linux. */
static bool is_capability(const uint8_t *v, size_t size)
{
	return ((size == 20 && v[3] == 2) || (size == 24 && v[3] == 3)) &&
	       v[0] <= 1 && !v[1] && !v[2];
}

/* If the name is valid, returns NULL.  Otherwise, returns an error text. */
static const char *check_name(const char *name)
{
	static const char *const namespaces[] = {
		"user.", "trusted.", "security.", "system.",
	};
	size_t i;

	if (strlen(name) > MAX_NAME)
		return "the name is longer than 255 bytes";
	if (!strchr(name, '.'))
		return "the name has no namespace";
	for (i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		if (!strcmp(name, namespaces[i]))
			return "the name consists of a namespace only";
	return NULL;
}

const char *xattr_check(const struct e4l_tree_xattr *x, uint32_t mode)
{
	const char *why = check_name(x->name);

	if (why)
		return why;
	if (x->size > MAX_BYTES)
		return "the value is longer than 65536 bytes";
	if (!strcmp(x->name, "security.capability") &&
	    !is_capability(x->value, x->size))
		return "the value is not a valid file capability";
	if (!strncmp(x->name, "user.", 5) && !S_ISREG(mode) && !S_ISDIR(mode))
		return "only regular files and directories have attributes of "
		       "this namespace";
	if (!strcmp(x->name, "system.posix_acl_access") && S_ISLNK(mode))
		return "symbolic links have no ACL";
	if (!strcmp(x->name, "system.posix_acl_default") && !S_ISDIR(mode))
		return "only directories have a default ACL";
	return NULL;
}

const char *xattr_check_change(const struct e4l_tree_xattr *x, uint32_t mode)
{
	const char *why = x->size ? xattr_check(x, mode) : NULL;

	if (!why && x->size && !e4l_tree_stores_xattr(x->name))
		why = "ext4 does not store attributes of this name";
	return why;
}
