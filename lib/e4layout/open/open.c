/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * e4l_open() has four steps:
 *
 * 1. look: find out whether the file is a device or an image, and find its
 *    other users (hold.c).
 * 2. take: refuse a device or image in use, and lock it (hold.c).
 * 3. peek: read the superblock only, and refuse states that make changes unsafe
 *    (refusals.c).
 * 4. open: open the filesystem, and the device of an external journal,
 *    exclusively if E4L_OPEN_WRITE is set.  With E4L_OPEN_PLAN, open the
 *    filesystem and the journal device for writing as a test, close them, and
 *    open them for reading.
 */
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
#include "e4layout/base/internal.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/base/stat.h"
#include "opened.h"
#include "refusals.h"

#define ALONE (E4L_OPEN_ALONE | E4L_OPEN_WRITE)
#define WITH_WRITE (E4L_OPEN_UNPROTECTED | E4L_OPEN_UNDO | E4L_OPEN_PLAN)
#define UUID_TEXT 37

/* -------------------------------------------------------------------- steps */

/*
 * Turns off the cache of unix_io_manager while the filesystem is opened.  If
 * there is no memory for the cache after a change of the block size,
 * ext2fs_open2() ignores the error and reads into a missing buffer.
 */
static const char *without_cache(io_manager manager)
{
	return manager == unix_io_manager ? "cache=off&" : "";
}

errcode_t e4l_open_at(const struct e4l_hold *h, const char *io_options,
		      int flags, blk64_t super, unsigned int blocksize,
		      io_manager manager, ext2_filsys *ret)
{
	char offset[40] = "", *all;
	errcode_t err;

	*ret = NULL;
	if (h->offset_bytes)
		snprintf(offset, sizeof(offset), "offset=%llu&",
			 (unsigned long long)h->offset_bytes);
	/*
	 * never pass NULL as options: libext2fs would search the name for
	 * options
	 */
	if (asprintf(&all, "%s%s%s", without_cache(manager), offset,
		     io_options ? io_options : "") < 0)
		return ENOMEM;
	err = ext2fs_open2(h->device, all, EXT2_FLAG_64BITS | flags, super,
			   blocksize, manager, ret);
	free(all);
	if (!err) {
		err = e4l_renew_buffers((*ret)->io);
		if (err)
			ext2fs_free(*ret);
	}
	if (err)
		*ret = NULL;
	return err;
}

static errcode_t tell_no_filesystem(const struct e4l_hold *h, errcode_t err)
{
	if (!h->offset_bytes && h->end_bytes == UINT64_MAX)
		return e4l_tell(&h->teller, err,
			"contains no ext2, ext3 or ext4 filesystem");
	return e4l_tell(&h->teller, err,
		"no ext2, ext3 or ext4 filesystem at byte %llu of %s",
		(unsigned long long)h->offset_bytes, h->device);
}

errcode_t e4l_tell_open_error(const struct e4l_hold *h, errcode_t err)
{
	switch (err) {
	case EXT2_ET_BAD_MAGIC:
		return tell_no_filesystem(h, err);
	case EXT2_ET_SHORT_READ:
		return e4l_tell(&h->teller, err,
			"too short: the device or image is truncated, or "
			"contains no ext4 filesystem");
	case EXT2_ET_SB_CSUM_INVALID:
	case EXT2_ET_CORRUPT_SUPERBLOCK:
	case EXT2_ET_BAD_DESC_SIZE:
	case EXT2_ET_UNKNOWN_CSUM:
		return e4l_tell(&h->teller, err, "the superblock is damaged: "
				"%s: %srun e2fsck %s", error_message(err),
				e4l_hold_unmount(h), h->e2fs_words);
	default:
		return e4l_tell_error(&h->teller, err, "cannot open");
	}
}

static errcode_t tell_write_error(const struct e4l_hold *h, errcode_t err)
{
	switch (err) {
	case EBUSY:
		return e4l_tell(&h->teller, err, "the device is in use by "
				"LVM, RAID, swap or a mount: see lsblk %s",
				h->device_word);
	case EXT2_ET_MMP_FAILED:
	case EXT2_ET_MMP_FSCK_ON:
	case EXT2_ET_MMP_UNKNOWN_SEQ:
	case EXT2_ET_MMP_MAGIC_INVALID:
	case EXT2_ET_MMP_CSUM_INVALID:
		return e4l_tell_mmp(h, err);
	default:
		return e4l_tell_open_error(h, err);
	}
}

errcode_t e4l_peek(const struct e4l_hold *h, unsigned int flags)
{
	ext2_filsys fs;
	errcode_t err;

	if (h->empty)
		return e4l_tell(&h->teller, E4L_ET_TRUNCATED,
			"the file is empty");
	err = e4l_open_at(h, NULL, EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_FORCE |
			  EXT2_FLAG_SKIP_MMP, 0, 0, unix_io_manager, &fs);
	if (err)
		return e4l_tell_open_error(h, err);
	err = flags & E4L_OPEN_WRITE ? e4l_refuse_to_change(fs, h, flags) :
				       e4l_refuse_to_read(fs, h);
	ext2fs_close_free(&fs);
	return err;
}

static void uuid_text(const uint8_t *uuid, char text[UUID_TEXT])
{
	int i, n = 0;

	for (i = 0; i < 16; i++)
		n += sprintf(text + n, i == 4 || i == 6 || i == 8 || i == 10 ?
			     "-%02x" : "%02x", uuid[i]);
}

/*
 * Compares two values of the tag @type.  The case of UUIDs is ignored, because
 * programs print UUIDs in upper or lower case.
 */
static bool is_same_value(const char *type, const char *a, const char *b)
{
	bool any_case = !strcmp(type, "UUID") || !strcmp(type, "PARTUUID");

	return any_case ? !strcasecmp(a, b) : !strcmp(a, b);
}

/*
 * Returns whether the tag @type of @device has @value.  Returns true if the
 * device cannot be opened for lack of permission.
 */
static bool has_tag(const char *device, const char *type, const char *value)
{
	blkid_probe probe = blkid_new_probe_from_filename(device);
	const char *now;
	bool same;

	if (!probe)
		return errno == EACCES || errno == EPERM;
	same = !blkid_do_safeprobe(probe) &&
	       !blkid_probe_lookup_value(probe, type, &now, NULL) &&
	       is_same_value(type, now, value);
	blkid_free_probe(probe);
	return same;
}

/*
 * Returns whether another device is built on the device @dev.  For example, a
 * multipath device is built on each of its paths.
 */
static bool has_holder(dev_t dev)
{
	struct dirent *entry;
	bool has = false;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders",
		 major(dev), minor(dev));
	d = opendir(path);
	while (d && !has && (entry = readdir(d)))
		has = *entry->d_name != '.';
	if (d)
		closedir(d);
	return has;
}

struct tagged {
	/* names of the first two devices with the tag; NULL: not found */
	char *name[2];
	dev_t dev;		/* device number of name[0] */
};

static void note_tagged(struct tagged *t, const char *name)
{
	struct stat st;

	if (!name || e4l_stat(name, &st) || has_holder(st.st_rdev) ||
	    (t->name[0] && st.st_rdev == t->dev))
		return;
	if (!t->name[0]) {
		t->dev = st.st_rdev;
		t->name[0] = strdup(name);
	} else if (!t->name[1]) {
		t->name[1] = strdup(name);
	}
}

static bool has_found_tag(blkid_dev dev, const char *type, const char *value)
{
	blkid_tag_iterate at = blkid_tag_iterate_begin(dev);
	const char *name, *now;
	bool has = false;

	while (at && !has && !blkid_tag_next(at, &name, &now))
		has = !strcmp(name, type) && is_same_value(type, now, value);
	if (at)
		blkid_tag_iterate_end(at);
	return has;
}

/*
 * Probes all accessible devices.  Adds each device that has the tag @type with
 * the value @value to @t.
 */
static void list_tagged(struct tagged *t, const char *type, const char *value)
{
	blkid_dev_iterate at;
	blkid_cache cache;
	blkid_dev dev;

	if (blkid_get_cache(&cache, "/dev/null"))
		return;
	blkid_probe_all(cache);
	at = blkid_dev_iterate_begin(cache);
	while (at && !blkid_dev_next(at, &dev))
		if (has_found_tag(dev, type, value))
			note_tagged(t, blkid_dev_devname(dev));
	if (at)
		blkid_dev_iterate_end(at);
	blkid_put_cache(cache);
}

char *e4l_device_of_tag(const char *type, const char *value, char **other)
{
	struct tagged t = { 0 };
	char *device;

	list_tagged(&t, type, value);
	*other = t.name[1];
	if (t.name[0])
		return t.name[0];
	/*
	 * The caller may lack the permission to read the device: use the cached
	 * tags.
	 */
	device = blkid_evaluate_tag(type, value, NULL);
	if (device && (!strncmp(type, "PART", 4) ||
		       has_tag(device, type, value)))
		return device;
	free(device);
	return NULL;
}

static errcode_t open_without_cache(const char *device, int io_flags,
				    io_channel *ret)
{
	errcode_t err = unix_io_manager->open(device, io_flags, ret);

	if (err) {
		*ret = NULL;
		return err;
	}
	err = io_channel_set_options(*ret, "cache=off");
	if (err) {
		io_channel_close(*ret);
		*ret = NULL;
	}
	return err;
}

errcode_t e4l_journal_find(ext2_filsys fs, const struct e4l_teller *teller,
			   int io_flags, io_channel *ret)
{
	char text[UUID_TEXT], *device, *other;
	errcode_t err;

	*ret = NULL;
	if (!e4l_has_external_journal(fs->super))
		return 0;
	uuid_text(fs->super->s_journal_uuid, text);
	device = e4l_device_of_tag("UUID", text, &other);
	if (device && other) {
		err = e4l_tell(teller, E4L_ET_JOURNAL_DEVICE,
			"two devices have the UUID of the journal (%s and %s): "
			"detach the device that is not the journal", device,
			other);
		free(device);
		free(other);
		return err;
	}
	if (!device)
		return e4l_tell(teller, E4L_ET_JOURNAL_DEVICE,
			"the journal device was not found: attach the device "
			"with UUID=%s", text);
	err = open_without_cache(device, io_flags, ret);
	if (err) {
		e4l_tell(teller, err, "cannot open the journal device %s: "
			 "%s%s", device, error_message(err), err == EBUSY ?
			 ": stop the program that uses the device" :
			 "");
	}
	free(device);
	return err;
}

/* --------------------------------------------------------------------- open */

static errcode_t still_ours(void *priv)
{
	return e4l_still_ours(priv);
}

/* Closes and frees @fs.  Unlike ext2fs_close(), does not write changes. */
static errcode_t drop_fs(ext2_filsys fs)
{
	errcode_t err;

	fs->image_io = NULL;
	err = fs->io ? io_channel_close(fs->io) : 0;
	fs->io = NULL;
	ext2fs_free(fs);
	return err;
}

/* Tests whether the filesystem can be opened for writing. */
static errcode_t try_to_write(const struct e4l_hold *h)
{
	ext2_filsys fs;
	errcode_t err = e4l_open_at(h, NULL, EXT2_FLAG_SUPER_ONLY |
				    EXT2_FLAG_RW | EXT2_FLAG_EXCLUSIVE |
				    EXT2_FLAG_SKIP_MMP, 0, 0, unix_io_manager,
				    &fs);

	if (err)
		return err;
	err = e4l_mmp_look(fs);
	drop_fs(fs);
	return err;
}

static int flags_to_open(unsigned int flags)
{
	return EXT2_FLAG_THREADS |
	       (!(flags & E4L_OPEN_WRITE) ? 0 : EXT2_FLAG_EXCLUSIVE |
		(flags & E4L_OPEN_PLAN ? EXT2_FLAG_SKIP_MMP : EXT2_FLAG_RW));
}

static errcode_t open_fs(struct e4l_hold *h, const struct e4l_open_options *o,
			 ext2_filsys *ret)
{
	bool write = o->flags & E4L_OPEN_WRITE;
	errcode_t err = o->flags & E4L_OPEN_PLAN ? try_to_write(h) : 0;

	if (!err)
		err = e4l_open_at(h, o->io_options, flags_to_open(o->flags), 0,
				  0, o->manager ? o->manager : unix_io_manager,
				  ret);
	if (err)
		return write ? tell_write_error(h, err) :
			       e4l_tell_open_error(h, err);
	if (write)
		e4l_in_use_hold(h->in_use);
	return 0;
}

static errcode_t tell_detail(const struct e4l_hold *h, const struct e4l *e,
			     errcode_t err)
{
	char what[160] = "";

	if (e)
		e4l_detail_text(e, what, sizeof(what));
	return e4l_tell_error(&h->teller, err, *what ? what : "cannot open");
}

void e4l_read_as_suits(struct e4l *e, const struct e4l_hold *h)
{
	e->reading = e4l_reading_for(e4l_in_use_rotates(h->in_use));
}

static errcode_t open_journal(struct e4l *e, const struct e4l_hold *h, bool plan)
{
	const int to_write = IO_FLAG_RW | IO_FLAG_EXCLUSIVE;
	errcode_t err = e4l_journal_find(e->fs, &h->teller, to_write,
					 &e->journal);

	if (err || !plan || !e->journal)
		return err;
	io_channel_close(e->journal);
	return e4l_journal_find(e->fs, &h->teller, IO_FLAG_EXCLUSIVE,
				&e->journal);
}

/*
 * Creates the context for @h and @fs.  After an error, the caller must free
 * *@ret, which is a context or NULL.
 */
static errcode_t make_context(struct e4l_hold *h, ext2_filsys fs,
			      const struct e4l_open_options *o,
			      struct e4l **ret)
{
	errcode_t err = e4l_new(fs, ret);

	if (err)
		tell_detail(h, *ret, err);
	if (!*ret)
		return err;
	(*ret)->hold = h;
	e4l_read_as_suits(*ret, h);
	if (err || !(o->flags & E4L_OPEN_WRITE))
		return err;
	e4l_set_guard(*ret, still_ours, *ret);
	return open_journal(*ret, h, o->flags & E4L_OPEN_PLAN);
}

/* Closes the filesystem and the journal device, and reports errors. */
static errcode_t let_go(struct e4l_hold *h, ext2_filsys fs, io_channel journal)
{
	errcode_t mmp = ext2fs_mmp_stop(fs), err, err2;
	bool kept = mmp && ext2fs_has_feature_mmp(fs->super);

	err = journal ? io_channel_close(journal) : 0;
	err = mmp ? mmp : err;
	err2 = drop_fs(fs);
	err = err ? err : err2;
	/* if h->lost is set, E4L_ET_NOT_OURS has been reported already */
	if (err && (err != E4L_ET_NOT_OURS || !h->lost))
		e4l_tell_error(&h->teller, err, "cannot close");
	if (kept)
		e4l_tell(&h->teller, E4L_ET_MMP_KEPT, "multiple mount "
			 "protection could not be released: when the device "
			 "works again, run tune2fs -f -E clear_mmp %s, and "
			 "then e2fsck -p %s", h->e2fs_words, h->e2fs_words);
	return err;
}

static void give_up(struct e4l_hold *h, ext2_filsys fs, struct e4l *e)
{
	if (fs)
		let_go(h, fs, e ? e->journal : NULL);
	e4l_hold_free(h);
	e4l_free(e);
}

static errcode_t check_options(const struct e4l_open_options *o)
{
	const unsigned int known = ALONE | WITH_WRITE;
	bool write = o->flags & E4L_OPEN_WRITE;

	if (o->flags & ~known || E4L_HAS_UNKNOWN(o))
		return E4L_ET_OPTION;
	if ((o->flags & WITH_WRITE && !write) ||
	    (o->flags & E4L_OPEN_UNDO && !o->manager &&
	     !(o->flags & E4L_OPEN_PLAN)))
		return E4L_ET_BAD_ARGUMENT;
	return 0;
}

/*
 * Locks the device, tests the superblock, and opens the filesystem.
 */
static errcode_t open_held(struct e4l_hold *h,
			   const struct e4l_open_options *o, ext2_filsys *fs,
			   struct e4l **e)
{
	errcode_t err = 0;

	*fs = NULL;
	*e = NULL;
	if (o->flags & ALONE)
		err = e4l_hold_take(h, o->flags & E4L_OPEN_WRITE);
	if (!err)
		err = e4l_peek(h, o->flags);
	if (!err)
		err = open_fs(h, o, fs);
	return err ? err : make_context(h, *fs, o, e);
}

errcode_t e4l_open(const char *device, const struct e4l_open_options *options,
		   struct e4l **ret)
{
	static const struct e4l_open_options none;
	const struct e4l_open_options *o = options ? options : &none;
	const struct e4l_teller teller = { o->say, o->priv };
	struct e4l_hold *h;
	ext2_filsys fs;
	struct e4l *e;
	errcode_t err;

	*ret = NULL;
	e4l_init_errors();
	err = check_options(o);
	if (err)
		return e4l_tell_error(&teller, err, "cannot open");
	err = e4l_hold_new(device, o->offset_bytes,
			   o->end_bytes ? o->end_bytes : UINT64_MAX, &teller,
			   &h);
	if (err)
		return err;
	err = open_held(h, o, &fs, &e);
	if (err)
		give_up(h, fs, e);
	else
		*ret = e;
	return err;
}

errcode_t e4l_close(struct e4l *e)
{
	struct e4l_hold *h;
	errcode_t err;

	if (!e)
		return 0;
	h = e->hold;
	err = let_go(h, e->fs, e->journal);
	e4l_hold_free(h);
	e4l_free(e);
	return err;
}

/* ------------------------------------------------------------------ queries */

const char *e4l_mount_point(const struct e4l *e)
{
	return e->hold ? e4l_hold_mount_point(e->hold) : NULL;
}

struct e4l_hold *e4l_hold_of(const struct e4l *e)
{
	return e->hold;
}

io_channel e4l_journal_of(const struct e4l *e)
{
	return e->journal;
}

static errcode_t as_it_was(const struct e4l *e)
{
	const struct ext2_super_block *was = e->fs->super;
	struct ext2_super_block sb;
	ssize_t n = pread(e->hold->lock_fd, &sb, sizeof(sb),
			  e->hold->offset_bytes + SUPERBLOCK_OFFSET);

	if (n == sizeof(sb) &&
	    ext2fs_le32_to_cpu(sb.s_mtime) == was->s_mtime &&
	    ext2fs_le32_to_cpu(sb.s_wtime) == was->s_wtime &&
	    ext2fs_le16_to_cpu(sb.s_mnt_count) == was->s_mnt_count)
		return 0;
	return n < 0 ? errno : E4L_ET_NOT_OURS;
}

errcode_t e4l_still_ours(struct e4l *e)
{
	errcode_t err;

	if (!e->hold || e->hold->lock_fd < 0)
		return 0;
	err = e4l_hold_check(e->hold);
	return err || e->fs->flags & EXT2_FLAG_RW ? err : as_it_was(e);
}
