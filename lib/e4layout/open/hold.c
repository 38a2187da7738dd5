/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/shell_word.h"
#include "e4layout/base/stat.h"
#include "hold.h"

/*
 * Drop this number of bytes from the page cache: the largest page size of
 * Linux.
 */
#define FORGET_BYTES (64u << 10)

/* --------------------------------------------------------------- inspection */

static errcode_t name_it(struct e4l_hold *h, const char *device)
{
	int n = h->offset_bytes ?
		asprintf(&h->e2fs_name, "%s?offset=%llu", device,
			 (unsigned long long)h->offset_bytes) :
		asprintf(&h->e2fs_name, "%s", device);

	if (n < 0)
		h->e2fs_name = NULL;
	h->device = strdup(device);
	h->device_word = e4l_shell_word(device);
	h->e2fs_words = e4l_shell_filesystem(device, h->offset_bytes);
	return h->e2fs_name && h->device && h->device_word && h->e2fs_words ?
	       0 : ENOMEM;
}

static errcode_t tell_unseen(const struct e4l_hold *h, errcode_t err)
{
	return e4l_tell_error(&h->teller, err,
		"cannot determine whether the device is in use");
}

static errcode_t look(struct e4l_hold *h)
{
	struct stat st;
	errcode_t err;

	if (e4l_stat(h->device, &st))
		return e4l_tell_error(&h->teller, errno, "cannot open");
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return e4l_tell(&h->teller, E4L_ET_NOT_STORAGE,
				"neither a block device nor an image file");
	h->empty = S_ISREG(st.st_mode) && !st.st_size;
	err = e4l_in_use_new(&st, h->offset_bytes, h->end_bytes, &h->in_use);
	if (!err)
		err = e4l_in_use_find(h->in_use, &h->others);
	return err ? tell_unseen(h, err) : 0;
}

errcode_t e4l_hold_new(const char *device, uint64_t offset_bytes,
		       uint64_t end_bytes, const struct e4l_teller *teller,
		       struct e4l_hold **ret)
{
	struct e4l_hold *h = calloc(1, sizeof(*h));
	errcode_t err = ENOMEM;

	*ret = NULL;
	if (h) {
		h->offset_bytes = offset_bytes;
		h->end_bytes = end_bytes;
		h->lock_fd = -1;
		h->teller = *teller;
		err = name_it(h, device);
	}
	if (err)
		e4l_tell_error(teller, err, "cannot open");
	else
		err = look(h);
	if (err)
		e4l_hold_free(h);
	else
		*ret = h;
	return err;
}

void e4l_hold_free(struct e4l_hold *h)
{
	if (!h)
		return;
	e4l_close_fd(h->lock_fd);
	e4l_in_use_free(h->in_use);
	e4l_in_use_by_free(&h->others);
	free(h->device);
	free(h->e2fs_name);
	free(h->device_word);
	free(h->e2fs_words);
	free(h);
}

const char *e4l_hold_mount_point(const struct e4l_hold *h)
{
	return h->others.same && !h->others.pid ? h->others.mount_point : NULL;
}

const char *e4l_hold_unmount(const struct e4l_hold *h)
{
	return h->others.mount_point ? "unmount the filesystem and " : "";
}

/* --------------------------------------------------------------------- lock */

static errcode_t refuse_mounted(const struct e4l_hold *h)
{
	const struct e4l_in_use_by *by = &h->others;
	char *word;

	if (!by->mount_point)
		return 0;
	word = e4l_shell_word(by->mount_point);
	if (!word)
		e4l_tell(&h->teller, E4L_ET_MOUNTED, "mounted on %s",
			 by->mount_point);
	else if (by->pid)
		e4l_tell(&h->teller, E4L_ET_MOUNTED,
			 "mounted on %s in another mount namespace: first "
			 "run nsenter -m -t %d umount %s",
			 by->mount_point, (int)by->pid, word);
	else
		e4l_tell(&h->teller, E4L_ET_MOUNTED,
			 "mounted on %s: first run umount %s",
			 by->mount_point, word);
	free(word);
	return E4L_ET_MOUNTED;
}

static errcode_t refuse_attached(const struct e4l_hold *h)
{
	const char *loop = h->others.loop;

	return loop ? e4l_tell(&h->teller, E4L_ET_IN_USE,
			       "attached to %s: detach the loop device first: "
			       "losetup -d %s", loop, loop) : 0;
}

/*
 * Locks an image with flock(2).  Does not lock a device, because udev also
 * locks devices while it examines them.  A device is opened with O_EXCL for
 * writing, which excludes other users.
 */
static errcode_t lock_file(struct e4l_hold *h, int kind)
{
	struct stat st;

	if (e4l_fstat(h->lock_fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	h->file_bytes = st.st_size;
	if (!flock(h->lock_fd, kind | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return e4l_tell(&h->teller, E4L_ET_IN_USE,
			"locked by another program: wait until that program "
			"ends");
	return e4l_tell_error(&h->teller, errno, "cannot lock");
}

static errcode_t refuse_read_only(const struct e4l_hold *h)
{
	int read_only = 0;

	if (ioctl(h->lock_fd, BLKROGET, &read_only) || !read_only)
		return 0;
	return e4l_tell(&h->teller, EROFS, "the device is read-only (see "
					   "blockdev --report %s)",
			h->device_word);
}

/*
 * Locks the device or image: exclusively if @write is true, otherwise shared.
 * The locks do not prevent another program from mounting the image or attaching
 * it to a loop device; e4l_hold_check() detects such programs.
 */
static errcode_t lock(struct e4l_hold *h, bool write)
{
	errcode_t err;

	h->lock_fd = open(h->device, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (h->lock_fd < 0)
		return e4l_tell_error(&h->teller, errno, write ?
				      "cannot open for writing" :
				      "cannot open");
	err = write ? refuse_read_only(h) : 0;
	if (!err)
		err = lock_file(h, write ? LOCK_EX : LOCK_SH);
	if (err)
		return err;
	err = e4l_in_use_lock(h->in_use, h->lock_fd, write);
	if (err != E4L_ET_IN_USE)
		return err ? tell_unseen(h, err) : 0;
	return e4l_tell(&h->teller, E4L_ET_IN_USE,
		"locked by a virtual machine (qemu) or another program: stop "
		"that program first");
}

errcode_t e4l_hold_take(struct e4l_hold *h, bool write)
{
	errcode_t err = refuse_mounted(h);

	if (!err)
		err = refuse_attached(h);
	return err ? err : lock(h, write);
}

/* -------------------------------------------------------------------- check */

/*
 * Returns whether the image was truncated.  If the image was truncated, writes
 * must stop, because a write beyond the end of the image would extend the image
 * with a hole.
 */
static bool is_shorter(const struct e4l_hold *h)
{
	struct stat st;

	return h->file_bytes && !e4l_fstat(h->lock_fd, &st) &&
	       st.st_size < h->file_bytes;
}

errcode_t e4l_hold_check(struct e4l_hold *h)
{
	struct e4l_in_use_by by;
	errcode_t err;
	bool used;

	if (h->lock_fd < 0)
		return 0;
	if (is_shorter(h)) {
		h->lost = true;
		return E4L_ET_SHORTER;
	}
	/*
	 * Drop the page with the superblock from the page cache.  The page can
	 * be outdated if another program has written the superblock through
	 * another device, such as a partition or a loop device.
	 */
	posix_fadvise(h->lock_fd, h->offset_bytes -
		      h->offset_bytes % FORGET_BYTES, 2 * FORGET_BYTES,
		      POSIX_FADV_DONTNEED);
	err = e4l_in_use_find(h->in_use, &by);
	used = by.mount_point || by.loop;
	e4l_in_use_by_free(&by);
	h->lost |= used;
	return used ? E4L_ET_NOT_OURS : err;
}
