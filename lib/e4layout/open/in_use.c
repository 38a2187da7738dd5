/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the users of a range of bytes of a block device or of a file.
 * e4l_in_use_new() maps the range through loop devices and partitions to the
 * lowest device or file.  e4l_in_use_find() examines all devices that map bytes
 * of the range.  If the search runs out of memory or file descriptors, the
 * search fails, because a user may be missed (see e4l_unseen()).
 */
#include "config.h"
#include <e4layout/e4l_err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "in_use.h"
#include "mounts.h"

#define MAX_DEPTH	16
#define SECTOR_BYTES	512

/*
 * A range of bytes of the file @ino on the filesystem @dev.  If @ino is 0, a
 * range of bytes of the block device @dev.
 */
struct bytes {
	dev_t dev;
	ino_t ino;
	uint64_t start, end;
	/* the range begins where the first byte of level[0] is stored */
	bool same;
};

struct e4l_in_use {
	/*
	 * level[0] is the original range; level[i + 1] has the bytes of
	 * level[i] on the next lower device or file
	 */
	struct bytes level[MAX_DEPTH];
	/* fd[i] holds the locks of level[i + 1]; -1: not open */
	int fd[MAX_DEPTH];
	unsigned int n;
	/*
	 * the devices of the first @held levels cannot be mounted by other
	 * programs
	 */
	unsigned int held;
};

/*
 * The byte range that holds the content of a partition or loop device.  The
 * range is on a lower device or in a file.
 */
struct window {
	struct bytes under;
	char file[4096]; /* name of the backing file of a loop device, or "" */
};

/*
 * Sets @w to the byte range that holds the content of the device with the sysfs
 * directory @dir.  Returns false if the device is not of the type that the
 * function supports (partition, loop device, or both).  If reading the mapping
 * fails, also returns false, and e4l_unseen(errno) is not 0.
 */
typedef bool look_fn(const char *dir, struct window *w);

/* -------------------------------------------------------------------- sysfs */

/*
 * Reads the first line of @file, up to @size - 1 bytes, in one read.  Returns
 * false if nothing was read.
 */
static bool read_sysfs(const char *dir, const char *file, char *buf,
		       size_t size)
{
	char path[512];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	errno = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return n > 0;
}

static bool read_number(const char *dir, const char *file, uint64_t *n)
{
	char buf[32];

	if (!read_sysfs(dir, file, buf, sizeof(buf)))
		return false;
	*n = strtoull(buf, NULL, 10);
	return true;
}

static bool read_dev(const char *dir, const char *file, dev_t *dev)
{
	unsigned int maj, min;
	char buf[32];

	if (!read_sysfs(dir, file, buf, sizeof(buf)) ||
	    sscanf(buf, "%u:%u", &maj, &min) != 2)
		return false;
	*dev = makedev(maj, min);
	return true;
}

static void sysfs_dir(dev_t dev, char *dir, size_t size)
{
	snprintf(dir, size, "/sys/dev/block/%u:%u", major(dev), minor(dev));
}

/*
 * Returns the part of @path after the last slash.  basename() is not used,
 * because basename() differs between C libraries.
 */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opens the device node in /dev of the device with the sysfs directory @dir. */
static int open_node(const char *dir, int flags)
{
	char link[512], node[560];
	ssize_t len = readlink(dir, link, sizeof(link) - 1);
	struct stat st;
	dev_t dev;
	int fd;

	if (len < 0 || !read_dev(dir, "dev", &dev))
		return -1;
	link[len] = '\0';
	snprintf(node, sizeof(node), "/dev/%s", last_part(link));
	fd = open(node, flags | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (e4l_fstat(fd, &st) || st.st_rdev != dev)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ------------------------------------------------------------------ windows */

/* Decodes a device number in the format of the kernel's new_encode_dev(). */
static dev_t unpack_dev(uint64_t packed)
{
	return makedev((packed & 0xfff00) >> 8,
		       (packed & 0xff) | (packed >> 12 & 0xfff00));
}

static void set_window(struct window *w, dev_t dev, ino_t ino, uint64_t start,
		       uint64_t size)
{
	w->under = (struct bytes) {
		.dev = dev, .ino = ino, .start = start,
		.end = size ? start + size : UINT64_MAX,
	};
}

/*
 * Finds the backing file of a loop device by the device and inode numbers that
 * the kernel reports.  The name of the backing file can meanwhile refer to
 * another file.  Returns false on failure.
 */
static bool ask_loop(int fd, struct window *w)
{
	struct loop_info64 info;
	bool ok;

	if (fd < 0)
		return false;
	ok = !ioctl(fd, LOOP_GET_STATUS64, &info);
	close(fd);
	if (ok && info.lo_rdevice)
		set_window(w, unpack_dev(info.lo_rdevice), 0, info.lo_offset,
			   info.lo_sizelimit);
	else if (ok)
		set_window(w, unpack_dev(info.lo_device), info.lo_inode,
			   info.lo_offset, info.lo_sizelimit);
	return ok;
}

/*
 * Finds the backing file of a loop device by name, for users without permission
 * for LOOP_GET_STATUS64.  Returns false on failure.
 */
static bool guess_loop(const char *dir, struct window *w)
{
	uint64_t start, size;
	struct stat st;

	if (e4l_stat(w->file, &st) ||
	    !read_number(dir, "loop/offset", &start) ||
	    !read_number(dir, "loop/sizelimit", &size))
		return false;
	if (S_ISBLK(st.st_mode))
		set_window(w, st.st_rdev, 0, start, size);
	else
		set_window(w, st.st_dev, st.st_ino, start, size);
	return true;
}

static bool look_through_partition(const char *dir, struct window *w)
{
	uint64_t number, start, size;
	dev_t disk;

	if (!read_number(dir, "partition", &number) ||
	    !read_number(dir, "start", &start) ||
	    !read_number(dir, "size", &size) ||
	    !read_dev(dir, "../dev", &disk))
		return false;
	set_window(w, disk, 0, start * SECTOR_BYTES, size * SECTOR_BYTES);
	*w->file = '\0';
	return true;
}

static bool look_through_loop(const char *dir, struct window *w)
{
	if (!read_sysfs(dir, "loop/backing_file", w->file, sizeof(w->file)))
		return false;
	if (ask_loop(open_node(dir, O_RDONLY), w))
		return true;
	return !e4l_unseen(errno) && guess_loop(dir, w);
}

/*
 * Sets @w to the byte range that holds the content of the loop device or
 * partition with the sysfs directory @dir (see look_fn).
 */
static bool look_through(const char *dir, struct window *w)
{
	return look_through_loop(dir, w) ||
	       (!e4l_unseen(errno) && look_through_partition(dir, w));
}

static bool same_thing(const struct bytes *a, const struct bytes *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/*
 * Returns the bytes of the lower device or file that hold the content of @b.
 * @b is a range of a device.  @w is the byte range that holds the content of
 * the whole device.
 */
static struct bytes go_down(const struct bytes *b, const struct window *w)
{
	struct bytes ret = w->under;

	ret.start += b->start;
	if (b->end < ret.end - w->under.start)
		ret.end = w->under.start + b->end;
	return ret;
}

/*
 * @w is the range on a lower device or in a file that holds the content of the
 * partition or loop device @dev.  @b is another range of bytes.  Sets *@ret to
 * the bytes of @dev whose content is in @b.  If @w does not overlap @b, returns
 * false.
 */
static bool go_up(const struct bytes *b, dev_t dev, const struct window *w,
		  struct bytes *ret)
{
	uint64_t base = w->under.start;

	if (!same_thing(b, &w->under) || b->start >= w->under.end ||
	    b->end <= base)
		return false;
	*ret = (struct bytes) {
		.dev = dev, .same = b->same && b->start >= base,
		.start = b->start > base ? b->start - base : 0,
		.end = b->end == UINT64_MAX ? b->end : b->end - base,
	};
	return true;
}

/* ------------------------------------------------------- underlying devices */

/*
 * Fills u->level with the same range on the lower devices: each level is on the
 * device below the previous level.  A file is the last level.
 */
static errcode_t dig(struct e4l_in_use *u)
{
	const struct bytes *last;
	struct window w;
	char dir[64];

	for (; u->n < MAX_DEPTH; u->n++) {
		last = &u->level[u->n - 1];
		if (last->ino)
			return 0;
		sysfs_dir(last->dev, dir, sizeof(dir));
		if (!look_through(dir, &w))
			return e4l_unseen(errno);
		u->level[u->n] = go_down(last, &w);
	}
	return 0;
}

errcode_t e4l_in_use_new(const struct stat *st, uint64_t start, uint64_t end,
			 struct e4l_in_use **ret)
{
	struct e4l_in_use *u = calloc(1, sizeof(*u));
	errcode_t err;

	*ret = NULL;
	if (!u)
		return ENOMEM;
	u->level[0] = (struct bytes) {
		.dev = S_ISBLK(st->st_mode) ? st->st_rdev : st->st_dev,
		.ino = S_ISBLK(st->st_mode) ? 0 : st->st_ino,
		.start = start, .end = end,
	};
	for (u->n = 0; u->n < MAX_DEPTH; u->n++)
		u->fd[u->n] = -1;
	u->n = 1;
	err = dig(u);
	u->level[u->n - 1].same = true;
	if (err)
		e4l_in_use_free(u);
	else
		*ret = u;
	return err;
}

/*
 * Sets *@rotates to whether the device, or the disk of the partition, rotates.
 * If sysfs does not have this information, *@rotates is unchanged.  For a
 * virtio disk, *@rotates becomes false, because the driver does not know
 * whether the host's disk rotates.
 */
static void read_rotational(const char *dir, bool *rotates)
{
	char link[80], driver[256];
	ssize_t len;
	uint64_t n;

	snprintf(link, sizeof(link), "%s/device/driver", dir);
	len = readlink(link, driver, sizeof(driver) - 1);
	driver[len < 0 ? 0 : len] = '\0';
	if (!strcmp(last_part(driver), "virtio_blk"))
		*rotates = false;
	else if (read_number(dir, "queue/rotational", &n) ||
		 read_number(dir, "../queue/rotational", &n))
		*rotates = n;
}

bool e4l_in_use_rotates(const struct e4l_in_use *u)
{
	bool rotates = false;
	struct window w;
	unsigned int i;
	char dir[64];

	/* for a file, level[i].dev is the device of the file's filesystem */
	for (i = 0; i < u->n; i++) {
		sysfs_dir(u->level[i].dev, dir, sizeof(dir));
		read_rotational(dir, &rotates);
	}
	for (; i < MAX_DEPTH && look_through(dir, &w); i++) {
		sysfs_dir(w.under.dev, dir, sizeof(dir));
		read_rotational(dir, &rotates);
	}
	return rotates;
}

void e4l_in_use_hold(struct e4l_in_use *u)
{
	uint64_t number;
	char dir[64];

	sysfs_dir(u->level[0].dev, dir, sizeof(dir));
	u->held = u->level[0].ino ? 0 :
		  read_number(dir, "partition", &number) && u->n > 1 ? 2 : 1;
}

void e4l_in_use_free(struct e4l_in_use *u)
{
	unsigned int i;

	for (i = 0; u && i < u->n; i++)
		e4l_close_fd(u->fd[i]);
	free(u);
}

/* ----------------------------------------------------------- devices on top */

struct search {
	const struct e4l_in_use *u;
	struct e4l_in_use_by *by;
	unsigned int depth;
	/*
	 * first error that prevented reading a device or mount table; 0: no
	 * error
	 */
	errcode_t err;
};

static void climb(struct search *s, const struct bytes *b);

/* Records the errno @error of a device or mount table that cannot be read. */
static void miss(struct search *s, int error)
{
	if (!s->err)
		s->err = e4l_unseen(error);
}

static bool is_ours(const struct e4l_in_use *u, dev_t dev)
{
	unsigned int i;

	for (i = 0; i < u->n; i++)
		if (!u->level[i].ino && u->level[i].dev == dev)
			return true;
	return false;
}

static bool is_held_alone(const struct e4l_in_use *u, dev_t dev)
{
	unsigned int i;

	for (i = 0; i < u->held; i++)
		if (u->level[i].dev == dev)
			return true;
	return false;
}

/*
 * Records a mount of the device of @b in s->by.  A mount of a filesystem that
 * begins with the first byte of the original range is preferred.  Among equally
 * good mounts, the first mount is recorded.
 */
static void note_mount(struct search *s, const struct bytes *b)
{
	bool same = b->same && !b->start;
	struct e4l_in_use_by *by = s->by;
	char *point;
	pid_t pid;

	if ((by->mount_point && (by->same || !same)) ||
	    is_held_alone(s->u, b->dev))
		return;
	miss(s, e4l_mount_point_anywhere(b->dev, &point, &pid));
	if (!point)
		return;
	free(by->mount_point);
	by->mount_point = point;
	by->pid = pid;
	by->same = same;
}

/*
 * @w is the byte range that holds the content of the device @dev.  If @w
 * overlaps @b, searches for users of @dev.  Also records @dev as a user if @dev
 * is a loop device that the target does not use.
 */
static void climb_through(struct search *s, const struct bytes *b, dev_t dev,
			  const struct window *w, const char *name)
{
	struct bytes above;

	if (!go_up(b, dev, w, &above))
		return;
	if (*w->file && !s->by->loop && !is_ours(s->u, dev) &&
	    asprintf(&s->by->loop, "/dev/%s", name) < 0) {
		s->by->loop = NULL;
		miss(s, ENOMEM);
	}
	climb(s, &above);
}

/*
 * Calls climb_through() for the device with the sysfs directory @dir.  look()
 * finds the range of bytes that the device uses.  @name is the name of the
 * device in /dev.
 */
static void climb_to(struct search *s, const struct bytes *b, const char *dir,
		     const char *name, look_fn *look)
{
	struct window w;
	dev_t dev;

	if (look(dir, &w) && read_dev(dir, "dev", &dev))
		climb_through(s, b, dev, &w, name);
	else
		miss(s, errno);
}

/*
 * Calls climb_through() for all loop devices in /dev.  Replaces climb_all() if
 * /sys/block is not readable.
 */
static void climb_nodes(struct search *s, const struct bytes *b)
{
	DIR *d = opendir("/dev");
	struct dirent *entry;
	struct window w;
	struct stat st;
	char path[300];
	int fd;

	if (!d)
		miss(s, errno);
	while (d && (entry = e4l_next_entry(d, &s->err))) {
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		if (strncmp(entry->d_name, "loop", 4) || e4l_stat(path, &st) ||
		    !S_ISBLK(st.st_mode) || major(st.st_rdev) != LOOP_MAJOR)
			continue;
		snprintf(w.file, sizeof(w.file), "%s", path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			miss(s, errno);
		if (ask_loop(fd, &w))
			climb_through(s, b, st.st_rdev, &w, entry->d_name);
	}
	if (d)
		closedir(d);
}

/*
 * Calls climb_to() for all devices in the sysfs directory @dir whose names
 * begin with @prefix.
 */
static void climb_all(struct search *s, const struct bytes *b, const char *dir,
		      const char *prefix, look_fn *look)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[400];

	if (!d)
		miss(s, errno);
	while (d && (entry = e4l_next_entry(d, &s->err))) {
		if (*entry->d_name == '.' ||
		    strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		climb_to(s, b, path, entry->d_name, look);
	}
	if (d)
		closedir(d);
}

static void climb(struct search *s, const struct bytes *b)
{
	char dir[64], link[512];
	ssize_t len;

	if (s->depth == MAX_DEPTH)
		return;
	s->depth++;
	if (!b->ino) {
		note_mount(s, b);
		/*
		 * in sysfs, the directory of a disk contains the directories
		 * of its partitions, whose names begin with the disk's name
		 */
		sysfs_dir(b->dev, dir, sizeof(dir));
		len = readlink(dir, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		if (*link)
			climb_all(s, b, dir, last_part(link),
				  look_through_partition);
	}
	/*
	 * /sys/block does not list the partitions of loop devices.  If a loop
	 * device uses @b, climb() is called for the loop device, and finds the
	 * partitions of the loop device.
	 */
	if (!access("/sys/block", R_OK))
		climb_all(s, b, "/sys/block", "loop", look_through_loop);
	else
		climb_nodes(s, b);
	s->depth--;
}

errcode_t e4l_in_use_find(const struct e4l_in_use *u, struct e4l_in_use_by *by)
{
	struct search s = { .u = u, .by = by };

	*by = (struct e4l_in_use_by) { 0 };
	climb(&s, &u->level[u->n - 1]);
	return s.err;
}

void e4l_in_use_by_free(struct e4l_in_use_by *by)
{
	free(by->mount_point);
	free(by->loop);
}

/* -------------------------------------------------------------------- locks */

/*
 * The locks that qemu takes on an image.  The operation N on an image (read,
 * write, write unchanged data, or resize) has two bytes.  A program locks the
 * byte at offset 100 + N if the program performs the operation.  A program
 * locks the byte at offset 200 + N if other programs must not perform the
 * operation.
 */
enum { READ = 1, WRITE = 2, WRITE_SAME = 4, RESIZE = 8 };
static const off_t doing = 100, denying = 200, n_things = 4;

static const struct intent {
	unsigned int does, denies;
} intents[] = {
	[false] = { READ, WRITE | RESIZE },
	[true] = { READ | WRITE | WRITE_SAME | RESIZE,
		   READ | WRITE | WRITE_SAME | RESIZE },
};

static struct flock lock_of(off_t byte, short type)
{
	return (struct flock) {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte,
		.l_len = 1,
	};
}

/*
 * Takes the locks of qemu on @fd.  Errors are ignored: if a filesystem does not
 * support the locks, other programs cannot take the locks, either.
 */
static void take(int fd, const struct intent *it)
{
	struct flock lock;
	off_t i;

	for (i = 0; i < n_things; i++) {
		lock = lock_of(doing + i, F_RDLCK);
		if (it->does & 1u << i)
			fcntl(fd, F_OFD_SETLK, &lock);
		lock = lock_of(denying + i, F_RDLCK);
		if (it->denies & 1u << i)
			fcntl(fd, F_OFD_SETLK, &lock);
	}
}

static bool is_locked(int fd, off_t byte)
{
	struct flock lock = lock_of(byte, F_WRLCK);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

/* Returns whether the lock of another program conflicts with @it. */
static bool is_held(int fd, const struct intent *it)
{
	off_t i;

	for (i = 0; i < n_things; i++)
		if ((it->denies & 1u << i && is_locked(fd, doing + i)) ||
		    (it->does & 1u << i && is_locked(fd, denying + i)))
			return true;
	return false;
}

/* Opens the device or file at u->level[@i + 1] by its name. */
static int open_beneath(const struct e4l_in_use *u, unsigned int i)
{
	const struct bytes *under = &u->level[i + 1];
	struct window w;
	struct stat st;
	char dir[64];
	int fd;

	if (!under->ino) {
		sysfs_dir(under->dev, dir, sizeof(dir));
		return open_node(dir, O_RDONLY);
	}
	sysfs_dir(u->level[i].dev, dir, sizeof(dir));
	if (!look_through(dir, &w))
		return -1;
	fd = open(w.file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && (e4l_fstat(fd, &st) || st.st_dev != under->dev ||
			st.st_ino != under->ino)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

errcode_t e4l_in_use_lock(struct e4l_in_use *u, int fd, bool write)
{
	const struct intent *it = &intents[write];
	unsigned int i;

	take(fd, it);
	if (is_held(fd, it))
		return E4L_ET_IN_USE;
	for (i = 0; i + 1 < u->n; i++) {
		u->fd[i] = open_beneath(u, i);
		if (u->fd[i] < 0 && e4l_unseen(errno))
			return errno;
		/*
		 * Do not lock a disk below a partition, because other
		 * partitions of the disk may be in use.
		 */
		if (u->fd[i] >= 0 && u->level[i + 1].ino)
			take(u->fd[i], it);
		if (u->fd[i] >= 0 && is_held(u->fd[i], it))
			return E4L_ET_IN_USE;
	}
	return 0;
}
