/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 1. resolve: from the name to a device or an image, and who else uses it.
 * 2. peek: read the superblock only, and refuse by tables.
 * 3. open.
 */
#include "config.h"
#include <blkid/blkid.h>
#include <e2p/e2p.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>
#include "locate.h"
#include "mounts.h"
#include "say.h"
#include "target.h"
#include "undo_guard.h"

/* Pages that hold the superblock, whatever size they have. */
#define FORGET_BYTES (64u << 10)

/* ---------------------------------------------------------------- features */

/* Every bit whose meaning the library knows, whether it acts on it or not. */
#define KNOWN_COMPAT ( \
	EXT2_FEATURE_COMPAT_DIR_PREALLOC | EXT2_FEATURE_COMPAT_IMAGIC_INODES | \
	EXT3_FEATURE_COMPAT_HAS_JOURNAL | EXT2_FEATURE_COMPAT_EXT_ATTR | \
	EXT2_FEATURE_COMPAT_RESIZE_INODE | EXT2_FEATURE_COMPAT_DIR_INDEX | \
	EXT4_FEATURE_COMPAT_SPARSE_SUPER2 | EXT4_FEATURE_COMPAT_FAST_COMMIT | \
	EXT4_FEATURE_COMPAT_STABLE_INODES | EXT4_FEATURE_COMPAT_ORPHAN_FILE)
#define KNOWN_INCOMPAT ( \
	EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_RECOVER | \
	EXT3_FEATURE_INCOMPAT_JOURNAL_DEV | EXT2_FEATURE_INCOMPAT_META_BG | \
	EXT3_FEATURE_INCOMPAT_EXTENTS | EXT4_FEATURE_INCOMPAT_64BIT | \
	EXT4_FEATURE_INCOMPAT_MMP | EXT4_FEATURE_INCOMPAT_FLEX_BG | \
	EXT4_FEATURE_INCOMPAT_EA_INODE | EXT4_FEATURE_INCOMPAT_CSUM_SEED | \
	EXT4_FEATURE_INCOMPAT_LARGEDIR | EXT4_FEATURE_INCOMPAT_INLINE_DATA | \
	EXT4_FEATURE_INCOMPAT_ENCRYPT | EXT4_FEATURE_INCOMPAT_CASEFOLD)
#define KNOWN_RO_COMPAT ( \
	EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER | \
	EXT2_FEATURE_RO_COMPAT_LARGE_FILE | \
	EXT4_FEATURE_RO_COMPAT_HUGE_FILE | EXT4_FEATURE_RO_COMPAT_GDT_CSUM | \
	EXT4_FEATURE_RO_COMPAT_DIR_NLINK | \
	EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE | EXT4_FEATURE_RO_COMPAT_QUOTA | \
	EXT4_FEATURE_RO_COMPAT_BIGALLOC | \
	EXT4_FEATURE_RO_COMPAT_METADATA_CSUM | \
	EXT4_FEATURE_RO_COMPAT_READONLY | EXT4_FEATURE_RO_COMPAT_PROJECT | \
	EXT4_FEATURE_RO_COMPAT_SHARED_BLOCKS | EXT4_FEATURE_RO_COMPAT_VERITY | \
	EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT)

static bool refuse_unknown(const struct target *t, int set, uint32_t unknown)
{
	if (!unknown)
		return false;
	say("%s: the filesystem has the feature %s, which this version does "
	    "not know: use a newer one", t->name,
	    e2p_feature2string(set, unknown & -unknown));
	return true;
}

/* ----------------------------------------------------------------- resolve */

static bool find_others(struct target *t, const struct stat *st)
{
	t->in_use = in_use_new(st, t->offset_bytes, t->end_bytes);
	if (!t->in_use) {
		say_error(t->name, "cannot open", ENOMEM);
		return false;
	}
	in_use_find(t->in_use, &t->others);
	if (t->others.same && !t->others.pid)
		t->mount_point = t->others.mount_point;
	return true;
}

/* Refuses what cannot hold a filesystem, and sees who else uses the rest. */
static bool inspect_device(struct target *t, struct stat *st)
{
	if (stat(t->device, st)) {
		say_error(t->name, "cannot open", errno);
		return false;
	}
	if (!S_ISREG(st->st_mode) && !S_ISBLK(st->st_mode)) {
		say("%s: is neither a block device nor an image file", t->name);
		return false;
	}
	return find_others(t, st);
}

static bool resolve(struct target *t, const char *name, uint64_t partition)
{
	struct stat st;

	*t = (struct target) { .name = name, .lock_fd = -1 };
	initialize_ext2_error_table();
	if (!locate(t, partition) || !inspect_device(t, &st))
		return false;
	if (!S_ISREG(st.st_mode) || st.st_size)
		return true;
	say("%s: is empty", t->name);
	return false;
}

/* -------------------------------------------------------------------- open */

/* Images that hold a disk in a form of their own. */
static const struct container {
	const char *magic;	/* at their beginning */
	const char *name;
} containers[] = {
	{ "QFI\xfb", "qcow2" },
	{ "KDMV", "VMDK" },
	{ "vhdxfile", "VHDX" },
	{ "<<< ", "VDI" },
};

static const char *container_of(const struct target *t)
{
	int fd = open(t->device, O_RDONLY | O_CLOEXEC);
	char start[8] = "";
	ssize_t len = fd < 0 ? 0 : pread(fd, start, sizeof(start), 0);
	const char *magic;
	size_t i;

	if (fd >= 0)
		close(fd);
	for (i = 0; i < sizeof(containers) / sizeof(*containers); i++) {
		magic = containers[i].magic;
		if (len == sizeof(start) &&
		    !memcmp(start, magic, strlen(magic)))
			return containers[i].name;
	}
	return NULL;
}

/* A file may have been meant for what is known of it, not for what it holds. */
static void say_no_filesystem(const struct target *t)
{
	char *path = realpath(t->device, NULL), *line = NULL;
	struct mount m;
	struct stat st;

	if (path && !stat(path, &st) && S_ISREG(st.st_mode) &&
	    mount_around(path, &m, &line) && mount_is_ext(&m))
		say("%s: holds no ext2, ext3 or ext4 filesystem; the "
		    "layout of the file itself: e4frag %s %s", t->name, m.point, path);
	else
		say("%s: holds no ext2, ext3 or ext4 filesystem", t->name);
	free(line);
	free(path);
}

static void say_what_it_is(const struct target *t)
{
	const char *container = container_of(t);
	char list[80];

	if (t->offset_bytes)
		say("%s: no ext2, ext3 or ext4 filesystem begins %llu bytes "
		    "into %s", t->name, (unsigned long long)t->offset_bytes,
		    t->device);
	else if (container)
		say("%s: is a %s image: attach it with qemu-nbd -c /dev/nbd0 "
		    "%s, and name that device", t->name, container, t->device);
	else if (locate_partitions(t->device, list, sizeof(list)))
		say("%s: is a disk with partitions: choose one (%s) with "
		    "--partition=N", t->name, list);
	else
		say_no_filesystem(t);
}

static void say_open_error(const struct target *t, errcode_t err)
{
	switch (err) {
	case EXT2_ET_BAD_MAGIC:
		say_what_it_is(t);
		break;
	case EXT2_ET_SHORT_READ:
		say("%s: ends within the filesystem's own tables: it is "
		    "truncated, or no ext4 filesystem", t->name);
		break;
	case EXT2_ET_SB_CSUM_INVALID:
	case EXT2_ET_CORRUPT_SUPERBLOCK:
	case EXT2_ET_BAD_DESC_SIZE:
	case EXT2_ET_UNKNOWN_CSUM:
		say("%s: the superblock is damaged: %s: run e2fsck %s",
		    t->name, error_message(err), t->e2fs_name);
		break;
	default:
		say_error(t->name, "cannot open", err);
	}
}

/* As ext2fs_open2(), with the offset before @more, which may be NULL. */
static errcode_t open_at(struct target *t, const char *more, int flags,
			 blk64_t super, unsigned int blocksize,
			 io_manager manager)
{
	char io_options[80];
	errcode_t err;

	/* even without any, libext2fs must not look for them in the name */
	snprintf(io_options, sizeof(io_options), "%s", more ? more : "");
	if (t->offset_bytes)
		snprintf(io_options, sizeof(io_options), "offset=%llu%s%s",
			 (unsigned long long)t->offset_bytes, more ? "&" : "",
			 more ? more : "");
	err = ext2fs_open2(t->device, io_options, EXT2_FLAG_64BITS | flags,
			   super, blocksize, manager, &t->fs);
	if (err)
		t->fs = NULL;
	return err;
}

static bool open_fs(struct target *t, const char *io_options, int flags,
		    io_manager manager)
{
	errcode_t err = open_at(t, io_options, flags, 0, 0, manager);

	if (err)
		say_open_error(t, err);
	return !err;
}

/* Reads the superblock alone: whatever is in it can then be refused. */
static bool open_super(struct target *t)
{
	return open_fs(t, NULL, EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_FORCE |
		       EXT2_FLAG_SKIP_MMP, unix_io_manager);
}

static bool is_truncated(const struct target *t)
{
	blk64_t want = ext2fs_blocks_count(t->fs->super), have;

	if (ext2fs_get_device_size2(t->device, 1, &have))
		return false;
	if (have > t->end_bytes)
		have = t->end_bytes;
	have = have > t->offset_bytes ?
	       (have - t->offset_bytes) / t->fs->blocksize : 0;
	if (have >= want)
		return false;
	say("%s: is truncated: the filesystem has %llu blocks, the device %llu",
	    t->name, (unsigned long long)want, (unsigned long long)have);
	return true;
}

/* What cannot even be read; says which. */
static bool is_unreadable(const struct target *t)
{
	const struct ext2_super_block *sb = t->fs->super;

	if (refuse_unknown(t, E2P_FEATURE_INCOMPAT,
			   sb->s_feature_incompat & ~KNOWN_INCOMPAT))
		return true;
	if (sb->s_feature_incompat & EXT3_FEATURE_INCOMPAT_JOURNAL_DEV) {
		say("%s: is an external journal: name the filesystem that "
		    "uses it", t->name);
		return true;
	}
	return is_truncated(t);
}

static bool has_unknown_feature(const struct target *t)
{
	const struct ext2_super_block *sb = t->fs->super;

	return refuse_unknown(t, E2P_FEATURE_COMPAT,
			      sb->s_feature_compat & ~KNOWN_COMPAT) ||
	       refuse_unknown(t, E2P_FEATURE_RO_INCOMPAT,
			      sb->s_feature_ro_compat & ~KNOWN_RO_COMPAT);
}

/* Opens to see whether @refused says no. */
static bool peek(struct target *t, bool (*refused)(const struct target *))
{
	bool ok;

	if (!open_super(t))
		return false;
	ok = !refused(t);
	ext2fs_close_free(&t->fs);
	return ok;
}

static void free_target(struct target *t)
{
	if (t->lock_fd >= 0)
		close(t->lock_fd);
	in_use_free(t->in_use);
	in_use_by_free(&t->others);
	free(t->device);
	free(t->e2fs_name);
	free(t->subtree);
}

static void note_age(const struct target *t)
{
	if (t->mount_point && t->subtree)
		say("%s: is in the filesystem that is mounted on %s: the "
		    "picture may be a moment old", t->name, t->mount_point);
	else if (t->mount_point)
		say("%s: mounted on %s: the picture may be a moment old",
		    t->name, t->mount_point);
	else if (ext2fs_has_feature_journal_needs_recovery(t->fs->super))
		say("%s: the journal was not replayed: the picture may be "
		    "older than the last changes", t->name);
}

bool target_open_read(struct target *t, const char *name, uint64_t partition,
		      const char *io_options, bool quiet)
{
	if (resolve(t, name, partition) && peek(t, is_unreadable) &&
	    open_fs(t, io_options, EXT2_FLAG_THREADS, unix_io_manager)) {
		if (!quiet)
			note_age(t);
		return true;
	}
	free_target(t);
	return false;
}

/* ----------------------------------------------------------------- journal */

static bool has_external_journal(const struct ext2_super_block *sb)
{
	return sb->s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL &&
	       !sb->s_journal_inum;
}

/* Opens an external journal, which is known by its UUID. */
static bool open_journal(struct target *t, int io_flags, bool quiet)
{
	struct ext2_super_block *sb = t->fs->super;
	char uuid[UUID_STR_LEN], *device;
	errcode_t err;

	if (!has_external_journal(sb))
		return true;
	uuid_unparse(sb->s_journal_uuid, uuid);
	device = blkid_evaluate_tag("UUID", uuid, NULL);
	if (!device) {
		if (!quiet)
			say("%s: its journal is on a device that cannot be "
			    "found: attach the one with UUID=%s", t->name,
			    uuid);
		return false;
	}
	err = unix_io_manager->open(device, io_flags, &t->journal);
	if (err)
		t->journal = NULL;
	if (err && !quiet)
		say("%s: cannot open its journal's device %s: %s", t->name,
		    device, error_message(err));
	free(device);
	return !err;
}

/* ------------------------------------------------------------------- check */

static errcode_t open_copy(struct target *t, const char *io_options,
			   blk64_t super, unsigned int blocksize)
{
	return open_at(t, io_options, EXT2_FLAG_THREADS | EXT2_FLAG_SKIP_MMP,
		       super, blocksize, unix_io_manager);
}

/* Where mke2fs puts the first copy, by block size. */
static bool open_any_copy(struct target *t, const char *io_options,
			  struct target_doubt *doubt)
{
	unsigned int blocksize = EXT2_MIN_BLOCK_SIZE;

	for (; blocksize <= EXT2_MAX_BLOCK_SIZE; blocksize *= 2) {
		doubt->backup = 8ULL * blocksize + (blocksize == 1024);
		if (!open_copy(t, io_options, doubt->backup, blocksize))
			return true;
	}
	doubt->backup = 0;
	return false;
}

/* The first copy, by what the first superblock says; or that one after all. */
static bool open_next_copy(struct target *t, const char *io_options,
			   struct target_doubt *doubt)
{
	unsigned int blocksize = t->fs->blocksize;

	doubt->backup = t->fs->super->s_blocks_per_group +
			t->fs->super->s_first_data_block;
	ext2fs_close_free(&t->fs);
	if (!open_copy(t, io_options, doubt->backup, blocksize))
		return true;
	doubt->backup = 0;
	return !open_copy(t, io_options, 0, 0);
}

static bool has_doubtful_super(errcode_t err)
{
	return err == EXT2_ET_BAD_MAGIC || err == EXT2_ET_SB_CSUM_INVALID ||
	       err == EXT2_ET_CORRUPT_SUPERBLOCK;
}

/* In a map of runs: one of bits takes 512 MiB for 16 TiB. */
errcode_t target_check_desc(const struct target *t)
{
	int before = t->fs->default_bitmap_type;
	errcode_t err;

	t->fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
	err = ext2fs_check_desc(t->fs);
	t->fs->default_bitmap_type = before;
	return err == EXT2_ET_NO_MEMORY ? ENOMEM : err;
}

static bool open_doubtful(struct target *t, const char *io_options,
			  struct target_doubt *doubt)
{
	errcode_t err = open_copy(t, io_options, 0, 0);

	*doubt = (struct target_doubt) { 0 };
	if (err) {
		doubt->super = err;
		if (has_doubtful_super(err) &&
		    open_any_copy(t, io_options, doubt))
			return true;
		if (peek(t, is_unreadable))	/* which says why */
			say_open_error(t, err);
		return false;
	}
	doubt->groups = target_check_desc(t);
	if (doubt->groups == ENOMEM) {
		say_error(t->name, "cannot check the group descriptors",
			  ENOMEM);
		ext2fs_close_free(&t->fs);
		return false;
	}
	return !doubt->groups || t->fs->group_desc_count == 1 ||
	       open_next_copy(t, io_options, doubt);
}

bool target_is_strange(const struct target *t)
{
	if (is_unreadable(t) || has_unknown_feature(t))
		return true;
	if (!ext2fs_has_feature_casefold(t->fs->super) || t->fs->encoding)
		return false;
	say("%s: names are in encoding %u, which this version does not know: "
	    "use a newer one", t->name, t->fs->super->s_encoding);
	return true;
}

bool target_open_check(struct target *t, const char *name, uint64_t partition,
		       const char *io_options, bool quiet,
		       struct target_doubt *doubt)
{
	if (resolve(t, name, partition) && open_doubtful(t, io_options, doubt)) {
		if (!target_is_strange(t)) {
			if (!quiet)
				note_age(t);
			open_journal(t, 0, quiet);
			return true;
		}
		ext2fs_close_free(&t->fs);
	}
	free_target(t);
	return false;
}

/* ------------------------------------------------------------------- write */

static bool is_mounted(const struct target *t)
{
	const struct in_use_by *by = &t->others;

	if (!by->mount_point)
		return false;
	if (by->pid)
		say("%s: is mounted on %s in another mount namespace: unmount "
		    "it first: nsenter -m -t %d umount %s", t->name,
		    by->mount_point, (int)by->pid, by->mount_point);
	else if (t->subtree)
		say("%s: is in the filesystem that is mounted on %s: unmount "
		    "it first: umount %s", t->name, by->mount_point,
		    by->mount_point);
	else
		say("%s: is mounted on %s: unmount it first: umount %s",
		    t->name, by->mount_point, by->mount_point);
	return true;
}

static bool is_busy(const struct target *t)
{
	if (is_mounted(t))
		return true;
	if (t->others.loop)
		say("%s: is attached to %s: name that instead, or run "
		    "losetup -d %s", t->name, t->others.loop, t->others.loop);
	return t->others.loop;
}

static bool needs_recovery(const struct ext2_super_block *sb)
{
	return sb->s_feature_incompat & EXT3_FEATURE_INCOMPAT_RECOVER;
}

static bool has_errors(const struct ext2_super_block *sb)
{
	return sb->s_state & EXT2_ERROR_FS || sb->s_error_count;
}

static bool is_unclean(const struct ext2_super_block *sb)
{
	return !(sb->s_state & EXT2_VALID_FS);
}

static bool has_orphans(const struct ext2_super_block *sb)
{
	return sb->s_last_orphan || sb->s_feature_ro_compat &
				    EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT;
}

static bool is_readonly(const struct ext2_super_block *sb)
{
	return sb->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_READONLY;
}

static bool has_shared_blocks(const struct ext2_super_block *sb)
{
	return sb->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_SHARED_BLOCKS;
}

/* In the order in which they have to be dealt with. */
static const struct refusal {
	bool (*applies)(const struct ext2_super_block *sb);
	const char *why;
	const char *run;	/* before the device's name */
} refusals[] = {
	{ needs_recovery, "the journal needs recovery", "e2fsck -p" },
	{ has_errors, "the filesystem has recorded errors", "e2fsck -f" },
	{ is_unclean, "the filesystem was not cleanly unmounted",
	  "e2fsck -f" },
	{ has_orphans, "the filesystem has a list of orphaned inodes",
	  "e2fsck -f" },
	{ is_readonly, "the filesystem is marked read-only",
	  "tune2fs -O ^read-only" },
	{ has_shared_blocks, "files of the filesystem share blocks",
	  "e2fsck -E unshare_blocks -f" },
};

/* After e2undo, an external journal would be replayed over what was undone. */
static bool is_unprotected(const struct target *t)
{
	const struct target_undo *undo = t->undo;

	if (!undo)
		return false;
	if (!ext2fs_has_feature_journal(t->fs->super)) {
		if (undo->file || undo->none)
			return false;
		say("%s: has no journal that would protect the change: give "
		    "an undo file (-z FILE), or --no-undo", t->name);
		return true;
	}
	if (!undo->file || !has_external_journal(t->fs->super))
		return false;
	say("%s: its journal is on another device, which an undo file does "
	    "not cover: leave -z away, the journal protects the change",
	    t->name);
	return true;
}

static void say_held(const struct target *t, errcode_t err)
{
	say("%s: multiple mount protection: %s: wait for whoever uses it, on "
	    "this host or another; if nobody does, since a program was killed, "
	    "run tune2fs -f -E clear_mmp %s, and then e2fsck -p %s", t->name,
	    error_message(err), t->e2fs_name, t->e2fs_name);
}

/* What a power cut in the middle of a write of that block leaves. */
static void say_torn(const struct target *t, errcode_t err)
{
	say("%s: the block of multiple mount protection is damaged: %s: if "
	    "nobody uses it, on this host or another, run tune2fs -f -E "
	    "clear_mmp %s, and then e2fsck -p %s", t->name, error_message(err),
	    t->e2fs_name, t->e2fs_name);
}

/* First of all: e2fsck -p refuses it too. */
static bool is_held(const struct target *t)
{
	ext2_filsys fs = t->fs;
	struct mmp_struct *mmp;
	errcode_t err;
	bool held;

	if (!ext2fs_has_feature_mmp(fs->super))
		return false;
	err = io_channel_alloc_buf(fs->io, 1, &mmp);
	if (!err)
		err = ext2fs_mmp_read(fs, fs->super->s_mmp_block, mmp);
	held = !err && mmp->mmp_seq == EXT4_MMP_SEQ_FSCK;
	if (held)
		say_held(t, EXT2_ET_MMP_FSCK_ON);
	ext2fs_free_mem(&mmp);
	return held;	/* opening it deals with the rest */
}

/* What does not know of the offset at which a filesystem begins. */
static bool is_misplaced(const struct target *t)
{
	const char *what = NULL;

	if (!t->offset_bytes)
		return false;
	if (ext2fs_has_feature_mmp(t->fs->super))
		what = "multiple mount protection";
	else if (has_external_journal(t->fs->super))
		what = "a journal on another device";
	else if (t->undo && t->undo->file)
		what = "e2undo";
	if (what)
		say("%s: %s does not go with an offset or a partition of an "
		    "image: name the device that losetup -f --show -o %llu %s "
		    "makes", t->name, what, (unsigned long long)t->offset_bytes,
		    t->device);
	return what;
}

static bool is_unwritable(const struct target *t)
{
	size_t i;

	if (is_unreadable(t) || has_unknown_feature(t) || is_misplaced(t) ||
	    is_unprotected(t) || is_held(t))
		return true;
	for (i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		if (refusals[i].applies(t->fs->super)) {
			say("%s: %s: run %s %s", t->name, refusals[i].why,
			    refusals[i].run, t->e2fs_name);
			return true;
		}
	}
	return false;
}

/* Only images: a device is opened with O_EXCL, and udev locks it to look. */
static bool lock_file(const struct target *t, int kind)
{
	struct stat st;

	if (fstat(t->lock_fd, &st) || !S_ISREG(st.st_mode) ||
	    !flock(t->lock_fd, kind | LOCK_NB))
		return true;
	if (errno == EWOULDBLOCK)
		say("%s: another program is at work on it: wait for it to end",
		    t->name);
	else
		say_error(t->name, "cannot lock", errno);
	return false;
}

static bool is_read_only(const struct target *t)
{
	int read_only = 0;

	if (ioctl(t->lock_fd, BLKROGET, &read_only) || !read_only)
		return false;
	say("%s: the device is read-only (see blockdev --report %s): attach it "
	    "so that it can be written", t->name, t->device);
	return true;
}

/* Nobody who mounts or attaches an image asks for a lock: see the guard. */
static bool lock_target(struct target *t, bool write)
{
	t->lock_fd = open(t->device, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (t->lock_fd < 0) {
		say_error(t->name, write ? "cannot open for writing" :
					   "cannot open", errno);
		return false;
	}
	if ((write && is_read_only(t)) ||
	    !lock_file(t, write ? LOCK_EX : LOCK_SH))
		return false;
	if (in_use_lock(t->in_use, t->lock_fd, write))
		return true;
	say("%s: a virtual machine or another program has locked it as qemu "
	    "does: end that first", t->name);
	return false;
}

static void say_exclusive_error(const struct target *t, errcode_t err)
{
	switch (err) {
	case EBUSY:
		say("%s: another program holds the device (LVM, RAID, swap "
		    "or a mount): see lsblk %s", t->name, t->device);
		break;
	case EXT2_ET_MMP_FAILED:
	case EXT2_ET_MMP_FSCK_ON:
	case EXT2_ET_MMP_UNKNOWN_SEQ:
		say_held(t, err);
		break;
	case EXT2_ET_MMP_MAGIC_INVALID:
	case EXT2_ET_MMP_CSUM_INVALID:
		say_torn(t, err);
		break;
	default:
		say_open_error(t, err);
	}
}

static void say_undo_error(const struct target *t)
{
	const char *why = error_message(undo_guard_failed());
	const char *undo = t->undo->file;

	if (undo_guard_changed())
		say("%s: cannot write the undo file %s: %s: nothing was "
		    "changed after that: to take back what was done before, "
		    "run e2undo %s %s, and then e2fsck -fy %s", t->name, undo,
		    why, undo, t->device, t->device);
	else
		say("%s: cannot write the undo file %s: %s: nothing was "
		    "changed: put it where there is more room", t->name, undo,
		    why);
}

static bool open_exclusive(struct target *t, io_manager manager,
			   const char *io_options)
{
	errcode_t err = open_at(t, io_options, EXT2_FLAG_THREADS |
				EXT2_FLAG_RW | EXT2_FLAG_EXCLUSIVE, 0, 0,
				manager);

	if (!err) {
		in_use_hold(t->in_use);
		return true;
	}
	if (undo_guard_failed())
		say_undo_error(t);
	else
		say_exclusive_error(t, err);
	return false;
}

/* Refuses, and then opens @t, which has been resolved. */
static bool open_write(struct target *t, io_manager manager,
		       const char *io_options)
{
	return !is_busy(t) && lock_target(t, true) && peek(t, is_unwritable) &&
	       open_exclusive(t, manager, io_options);
}

bool target_open_write(struct target *t, const char *name, uint64_t partition,
		       io_manager manager, const char *io_options)
{
	if (resolve(t, name, partition) && open_write(t, manager, io_options))
		return true;
	free_target(t);
	return false;
}

bool target_claim(struct target *t, const char *name, uint64_t offset_bytes)
{
	struct stat st;

	*t = (struct target) {
		.name = name, .device = strdup(name), .lock_fd = -1,
		.offset_bytes = offset_bytes, .end_bytes = UINT64_MAX,
	};
	if (!t->device)
		say_error(name, "cannot open", ENOMEM);
	else if (inspect_device(t, &st) && !is_busy(t) && lock_target(t, true))
		return true;
	free_target(t);
	return false;
}

void target_release(struct target *t)
{
	free_target(t);
}

bool target_open_source(struct target *t, const char *name, uint64_t partition)
{
	if (resolve(t, name, partition) && !is_busy(t) &&
	    lock_target(t, false) && peek(t, is_unreadable) &&
	    open_fs(t, NULL, EXT2_FLAG_THREADS, unix_io_manager))
		return true;
	free_target(t);
	return false;
}

/* ------------------------------------------------------------------ change */

static bool choose_manager(const struct target_undo *undo, io_manager *manager)
{
	errcode_t err;

	*manager = unix_io_manager;
	if (!undo->file)
		return true;
	err = undo_guard_setup(undo->file, unix_io_manager);
	if (err == EEXIST)
		say("%s: exists already: give the undo file another name",
		    undo->file);
	else if (err)
		say_error(undo->file, "cannot make the undo file", err);
	*manager = undo_io_manager;
	return !err;
}

bool target_open_change(struct target *t, const char *name, uint64_t partition,
			const struct target_undo *undo, const char *io_options)
{
	io_manager manager;

	if (resolve(t, name, partition) && choose_manager(undo, &manager)) {
		t->undo = undo;
		if (open_write(t, manager, io_options)) {
			if (open_journal(t, IO_FLAG_RW | IO_FLAG_EXCLUSIVE,
					 false))
				return true;
			target_let_go(t);
			return false;
		}
	}
	free_target(t);
	return false;
}

/*
 * What the kernel has in its cache of the superblock can be older than what is
 * there, when a device lies over another.
 */
static errcode_t still_alone(void *priv)
{
	struct target *t = priv;
	struct in_use_by by;
	bool used;

	posix_fadvise(t->lock_fd, t->offset_bytes -
		      t->offset_bytes % FORGET_BYTES, 2 * FORGET_BYTES,
		      POSIX_FADV_DONTNEED);
	used = in_use_find(t->in_use, &by);
	in_use_by_free(&by);
	t->lost |= used;
	return used ? E4L_ET_NOT_OURS : 0;
}

bool target_is_used(const struct target *t)
{
	return still_alone((void *)t);
}

bool target_is_ours(const struct target *t)
{
	if (t->lock_fd < 0 || !still_alone((void *)t))
		return true;
	say_error(t->name, "cannot go on", E4L_ET_NOT_OURS);
	return false;
}

bool target_is_as_it_was(const struct target *t)
{
	const struct ext2_super_block *was = t->fs->super;
	struct ext2_super_block sb;
	ssize_t n;

	if (!target_is_ours(t))
		return false;
	n = pread(t->lock_fd, &sb, sizeof(sb),
		  t->offset_bytes + SUPERBLOCK_OFFSET);
	if (n == sizeof(sb) &&
	    ext2fs_le32_to_cpu(sb.s_mtime) == was->s_mtime &&
	    ext2fs_le32_to_cpu(sb.s_wtime) == was->s_wtime &&
	    ext2fs_le16_to_cpu(sb.s_mnt_count) == was->s_mnt_count)
		return true;
	say_error(t->name, "cannot go on", n < 0 ? errno : E4L_ET_NOT_OURS);
	return false;
}

void target_guard(struct target *t, struct e4l *e)
{
	e4l_set_guard(e, still_alone, t);
	undo_guard_look(still_alone, t);
}

/* With a mount point as the target, paths below it may be given in full. */
static const char *strip_mount_point(const struct target *t, const char *path)
{
	const char *below = t->is_dir ? path_below(path, t->name) : NULL;

	if (!below && t->is_dir && t->mount_point)
		below = path_below(path, t->mount_point);
	return below ? below : path;
}

errcode_t target_subtree(const struct target *t, struct e4l *e,
			 const char **paths, size_t n,
			 ext2fs_inode_bitmap *ret, bool *said)
{
	size_t bad = n, i;
	errcode_t err;

	*ret = NULL;
	if (!n)
		return 0;
	for (i = 0; i < n; i++) {
		if (!*paths[i]) {
			say("%s: a path is empty", t->name);
			*said = true;
			return E4L_ET_NO_PATH;
		}
		paths[i] = strip_mount_point(t, paths[i]);
	}
	err = e4l_subtree(e, paths, n, &bad, ret);
	*said = bad < n && err != E4L_ET_INTERRUPTED;
	if (*said)
		say_error(t->name, paths[bad], err);
	return err;
}

errcode_t target_only(const struct target *t, struct e4l *e,
		      const char **paths, size_t n, ext2fs_inode_bitmap *ret,
		      bool *said)
{
	const char *path = t->subtree;
	size_t bad = 1;

	if (n || !path)
		return target_subtree(t, e, paths, n, ret, said);
	return e4l_subtree(e, &path, 1, &bad, ret);
}

/* ------------------------------------------------------------------- close */

/* Closes what ext2fs_free() would close without saying whether it worked. */
static errcode_t close_channel(io_channel *io)
{
	errcode_t err = *io ? io_channel_close(*io) : 0;

	*io = NULL;
	return err;
}

bool target_let_go(struct target *t)
{
	bool lost = t->lost;		/* and whoever heard that said so */
	errcode_t err = ext2fs_mmp_stop(t->fs), err2;
	bool held = err && ext2fs_has_feature_mmp(t->fs->super);

	err2 = close_channel(&t->journal);
	err = err ? err : err2;
	t->fs->image_io = NULL;
	err2 = close_channel(&t->fs->io);
	err = err ? err : err2;
	if (undo_guard_failed())
		say_undo_error(t);
	else if (err && (err != E4L_ET_NOT_OURS || !lost))
		say_write_error(t->name, t->device, "cannot close", err);
	/* e2undo puts that block back, too */
	if (held && !undo_guard_changed())
		say("%s: multiple mount protection still holds it: when the "
		    "device works again, run tune2fs -f -E clear_mmp %s, and "
		    "then e2fsck -p %s", t->name, t->e2fs_name, t->e2fs_name);
	ext2fs_free(t->fs);
	t->fs = NULL;
	free_target(t);
	return !err;
}

bool target_close(struct target *t)
{
	errcode_t err = close_channel(&t->journal), err2;

	err2 = ext2fs_close_free(&t->fs);
	err = err ? err : err2;
	if (err)
		say_write_error(t->name, t->device, "cannot close", err);
	free_target(t);
	return !err;
}
