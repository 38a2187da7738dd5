/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tunables: settings that are stored in a filesystem. */
#ifndef E4LAYOUT_TUNABLES_H
#define E4LAYOUT_TUNABLES_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tunables are stored in the extended attribute trusted.ext4.tunables of the
 * root directory.  The value of the attribute is text of the form
 *
 *	name=value[,name=value...]
 *
 * with at most E4L_TUNABLES_MAX bytes and without a NUL.  A name has 1 to
 * E4L_TUNABLE_NAME_MAX characters from a-z, 0-9 and '_'.  A value has one or
 * more printable ASCII characters other than space, ',' and '='.  Names are
 * unique.  The library writes names in byte order and numbers in decimal.
 */
#define E4L_TUNABLES_XATTR	"trusted.ext4.tunables"
#define E4L_TUNABLES_MAX	1024u
#define E4L_TUNABLE_NAME_MAX	63u

enum e4l_tunable_type {
	E4L_TUNABLE_NUMBER,		/* a number from min to max */
	E4L_TUNABLE_POWER_OF_TWO, /* 0, or a power of two from min to max */
};

/* A word that stands for a number, such as "low" for 16. */
struct e4l_tunable_word {
	const char *word;
	uint32_t number;
};

/*
 * Value for default_number: the kernel computes the default from properties of
 * the filesystem.
 */
#define E4L_TUNABLE_AUTO	(-1)

/* A known tunable.  All texts are static. */
struct e4l_tunable_info {
	const char *name;
	enum e4l_tunable_type type;
	uint32_t min, max;
	/* array that ends with a NULL word */
	const struct e4l_tunable_word *words;
	/* unit of the value, in the plural; "" for a switch */
	const char *unit;
	int64_t default_number;	/* the kernel's default, or E4L_TUNABLE_AUTO */
	/*
	 * first kernel version that supports the tunable; NULL: supported only
	 * by kernels with e4layout's patches
	 */
	const char *since;
	const char *sysfs;	/* name of the file in /sys/fs/ext4/DEVICE/ */
	const char *meaning;	/* a description of one line */
};

/*
 * Returns the known tunable with index @i, from 0, in byte order of the names.
 * Returns NULL if @i is not less than the number of known tunables.
 */
const struct e4l_tunable_info *e4l_tunable_at(size_t i);

/*
 * Writes the valid values, such as "0 to 65535", to @buf of @size bytes,
 * terminated with NUL.  A buffer of 160 bytes is always large enough.  Returns
 * @buf.
 */
const char *e4l_tunable_range(const struct e4l_tunable_info *info, char *buf,
			      size_t size);

/* A set of tunables, ordered by name.  The members are private. */
struct e4l_tunables;

/* A tunable of a set.  Texts are valid until the set changes. */
struct e4l_tunable {
	/* NULL: the tunable is unknown */
	const struct e4l_tunable_info *info;
	const char *name;
	const char *value;
	/* the tunable is known, and the value is in range */
	bool valid;
	uint32_t number;	/* the value; defined only if valid is true */
};

/*
 * Returns an empty set, which the caller frees with e4l_tunables_free(), or
 * NULL if there is no memory.
 */
struct e4l_tunables *e4l_tunables_new(void);
/* Frees @t.  NULL is allowed. */
void e4l_tunables_free(struct e4l_tunables *t);

/* Returns the number of tunables in @t. */
size_t e4l_tunables_count(const struct e4l_tunables *t);

/*
 * Returns the tunable with index @i in @t, in byte order of the names.  @i must
 * be less than e4l_tunables_count().  The result belongs to @t.
 */
const struct e4l_tunable *e4l_tunables_at(const struct e4l_tunables *t,
					  size_t i);

/*
 * Returns the tunable @name of @t, or NULL if @t does not have the tunable.
 * The result belongs to @t.
 */
const struct e4l_tunable *e4l_tunables_find(const struct e4l_tunables *t,
					    const char *name);

/*
 * Makes the changes of @spec: "name=value" or "^name" (remove), separated by
 * commas.  Removing a tunable that is not set is not an error.  Unknown names
 * are refused unless @force is true.  Errors: E4L_ET_TUNABLE_UNKNOWN,
 * E4L_ET_TUNABLE_RANGE, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLES_LONG,
 * E4L_ET_TUNABLE_TWICE, ENOMEM.  After an error, *@where points to the refused
 * change in @spec, and @t has all earlier changes of @spec.
 */
errcode_t e4l_tunables_change(struct e4l_tunables *t, const char *spec,
			      bool force, const char **where);

/*
 * Reads the tunables of @e's filesystem.  If the filesystem has no attribute
 * with tunables, *@ret is an empty set.  The caller frees *@ret with
 * e4l_tunables_free().  The set includes unknown tunables and invalid values.
 * Errors: E4L_ET_TUNABLES_LONG, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLE_TWICE,
 * ENOMEM, and errors of libext2fs.  After an error, *@ret is NULL.
 */
errcode_t e4l_tunables_read(struct e4l *e, struct e4l_tunables **ret);

/*
 * Stores @t in @e's filesystem in one transaction.  If @t is empty, removes the
 * attribute.  If the filesystem already has the same tunables, writes nothing.
 * @external is the channel of an external journal's device, and is borrowed.
 * If e4l_open() has opened the device, or if the journal is not external,
 * @external is NULL.  Before the write, e4l_tunables_write() checks the
 * filesystem: see e4l_check().
 *
 * Errors: ENOSPC (the value fits neither in the inode nor in an attribute
 * block, or no block is free), E4L_ET_TUNABLES_QUOTA, E4L_ET_DAMAGED,
 * E4L_ET_JOURNAL_*, ENOMEM, and errors of reading and writing.  After an error,
 * the device has either the old tunables or the new ones, and the caller must
 * close the filesystem with e4l_close() or ext2fs_free().
 */
errcode_t e4l_tunables_write(struct e4l *e, io_channel external,
			     const struct e4l_tunables *t);

/*
 * Reads the tunables of a mounted filesystem through @fd, a descriptor of the
 * filesystem's root directory.  The caller frees *@ret with
 * e4l_tunables_free().  Errors: E4L_ET_NOT_EXT4_ROOT, EPERM if the caller lacks
 * CAP_SYS_ADMIN, errors of e4l_tunables_read(), and errno values of
 * fgetxattr(2).  After an error, *@ret is NULL.
 */
errcode_t e4l_tunables_read_fd(int fd, struct e4l_tunables **ret);

/*
 * Stores @t in a mounted filesystem through @fd, a descriptor of the
 * filesystem's root directory.  After success, a power failure does not lose
 * the tunables.  Errors: errors of e4l_tunables_read_fd(), and errno values of
 * fsetxattr(2) and fremovexattr(2): the tunables are unchanged; errno values of
 * fsync(2): a power failure can restore the old tunables.
 */
errcode_t e4l_tunables_write_fd(int fd, const struct e4l_tunables *t);

#ifdef __cplusplus
}
#endif
#endif
