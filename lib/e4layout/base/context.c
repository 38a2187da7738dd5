/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context of an open filesystem: tests the geometry of the filesystem once,
 * and stores the detail of the last failure.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "io_stats.h"
#include "internal.h"
#include "io_pool.h"

#define MIN_THREADS 2
#define MAX_THREADS 64

errcode_t e4l_fail(struct e4l *e, errcode_t err, const char *doing,
		   ext2_ino_t ino, blk64_t blk)
{
	pthread_mutex_lock(&e->detail_lock);
	e->detail = (struct e4l_detail) {
		.doing = doing, .ino = ino, .blk = blk,
	};
	pthread_mutex_unlock(&e->detail_lock);
	return err;
}

errcode_t e4l_fail_group(struct e4l *e, errcode_t err, const char *doing,
			 dgrp_t group, blk64_t blk)
{
	pthread_mutex_lock(&e->detail_lock);
	e->detail = (struct e4l_detail) {
		.doing = doing, .group = group, .has_group = true, .blk = blk,
	};
	pthread_mutex_unlock(&e->detail_lock);
	return err;
}

/*
 * Checks properties that ext2fs_open2() does not check, although the library
 * relies on them.
 */
static errcode_t check_geometry(struct e4l *e)
{
	ext2_filsys fs = e->fs;
	struct ext2_super_block *sb = fs->super;
	unsigned int isize = EXT2_INODE_SIZE(sb);
	uint64_t inodes = (uint64_t)sb->s_inodes_per_group *
			  fs->group_desc_count;

	if (isize < EXT2_GOOD_OLD_INODE_SIZE || isize > fs->blocksize ||
	    (isize & (isize - 1)) || !sb->s_inodes_per_group ||
	    sb->s_inodes_per_group > fs->blocksize * 8u ||
	    inodes != sb->s_inodes_count ||
	    EXT2_FIRST_INO(sb) < EXT2_GOOD_OLD_FIRST_INO ||
	    EXT2_FIRST_INO(sb) > sb->s_inodes_count ||
	    ext2fs_blocks_count(sb) >= 1ULL << 48 ||
	    ext2fs_blocks_count(sb) <= sb->s_first_data_block)
		return e4l_fail(e, E4L_ET_BAD_GEOMETRY,
				"checking the superblock", 0, 0);
	return 0;
}

/*
 * Reads the last block of the filesystem, to detect a truncated image early.
 * The negative count passed to io_channel_read_blk64() is in bytes, and makes
 * unix_io bypass its cache.
 */
static errcode_t check_device_size(struct e4l *e)
{
	ext2_filsys fs = e->fs;
	blk64_t last = ext2fs_blocks_count(fs->super) - 1;
	errcode_t err;
	void *buf;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(fs->io, last, -(int)fs->blocksize, buf);
	if (err == EXT2_ET_SHORT_READ)
		err = E4L_ET_TRUNCATED;
	if (err)
		e4l_fail(e, err, "reading the filesystem's last block", 0,
			 last);
	ext2fs_free_mem(&buf);
	return err;
}

unsigned int e4l_version(const char **text)
{
	if (text)
		*text = PACKAGE_VERSION;
	return E4L_VERSION;
}

static void add_error_tables(void)
{
	initialize_ext2_error_table();
	initialize_e4l_error_table();
}

void e4l_init_errors(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, add_error_tables);
}

errcode_t e4l_new(ext2_filsys fs, struct e4l **ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct e4l *e;
	errcode_t err;

	*ret = NULL;
	e4l_init_errors();
	e = calloc(1, sizeof(*e));
	if (!e)
		return ENOMEM;
	e->fs = fs;
	e->threads = cpus < MIN_THREADS ? MIN_THREADS :
		     cpus > MAX_THREADS ? MAX_THREADS : cpus;
	e->reading = e4l_reading_for(false);
	pthread_mutex_init(&e->detail_lock, NULL);
	pthread_mutex_init(&e->io_lock, NULL);
	*ret = e;
	err = check_geometry(e);
	return err ? err : check_device_size(e);
}

void e4l_free(struct e4l *e)
{
	if (!e)
		return;
	pthread_mutex_destroy(&e->detail_lock);
	pthread_mutex_destroy(&e->io_lock);
	free(e);
}

ext2_filsys e4l_fs(const struct e4l *e)
{
	return e->fs;
}

const struct e4l_detail *e4l_detail(const struct e4l *e)
{
	return &e->detail;
}

const char *e4l_detail_text(const struct e4l *e, char *buf, size_t size)
{
	const struct e4l_detail *d = &e->detail;
	char ino[24] = "", blk[32] = "", grp[24] = "";
	const char *sep = "";

	if (d->ino) {
		snprintf(ino, sizeof(ino), "inode %u", d->ino);
		sep = ", ";
	}
	if (d->blk) {
		snprintf(blk, sizeof(blk), "%sblock %llu", sep,
			 (unsigned long long)d->blk);
		sep = ", ";
	}
	if (d->has_group)
		snprintf(grp, sizeof(grp), "%sgroup %u", sep, d->group);
	if (*ino || *blk || *grp)
		snprintf(buf, size, "%s (%s%s%s)", d->doing ? d->doing : "",
			 ino, blk, grp);
	else
		snprintf(buf, size, "%s", d->doing ? d->doing : "");
	return buf;
}

errcode_t e4l_set_threads(struct e4l *e, unsigned int threads)
{
	if (!threads || threads > MAX_THREADS)
		return e4l_fail(e, E4L_ET_BAD_ARGUMENT,
				"setting the number of threads", 0, 0);
	e->threads = threads;
	return 0;
}

void e4l_set_guard(struct e4l *e, errcode_t (*guard)(void *priv), void *priv)
{
	e->guard = guard;
	e->guard_priv = priv;
}

void e4l_interrupt(struct e4l *e)
{
	atomic_store(&e->interrupted, true);
}

void e4l_clear_interrupt(struct e4l *e)
{
	atomic_store(&e->interrupted, false);
}

void e4l_get_io_stats(const struct e4l *e, struct e4l_io_stats *stats)
{
	stats->reads = atomic_load(&e->reads);
	stats->bytes = atomic_load(&e->read_bytes);
	stats->readaheads = atomic_load(&e->readaheads);
	stats->gap_bytes = e->reading.gap_bytes;
	stats->gather_bytes = e->reading.gather_bytes;
	stats->rotates = e->reading.rotates;
}

blk64_t e4l_descriptor_blk(ext2_filsys fs, dgrp_t group)
{
	struct ext2_super_block *sb = fs->super;
	uint32_t i = group / EXT2_DESC_PER_BLOCK(sb);

	if (ext2fs_has_feature_meta_bg(sb) && i >= sb->s_first_meta_bg)
		return ext2fs_descriptor_block_loc2(fs,
					sb->s_first_data_block, i);
	/*
	 * with bigalloc and blocks of 1024 bytes, s_first_data_block is 0, but
	 * the superblock is in block 1
	 */
	return sb->s_first_data_block + 1 + i +
	       (!sb->s_first_data_block && fs->blocksize == 1024);
}

bool e4l_has_external_journal(const struct ext2_super_block *sb)
{
	static const uint8_t none[sizeof(sb->s_journal_uuid)];

	return sb->s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL &&
	       !sb->s_journal_inum &&
	       memcmp(sb->s_journal_uuid, none, sizeof(none));
}
