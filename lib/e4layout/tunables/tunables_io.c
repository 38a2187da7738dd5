// SPDX-License-Identifier: LGPL-2.1-or-later
/* The extended attribute of the root directory that stores the tunables. */
#include "config.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "e4layout/base/internal.h"
#include "e4layout/base/stat.h"
#include "tunables.h"

errcode_t e4l_root_attributes(ext2_filsys fs, struct ext2_xattr_handle **handle)
{
	errcode_t err = ext2fs_xattrs_open(fs, EXT2_ROOT_INO, handle);

	if (err)
		return err;
	err = ext2fs_xattrs_read(*handle);
	if (err)
		ext2fs_xattrs_close(handle);
	return err;
}

static errcode_t read_attribute(ext2_filsys fs, struct e4l_tunables **ret)
{
	struct ext2_xattr_handle *handle;
	void *value = NULL;
	size_t len = 0;
	errcode_t err;

	err = e4l_root_attributes(fs, &handle);
	if (err == EXT2_ET_MISSING_EA_FEATURE)
		return e4l_tunables_parse("", 0, ret);
	if (err)
		return err;
	err = ext2fs_xattr_get(handle, E4L_TUNABLES_XATTR, &value, &len);
	if (!err || err == EXT2_ET_EA_KEY_NOT_FOUND)
		err = e4l_tunables_parse(value ? value : "", len, ret);
	ext2fs_free_mem(&value);
	ext2fs_xattrs_close(&handle);
	return err;
}

errcode_t e4l_tunables_read(struct e4l *e, struct e4l_tunables **ret)
{
	errcode_t err;

	*ret = NULL;
	err = read_attribute(e->fs, ret);
	return err ? e4l_fail(e, err, "reading the tunables", EXT2_ROOT_INO, 0)
		   : 0;
}

errcode_t e4l_tunables_get(struct e4l *e, const char *name, uint32_t *number)
{
	const struct e4l_tunable *found;
	struct e4l_tunables *t;
	errcode_t err;

	err = e4l_tunables_read(e, &t);
	if (err)
		return err;
	found = e4l_tunables_find(t, name);
	if (found && found->valid)
		*number = found->number;
	e4l_tunables_free(t);
	return 0;
}

static errcode_t check_root(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || e4l_fstat(fd, &st))
		return errno;
	if (fs.f_type != EXT2_SUPER_MAGIC || st.st_ino != EXT2_ROOT_INO)
		return E4L_ET_NOT_EXT4_ROOT;
	return 0;
}

/*
 * Whether this process has CAP_SYS_ADMIN, without which the kernel does not
 * show trusted attributes.
 */
static bool may_see_trusted(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, data) &&
	       data[0].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

errcode_t e4l_tunables_read_fd(int fd, struct e4l_tunables **ret)
{
	char text[E4L_TUNABLES_MAX + 1];
	ssize_t len;
	errcode_t err;

	*ret = NULL;
	err = check_root(fd);
	if (err)
		return err;
	len = fgetxattr(fd, E4L_TUNABLES_XATTR, text, sizeof(text));
	if (len < 0 && errno != ENODATA)
		return errno == ERANGE ? E4L_ET_TUNABLES_LONG : errno;
	if (len < 0 && !may_see_trusted())
		return EPERM;
	return e4l_tunables_parse(text, len < 0 ? 0 : len, ret);
}

errcode_t e4l_tunables_write_fd(int fd, const struct e4l_tunables *t)
{
	char text[E4L_TUNABLES_MAX + 1];
	size_t len = e4l_tunables_text(t, text);
	errcode_t err;

	err = check_root(fd);
	if (err)
		return err;
	if (len && fsetxattr(fd, E4L_TUNABLES_XATTR, text, len, 0))
		return errno;
	if (!len && fremovexattr(fd, E4L_TUNABLES_XATTR))
		return errno == ENODATA ? 0 : errno;
	return fsync(fd) ? errno : 0;
}
