/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tunables: settings that stay with a filesystem. */
#ifndef E4LAYOUT_TUNABLES_H
#define E4LAYOUT_TUNABLES_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tunables kept with the filesystem, in the extended attribute
 * trusted.ext4.tunables of the root directory.  Its value is text:
 *
 *	name=value[,name=value...]
 *
 * at most E4L_TUNABLES_MAX bytes without a NUL.  A name has 1 to
 * E4L_TUNABLE_NAME_MAX of a-z, 0-9 and '_'; a value has one or more printable
 * ASCII characters other than space, ',' and '='.  No name comes twice.  An
 * empty value of the attribute means that nothing is set.  Canonical text, the
 * only kind written here, has its names in byte order and its numbers in
 * decimal.
 */
#define E4L_TUNABLES_XATTR	"trusted.ext4.tunables"
#define E4L_TUNABLES_MAX	1024u
#define E4L_TUNABLE_NAME_MAX	63u

enum e4l_tunable_type {
	E4L_TUNABLE_NUMBER,		/* min to max */
	E4L_TUNABLE_POWER_OF_TWO,	/* 0, or a power of two, min to max */
};

/* A name that a value may have, e.g. "low" for 16. */
struct e4l_tunable_word {
	const char *word;
	uint32_t number;
};

/* No default holds everywhere: the kernel derives it from the filesystem. */
#define E4L_TUNABLE_AUTO	(-1)

/* What is known of a tunable. */
struct e4l_tunable_info {
	const char *name;
	enum e4l_tunable_type type;
	uint32_t min, max;
	const struct e4l_tunable_word *words;	/* ends with a NULL word */
	const char *unit;	/* of the value, plural; "" for a switch */
	int64_t default_number;	/* the kernel's, or E4L_TUNABLE_AUTO */
	const char *since;	/* the first kernel that has it; NULL: none,
				 * it needs the patches in kernel/ */
	const char *sysfs;	/* its file in /sys/fs/ext4/DEVICE/ */
	const char *meaning;	/* one line */
};

/* The table, in byte order of the names; NULL past its end. */
const struct e4l_tunable_info *e4l_tunable_at(size_t i);

/*
 * Writes the values that are accepted, e.g. "0 to 65535", to @buf, of
 * @size bytes (160 are enough), always terminated.  Returns @buf.
 */
const char *e4l_tunable_range(const struct e4l_tunable_info *info, char *buf,
			      size_t size);

/* Opaque: what an attribute says, in canonical order. */
struct e4l_tunables;

/* One of them; the strings live until the tunable is changed or freed. */
struct e4l_tunable {
	const struct e4l_tunable_info *info;	/* NULL: unknown, kept as is */
	const char *name;
	const char *value;
	bool valid;		/* known, and the value is in the range */
	uint32_t number;	/* when valid */
};

/* An empty set, or NULL without memory. */
struct e4l_tunables *e4l_tunables_new(void);
void e4l_tunables_free(struct e4l_tunables *t);

size_t e4l_tunables_count(const struct e4l_tunables *t);

/* The tunable at @i, below the count, in canonical order. */
const struct e4l_tunable *e4l_tunables_at(const struct e4l_tunables *t,
					  size_t i);

/* The tunable of that name, or NULL. */
const struct e4l_tunable *e4l_tunables_find(const struct e4l_tunables *t,
					    const char *name);

/*
 * Makes the changes that @spec lists, `name=value` or `^name`, separated by
 * commas.  At the first that is refused it stops, and *@where points to it in
 * @spec; those before it have been made.  Removing what is not set is no
 * error.  A known one is stored as a decimal number; an unknown one is refused
 * unless @force, and then stored as it is.
 * Errors: E4L_ET_TUNABLE_UNKNOWN, E4L_ET_TUNABLE_RANGE, E4L_ET_TUNABLE_SYNTAX,
 * E4L_ET_TUNABLES_LONG, E4L_ET_TUNABLE_TWICE, ENOMEM.
 */
errcode_t e4l_tunables_change(struct e4l_tunables *t, const char *spec,
			      bool force, const char **where);

/*
 * Reads the tunables of a filesystem that is not mounted (or of a mounted one
 * as they were on disk a moment ago).  Without the attribute the set is empty.
 * Errors: those of e4l_tunables_parse(), and what libext2fs finds wrong with
 * the root directory's attributes.  *@ret is then NULL.
 */
errcode_t e4l_tunables_read(struct e4l *e, struct e4l_tunables **ret);

/*
 * Stores the tunables, or removes the attribute when @t is empty, in one
 * transaction of the filesystem's journal (<e4layout/journal.h> says what
 * @external is).  Writes nothing when the attribute is like that already.
 * Errors: ENOSPC (neither the inode nor an attribute block has room, or no
 * block is free); E4L_ET_TUNABLES_QUOTA; those of e4l_change().  After one, let
 * go of the filesystem by e4l_close() or ext2fs_free(); nothing has been written
 * unless it was the commit that failed.
 */
errcode_t e4l_tunables_write(struct e4l *e, io_channel external,
			     const struct e4l_tunables *t);

/*
 * The same for a mounted filesystem, through a descriptor of its root
 * directory.  What was written is durable.
 * Errors: E4L_ET_NOT_EXT4_ROOT, EPERM without CAP_SYS_ADMIN, those of
 * e4l_tunables_parse(), and errno's of fgetxattr(2) and fsetxattr(2).
 */
errcode_t e4l_tunables_read_fd(int fd, struct e4l_tunables **ret);
errcode_t e4l_tunables_write_fd(int fd, const struct e4l_tunables *t);

#ifdef __cplusplus
}
#endif
#endif
