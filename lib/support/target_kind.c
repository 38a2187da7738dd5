/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describes targets that contain no filesystem, with the remedies. */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/shell_word.h"
#include "e4layout/base/stat.h"
#include "e4layout/open/mounts.h"
#include "locate.h"
#include "say.h"
#include "target_internal.h"
#include "text.h"

#define ARCHIVE "; to read an archive, use -d instead of --from"
#define COMPRESSED "compressed"
#define QEMU_NBD "run qemu-nbd -c /dev/nbd0 $, and use /dev/nbd0"

/* Formats of files that contain a disk or a filesystem. */
static const struct container {
	const char *magic;	/* at the start of the file */
	const char *name;
	/*
	 * the remedy; $ stands for the name of the file, and @ for the name of
	 * a new file
	 */
	const char *how;
} containers[] = {
	{ "QFI\xfb", "a qcow2 image", QEMU_NBD },
	{ "KDMV", "a VMDK image", QEMU_NBD },
	{ "COWD", "a VMDK image", QEMU_NBD },
	{ "# Disk D", "the description of a VMDK image", QEMU_NBD },
	{ "vhdxfile", "a VHDX image", QEMU_NBD },
	{ "conectix", "a VHD image", QEMU_NBD },
	{ "<<< ", "a VDI image", QEMU_NBD },
	{ "\x3a\xff\x26\xed", "an Android sparse image",
	  "run simg2img $ @, and use @" },
	/*
	 * Pass the file as standard input, because decompressors refuse a file
	 * name without a known suffix.
	 */
	{ "\x1f\x8b", COMPRESSED, "run gunzip <$ >@, and use @" },
	{ "BZh", COMPRESSED, "run bunzip2 <$ >@, and use @" },
	{ "\xfd" "7zXZ", COMPRESSED, "run unxz <$ >@, and use @" },
	{ "\x28\xb5\x2f\xfd", COMPRESSED, "run unzstd <$ >@, and use @" },
	{ "\x04\x22\x4d\x18", COMPRESSED, "run unlz4 <$ >@, and use @" },
	{ "LUKS\xba\xbe", "encrypted with LUKS",
	  "run cryptsetup open $ NAME, and use /dev/mapper/NAME" },
};

static const struct container *container_of(const struct target *t)
{
	int fd = open(t->device, O_RDONLY | O_CLOEXEC);
	char start[8] = "";
	ssize_t len = fd < 0 ? 0 : pread(fd, start, sizeof(start), 0);
	const char *magic;
	size_t i;

	e4l_close_fd(fd);
	for (i = 0; i < sizeof(containers) / sizeof(*containers); i++) {
		magic = containers[i].magic;
		if (len == sizeof(start) &&
		    !memcmp(start, magic, strlen(magic)))
			return &containers[i];
	}
	return NULL;
}

/*
 * Returns the name of a file that does not exist, as a word of a shell command.
 * The name is @device with one or more suffixes ".img".  If there is no memory,
 * returns NULL.
 */
static char *name_new_file(const char *device)
{
	char *name = NULL, *longer, *word;
	struct stat st;

	do {
		if (asprintf(&longer, "%s.img", name ? name : device) < 0)
			longer = NULL;
		free(name);
		name = longer;
	} while (name && !e4l_lstat(name, &st));
	word = name ? e4l_shell_word(name) : NULL;
	free(name);
	return word;
}

static bool say_container(const struct target *t, const struct container *c)
{
	char *how = NULL, *file = name_new_file(t->device);
	size_t len = 0;
	FILE *f = file ? text_open(&how, &len) : NULL;
	const char *at;

	for (at = c->how; f && *at; at++)
		fprintf(f, *at == '$' || *at == '@' ? "%s" : "%.1s",
			*at == '$' ? t->device_word : *at == '@' ? file : at);
	if (f)
		fclose(f);
	if (how)
		say("%s: is %s: %s%s", t->name, c->name, how,
		    t->hint == TARGET_HINT_ARCHIVE &&
		    !strcmp(c->name, COMPRESSED) ?
		    ARCHIVE : "");
	free(how);
	free(file);
	return how;
}

/*
 * Returns the real path of @name.  If @name is not a regular file on a mounted
 * ext2, ext3 or ext4 filesystem, returns NULL.  @m points into *@line.  The
 * caller frees the path and *@line.
 */
static char *path_on_ext4(const char *name, struct e4l_mount *m, char **line)
{
	char *path = realpath(name, NULL);
	struct stat st;

	*line = NULL;
	if (path && !e4l_stat(path, &st) && S_ISREG(st.st_mode) &&
	    e4l_mount_around(path, m, line) && e4l_mount_is_ext(m))
		return path;
	free(path);
	return NULL;
}

static bool has_superblock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ext2_super_block sb;
	ssize_t len;

	if (fd < 0)
		return true;
	len = pread(fd, &sb, sizeof(sb), SUPERBLOCK_OFFSET);
	close(fd);
	return len < 0 || (len == sizeof(sb) &&
			   ext2fs_le16_to_cpu(sb.s_magic) == EXT2_SUPER_MAGIC);
}

bool target_is_file(const char *name)
{
	struct e4l_mount m;
	char list[80], *line, *path = path_on_ext4(name, &m, &line);
	bool file = path && !has_superblock(path) &&
		    !locate_partitions(path, list, sizeof(list));

	free(line);
	free(path);
	return file;
}

/*
 * If the target is a regular file on a mounted ext4 filesystem, recommends
 * e4frag with the file's path.  Otherwise, returns false.
 */
static bool say_layout_of_file(const struct target *t)
{
	struct e4l_mount m;
	char *line, *path = path_on_ext4(t->device, &m, &line);
	char *file = path ? e4l_shell_word(path) : NULL;
	char *point = path ? e4l_shell_word(m.point) : NULL;

	if (file && point)
		say("%s: contains no ext2, ext3 or ext4 filesystem; to report "
		    "the layout of the file itself, run e4frag %s %s",
		    t->name, point, file);
	free(line);
	free(path);
	free(file);
	free(point);
	return file && point;
}

static bool say_archive(const struct target *t)
{
	say("%s: contains no ext2, ext3 or ext4 filesystem" ARCHIVE, t->name);
	return true;
}

bool target_say_what_it_is(const struct target *t, errcode_t err)
{
	const struct container *container = container_of(t);
	char list[80];

	if (t->offset_bytes || t->end_bytes != UINT64_MAX ||
	    has_superblock(t->device))
		return false;
	if (container)
		return say_container(t, container);
	if (err == EXT2_ET_SHORT_READ)
		return false;
	if (locate_partitions(t->device, list, sizeof(list)))
		say("%s: is a disk with partitions: choose one (%s) with "
		    "--partition=N", t->name, list);
	else if (t->hint == TARGET_HINT_ARCHIVE)
		return say_archive(t);
	else
		return t->hint == TARGET_HINT_LAYOUT && say_layout_of_file(t);
	return true;
}
