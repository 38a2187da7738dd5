/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "e4layout/base/io_stats.h"
#include "e4layout/base/stat.h"
#include "e4layout/tunables/tunables.h"
#include "say.h"
#include "text.h"
#include "units.h"

#define ROOM_BYTES (1u << 20)

/*
 * Ignores SIGXFSZ, so that a write beyond ulimit -f is reported as an error and
 * does not end the process.
 */
bool say_start(void)
{
	int fd;

	signal(SIGXFSZ, SIG_IGN);

	do {
		/* an O_PATH descriptor can be neither read nor written */
		fd = open("/", O_PATH);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

void say(const char *fmt, ...)
{
	char *text = NULL, *shown = NULL;
	va_list args;
	int len;

	fflush(stdout);
	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	/* Untrusted names in the text must not control the terminal. */
	if (len >= 0)
		shown = text_escape(text, len, TEXT_FOR_PEOPLE);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name,
		shown ? shown : "out of memory");
	if (len >= 0)
		free(text);
	free(shown);
}

/*
 * A write beyond the limit of the file size fails with EFBIG, or writes only a
 * part of the data.
 */
bool say_is_limited(errcode_t err)
{
	struct rlimit limit;

	return (err == EFBIG || err == EXT2_ET_SHORT_WRITE) &&
	       !getrlimit(RLIMIT_FSIZE, &limit) &&
	       limit.rlim_cur != RLIM_INFINITY;
}

const char *say_why(errcode_t err)
{
	if (say_is_limited(err))
		return "File too large for the limit of this shell (ulimit -f)";
	return error_message(err);
}

void say_error(const char *target, const char *what, errcode_t err)
{
	say("%s: %s: %s", target, what, say_why(err));
}

/*
 * A disk with less than 1 MiB of free space is full, because the remaining
 * blocks can be reserved for metadata.  A tmpfs without a size limit reports 0
 * as its number of blocks, and is not full.
 */
bool say_is_full(const char *path)
{
	struct statvfs fs;
	struct stat st;

	return !e4l_stat(path, &st) && S_ISREG(st.st_mode) &&
	       !statvfs(path, &fs) &&
	       fs.f_blocks && fs.f_bavail * fs.f_frsize < ROOM_BYTES;
}

void say_write_error(const char *target, const char *path, const char *what,
		     errcode_t err)
{
	if ((err == ENOSPC || err == EXT2_ET_SHORT_WRITE) && say_is_full(path))
		say("%s: %s: the disk that contains %s is full: free space on "
		    "the disk, and run the command again", target, what, path);
	else
		say_error(target, what, err);
}

void say_e4l(const char *target, const struct e4l *e, errcode_t err)
{
	char what[160];

	if (e)
		e4l_detail_text(e, what, sizeof(what));
	if (e && *what)
		say_write_error(target, e4l_fs(e)->device_name, what, err);
	else
		say_error(target, "cannot continue", err);
}

void say_only_unmounted(const char *target, const char *option)
{
	say("%s: mounted: %s requires an unmounted filesystem",
	    target, option);
}

bool say_is_no_memory(errcode_t err)
{
	return err == ENOMEM || err == EXT2_ET_NO_MEMORY;
}

bool say_is_damage(errcode_t err)
{
	static const errcode_t damage[] = {
		E4L_ET_DAMAGED, E4L_ET_BLOCK_SHARED, E4L_ET_BLOCK_NOT_IN_USE,
		E4L_ET_BLOCK_RANGE, E4L_ET_EXTENT_RANGE, E4L_ET_ITABLE_RANGE,
		E4L_ET_BITMAP_RANGE, E4L_ET_GROUP_COUNT, E4L_ET_QUOTA,
		E4L_ET_JOURNAL_CORRUPT, E4L_ET_JOURNAL_ERROR,
		E4L_ET_NOT_CLEAN, E4L_ET_CHANGED, EXT2_ET_DIR_CORRUPTED, EXT2_ET_GDESC_BAD_BLOCK_MAP,
		EXT2_ET_GDESC_BAD_INODE_MAP, EXT2_ET_GDESC_BAD_INODE_TABLE,
		EXT2_ET_INODE_CSUM_INVALID, EXT2_ET_INODE_BITMAP_CSUM_INVALID,
		EXT2_ET_EXTENT_CSUM_INVALID, EXT2_ET_DIR_CSUM_INVALID,
		EXT2_ET_EXT_ATTR_CSUM_INVALID, EXT2_ET_BLOCK_BITMAP_CSUM_INVALID,
		EXT2_ET_FILESYSTEM_CORRUPTED, EXT2_ET_CORRUPT_JOURNAL_SB,
		EXT2_ET_INODE_CORRUPTED, EXT2_ET_EA_INODE_CORRUPTED,
		EXT2_FILSYS_CORRUPTED,
	};
	size_t i;

	for (i = 0; i < sizeof(damage) / sizeof(*damage); i++)
		if (damage[i] == err)
			return true;
	return false;
}

void say_tunable(const char *target, const char *where, errcode_t err)
{
	const struct e4l_tunable_info *info = NULL;
	int len = strcspn(where, ",");
	char range[160], *name;

	name = strndup(where, strcspn(where, "=,"));
	if (name)
		info = e4l_tunable_find(name);
	free(name);
	if (err == E4L_ET_TUNABLE_RANGE && info)
		say("%s: '%.*s': value out of range (expected %s)",
		    target, len, where,
		    e4l_tunable_range(info, range, sizeof(range)));
	else if (err == E4L_ET_TUNABLE_UNKNOWN)
		say("%s: '%.*s': unknown tunable (tune4fs --force stores it "
		    "anyway)", target, len, where);
	else if (err == E4L_ET_TUNABLE_SYNTAX)
		say("%s: '%.*s': expected name=value or ^name", target, len,
		    where);
	else
		say("%s: '%.*s': %s", target, len, where, error_message(err));
}

void say_reads(const char *target, const struct e4l *e)
{
	char reads[UNITS_LEN], ahead[UNITS_LEN], size[UNITS_LEN];
	char gap[UNITS_LEN], gather[UNITS_LEN];
	struct e4l_io_stats io;

	e4l_get_io_stats(e, &io);
	say("%s: read %s in %s requests of at most %s, with %s readahead hints; "
	    "unneeded gaps of up to %s were read as well (%s)", target,
	    units_size(io.bytes, size), units_count(io.reads, reads),
	    units_size(io.gather_bytes, gather), units_count(io.readaheads, ahead),
	    units_size(io.gap_bytes, gap),
	    io.rotates ? "rotating device" : "non-rotating device");
}

int say_done(int status)
{
	bool lost = ferror(stdout);

	/*
	 * The errno of the earlier failure is lost.  Another write sets errno
	 * again, because it fails for the same reason.
	 */
	if (lost)
		putchar('\n');
	errno = 0;
	if (!fflush(stdout) && !lost)
		return status;
	say_error("standard output", "cannot write", errno ? errno : EIO);
	return STATUS_FAILED;
}
