/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <blkid/blkid.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "e4layout/base/stat.h"
#include "e4layout/open/mounts.h"
#include "e4layout/open/opened.h"
#include "locate.h"
#include "say.h"
#include "units.h"

#define SECTOR_BYTES	512
#define LARGE_SECTOR_BYTES 4096
#define PART_LEN	12	/* maximum length of ", " and a number */
#define OFFSET		"?offset="
/*
 * If the name of a missing file contains "?partition=", the tool reports an
 * invalid offset.  A partition can be selected only with --partition, not with
 * the name.
 */
#define PARTITION	"?partition="

/* --------------------------------------------------------------------- tags */

/*
 * Returns the device of a tag such as LABEL=x, which the caller frees.  On
 * failure, prints an error and returns NULL.
 */
static char *device_of_tag(const char *name)
{
	char *type, *value, *device, *other = NULL;

	errno = 0;
	if (blkid_parse_tag_string(name, &type, &value)) {
		if (e4l_unseen(errno))
			say_error(name, "cannot search for the device", errno);
		else
			say("%s: invalid tag (expected NAME=VALUE)", name);
		return NULL;
	}
	errno = 0;
	device = e4l_device_of_tag(type, value, &other);
	if (device && other) {
		say("%s: two devices have this %s (%s and %s): use the name of "
		    "the device", name, type, device, other);
		free(device);
		device = NULL;
	} else if (!device && !e4l_unseen(errno)) {
		say("%s: no device has this %s", name, type);
	} else if (!device) {
		say_error(name, "cannot search for the device", errno);
	}
	free(other);
	free(type);
	free(value);
	return device;
}

static bool is_tag(const char *name)
{
	static const char *const tags[] = {
		"LABEL=", "UUID=", "PARTLABEL=", "PARTUUID=",
	};
	size_t i;

	for (i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (!strncmp(name, tags[i], strlen(tags[i])))
			return true;
	return false;
}

char *locate_tag(const char *name, bool *ok)
{
	char *device = is_tag(name) ? device_of_tag(name) : NULL;

	*ok = device || !is_tag(name);
	return device;
}

/* -------------------------------------------------------------- directories */

const char *path_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	if (strncmp(path, dir, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] ? path + len : "/";
}

/*
 * Sets @t->device to the device of mount @m, and @t->subtree to the path of
 * @path in the mounted filesystem.  If @path is the root directory of the
 * filesystem, sets @t->is_dir instead of @t->subtree.  @path must contain no
 * symbolic links.
 *
 * Returns false if the filesystem is not ext2, ext3 or ext4, if @path is not
 * below the mount point, or if there is no memory.
 */
static bool take_mounted(struct target *t, const struct e4l_mount *m,
			 const char *path)
{
	const char *below = path_below(path, m->point);

	if (!e4l_mount_is_ext(m) || !below)
		return false;
	t->is_dir = !strcmp(below, "/") && !strcmp(m->root, "/");
	if (!t->is_dir &&
	    asprintf(&t->subtree, "%s%s", strcmp(m->root, "/") ? m->root : "",
		     strcmp(below, "/") || !strcmp(m->root, "/") ? below :
								   "") < 0)
		t->subtree = NULL;
	t->device = e4l_mount_device(m);
	return t->device && (t->is_dir || t->subtree);
}

bool locate_around(struct target *t)
{
	char *path, *line = NULL;
	struct e4l_mount m;
	bool ok;

	errno = 0;
	path = realpath(t->name, NULL);
	ok = path && e4l_mount_around(path, &m, &line) && take_mounted(t, &m, path);
	if (!path && !e4l_unseen(errno))
		say_error(t->name, "cannot open", errno);
	else if (!ok && e4l_unseen(errno))
		say_error(t->name, "cannot determine the filesystem of the "
				   "path", errno);
	else if (!ok)
		say(access("/proc/self/mountinfo", R_OK) ?
		    "%s: cannot determine the filesystem of the path: "
		    "/proc/self/mountinfo is not readable" :
		    "%s: not on a mounted ext4 filesystem", t->name);
	free(line);
	free(path);
	return ok;
}

char *locate_inside(const struct target *t, const char *name)
{
	struct target other = { .name = name };
	char *path = NULL;

	if (!locate_around(&other))
		;
	else if (strcmp(other.device, t->device))
		say("%s: not on the filesystem of %s: run the command "
		    "separately for each filesystem", name, t->name);
	else
		path = strdup(other.subtree ? other.subtree : "/");
	free(other.device);
	free(other.subtree);
	return path;
}

/* --------------------------------------------------------------- partitions */

/*
 * Lists the partitions, for sectors of @sector bytes.  If @sector is 0, uses
 * the sector size of the device, or 512 for a file.
 */
static blkid_partlist list_partitions(const char *device, unsigned int sector,
				      blkid_probe *probe)
{
	*probe = blkid_new_probe_from_filename(device);
	if (!*probe || blkid_probe_enable_partitions(*probe, 1) ||
	    (sector && blkid_probe_set_sectorsize(*probe, sector)))
		return NULL;
	return blkid_probe_get_partitions(*probe);
}

static bool is_gpt(blkid_partlist all)
{
	blkid_parttable table = all ? blkid_partlist_get_table(all) : NULL;

	return table && !strcmp(blkid_parttable_get_type(table), "gpt");
}

/*
 * Lists the partitions of a disk or disk image.  An image does not record the
 * sector size of its disk.  If no partition is found with the default sector
 * size, looks for a GPT with 4096-byte sectors.  libblkid always returns
 * positions in units of 512 bytes.
 */
static blkid_partlist partitions_of(const char *device, blkid_probe *probe)
{
	blkid_partlist all = list_partitions(device, 0, probe);
	blkid_probe other;
	blkid_partlist large;

	if (all && blkid_partlist_numof_partitions(all))
		return all;
	large = list_partitions(device, LARGE_SECTOR_BYTES, &other);
	if (!is_gpt(large)) {
		blkid_free_probe(other);
		return all;
	}
	blkid_free_probe(*probe);
	*probe = other;
	return large;
}

bool locate_partitions(const char *device, char *list, size_t size)
{
	blkid_probe probe;
	blkid_partlist all = partitions_of(device, &probe);
	int n = all ? blkid_partlist_numof_partitions(all) : 0, i;
	blkid_partition part;
	size_t len = 0;

	for (i = 0; i < n; i++) {
		part = blkid_partlist_get_partition(all, i);
		if (blkid_partition_is_extended(part))
			continue;
		if (len + PART_LEN + sizeof(", ...") > size) {
			len += snprintf(list + len, size - len, ", ...");
			break;
		}
		len += snprintf(list + len, size - len, "%s%d", len ? ", " : "",
				blkid_partition_get_partno(part));
	}
	blkid_free_probe(probe);
	return len;
}

static bool read_number(const char *dir, const char *name, const char *file,
			uint64_t *n)
{
	unsigned long long number;
	char path[400];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fscanf(f, "%llu", &number) == 1;
	fclose(f);
	*n = number;
	return ok;
}

/*
 * Sets *@is to whether @name in the sysfs directory @dir is partition @number
 * and begins at sector @start.
 */
static errcode_t is_partition(const char *dir, const char *name,
			      uint64_t number, uint64_t start, bool *is)
{
	uint64_t n, at;

	errno = 0;
	*is = read_number(dir, name, "partition", &n) && n == number &&
	      read_number(dir, name, "start", &at) && at == start;
	return *is ? 0 : e4l_unseen(errno);
}

/*
 * If the kernel has a device for partition @number of @disk, and the partition
 * begins at sector @start, sets *@node to the name of the device.  Otherwise,
 * sets *@node to NULL.  An existing device must be used, because the kernel
 * caches a partition and its disk separately.
 */
static errcode_t partition_node(dev_t disk, uint64_t number, uint64_t start,
				char **node)
{
	struct dirent *entry;
	errcode_t err;
	char dir[64];
	bool is;
	DIR *d;

	*node = NULL;
	snprintf(dir, sizeof(dir), "/sys/dev/block/%u:%u", major(disk),
		 minor(disk));
	d = opendir(dir);
	err = d ? 0 : e4l_unseen(errno);
	while (d && !err && !*node && (entry = e4l_next_entry(d, &err))) {
		err = is_partition(dir, entry->d_name, number, start, &is);
		if (is && asprintf(node, "/dev/%s", entry->d_name) < 0) {
			*node = NULL;
			err = ENOMEM;
		}
	}
	if (d)
		closedir(d);
	return err;
}

/*
 * Makes @t refer to partition @number instead of the disk.  The partition
 * begins at sector @start, and has @sectors sectors.  Returns false after
 * printing an error.
 */
static bool enter_partition(struct target *t, const struct stat *st,
			    uint64_t number, uint64_t start, uint64_t sectors)
{
	char *node = NULL;
	errcode_t err = S_ISBLK(st->st_mode) ?
		partition_node(st->st_rdev, number, start, &node) : 0;

	if (err) {
		say_error(t->name, "cannot search for the device of the "
				   "partition",
			  err);
		return false;
	}
	if (S_ISREG(st->st_mode) &&
	    start >= (uint64_t)st->st_size / SECTOR_BYTES) {
		say("%s: truncated disk image: partition %llu begins at sector "
		    "%llu, beyond the end of the image", t->name,
		    (unsigned long long)number, (unsigned long long)start);
		return false;
	}
	if (node) {
		free(t->device);
		t->device = node;
	} else {
		t->offset_bytes = start * SECTOR_BYTES;
		t->end_bytes = t->offset_bytes + sectors * SECTOR_BYTES;
	}
	return true;
}

static bool find_partition(struct target *t, const struct stat *st,
			   uint64_t number)
{
	char list[80] = "";
	blkid_partition part;
	blkid_partlist all;
	blkid_probe probe;
	bool ok;

	errno = 0;
	all = partitions_of(t->device, &probe);
	part = all ? blkid_partlist_get_partition_by_partno(all, number) : NULL;
	ok = part && !blkid_partition_is_extended(part);
	if (!part && e4l_unseen(errno))
		say_error(t->name, "cannot read the partition table", errno);
	else if (ok)
		ok = enter_partition(t, st, number,
				     blkid_partition_get_start(part),
				     blkid_partition_get_size(part));
	else if (locate_partitions(t->device, list, sizeof(list)))
		say("%s: partition %llu does not exist or cannot hold a "
		    "filesystem (expected one of: %s)",
		    t->name, (unsigned long long)number, list);
	else
		say("%s: no partition table found", t->name);
	blkid_free_probe(probe);
	return ok;
}

/* -------------------------------------------------------------------- names */

/*
 * If @t->device ends with ?offset=BYTES (as in e2fsprogs), removes this suffix
 * and sets @t->offset_bytes.  Otherwise, returns false.
 */
static bool cut_offset(struct target *t)
{
	char *mark = strstr(t->device, OFFSET);

	if (!mark || !units_parse_count(mark + strlen(OFFSET),
					&t->offset_bytes) ||
	    t->offset_bytes > INT64_MAX)
		return false;
	*mark = '\0';
	return true;
}

/*
 * If the name of a missing file contains ?offset= or ?partition=, prints an
 * error and returns true.
 */
static bool is_bad_offset(const struct target *t)
{
	if (!strstr(t->name, OFFSET) && !strstr(t->name, PARTITION))
		return false;
	say("%s: invalid offset (expected FILE" OFFSET "BYTES)", t->name);
	return true;
}

/*
 * Locates a device or an image, or, if @partition is not 0, that partition of
 * the device or image.  If a file named @t->name exists, ?offset= in the name
 * is part of the file name.  Returns false after printing an error.
 */
static bool locate_file(struct target *t, uint64_t partition)
{
	struct stat st;
	int err;

	t->device = strdup(t->name);
	if (!t->device) {
		say_error(t->name, "cannot open", ENOMEM);
		return false;
	}
	err = e4l_stat(t->device, &st) ? errno : 0;
	if (err == ENOENT && cut_offset(t))
		err = e4l_stat(t->device, &st) ? errno : 0;
	else if (err == ENOENT && is_bad_offset(t))
		return false;
	if (err) {
		say_error(t->name, "cannot open", err);
		return false;
	}
	if (!partition || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
		return true;
	if (!t->offset_bytes)
		return find_partition(t, &st, partition);
	say("%s: --partition and an offset cannot be given together", t->name);
	return false;
}

/* Returns whether the file @t->device does not exist. */
static bool is_new(const struct target *t)
{
	struct stat st;

	return e4l_stat(t->device, &st) && errno == ENOENT;
}

bool locate_new(struct target *t)
{
	if (is_tag(t->name)) {
		t->device = device_of_tag(t->name);
		return t->device;
	}
	t->device = strdup(t->name);
	if (!t->device) {
		say_error(t->name, "cannot create", ENOMEM);
		return false;
	}
	if (!is_new(t) || cut_offset(t) || !is_bad_offset(t))
		return true;
	free(t->device);
	t->device = NULL;
	return false;
}

static bool locate_any(struct target *t, uint64_t partition)
{
	bool tag = is_tag(t->name);
	struct stat st;

	if (!tag && (e4l_stat(t->name, &st) || !S_ISDIR(st.st_mode)))
		return locate_file(t, partition);
	if (partition) {
		say("%s: --partition requires a disk or a disk image",
		    t->name);
		return false;
	}
	if (!tag)
		return locate_around(t);
	t->device = device_of_tag(t->name);
	return t->device;
}

bool locate(struct target *t, uint64_t partition)
{
	t->end_bytes = UINT64_MAX;
	return locate_any(t, partition);
}
