/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <ext2fs/ext2_fs.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/stat.h"
#include "mounts.h"

/*
 * Decodes the escapes \ooo (octal) that the kernel writes for space, tab,
 * newline and backslash.
 */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; out++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*out = (text[1] - '0') << 6 | (text[2] - '0') << 3 |
			       (text[3] - '0');
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

bool e4l_mount_parse(char *line, struct e4l_mount *m)
{
	unsigned int maj, min;
	char *save, *word;
	int i;

	*m = (struct e4l_mount) { 0 };
	line[strcspn(line, "\n")] = '\0';
	/*
	 * fields of the line: id, parent, major:minor, root, mount point,
	 * options, tags, "-"
	 */
	word = strtok_r(line, " ", &save);
	for (i = 0; word && strcmp(word, "-"); i++) {
		if (i == 2 && sscanf(word, "%u:%u", &maj, &min) == 2)
			m->dev = makedev(maj, min);
		if (i == 3)
			m->root = word;
		if (i == 4)
			m->point = word;
		word = strtok_r(NULL, " ", &save);
	}
	m->type = strtok_r(NULL, " ", &save);
	m->source = m->type ? strtok_r(NULL, " ", &save) : NULL;
	if (!word || !m->point || !m->source)
		return false;
	m->options = strtok_r(NULL, " ", &save);
	unescape(m->root);
	unescape(m->point);
	unescape(m->source);
	return true;
}

/*
 * Returns the rank of a mount.  A mount of the filesystem's root directory has
 * a higher rank than a mount of another directory.  Of two mounts of the root
 * directory, or of two other mounts, a writable mount has the higher rank.  An
 * inaccessible mount has rank 0.
 */
static int rank(const struct e4l_mount *m)
{
	struct statvfs vfs;
	struct stat st;

	if (e4l_stat(m->point, &st) || st.st_dev != m->dev ||
	    statvfs(m->point, &vfs))
		return 0;
	return 1 + 2 * (st.st_ino == EXT2_ROOT_INO) +
	       !(vfs.f_flag & ST_RDONLY);
}

errcode_t e4l_unseen(int error)
{
	return error == ENOMEM || error == EMFILE || error == ENFILE ? error :
								       0;
}

struct dirent *e4l_next_entry(DIR *d, errcode_t *err)
{
	struct dirent *entry;

	errno = 0;
	entry = readdir(d);
	if (!entry && !*err)
		*err = e4l_unseen(errno);
	return entry;
}

/*
 * Sets *@found to the mount point of @dev with the highest rank(), according to
 * the mount table @file.  If several mounts have this rank, the last mount is
 * used.  *@found must be NULL before the call, and stays NULL if there is no
 * mount of @dev.
 */
static errcode_t find_in(const char *file, dev_t dev, char **found)
{
	FILE *f = fopen(file, "re");
	int best = 0, is, error = f ? 0 : errno;
	struct e4l_mount m;
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		if (!e4l_mount_parse(line, &m) || m.dev != dev)
			continue;
		is = rank(&m);
		if (is < best)
			continue;
		best = is;
		free(*found);
		*found = strdup(m.point);
		if (!*found)
			error = ENOMEM;
	}
	if (f && !feof(f))
		error = errno;
	free(line);
	if (f)
		fclose(f);
	return e4l_unseen(error);
}

/*
 * The mount namespace and the root directory of a process determine which
 * mounts the process sees.
 */
struct view {
	ino_t space, root_ino;
	dev_t root_dev;
};

static bool view_of(const char *pid, struct view *v)
{
	struct stat space, root;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
	if (e4l_stat(path, &space))
		return false;
	snprintf(path, sizeof(path), "/proc/%s/root", pid);
	if (e4l_stat(path, &root))
		return false;
	*v = (struct view) { space.st_ino, root.st_ino, root.st_dev };
	return true;
}

static bool same_view(const struct view *a, const struct view *b)
{
	return a->space == b->space && a->root_ino == b->root_ino &&
	       a->root_dev == b->root_dev;
}

/* Adds @v to @views.  Returns false if @v is already in @views. */
static bool is_new_view(struct view **views, size_t *n, const struct view *v)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (same_view(&(*views)[i], v))
			return false;
	if (!e4l_grow(views, *n, sizeof(**views)))
		(*views)[(*n)++] = *v;
	return true;
}

/* Finds a mount of @dev in the mount tables of other processes. */
static errcode_t find_elsewhere(dev_t dev, char **point, pid_t *pid)
{
	DIR *proc = opendir("/proc");
	errcode_t err = proc ? 0 : e4l_unseen(errno);
	struct view *views = NULL, v;
	struct dirent *d;
	char path[64];
	size_t n = 0;

	if (view_of("self", &v))
		is_new_view(&views, &n, &v);
	while (proc && !err && !*point && (d = e4l_next_entry(proc, &err))) {
		if (!strtol(d->d_name, NULL, 10))
			continue;
		if (!view_of(d->d_name, &v)) {
			err = e4l_unseen(errno);
			continue;
		}
		if (!is_new_view(&views, &n, &v))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/mountinfo",
			 d->d_name);
		err = find_in(path, dev, point);
		*pid = strtol(d->d_name, NULL, 10);
	}
	free(views);
	if (proc)
		closedir(proc);
	return err;
}

errcode_t e4l_mount_point_anywhere(dev_t dev, char **point, pid_t *pid)
{
	errcode_t err;

	*pid = 0;
	*point = NULL;
	err = find_in("/proc/self/mountinfo", dev, point);
	return err || *point ? err : find_elsewhere(dev, point, pid);
}

bool e4l_mount_is_ext(const struct e4l_mount *m)
{
	return !strcmp(m->type, "ext4") || !strcmp(m->type, "ext3") ||
	       !strcmp(m->type, "ext2");
}

/*
 * If the source of the mount is a node of the device, returns the source.  If
 * the source is no such node, as in the case of /dev/root, returns the name of
 * the device in /dev/block.
 */
char *e4l_mount_device(const struct e4l_mount *m)
{
	struct stat st;
	char *path;

	if (!e4l_stat(m->source, &st) && S_ISBLK(st.st_mode) &&
	    st.st_rdev == m->dev)
		return strdup(m->source);
	return asprintf(&path, "/dev/block/%u:%u", major(m->dev),
			minor(m->dev)) < 0 ? NULL : path;
}

/*
 * Finds the line of the mount with the number @id in mountinfo.  Returns false
 * if there is no such line.
 */
static bool find_line(unsigned long long id, char **line)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;
	size_t size = 0;

	while (f && !found && getline(line, &size, f) > 0)
		found = strtoull(*line, NULL, 10) == id;
	if (f)
		fclose(f);
	return found;
}

/*
 * Finds the mount number of @path without statx(2), which returns the mount
 * number only in Linux 5.8 and later.  Returns false on failure.
 */
static bool mount_id(const char *path, unsigned long long *id)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	bool found = false;
	char info[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	if (fd < 0)
		return false;
	snprintf(info, sizeof(info), "/proc/self/fdinfo/%d", fd);
	f = fopen(info, "re");
	while (f && !found && getline(&line, &size, f) > 0)
		found = sscanf(line, "mnt_id: %llu", id) == 1;
	free(line);
	if (f)
		fclose(f);
	close(fd);
	return found;
}

bool e4l_mount_around(const char *path, struct e4l_mount *m, char **line)
{
	unsigned long long id;

	*line = NULL;
	return mount_id(path, &id) && find_line(id, line) &&
	       e4l_mount_parse(*line, m);
}
