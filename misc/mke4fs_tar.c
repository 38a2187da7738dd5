/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads an archive.  The data go to an unlinked file beside the image first:
 * what an archive holds, and so where things go, is known at its end only.
 *
 * Rules: a leading "/" or "./" is dropped; ".." is refused; directories that
 * are not in the archive are made; of two entries of one name the last counts,
 * of whatever kinds they are; numbers say who owns what, not names.
 */
#include "config.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "mke4fs.h"
#include "support/say.h"

#define READ_BYTES (1u << 20)
#define HOLE_BYTES (32u << 10)	/* zeroes, at a multiple of it in the file */
#define MAX_MAJOR 0xfff			/* what Linux and ext4 have room for */
#define MAX_MINOR 0xfffff
#define MAX_ID (UINT32_MAX - 1)		/* the last one means nobody */
#define MAX_XATTR_NAME 255		/* with its namespace */
#define MAX_XATTR_BYTES 65536

static const char zeroes[HOLE_BYTES];

struct tar {
	const struct config *c;
	struct e4l_tree *t;
	struct archive *a;
	const char *path;		/* of the entry at hand */
	int fd;				/* the data */
	uint64_t end;			/* of them */
	struct e4l_stretch *stretches;
	size_t n_stretches;
	uint64_t taken_end;		/* in the file, of what came so far */
	uint64_t zero_end;		/* likewise, of zeroes */
	struct e4l_tree_xattr *xattrs;
	size_t n_xattrs, max_xattrs;
	struct acls acls;
};

static bool complain(const struct tar *r, const char *what)
{
	say("%s: %s: %s", r->c->source, r->path ? r->path : "archive", what);
	return false;
}

/* Of the attribute @name of the entry at hand. */
static bool complain_xattr(const struct tar *r, const char *name,
			   const char *what)
{
	say("%s: %s: its attribute %s %s", r->c->source, r->path, name, what);
	return false;
}

static bool complain_tree(const struct tar *r, errcode_t err)
{
	return complain(r, err == E4L_ET_NOT_DIR ?
			"what the archive has it in is no directory" :
			error_message(err));
}

static bool complain_archive(const struct tar *r)
{
	const char *why = archive_error_string(r->a);

	if (!archive_format(r->a) && archive_errno(r->a) == EILSEQ) {
		say("%s: neither a directory nor a tar, cpio or zip archive",
		    r->c->source);
		return false;
	}
	return complain(r, why ? why : "cannot be read");
}

/* --------------------------------------------------------------------- data */

/* An unlinked file where the image will be, or else where TMPDIR says. */
static int open_spool(const char *device)
{
	const char *slash = strrchr(device, '/'), *tmp = getenv("TMPDIR");
	char *dir;
	int fd = -1;

	if (strncmp(device, "/dev/", 5)) {
		dir = slash ? strndup(device, slash - device + 1) : strdup(".");
		if (dir)
			fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		free(dir);
	}
	return fd >= 0 ? fd : open(tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR |
				   O_CLOEXEC, 0600);
}

/* Makes room for one more stretch. */
static bool grow_stretches(struct tar *r)
{
	return !e4l_grow(&r->stretches, r->n_stretches, sizeof(*r->stretches)) ||
	       complain(r, "out of memory");
}

static bool add_stretch(struct tar *r, uint64_t offset, uint64_t bytes)
{
	struct e4l_stretch *last;

	if (r->n_stretches) {
		last = &r->stretches[r->n_stretches - 1];
		if (last->offset + last->bytes == offset) {
			last->bytes += bytes;
			return true;
		}
	}
	if (!grow_stretches(r))
		return false;
	r->stretches[r->n_stretches++] = (struct e4l_stretch) {
		.offset = offset, .bytes = bytes, .pos = r->end,
	};
	return true;
}

static bool put_data(struct tar *r, const char *buf, size_t len)
{
	ssize_t put;

	for (; len; len -= put, buf += put, r->end += put) {
		put = pwrite(r->fd, buf, len, r->end);
		if (put < 0 && errno != EINTR) {
			say_error("the temporary file", "cannot write", errno);
			return false;
		}
		if (put < 0)
			put = 0;
	}
	return true;
}

static bool put_stretch(struct tar *r, const char *buf, size_t len,
		      uint64_t offset)
{
	return !len || (add_stretch(r, offset, len) && put_data(r, buf, len));
}

/* Takes back the last @bytes of the last stretch. */
static void drop_data(struct tar *r, uint64_t bytes)
{
	if (!bytes)
		return;
	r->stretches[r->n_stretches - 1].bytes -= bytes;
	r->n_stretches -= !r->stretches[r->n_stretches - 1].bytes;
	r->end -= bytes;
}

/*
 * Whether a place for a hole ends with these @len bytes, which are within one,
 * and all of it is zeroes.  What was put of it before is taken back.
 */
static bool ends_hole(struct tar *r, const char *buf, size_t len,
		      uint64_t offset)
{
	size_t before = offset % HOLE_BYTES;

	if ((before && r->zero_end != offset) || memcmp(buf, zeroes, len))
		return false;
	r->zero_end = offset + len;
	if (before + len < HOLE_BYTES)
		return false;
	drop_data(r, before);
	return true;
}

/* Puts what is no hole of @len bytes. */
static bool take_stretch(struct tar *r, const char *buf, size_t len,
			 uint64_t offset)
{
	size_t from = 0, at, n;

	if (offset < r->taken_end)
		return complain(r, "its data overlap");
	r->taken_end = offset + len;
	for (at = 0; at < len; at += n) {
		n = HOLE_BYTES - (offset + at) % HOLE_BYTES;
		if (n > len - at)
			n = len - at;
		if (!ends_hole(r, buf + at, n, offset + at))
			continue;
		if (!put_stretch(r, buf + from, at - from, offset + from))
			return false;
		from = at + n;
	}
	return put_stretch(r, buf + from, len - from, offset + from);
}

/* Copies the data of the entry at hand, noting where they are. */
static bool take_data(struct tar *r, uint64_t size)
{
	const void *buf;
	int64_t offset;
	size_t len;
	int got;

	r->n_stretches = 0;
	r->taken_end = r->zero_end = 0;
	if (!grow_stretches(r))	/* not NULL: all may be a hole */
		return false;
	while ((got = archive_read_data_block(r->a, &buf, &len, &offset)) ==
	       ARCHIVE_OK) {
		if (!len)
			continue;
		if (offset < 0 || (uint64_t)offset > size ||
		    len > size - offset)
			return complain(r, "it has more data than its size");
		if (!take_stretch(r, buf, len, offset))
			return false;
	}
	return got == ARCHIVE_EOF || complain_archive(r);
}

/* --------------------------------------------------------------- attributes */

static const char *const acl_names[] = {
	"system.posix_acl_access", "system.posix_acl_default",
};

/* Adds the ACLs, which @found are as attributes: these have numbers for all. */
static bool take_acls(struct tar *r, struct archive_entry *entry,
		      const struct e4l_tree_xattr *found, uint32_t *mode)
{
	unsigned int i;

	r->acls.path = r->path;
	for (i = 0; i < 2; i++) {
		struct e4l_tree_xattr x = found[i];

		x.name = acl_names[i];
		if (!acls_take(&r->acls, entry, i, &x, mode))
			return false;
		if (x.value)
			r->xattrs[r->n_xattrs++] = x;
	}
	return true;
}

/* As setxattr(2) takes it: struct vfs_cap_data and vfs_ns_cap_data in Linux. */
static bool is_capability(const uint8_t *v, size_t size)
{
	return ((size == 20 && v[3] == 2) || (size == 24 && v[3] == 3)) &&
	       v[0] <= 1 && !v[1] && !v[2];
}

/* Whether Linux could read the attribute. */
static bool check_xattr(const struct tar *r, const struct e4l_tree_xattr *x)
{
	if (strlen(x->name) > MAX_XATTR_NAME)
		return complain_xattr(r, x->name,
				      "has a name of more than 255 bytes");
	if (x->size > MAX_XATTR_BYTES)
		return complain_xattr(r, x->name, "has more than 65536 bytes");
	if (!strcmp(x->name, "security.capability") &&
	    !is_capability(x->value, x->size))
		return complain_xattr(r, x->name, "cannot be understood");
	return true;
}

static bool take_xattrs(struct tar *r, struct archive_entry *entry,
			uint32_t *mode)
{
	int n = archive_entry_xattr_reset(entry), i;
	struct e4l_tree_xattr x, acls[2] = { 0 };

	r->n_xattrs = 0;
	if (r->c->no_xattrs)
		return true;
	if (e4l_reserve(&r->xattrs, 0, &r->max_xattrs, n + 2,
			sizeof(*r->xattrs)))
		return complain(r, "out of memory");
	while (n-- > 0 && archive_entry_xattr_next(entry, &x.name, &x.value,
						   &x.size) == ARCHIVE_OK) {
		/* libarchive goes on without what it has no memory for */
		if (!x.name || !x.value)
			return complain(r, "out of memory");
		if (e4l_xattr_is_private(x.name, x.value, x.size))
			continue;
		if (!check_xattr(r, &x))
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

/* -------------------------------------------------------------------- names */

/*
 * Finds the directory that the last part of r->path goes into, making those
 * that are missing; *@name and *@len are that part, empty for the root itself.
 */
static bool find_parent(struct tar *r, uint32_t *parent, const char **name,
			size_t *len)
{
	struct e4l_entry dir = {
		.mode = S_IFDIR | 0755, .mtime.tv_sec = r->c->now,
		.atime.tv_sec = r->c->now, .ctime.tv_sec = r->c->now,
	};
	const char *at = r->path;
	errcode_t err = 0;
	uint32_t id;

	*parent = E4L_TREE_ROOT;
	for (*len = 0, *name = at; ; at += *len) {
		at += strspn(at, "/");
		if (!*at)
			return true;
		if (*len && !(*len == 1 && **name == '.')) {
			err = e4l_tree_find(r->t, *parent, *name, *len, &id);
			if (!err && !id)
				err = e4l_tree_add(r->t, *parent, *name, *len,
						   &dir, &id);
			if (err)
				return complain_tree(r, err);
			*parent = id;
		}
		*name = at;
		*len = strcspn(at, "/");
		if (*len == 2 && at[0] == '.' && at[1] == '.')
			return complain(r, "a path with .. is not taken");
	}
}

/* The entry at @path, or 0. */
static uint32_t look_up(struct tar *r, const char *path)
{
	uint32_t id = E4L_TREE_ROOT;
	size_t len;

	for (; id && *path; path += len) {
		len = strcspn(path, "/");
		if (len && !(len == 1 && *path == '.') &&
		    e4l_tree_find(r->t, id, path, len, &id))
			return 0;
		len += path[len] == '/';
	}
	return id;
}

/* ------------------------------------------------------------------- entries */

/* Takes the data of the entry at hand, whose size @e says. */
static bool take_content(struct tar *r, struct e4l_entry *e)
{
	e->pos = r->end;
	if (!take_data(r, e->size))
		return false;
	if (r->n_stretches != 1 || r->stretches->bytes != e->size) {
		e->stretches = r->stretches;
		e->n_stretches = r->n_stretches;
	}
	return true;
}

static bool is_device(struct archive_entry *entry)
{
	return archive_entry_filetype(entry) == AE_IFCHR ||
	       archive_entry_filetype(entry) == AE_IFBLK;
}

static bool describe(struct tar *r, struct archive_entry *entry,
		     struct e4l_entry *e)
{
	int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);
	const char *target = archive_entry_symlink(entry);

	if (uid < 0 || uid > MAX_ID || gid < 0 || gid > MAX_ID)
		return complain(r, "its owner or group is not a number up to "
				"4294967294");
	if (is_device(entry) &&
	    ((uint64_t)archive_entry_rdevmajor(entry) > MAX_MAJOR ||
	     (uint64_t)archive_entry_rdevminor(entry) > MAX_MINOR))
		return complain(r, "Linux has no such device number");
	*e = (struct e4l_entry) {
		.mode = archive_entry_mode(entry), .uid = uid, .gid = gid,
		.size = archive_entry_size(entry),
		.rdev = archive_entry_rdev(entry),
		.mtime = { archive_entry_mtime(entry),
			   archive_entry_mtime_nsec(entry) },
		.target = target,
	};
	e->atime = e->ctime = e->mtime;
	if (archive_entry_atime_is_set(entry))
		e->atime = (struct timespec) { archive_entry_atime(entry),
			archive_entry_atime_nsec(entry) };
	if (archive_entry_ctime_is_set(entry))
		e->ctime = (struct timespec) { archive_entry_ctime(entry),
			archive_entry_ctime_nsec(entry) };
	if (S_ISLNK(e->mode))
		e->size = target ? strlen(target) : 0;
	if (!take_xattrs(r, entry, &e->mode))
		return false;
	e->xattrs = r->xattrs;
	e->n_xattrs = r->n_xattrs;
	return !S_ISREG(e->mode) || !e->size || take_content(r, e);
}

/* In cpio's archives, the data may come with the last of a file's names. */
static bool take_link(struct tar *r, struct archive_entry *entry,
		      uint32_t parent, const char *name, size_t len)
{
	const char *target = archive_entry_hardlink(entry);
	struct e4l_entry e = { .size = archive_entry_size(entry) };
	uint32_t id = look_up(r, target), old;
	errcode_t err = e4l_tree_find(r->t, parent, name, len, &old);

	if (old && old != id) {
		e4l_tree_remove(r->t, old);
		id = look_up(r, target);	/* it may have been in there */
	}
	if (!id) {
		say("%s: %s: a hard link to %s, which is not there",
		    r->c->source, r->path, target);
		return false;
	}
	if (!err && old != id)
		err = e4l_tree_link(r->t, parent, name, len, id);
	if (!err && e.size && archive_entry_filetype(entry) == AE_IFREG) {
		if (!take_content(r, &e))
			return false;
		err = e4l_tree_set_content(r->t, id, &e);
	}
	if (err == E4L_ET_BAD_ARGUMENT)
		return complain(r, "a hard link to what cannot have one");
	return !err || complain_tree(r, err);
}

static bool take_entry(struct tar *r, struct archive_entry *entry)
{
	const char *name;
	struct e4l_entry e;
	uint32_t parent, id;
	errcode_t err;
	bool is_dot;
	size_t len;

	r->path = archive_entry_pathname(entry);
	if (!r->path)
		return complain(r, "a name cannot be read");
	if (!find_parent(r, &parent, &name, &len))
		return false;
	is_dot = !len || (len == 1 && *name == '.');
	if (archive_entry_hardlink(entry) && !is_dot)
		return take_link(r, entry, parent, name, len);
	if (!describe(r, entry, &e))
		return false;
	if (is_dot && !S_ISDIR(e.mode))
		return complain(r, "only a directory can be the root");
	err = is_dot ? e4l_tree_set(r->t, parent, &e) :
		       e4l_tree_put(r->t, parent, name, len, &e, &id);
	return !err || complain_tree(r, err);
}

/*
 * Formats that say what a file is, and that nothing else looks like: a list of
 * words would do as an mtree.
 */
static bool open_archive(struct tar *r)
{
	const char *name = strcmp(r->c->source, "-") ? r->c->source : NULL;

	r->a = archive_read_new();
	if (!r->a)
		return complain(r, "out of memory");
	archive_read_support_filter_all(r->a);
	archive_read_support_format_tar(r->a);
	archive_read_support_format_cpio(r->a);
	archive_read_support_format_zip(r->a);
	if (archive_read_open_filename(r->a, name, READ_BYTES) != ARCHIVE_OK)
		return complain_archive(r);
	return true;
}

/* An image begins with zeroes, as an archive does that has nothing in it. */
static bool is_archive(const struct tar *r)
{
	const off_t at = SUPERBLOCK_OFFSET +
			 offsetof(struct ext2_super_block, s_magic);
	const char *name = r->c->source;
	uint16_t magic = 0;
	struct stat st;
	int fd;

	if (stat(name, &st) || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		return true;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &magic, sizeof(magic), at) < 0)
		magic = 0;
	if (fd >= 0)
		close(fd);
	if (ext2fs_le16_to_cpu(magic) != EXT2_SUPER_MAGIC)
		return true;
	say("%s: holds an ext2, ext3 or ext4 filesystem and no archive: copy it "
	    "with --from=%s", name, name);
	return false;
}

static bool take_all(struct tar *r)
{
	struct archive_entry *entry;
	bool empty = true;
	int got;

	while ((got = archive_read_next_header(r->a, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		/* Such as a name that should be UTF-8: it is taken as it is. */
		if (got == ARCHIVE_WARN) {
			r->path = archive_entry_pathname(entry);
			complain_archive(r);
		}
		empty = false;
		if (!take_entry(r, entry))
			return false;
	}
	r->path = NULL;
	if (got == ARCHIVE_EOF)
		return !empty || is_archive(r);
	return complain_archive(r);
}

bool load_tar(const struct config *c, struct e4l_tree *t, int *data_fd)
{
	/* Names that an archive has in UTF-8 stay so. */
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	locale_t before = utf8 ? uselocale(utf8) : NULL;
	struct tar r = { .c = c, .t = t };
	bool done;

	r.fd = open_spool(c->device);
	if (r.fd < 0) {
		say_error("the temporary file", "cannot make", errno);
		return false;
	}
	done = acls_start(&r.acls, c) && open_archive(&r) && take_all(&r);
	archive_read_free(r.a);
	free(r.stretches);
	free(r.xattrs);
	acls_end(&r.acls);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	*data_fd = r.fd;
	e4l_tree_set_data_fd(t, r.fd);
	return done;
}
