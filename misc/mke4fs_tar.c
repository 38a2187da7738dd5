/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads an archive, which can be a layer of a container image.  A "/" or "./"
 * at the start of a name is removed, and ".." is refused.  Missing directories
 * are created.  If two entries have the same name, the later entry is used,
 * even if it has another type.  Owners are taken by number, not by name.
 */
#include "config.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "e4layout/populate/layer.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_member.h"
#include "mke4fs_pax.h"
#include "mke4fs_source.h"
#include "mke4fs_stream.h"
#include "mke4fs_zip.h"
#include "support/say.h"
#include "support/units.h"

#define READ_BYTES (1u << 20)
#define TAR_BLOCK_BYTES 512
#define TAR_MAGIC_AT 257
#define MAX_DEPTH 8	/* nesting depth of compressed archives */
/*
 * Without --max-size, the files of a zip archive may have ZIP_FREE_BYTES plus
 * ZIP_RATIO times the size of the archive.
 */
#define ZIP_FREE_BYTES (1ULL << 30)
#define ZIP_RATIO (1u << 16)
/* limits of device numbers in Linux and ext4 */
#define MAX_MAJOR 0xfff
#define MAX_MINOR 0xfffff
#define MAX_ID (UINT32_MAX - 1)		/* UINT32_MAX is not a valid ID */

struct tar {
	struct load *l;
	const struct tar_input *in;
	bool broken;			/* @in->read has printed an error */
	int fd;				/* the input; -1: not a file */
	/* the input is a device; the input can be endless */
	bool is_device, is_endless;
	/* the stored input, before any decompression */
	struct stream bottom;
	struct archive *a;
	/* the unpacked data of the archive; NULL: a zip archive */
	const struct stream *s;
	/* start of the current archive in the unpacked data */
	uint64_t begin;
	struct ustar_member header;	/* valid for a tar archive */
	/* bytes unpacked from the previous archives */
	uint64_t unpacked;
	unsigned int n_archives;	/* number of archives that were read */
	/* number of members, including the current one */
	uint64_t n_members;
	/*
	 * the input has at least one block, so that it can be an empty archive
	 */
	bool has_blocks;
	uint64_t most_bytes;		/* limit of @taken_bytes */
	uint64_t taken_bytes;		/* total size of the files so far */
	uint64_t n_old;			/* files with a time before 1970 */
	struct e4l_tree_xattr *xattrs;
	size_t n_xattrs, max_xattrs;
	struct acls acls;
};

static bool has_format(struct archive *a, int format)
{
	return (archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) == format;
}

static bool is_archive(const struct tar *r);

static bool complain_format(const struct tar *r)
{
	if (r->n_archives)
		say("%s: unknown data after the end of the archive, at byte "
		    "%" PRIu64 " of the unpacked data",
		    r->l->name, r->begin);
	else if (is_archive(r))
		say("%s: neither a directory nor a tar, cpio or zip archive",
		    r->l->name);
	return false;
}

static bool complain_archive(const struct tar *r)
{
	const char *why = archive_error_string(r->a);

	if (r->broken)
		return false;
	if (!archive_format(r->a) && archive_errno(r->a) == EILSEQ)
		return complain_format(r);
	return complain(r->l, why ? why : "truncated or damaged");
}

/* --------------------------------------------------------------------- data */

/*
 * Without --max-size, an archive may unpack to MANY_BYTES or to MANY_TIMES its
 * size, whichever is more.
 */
#define MANY_BYTES	(64ULL << 30)
#define MANY_TIMES	100

/*
 * If the archives have unpacked to more bytes than --max-size or the default
 * limit allows, prints an error and returns false.
 */
static bool is_within(const struct tar *r)
{
	uint64_t packed = r->bottom.at;
	uint64_t bytes = r->unpacked + archive_filter_bytes(r->a, 0) +
			 *r->l->taken;
	uint64_t limit = r->l->c->max_bytes;
	char a[UNITS_LEN];

	if (!limit)
		limit = packed > MANY_BYTES / MANY_TIMES ? packed * MANY_TIMES :
							   MANY_BYTES;
	if (bytes <= limit)
		return true;
	say("%s: %s: the unpacked size exceeds %s (--max-size=SIZE allows "
	    "more)",
	    r->l->name, r->l->path ? r->l->path : "archive",
	    units_size(limit, a));
	return false;
}

/*
 * Copies the data of the current entry to the spool, and passes the data to
 * member_add() for later checks.  Returns false after printing an error.
 */
static bool take_data(struct tar *r, struct member *m)
{
	const void *buf;
	int64_t offset;
	size_t len;
	int got;

	if (!spool_begin(r->l))
		return false;
	while ((got = archive_read_data_block(r->a, &buf, &len, &offset)) ==
	       ARCHIVE_OK) {
		if (!is_within(r))
			return false;
		if (!len)
			continue;
		if (offset < 0 || len > INT64_MAX - (uint64_t)offset)
			return complain(r->l, "the file has data beyond the "
					      "maximum file size");
		member_add(m, buf, len);
		r->taken_bytes += len;
		if (r->taken_bytes > r->most_bytes)
			return complain(r->l,
				"the unpacked size is implausibly large "
				"(--max-size=SIZE allows it)");
		if (!spool_take(r->l, buf, len, offset))
			return false;
	}
	return got == ARCHIVE_EOF || complain_archive(r);
}

/* --------------------------------------------------------------- attributes */

static const char *const acl_names[] = {
	"system.posix_acl_access", "system.posix_acl_default",
};

/* If the current entry cannot have @x, prints an error and returns false. */
static bool check_xattr(const struct tar *r, const struct e4l_tree_xattr *x,
			uint32_t mode)
{
	const char *why = xattr_check(x, mode);

	if (why)
		say("%s: %s: extended attribute %s: %s", r->l->name, r->l->path,
		    x->name, why);
	return !why;
}

/*
 * Adds the ACLs of the entry.  If @found contains an ACL as an extended
 * attribute, uses that attribute, because the attribute has numeric IDs.
 * Returns false after printing an error.
 */
static bool take_acls(struct tar *r, struct archive_entry *entry,
		      const struct e4l_tree_xattr *found, uint32_t *mode)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct e4l_tree_xattr x = found[i];

		x.name = acl_names[i];
		if (!acls_take(&r->acls, entry, i, &x, mode))
			return false;
		if (!x.value)
			continue;
		if (!check_xattr(r, &x, *mode))
			return false;
		r->xattrs[r->n_xattrs++] = x;
	}
	return true;
}

static bool take_xattrs(struct tar *r, struct archive_entry *entry,
			uint32_t *mode)
{
	int n = archive_entry_xattr_reset(entry), i;
	struct e4l_tree_xattr x, acls[2] = { 0 };

	r->n_xattrs = 0;
	if (r->l->c->no_xattrs)
		return true;
	if (e4l_reserve(&r->xattrs, 0, &r->max_xattrs, n + 2,
			sizeof(*r->xattrs)))
		return complain(r->l, "out of memory");
	while (n-- > 0 && archive_entry_xattr_next(entry, &x.name, &x.value,
						   &x.size) == ARCHIVE_OK) {
		/*
		 * libarchive continues after a failed allocation, and returns
		 * NULL.
		 */
		if (!x.name || !x.value)
			return complain(r->l, "out of memory");
		if (e4l_xattr_is_private(x.name, x.value, x.size))
			continue;
		if (!check_xattr(r, &x, *mode))
			return false;
		for (i = 0; i < 2 && strcmp(x.name, acl_names[i]); i++)
			;
		if (i < 2)
			acls[i] = x;
		else
			r->xattrs[r->n_xattrs++] = x;
	}
	return take_acls(r, entry, acls, mode);
}

/* ------------------------------------------------------------------- entries */

/*
 * Reads the data of @entry, and sets e->size to the size of the file.  The size
 * that libarchive returns is not reliable: libarchive can take the size from a
 * field of another type of member, or not know the size before the end of the
 * data.  Returns false after printing an error.
 */
static bool take_content(struct tar *r, struct archive_entry *entry,
			 struct e4l_entry *e)
{
	uint64_t pos = r->l->spool->end, before = r->taken_bytes;
	const char *why;
	struct member m;

	member_begin(&m, r->a, entry, r->s, r->begin,
		     has_format(r->a, ARCHIVE_FORMAT_TAR) ? &r->header : NULL);
	if (!take_data(r, &m))
		return false;
	why = member_check(&m, r->taken_bytes - before,
			   r->l->spool->taken_end, &e->size);
	if (why)
		return complain(r->l, why);
	spool_describe(r->l->spool, pos, e);
	return true;
}

static bool is_device(struct archive_entry *entry)
{
	return archive_entry_filetype(entry) == AE_IFCHR ||
	       archive_entry_filetype(entry) == AE_IFBLK;
}

static bool has_linux_ids(const struct tar *r, struct archive_entry *entry)
{
	int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);

	if (uid < 0 || uid > MAX_ID || gid < 0 || gid > MAX_ID)
		return complain(r->l, "the owner or group ID is not between 0 "
				      "and 4294967294");
	if (is_device(entry) &&
	    ((uint64_t)archive_entry_rdevmajor(entry) > MAX_MAJOR ||
	     (uint64_t)archive_entry_rdevminor(entry) > MAX_MINOR))
		return complain(r->l, "the device number is out of range for "
				      "Linux");
	return true;
}

static void take_times(struct tar *r, struct archive_entry *entry,
		       struct e4l_entry *e)
{
	e->mtime = (struct e4l_time) { archive_entry_mtime(entry),
		archive_entry_mtime_nsec(entry) };
	e->atime = e->ctime = e->mtime;
	if (archive_entry_atime_is_set(entry))
		e->atime = (struct e4l_time) { archive_entry_atime(entry),
			archive_entry_atime_nsec(entry) };
	if (archive_entry_ctime_is_set(entry))
		e->ctime = (struct e4l_time) { archive_entry_ctime(entry),
			archive_entry_ctime_nsec(entry) };
	r->n_old += e->mtime.tv_sec < 0 || e->atime.tv_sec < 0 ||
		    e->ctime.tv_sec < 0;
}

static bool take_symlink(const struct tar *r, struct archive_entry *entry,
			 struct e4l_entry *e)
{
	if (!member_is_link(r->a, entry))
		return complain(r->l, "the target of the symbolic link "
				      "contains a NUL byte");
	e->size = e->target ? strlen(e->target) : 0;
	/* In Linux, symbolic links always have this mode. */
	e->mode = S_IFLNK | 0777;
	return true;
}

static bool describe(struct tar *r, struct archive_entry *entry,
		     struct e4l_entry *e)
{
	if (!has_linux_ids(r, entry))
		return false;
	*e = (struct e4l_entry) {
		.mode = archive_entry_mode(entry),
		.uid = archive_entry_uid(entry),
		.gid = archive_entry_gid(entry),
		.size = archive_entry_size(entry),
		.rdev = archive_entry_rdev(entry),
		.target = archive_entry_symlink(entry),
	};
	take_times(r, entry, e);
	if (S_ISLNK(e->mode) && !take_symlink(r, entry, e))
		return false;
	if (!take_xattrs(r, entry, &e->mode))
		return false;
	e->xattrs = r->xattrs;
	e->n_xattrs = r->n_xattrs;
	return !S_ISREG(e->mode) || take_content(r, entry, e);
}

/*
 * Adds a hard link.  In cpio archives, the data can be stored with the last
 * name of a file.  Returns false after printing an error.
 */
static bool take_link(struct tar *r, struct archive_entry *entry)
{
	const char *target = archive_entry_hardlink(entry);
	struct e4l_entry e = { .size = archive_entry_size(entry) };
	uint32_t id;
	errcode_t err = e4l_layer_link(r->l->t, r->l->path, target, &id);

	if (err == E4L_ET_NO_TARGET) {
		say("%s: %s: the target of the hard link, %s, does not exist",
		    r->l->name, r->l->path, target);
		return false;
	}
	if (!err && e.size && archive_entry_filetype(entry) == AE_IFREG) {
		if (!take_content(r, entry, &e))
			return false;
		/* If there are no data, the size can be invalid. */
		err = e.size ? e4l_tree_set_content(r->l->t, id, &e) : 0;
	}
	if (err == E4L_ET_BAD_ARGUMENT)
		return complain(r->l, "the target of the hard link is a "
				"directory or a reserved file");
	return !err || complain_tree(r->l, err);
}

/* Returns whether the path is the root directory of the layer. */
static bool is_root(const char *path)
{
	size_t len;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		len = strcspn(path, "/");
		if (len != 1 || *path != '.')
			return false;
		path += len;
	}
	return true;
}

static bool has_known_type(struct archive_entry *entry)
{
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
	case AE_IFLNK:
	case AE_IFSOCK:
	case AE_IFCHR:
	case AE_IFBLK:
	case AE_IFDIR:
	case AE_IFIFO:
		return true;
	}
	return false;
}

static bool take_entry(struct tar *r, struct archive_entry *entry)
{
	struct load *l = r->l;
	struct e4l_entry e;
	uint32_t id;
	errcode_t err;

	l->path = archive_entry_pathname(entry);
	if (!l->path || !*l->path) {
		say("%s: the file name of member %" PRIu64 " %s", l->name,
		    r->n_members, l->path ? "is empty" : "cannot be read");
		return false;
	}
	if (whiteout_is(l))
		return whiteout_take(l);
	if (archive_entry_hardlink(entry) && !is_root(l->path))
		return take_link(r, entry);
	if (!has_known_type(entry))
		return complain(l, has_format(r->a, ARCHIVE_FORMAT_TAR) ?
				   "unknown file type (join the volumes of a "
				   "multi-volume archive first)" :
				   "unknown file type");
	if (archive_entry_mode(entry) & ~(AE_IFMT | 07777))
		return complain(l, "the mode is out of range");
	if (!describe(r, entry, &e))
		return false;
	if (is_root(l->path) && !S_ISDIR(e.mode))
		return complain(l, "the root must be a directory");
	err = e4l_layer_put(l->t, l->path, &e, &id);
	return !err || complain_tree(l, err);
}

/* ------------------------------------------------------------------ archive */

/*
 * Returns whether data are lost after a warning of libarchive.  Data are lost
 * in two cases: libarchive found no header where the next member should begin,
 * and searched for one; or libarchive cannot read the sparse map.  If
 * GNU.sparse.map is damaged, the warning has no text.
 */
static bool loses_data(const struct tar *r)
{
	static const char *const texts[] = {
		"Skipped ", "Unrecognized GNU sparse", "Parse error: SUN.holes",
	};
	const char *why = archive_error_string(r->a);
	size_t i;

	for (i = 0; why && i < sizeof(texts) / sizeof(*texts); i++)
		if (!strncmp(why, texts[i], strlen(texts[i])))
			return true;
	return !why;
}

static bool take_all(struct tar *r)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(r->a, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		r->n_members++;
		r->l->path = archive_entry_pathname(entry);
		if (has_format(r->a, ARCHIVE_FORMAT_TAR) &&
		    !pax_take(r->l, r->a, entry, r->s, r->begin, &r->header))
			return false;
		/*
		 * The warning can be, for example, about a name that is not
		 * valid UTF-8.  Such a name is used unchanged.
		 */
		if (got == ARCHIVE_WARN) {
			complain_archive(r);
			if (loses_data(r))
				return false;
		}
		if (!is_within(r) || !take_entry(r, entry))
			return false;
	}
	r->l->path = NULL;
	return got == ARCHIVE_EOF || complain_archive(r);
}

static bool new_archive(struct tar *r)
{
	r->a = archive_read_new();
	return r->a || complain(r->l, "out of memory");
}

/* Frees the archive, after adding its unpacked bytes to the total. */
static void free_archive(struct tar *r)
{
	r->unpacked += archive_filter_bytes(r->a, 0);
	archive_read_free(r->a);
	r->a = NULL;
}

static bool complain_stream(const struct tar *r, const struct stream *s)
{
	if (!r->broken)
		say("%s: cannot read: %s", r->l->name, s->why);
	return false;
}

/*
 * Loads the archive at the position of @s.
 *
 * Sets *@unit to the unit of zeroes before the next archive.  After a tar
 * archive, whole blocks of zeroes are skipped, like --ignore-zeros of tar(1)
 * does.  After other archives, single bytes are skipped, as Linux does in an
 * initramfs.
 *
 * Only formats with a magic number are accepted, because any list of words
 * would be a valid mtree manifest.  Returns false after printing an error.
 */
static bool take_archive(struct tar *r, struct stream *s, size_t *unit)
{
	uint64_t end;
	bool done;

	r->begin = s->at;
	r->s = s;
	if (zip_refuse(s, r->l->name) || !new_archive(r))
		return false;
	archive_read_support_format_tar(r->a);
	archive_read_support_format_cpio(r->a);
	if (archive_read_open(r->a, s, NULL, stream_read, NULL) != ARCHIVE_OK)
		done = complain_archive(r);
	else
		done = take_all(r);
	end = r->begin + archive_filter_bytes(r->a, 0);
	*unit = has_format(r->a, ARCHIVE_FORMAT_TAR) ? TAR_BLOCK_BYTES : 1;
	free_archive(r);
	if (!done)
		return false;
	r->n_archives++;
	return stream_seek(s, end) || complain_stream(r, s);
}

/* ---------------------------------------------------- concatenated archives */

/*
 * Returns the unit, in bytes, in which zeroes before the first archive are
 * skipped.  The name in a tar header can be empty.  Such a header begins with
 * zeroes that must not be skipped.
 */
static size_t first_unit(struct stream *s)
{
	char h[TAR_BLOCK_BYTES];

	return stream_peek(s, h, sizeof(h)) == sizeof(h) &&
	       !memcmp(h + TAR_MAGIC_AT, "ustar", 5) ? sizeof(h) : 1;
}

static bool take_stream(struct tar *r, struct stream *s, unsigned int depth);

static bool take_packed(struct tar *r, struct stream *s, unsigned int depth)
{
	return depth < MAX_DEPTH ? take_stream(r, s, depth) :
	       complain(r->l, "too many levels of compression");
}

/*
 * Loads all archives in @s.  If @s is a device, loads only one archive: a
 * device continues after the end of the archive, and can contain nothing but
 * zeroes, like /dev/zero.  Returns false after printing an error.
 */
static bool take_stream(struct tar *r, struct stream *s, unsigned int depth)
{
	size_t unit = first_unit(s);
	struct stream inner;
	bool device = !depth && r->is_device, packed, done;

	while (device || stream_skip_zeroes(s, unit)) {
		if (!stream_unpack(&inner, s, &packed))
			break;
		if (packed) {
			unit = 1;
			inner.max_bytes = r->l->c->max_bytes;
			done = take_packed(r, &inner, depth + 1);
			stream_close(&inner);
		} else {
			done = take_archive(r, s, &unit);
		}
		if (!done)
			return false;
		if (device)
			return true;
	}
	r->has_blocks |= s->at >= TAR_BLOCK_BYTES;
	return !s->err || complain_stream(r, s);
}

/*
 * If the input is a filesystem image, prints an error and returns false.  An
 * image begins with zeroes, like an empty archive.
 */
static bool is_archive(const struct tar *r)
{
	const off_t at = SUPERBLOCK_OFFSET +
			 offsetof(struct ext2_super_block, s_magic);
	const char *path = r->in->path;
	uint16_t magic = 0;
	struct stat st;
	int fd;

	if (!path || e4l_stat(path, &st) ||
	    !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &magic, sizeof(magic), at) < 0)
		magic = 0;
	e4l_close_fd(fd);
	if (ext2fs_le16_to_cpu(magic) != EXT2_SUPER_MAGIC)
		return true;
	say("%s: an ext2, ext3 or ext4 filesystem, not an archive: use "
	    "--from=%s", path, path);
	return false;
}

static ssize_t read_input(void *priv, const void **buf)
{
	struct tar *r = priv;
	ssize_t n = r->in->read(r->in->priv, buf);

	r->broken |= n < 0;
	return n;
}

static bool take_archives(struct tar *r)
{
	struct stream *s = &r->bottom;
	bool done;

	if (!stream_open(s, r->fd))
		return complain(r->l, "out of memory");
	if (r->in->read) {
		s->read = read_input;
		s->priv = r;
	}
	s->endless = r->is_endless;
	s->max_bytes = r->l->c->max_bytes;
	done = take_stream(r, s, 0);
	if (done && !r->n_members)
		done = r->n_archives || r->has_blocks ? is_archive(r) :
							complain_format(r);
	stream_close(s);
	return done;
}

/* --------------------------------------------------------------------- zip */

/*
 * Loads a zip archive from a file.  The archive is read from the directory at
 * its end, because only the directory has the modes of the files.  Returns
 * false after printing an error.
 */
static bool take_zip(struct tar *r, const struct stat *st)
{
	bool done;

	if (!zip_is_whole(r->fd, st->st_size))
		return complain(r->l, "contains data before or after the zip "
				      "archive: unpack the archive, and give "
				      "the directory to -d");
	r->most_bytes = r->l->c->max_bytes;
	if (!r->most_bytes)
		r->most_bytes = ZIP_FREE_BYTES + st->st_size * ZIP_RATIO;
	if (!new_archive(r))
		return false;
	archive_read_support_format_zip(r->a);
	done = archive_read_open_fd(r->a, r->fd, READ_BYTES) == ARCHIVE_OK ?
	       take_all(r) : complain_archive(r);
	free_archive(r);
	return done;
}

/* Returns whether libarchive recognizes the file as a zip archive. */
static bool is_zip(const struct tar *r)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	bool is = false;

	if (!a)
		return false;
	archive_read_support_filter_all(a);
	archive_read_support_format_tar(a);
	archive_read_support_format_cpio(a);
	archive_read_support_format_zip(a);
	if (archive_read_open_fd(a, r->fd, READ_BYTES) == ARCHIVE_OK) {
		archive_read_next_header(a, &entry);
		is = archive_filter_code(a, 0) == ARCHIVE_FILTER_NONE &&
		     has_format(a, ARCHIVE_FORMAT_ZIP);
	}
	archive_read_free(a);
	return is;
}

static bool take_file(struct tar *r)
{
	bool zip = false, done;
	struct stat st;

	r->fd = strcmp(r->in->path, "-") ?
		open(r->in->path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (r->fd < 0 || e4l_fstat(r->fd, &st)) {
		say_error(r->l->name, "cannot read", errno);
		return false;
	}
	r->is_device = S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode);
	r->is_endless = !S_ISREG(st.st_mode);
	if (refuse_image(r->l->c, r->l->name, strcmp(r->in->path, "-") ?
			 r->in->path : "/dev/stdin")) {
		if (r->fd != STDIN_FILENO)
			close(r->fd);
		return false;
	}
	if (S_ISREG(st.st_mode) && !lseek(r->fd, 0, SEEK_CUR)) {
		zip = is_zip(r);
		lseek(r->fd, 0, SEEK_SET);
	}
	done = zip ? take_zip(r, &st) : take_archives(r);
	if (r->fd != STDIN_FILENO)
		close(r->fd);
	return done;
}

/*
 * Warns of times before 1970 if time_t has 32 bits, as on Debian's i386.
 * libarchive then drops the upper bits of all times, so that 2040 becomes 1903.
 */
static void warn_of_old(const struct tar *r)
{
	char n[UNITS_LEN];

	if (sizeof(time_t) < sizeof(int64_t) && r->n_old)
		say("%s: libarchive has 32-bit times on this system: %s %s a "
		    "time before 1970, which may be a time after 2038-01-19 in "
		    "the archive", r->l->name, units_count(r->n_old, n),
		    r->n_old == 1 ? "file has" : "files have");
}

/*
 * As tar(1) and Linux do, refuses an archive in which a later file would
 * replace a directory that contains files of the same archive.  In a layer, a
 * file can replace such a directory, as in container runtimes.  Returns false
 * after printing an error.
 */
static bool keeps_all(const struct load *l)
{
	if (l->is_layer || !e4l_layer_check(l->t))
		return true;
	say("%s: %s: a later member would replace this directory and its "
	    "files by a file", l->name, e4l_tree_where(l->t));
	return false;
}

bool load_tar(struct load *l, const struct tar_input *in)
{
	/* libarchive must not convert UTF-8 to another encoding */
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	locale_t before = utf8 ? uselocale(utf8) : NULL;
	struct tar r = {
		.l = l, .in = in, .fd = -1, .most_bytes = UINT64_MAX,
	};
	bool done;

	done = spool_open(l) && begin_layer(l, true) &&
	       acls_start(&r.acls, l) &&
	       (in->read ? take_archives(&r) : take_file(&r)) && keeps_all(l);
	if (done)
		warn_of_old(&r);
	*l->taken += r.unpacked;
	free(r.xattrs);
	acls_end(&r.acls);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	l->path = NULL;
	return done;
}
