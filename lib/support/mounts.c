/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "mounts.h"

/* Undoes the kernel's \ooo for space, tab, newline and backslash. */
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

bool mount_parse(char *line, struct mount *m)
{
	unsigned int maj, min;
	char *save, *word;
	int i;

	*m = (struct mount) { 0 };
	line[strcspn(line, "\n")] = '\0';
	/* id, parent, major:minor, root, mount point, options, tags, "-" */
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
	unescape(m->point);
	unescape(m->source);
	return true;
}

/* Calls @each for every mount; the last true result's text is returned. */
static char *find_mount(char *(*each)(const struct mount *, const void *),
			const void *key)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *found = NULL, *text;
	struct mount m;
	size_t size = 0;

	if (!f)
		return NULL;
	while (getline(&line, &size, f) > 0) {
		text = mount_parse(line, &m) ? each(&m, key) : NULL;
		if (text) {
			free(found);
			found = text;
		}
	}
	free(line);
	fclose(f);
	return found;
}

static char *point_if_dev(const struct mount *m, const void *key)
{
	return m->dev == *(const dev_t *)key ? strdup(m->point) : NULL;
}

char *mount_point_of(dev_t dev)
{
	return find_mount(point_if_dev, &dev);
}

bool mount_is_ext(const struct mount *m)
{
	return !strcmp(m->type, "ext4") || !strcmp(m->type, "ext3") ||
	       !strcmp(m->type, "ext2");
}

/* The source may be a name that means nothing here, such as /dev/root. */
static char *device_if_at(const struct mount *m, const void *key)
{
	struct stat st;
	char *path;

	if (strcmp(m->point, key) || strcmp(m->root, "/") || !mount_is_ext(m))
		return NULL;
	if (!stat(m->source, &st) && S_ISBLK(st.st_mode) &&
	    st.st_rdev == m->dev)
		return strdup(m->source);
	return asprintf(&path, "/dev/block/%u:%u", major(m->dev),
			minor(m->dev)) < 0 ? NULL : path;
}

char *mount_device_at(const char *dir)
{
	return find_mount(device_if_at, dir);
}

/* Reads the first line of /sys/block/@name/@file. */
static bool read_sysfs(const char *name, const char *file, char *buf, int size)
{
	char path[400];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/block/%s/%s", name, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(buf, size, f) != NULL;
	fclose(f);
	buf[ok ? strcspn(buf, "\n") : 0] = '\0';
	return ok;
}

/* Whether the block device @name is a loop over the file; sets its number. */
static bool loop_over(const char *name, dev_t dev, ino_t ino, dev_t *loop)
{
	unsigned int maj, min;
	char buf[4096];
	struct stat st;

	if (!read_sysfs(name, "loop/backing_file", buf, sizeof(buf)) ||
	    stat(buf, &st) || st.st_dev != dev || st.st_ino != ino)
		return false;
	if (!read_sysfs(name, "dev", buf, sizeof(buf)) ||
	    sscanf(buf, "%u:%u", &maj, &min) != 2)
		return false;
	*loop = makedev(maj, min);
	return true;
}

char *mount_loop_over(dev_t dev, ino_t ino, dev_t *loop)
{
	DIR *dir = opendir("/sys/block");
	char *found = NULL, *point = NULL;
	struct dirent *d;
	dev_t number;

	while (dir && !point && (d = readdir(dir))) {
		if (!loop_over(d->d_name, dev, ino, &number))
			continue;
		point = mount_point_of(number);
		if (found && !point)
			continue;
		free(found);
		*loop = number;
		if (asprintf(&found, "/dev/%s", d->d_name) < 0)
			found = NULL;
	}
	free(point);
	if (dir)
		closedir(dir);
	return found;
}
