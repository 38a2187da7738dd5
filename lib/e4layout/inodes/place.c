/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inode placement, by the rule of the kernel's dir_ireserve (fs/ext4/ireserve.c
 * of the series in kernel/).  The directories of a group share aligned windows
 * (ranges) of inodes.  If files are created alternately in several directories,
 * each of these directories gets windows of its own.
 *
 *  1. A directory: Orlov's rule picks the group, beginning with the group of
 *     the last inode found for the parent.  The inode comes from the shared
 *     window of the group.
 *  2. A file: the inode comes from the directory's own window.  The own window
 *     is remembered from an earlier file, or found from the entries near the
 *     new name, or from the directory's inode.  If the own window has no free
 *     inode, the inode comes from the group's shared window.  But if files of
 *     other directories were created in between more than once, the inode comes
 *     from a new own window of twice the size.
 *  3. If no window has a free inode: the inode is the first free one, beginning
 *     with Orlov's group for a directory, and with the group of
 *     find_group_other() for a file.
 *
 * With E4L_PLACE_PACK, no window is shared: each directory gets its own window
 * at once.
 *
 * Free inodes are always read from the bitmaps; hints and remembered windows
 * only speed up the search.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/base/internal.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "place.h"
#include "windows.h"

#define CLASSES		16	/* number of size classes; see class_of() */
#define MIN_WINDOW	16
#define MAX_WINDOW	4096
/* number of directory entries that recover() uses to find a window */
#define LEAF_TRIES	8

/*
 * The newest own window of directory @dir: a range of inodes that only @dir
 * uses.
 */
struct own {
	ext2_ino_t dir;		/* directory; 0: the slot is empty */
	dgrp_t last;	/* group of the last inode found for a file of @dir */
	ext2_ino_t first;
	ext2_ino_t from; /* the search in the window begins with this inode */
	/*
	 * length of the window in inodes; 0: no window was searched for yet;
	 * HAS_NONE or HAD_TURNS: the directory has no window of its own
	 */
	uint32_t len;
};
#define HAS_NONE	1
/*
 * the directory has no own window; a file of another directory was created in
 * the group between two files of this directory
 */
#define HAD_TURNS	2

/* The window (range of inodes) that the directories of a group share. */
struct shared {
	ext2_ino_t end; /* inode after the shared window; 0: no window */
	/*
	 * directory of the file that was created last in the group; 0: no file
	 * was created in the group after the last mkdir
	 */
	ext2_ino_t last;
};

/*
 * If e4l_place_window() skips free inodes at the end of an inode-table block,
 * the range of these inodes is a gap.  All gaps in one struct have an equal
 * length.
 */
struct gaps {
	ext2_ino_t *first;
	size_t n, room;
};

struct e4l_place {
	struct e4l *e;
	ext2_filsys fs;
	uint32_t window;	/* inodes per window; 0: do not use windows */
	unsigned int flags;
	dgrp_t pack_group;	/* with E4L_PLACE_PACK: first group to search */
	/*
	 * hint[group * CLASSES + class]: the search for an empty window of this
	 * group and size class begins with this window index, because all
	 * earlier windows have used inodes
	 */
	uint32_t *hint;
	/*
	 * zeroed[group]: number of inodes at the start of the inode table that
	 * zero_table() has zeroed or found in use
	 */
	uint32_t *zeroed;
	struct shared *shared;	/* [group]: window that directories share */
	struct own *own;
	uint32_t own_n, own_mask;
	uint32_t per_block;	/* inodes per block of the inode table */
	/* e4l_place_window() searches from this inode on */
	ext2_ino_t frontier;
	struct gaps *gaps;	/* gaps[n]: ranges of n free inodes */
	uint64_t unused0, free0;
	struct e4l_place_stats stats;
};

static uint32_t per_group(const struct e4l_place *p)
{
	return p->fs->super->s_inodes_per_group;
}

static ext2_ino_t group_first(const struct e4l_place *p, dgrp_t group)
{
	return group * per_group(p) + 1;
}

/*
 * Returns the first free inode in [first, end).  If no inode is free, returns
 * 0.
 */
static ext2_ino_t free_in(const struct e4l_place *p, ext2_ino_t first,
			  ext2_ino_t end)
{
	return e4l_inode_free_in(p->fs, p->fs->inode_map, first, end);
}

/*
 * Returns the first inode in [first, end) that is in use or reserved.  If all
 * inodes are free, returns 0.
 */
static ext2_ino_t used_in(const struct e4l_place *p, ext2_ino_t first,
			  ext2_ino_t end)
{
	return e4l_inode_used_in(p->fs, p->fs->inode_map, first, end);
}

/* ------------------------------- the uninitialized part of an inode table */

/*
 * Returns the number of inodes at the start of @group's inode table that may be
 * in use.  The remainder of the table may contain garbage.
 */
static uint32_t table_used(const struct e4l_place *p, dgrp_t group)
{
	uint32_t unused = ext2fs_bg_itable_unused(p->fs, group);

	if (ext2fs_bg_flags_test(p->fs, group, EXT2_BG_INODE_UNINIT))
		return 0;
	return unused <= per_group(p) ? per_group(p) - unused : per_group(p);
}

/*
 * Zeroes block @blk of an inode table from byte @from to the end of the block.
 */
static errcode_t zero_tail(struct e4l_place *p, blk64_t blk, unsigned int from)
{
	ext2_filsys fs = p->fs;
	errcode_t err;
	char *buf;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(fs->io, blk, 1, buf);
	if (!err) {
		memset(buf + from, 0, fs->blocksize - from);
		err = io_channel_write_blk64(fs->io, blk, 1, buf);
	}
	ext2fs_free_mem(&buf);
	return err;
}

/*
 * If the inode table was never zeroed up to @ino, zeroes the table up to @ino.
 * When @ino is in use, e2fsck and Linux read all inodes before @ino, and would
 * find garbage.
 */
static errcode_t zero_table(struct e4l_place *p, ext2_ino_t ino)
{
	ext2_filsys fs = p->fs;
	dgrp_t group = ext2fs_group_of_ino(fs, ino);
	uint32_t index = (ino - 1) % per_group(p);
	uint32_t clean = table_used(p, group), isize, blk, end;
	blk64_t table = ext2fs_inode_table_loc(fs, group);
	errcode_t err = 0;

	if (p->flags & E4L_PLACE_NO_ZERO || !ext2fs_has_group_desc_csum(fs) ||
	    ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_ZEROED))
		return 0;
	if (clean < p->zeroed[group])
		clean = p->zeroed[group];
	if (index < clean)
		return 0;
	isize = EXT2_INODE_SIZE(fs->super);
	blk = clean / p->per_block;
	end = index / p->per_block + 1;
	if (clean % p->per_block)
		err = zero_tail(p, table + blk++, clean % p->per_block * isize);
	if (!err && blk < end)
		err = ext2fs_zero_blocks2(fs, table + blk, end - blk, NULL,
					  NULL);
	if (err)
		return e4l_fail_group(p->e, err, "zeroing the inode table",
				      group, table + blk);
	p->stats.zeroed_blocks += end - clean / p->per_block;
	p->zeroed[group] = end * p->per_block;
	return 0;
}

/* ------------------------------------------------------------------ windows */

/*
 * Returns the size class of a window (aligned range) of @len inodes: the base-2
 * logarithm of @len / p->window, rounded up, but at most CLASSES - 1.
 */
static unsigned int class_of(const struct e4l_place *p, uint32_t len)
{
	unsigned int class = 0;

	while (class < CLASSES - 1 && p->window << class < len)
		class++;
	return class;
}

static bool shares(const struct e4l_place *p)
{
	return !(p->flags & E4L_PLACE_PACK);
}

/*
 * Returns the first inode of the first aligned range of @len inodes in @group
 * that are all free.  If there is no such range, returns 0.
 */
static ext2_ino_t empty_in_group(struct e4l_place *p, dgrp_t group,
				 uint32_t len)
{
	uint32_t *hint = &p->hint[group * CLASSES + class_of(p, len)];
	ext2_ino_t first;

	if (ext2fs_bg_free_inodes_count(p->fs, group) < len)
		return 0;
	for (; (*hint + 1ULL) * len <= per_group(p); ++*hint) {
		first = group_first(p, group) + *hint * len;
		if (!used_in(p, first, first + len))
			return first;
	}
	return 0;
}

/*
 * Returns a free inode of the window (range of inodes) that the directories of
 * @group share.  If the window is full, or the group has no window, a range of
 * free inodes becomes the shared window.  If there is no range, returns 0.
 */
static ext2_ino_t shared_in_group(struct e4l_place *p, dgrp_t group)
{
	struct shared *s = &p->shared[group];
	ext2_ino_t ino = 0;

	if (s->end)
		ino = free_in(p, s->end - p->window, s->end);
	if (!ino) {
		ino = empty_in_group(p, group, p->window);
		s->end = ino ? ino + p->window : 0;
	}
	return ino;
}

/*
 * Searches all groups, beginning with @group, for a window (aligned range of
 * inodes).  If @len is 0, returns a free inode of a group's shared window.  If
 * @len is not 0, returns the first inode of an empty window of @len inodes.  If
 * no group has a suitable window, returns 0.
 */
static ext2_ino_t window_from(struct e4l_place *p, dgrp_t group, uint32_t len)
{
	dgrp_t n = p->fs->group_desc_count, i;
	ext2_ino_t ino;

	for (i = 0; i < n; i++) {
		dgrp_t g = (group + i) % n;

		ino = len ? empty_in_group(p, g, len) : shared_in_group(p, g);
		if (ino) {
			p->pack_group = g;
			return ino;
		}
	}
	return 0;
}

/*
 * Returns the first free inode, beginning with the inodes of @group.  If no
 * inode is free, returns 0.
 */
static ext2_ino_t any_from(struct e4l_place *p, dgrp_t group)
{
	ext2_ino_t start = group_first(p, group);
	ext2_ino_t ino = free_in(p, start, p->fs->super->s_inodes_count + 1);

	p->stats.fallbacks++;
	return ino ? ino : free_in(p, 1, start);
}

/* ----------------------------------------------------- table of directories */

static struct own *own_slot(struct e4l_place *p, ext2_ino_t dir)
{
	uint32_t i = dir * 2654435761U & p->own_mask;

	while (p->own[i].dir && p->own[i].dir != dir)
		i = (i + 1) & p->own_mask;
	return &p->own[i];
}

static errcode_t own_double(struct e4l_place *p)
{
	uint32_t old_n = p->own_mask + 1, i;
	struct own *old = p->own;

	p->own = e4l_array_zalloc(old_n * 2ULL, sizeof(*p->own));
	if (!p->own) {
		p->own = old;
		return ENOMEM;
	}
	p->own_mask = old_n * 2 - 1;
	for (i = 0; i < old_n; i++)
		if (old[i].dir)
			*own_slot(p, old[i].dir) = old[i];
	free(old);
	return 0;
}

/*
 * Adds directory @dir to the hash table p->own, unless @dir is already there.
 * In a new entry, own->last is the group of the directory's own inode.
 */
static errcode_t know(struct e4l_place *p, ext2_ino_t dir)
{
	struct own *own;

	if (p->own_n * 2 > p->own_mask && own_double(p))
		return e4l_fail(p->e, ENOMEM, "placing an inode", dir, 0);
	own = own_slot(p, dir);
	if (own->dir)
		return 0;
	p->own_n++;
	own->dir = dir;
	own->last = ext2fs_group_of_ino(p->fs, dir);
	return 0;
}

static void remember(struct e4l_place *p, ext2_ino_t dir, ext2_ino_t first,
		     ext2_ino_t from, uint32_t len)
{
	struct own *own = own_slot(p, dir);

	own->first = first;
	own->from = from;
	own->len = len;
}

/* -------------------------------------------------------- Orlov's allocator */

struct flex {
	uint64_t inodes, blocks, dirs;
};

static dgrp_t groups_per_flex(const struct e4l_place *p)
{
	struct ext2_super_block *sb = p->fs->super;

	if (!ext2fs_has_feature_flex_bg(sb) || sb->s_log_groups_per_flex > 20)
		return 1;
	return 1U << sb->s_log_groups_per_flex;
}

/*
 * Returns the sums of the free inodes, free blocks and directories of the
 * groups in [group, group + n).
 */
static struct flex flex_of(const struct e4l_place *p, dgrp_t group, dgrp_t n)
{
	struct flex f = { 0 };
	dgrp_t end = p->fs->group_desc_count;

	for (; n && group < end; n--, group++) {
		f.inodes += ext2fs_bg_free_inodes_count(p->fs, group);
		f.blocks += ext2fs_bg_free_blocks_count(p->fs, group);
		f.dirs += ext2fs_bg_used_dirs_count(p->fs, group);
	}
	return f;
}

static uint32_t hash_as(const struct e4l_place *p, int version,
			const char *name)
{
	ext2_dirhash_t hash = 0;

	if (ext2fs_dirhash2(version, name, strlen(name), NULL, 0,
			    p->fs->super->s_hash_seed, &hash, NULL))
		return 0;
	return hash;
}

/* Returns the hash of @name, as an index (htree) of this filesystem uses it. */
static uint32_t name_hash(const struct e4l_place *p, const char *name)
{
	const struct ext2_super_block *sb = p->fs->super;

	return hash_as(p, hash_version_of(sb, sb->s_def_hash_version), name);
}

/*
 * Returns the first group, beginning with @parent's group, that has at least
 * the average number of free inodes.  Orlov's allocator uses this group if no
 * flex group has enough free inodes and blocks.
 */
static dgrp_t fair_group(const struct e4l_place *p, ext2_ino_t parent)
{
	dgrp_t n = p->fs->group_desc_count, group, i;
	uint64_t share = flex_of(p, 0, n).inodes / n, free;

	group = ext2fs_group_of_ino(p->fs, parent);
	for (i = 0; i < n; i++, group = (group + 1) % n) {
		free = ext2fs_bg_free_inodes_count(p->fs, group);
		if (free && free >= share)
			break;
	}
	return group;
}

/*
 * Spreads top-level directories over the disk.  Of the flex groups with at
 * least the average number of free inodes and free blocks, picks the flex group
 * with the fewest directories.  The search begins at a flex group that depends
 * on the hash of @name, and picks the first flex group among equals.  The hash
 * does not depend on the hash version of the filesystem's directories.  If no
 * flex group is suitable, returns the result of fair_group().
 */
static dgrp_t spread_group(const struct e4l_place *p, ext2_ino_t parent,
			   const char *name)
{
	dgrp_t per = groups_per_flex(p), best = fair_group(p, parent), i, g;
	dgrp_t n = (p->fs->group_desc_count + per - 1) / per;
	struct flex all = flex_of(p, 0, p->fs->group_desc_count), f;
	uint32_t hash = hash_as(p, EXT2_HASH_HALF_MD4, name);
	uint64_t fewest = per_group(p);

	for (i = 0; i < n; i++) {
		g = (hash % n + i) % n * per;
		f = flex_of(p, g, per);
		if (f.dirs < fewest && f.inodes && f.inodes >= all.inodes / n &&
		    f.blocks >= all.blocks / n) {
			fewest = f.dirs;
			best = g;
		}
	}
	return best;
}

/*
 * Returns the group for a directory below the top level: the first group of the
 * flex group that contains group @last.  If the flex group has too few free
 * inodes or blocks, or too many directories, tries the following flex groups.
 * If no flex group is suitable, returns the result of fair_group().
 */
static dgrp_t near_group(const struct e4l_place *p, ext2_ino_t parent,
			 dgrp_t last)
{
	dgrp_t per = groups_per_flex(p), i, g;
	dgrp_t n = (p->fs->group_desc_count + per - 1) / per;
	struct flex all = flex_of(p, 0, p->fs->group_desc_count), f;
	uint64_t inodes = (uint64_t)per_group(p) * per;
	uint64_t clusters = (uint64_t)p->fs->super->s_clusters_per_group * per;

	for (i = 0; i < n; i++) {
		g = (last / per + i) % n * per;
		f = flex_of(p, g, per);
		if (f.inodes && f.dirs < all.dirs / n + inodes / 16 &&
		    f.inodes + inodes / 4 >= all.inodes / n &&
		    f.blocks + clusters / 4 >= all.blocks / n)
			return g;
	}
	return fair_group(p, parent);
}

static bool has_inode(const struct e4l_place *p, dgrp_t group)
{
	return ext2fs_bg_free_inodes_count(p->fs, group);
}

/*
 * Sets *@ret to the first group with a free inode in the flex group of @group.
 * If the flex group has no free inode, returns false.
 */
static bool in_flex_of(const struct e4l_place *p, dgrp_t group, dgrp_t *ret)
{
	dgrp_t per = groups_per_flex(p), i, g;

	for (i = 0; i < per; i++) {
		g = group / per * per + i;
		if (g < p->fs->group_desc_count && has_inode(p, g)) {
			*ret = g;
			return true;
		}
	}
	return false;
}

/*
 * Chooses the group for a file of @dir if the filesystem has no flex groups.
 * Tries @group, and then groups by a quadratic hash of @dir, for a group with
 * free inodes and free blocks.  If all tried groups are full, returns the next
 * group with a free inode.
 */
static dgrp_t other_group(const struct e4l_place *p, ext2_ino_t dir,
			  dgrp_t group)
{
	dgrp_t n = p->fs->group_desc_count, i, g = group;

	for (i = 0; i < n; i = i ? i * 2 : 1) {
		g = (g + i) % n;
		if (has_inode(p, g) && ext2fs_bg_free_blocks_count(p->fs, g))
			return g;
		if (!i)
			g = ((uint64_t)g + dir) % n;
	}
	for (i = 1; i < n && !has_inode(p, (group + i) % n); i++)
		;
	return (group + i) % n;
}

/*
 * Returns the group in which find_group_other() of Linux would place a file of
 * directory @dir.  @last is the group of the last inode found for such a file.
 * Call this function if no window for the file has a free inode.
 */
static dgrp_t usual_group(const struct e4l_place *p, ext2_ino_t dir,
			  dgrp_t last)
{
	dgrp_t group = ext2fs_group_of_ino(p->fs, dir);

	if (groups_per_flex(p) == 1)
		return other_group(p, dir, group);
	if (in_flex_of(p, group, &group) || in_flex_of(p, last, &group))
		return group;
	return near_group(p, dir, last);
}

static bool is_top(struct e4l_place *p, ext2_ino_t parent)
{
	struct ext2_inode inode;

	if (parent == EXT2_ROOT_INO)
		return true;
	return !ext2fs_read_inode(p->fs, parent, &inode) &&
	       inode.i_flags & EXT2_TOPDIR_FL;
}

static ext2_ino_t place_dir(struct e4l_place *p, ext2_ino_t parent,
			    const char *name)
{
	struct own *own = own_slot(p, parent);
	ext2_ino_t ino = 0;

	if (p->flags & E4L_PLACE_PACK)
		own->last = p->pack_group;
	else if (is_top(p, parent))
		own->last = spread_group(p, parent, name);
	else
		own->last = near_group(p, parent, own->last);
	if (p->window)
		ino = window_from(p, own->last, shares(p) ? 0 : p->window);
	if (!ino)
		return any_from(p, own->last);
	own->last = ext2fs_group_of_ino(p->fs, ino);
	p->shared[own->last].last = 0;
	return ino;
}

/* ----------------------------------------- entries with neighbouring hashes */

/*
 * Returns the entries of an index block, which begin at byte @at of @buf.  Sets
 * *@n to the number of entries that the block claims to have.  If the block has
 * only @size bytes, and fewer entries fit, sets *@n to the number that fits.
 */
static const struct ext2_dx_entry *dx_entries(const char *buf, size_t size,
					      unsigned int at, uint32_t *n)
{
	const struct ext2_dx_countlimit *cl = (const void *)(buf + at);

	*n = at + sizeof(*cl) <= size ? ext2fs_le16_to_cpu(cl->count) : 0;
	if (*n > (size - at) / sizeof(struct ext2_dx_entry))
		*n = (size - at) / sizeof(struct ext2_dx_entry);
	return (const void *)(buf + at);
}

static uint32_t dx_child(const struct ext2_dx_entry *entry, uint32_t n,
			 uint32_t hash)
{
	uint32_t i = n - 1;

	while (i && ext2fs_le32_to_cpu(entry[i].hash) > hash)
		i--;
	return ext2fs_le32_to_cpu(entry[i].block) & DX_BLOCK_MASK;
}

static errcode_t read_logical(struct e4l_place *p, ext2_ino_t dir,
			      struct ext2_inode *inode, blk64_t lblk, char *buf)
{
	blk64_t pblk;
	errcode_t err;

	err = ext2fs_bmap2(p->fs, dir, inode, NULL, 0, lblk, NULL, &pblk);
	if (!err && !pblk)
		err = E4L_ET_DIR_CORRUPT;
	return err ? err : io_channel_read_blk64(p->fs->io, pblk, 1, buf);
}

/*
 * Reads the leaf block of directory @dir that has the entries for @hash.  @dir
 * must have an index.
 */
static errcode_t read_leaf(struct e4l_place *p, ext2_ino_t dir,
			   struct ext2_inode *inode, uint32_t hash, char *buf)
{
	const struct ext2_dx_root_info *info = (const void *)(buf + DX_INFO_AT);
	const struct ext2_dx_entry *entry;
	unsigned int levels, at;
	uint32_t n;
	errcode_t err;

	err = read_logical(p, dir, inode, 0, buf);
	if (err)
		return err;
	levels = info->indirect_levels;
	at = DX_INFO_AT + info->info_length;
	if (levels > 3)
		return E4L_ET_DIR_CORRUPT;
	do {
		entry = dx_entries(buf, p->fs->blocksize, at, &n);
		if (!n)
			return E4L_ET_DIR_CORRUPT;
		err = read_logical(p, dir, inode, dx_child(entry, n, hash),
				   buf);
		at = DX_NODE_AT;
	} while (!err && levels--);
	return err;
}

/*
 * Returns the number of entries of a directory block that do not refer to
 * directories.  Stores the inode numbers of the last LEAF_TRIES
 * entries: the inode number of entry i is inos[i % LEAF_TRIES].
 */
static unsigned int leaf_inodes(const struct e4l_place *p, const char *buf,
				ext2_ino_t *inos)
{
	struct e4l_dir_walk walk = {
		.fs = p->fs, .has_dots = true, .encrypted = true,
		.buf = buf, .len = p->fs->blocksize,
	};
	enum e4l_dir_step step;
	struct e4l_dirent d;
	unsigned int n = 0;

	while ((step = e4l_dir_next(&walk, &d)) != DIR_END)
		if (step == DIR_ENTRY && d.file_type != EXT2_FT_DIR &&
		    !e4l_dirent_is_dotdot(&d))
			inos[n++ % LEAF_TRIES] = d.ino;
	return n;
}

/*
 * Returns the number of blocks of the directory @inode.  If the directory has
 * an index, does not count the root of the index.
 */
static uint64_t entry_blocks(const struct e4l_place *p,
			     struct ext2_inode *inode)
{
	uint64_t blocks = EXT2_I_SIZE(inode) / p->fs->blocksize;

	return inode->i_flags & EXT2_INDEX_FL && blocks > 1 ? blocks - 1 :
							      blocks;
}

/*
 * The windows (ranges of inodes) of a directory double in length.  Estimates
 * the length of the newest window from @entries, the number of files in the
 * directory.
 */
static uint32_t last_window_len(const struct e4l_place *p, uint64_t entries)
{
	uint64_t len = p->window, room = 0;

	for (; room + len < entries && len * 2 <= per_group(p); len *= 2)
		room += len;
	return len;
}

/*
 * Finds the window (aligned range) of @len inodes that contains inode @near.
 * Records the window as directory @dir's own window, and returns a free inode
 * of the window.  Prefers inodes from @near on: if @len is an overestimate,
 * inodes before @near may belong to another directory's window.  If the window
 * is full, or is the group's shared window, records nothing and returns 0.
 */
static ext2_ino_t near_inode(struct e4l_place *p, ext2_ino_t dir,
			     ext2_ino_t near, uint32_t len)
{
	dgrp_t group = ext2fs_group_of_ino(p->fs, near);
	ext2_ino_t first = group_first(p, group), end = first + per_group(p);
	ext2_ino_t shared = p->shared[group].end, ino;

	first += (near - first) / len * len;
	if (end > first + len)
		end = first + len;
	if (shared > first && shared <= end)
		return 0;
	ino = free_in(p, near, end);
	if (!ino)
		ino = free_in(p, first, near);
	if (ino)
		remember(p, dir, first, near, end - first);
	return ino;
}

/*
 * Reads the inode of directory @dir, and the directory block that will contain
 * @name.  Returns the number of file names that leaf_inodes() finds in the
 * block, or 0 if the block cannot be read or must not be read.
 */
static unsigned int entries_near(struct e4l_place *p, ext2_ino_t dir,
				 struct ext2_inode *inode, const char *name,
				 ext2_ino_t *inos)
{
	unsigned int n = 0;
	char *buf;

	if (p->flags & E4L_PLACE_NO_READ ||
	    ext2fs_read_inode(p->fs, dir, inode) ||
	    inode->i_flags & EXT4_INLINE_DATA_FL || !EXT2_I_SIZE(inode) ||
	    io_channel_alloc_buf(p->fs->io, 1, &buf))
		return 0;
	if (!(inode->i_flags & EXT2_INDEX_FL ?
	      read_leaf(p, dir, inode, name_hash(p, name), buf) :
	      read_logical(p, dir, inode,
			   EXT2_I_SIZE(inode) / p->fs->blocksize - 1, buf)))
		n = leaf_inodes(p, buf, inos);
	ext2fs_free_mem(&buf);
	return n;
}

/*
 * Finds the window (range of inodes) for the files of directory @dir from the
 * entries near @name.  If the window is full or unknown, tries the window that
 * contains the directory's inode.  Returns a free inode of the window, or 0 if
 * no window has a free inode.
 */
static ext2_ino_t recover(struct e4l_place *p, ext2_ino_t dir, const char *name)
{
	ext2_ino_t inos[LEAF_TRIES], ino = 0;
	struct ext2_inode inode;
	unsigned int n = entries_near(p, dir, &inode, name, inos), i;
	uint32_t len;

	if (n) {
		len = last_window_len(p, entry_blocks(p, &inode) * n);
		for (i = n; !ino && i && n - i < LEAF_TRIES; i--)
			ino = near_inode(p, dir, inos[(i - 1) % LEAF_TRIES],
					 len);
		p->stats.leaf_goals += ino != 0;
	}
	if (!ino)
		ino = near_inode(p, dir, dir, p->window);
	if (!ino)
		remember(p, dir, 0, 0, HAS_NONE);
	return ino;
}

/*
 * Allocates a new window (range of inodes) for the files of directory @dir.
 * @len is the length of the directory's newest window.  Returns the first inode
 * of the new window, or 0 if no window is empty.
 */
static ext2_ino_t grow(struct e4l_place *p, ext2_ino_t dir, uint32_t len)
{
	ext2_ino_t first = 0;

	len = len * 2 > p->window ? len * 2 : p->window;
	while (len > per_group(p) || class_of(p, len) == CLASSES - 1)
		len /= 2;
	for (; !first && len >= p->window; len /= 2)
		first = window_from(p, ext2fs_group_of_ino(p->fs, dir), len);
	if (!first)
		return 0;
	remember(p, dir, first, first, len * 2);
	p->stats.grown++;
	return first;
}

/* ------------------------------------------------------------------- files */

/*
 * Returns a free inode of the window (range of inodes) for the directory's
 * files.  Prefers inodes from own->from on.  If the window is full, returns 0.
 */
static ext2_ino_t in_window(const struct e4l_place *p, const struct own *own)
{
	ext2_ino_t end = own->first + own->len;
	ext2_ino_t ino = free_in(p, own->from, end);

	return ino ? ino : free_in(p, own->first, own->from);
}

/*
 * Records that directory @dir gets a new file in @group.  Returns true if the
 * previous new file in @group was a file of @dir, or if no file was created in
 * @group after the last new directory.  If directories do not share windows
 * (ranges of inodes), returns false.
 */
static bool is_alone(struct e4l_place *p, ext2_ino_t dir, dgrp_t group)
{
	ext2_ino_t last = p->shared[group].last;

	p->shared[group].last = dir;
	return shares(p) && (!last || last == dir);
}

/*
 * Finds an inode for a new file of directory @dir if the directory has no
 * window (range of inodes) with a free inode.  @alone is the result of
 * is_alone().  If directories share windows, and @alone is true or was never
 * false for @dir before, the inode is in a shared window.  Otherwise, or if the
 * shared windows are full, the inode is in a new window for the files of @dir.
 * If there is no window, returns 0.
 */
static ext2_ino_t beyond_window(struct e4l_place *p, ext2_ino_t dir,
				dgrp_t group, bool alone)
{
	struct own *own = own_slot(p, dir);
	ext2_ino_t ino = 0;

	if (shares(p) && !alone && own->len == HAS_NONE) {
		own->len = HAD_TURNS;
		alone = true;
	}
	if (alone)
		ino = window_from(p, group, 0);
	return ino ? ino : grow(p, dir, own->len);
}

static ext2_ino_t place_file(struct e4l_place *p, ext2_ino_t dir,
			     const char *name)
{
	dgrp_t group = ext2fs_group_of_ino(p->fs, dir);
	bool alone = is_alone(p, dir, group);
	struct own *own = own_slot(p, dir);
	ext2_ino_t ino = 0;

	if (!p->window)
		ino = free_in(p, dir, group_first(p, group) + per_group(p));
	else if (!own->len)
		ino = recover(p, dir, name ? name : "");
	else if (own->len > HAD_TURNS)
		ino = in_window(p, own);
	if (!ino && p->window)
		ino = beyond_window(p, dir, group, alone);
	if (!ino) {
		own->last = usual_group(p, dir, own->last);
		return any_from(p, own->last);
	}
	own->last = ext2fs_group_of_ino(p->fs, ino);
	return ino;
}

errcode_t e4l_new_inode(struct e4l_place *p, ext2_ino_t parent, int mode,
			const char *name, ext2_ino_t *ret)
{
	ext2_ino_t ino;
	errcode_t err;

	*ret = 0;
	if (!parent || parent > p->fs->super->s_inodes_count)
		return e4l_fail(p->e, E4L_ET_BAD_ARGUMENT, "placing an inode",
				parent, 0);
	err = know(p, parent);
	if (err)
		return err;
	ino = LINUX_S_ISDIR(mode) ? place_dir(p, parent, name ? name : "") :
				    place_file(p, parent, name);
	if (!ino)
		return e4l_fail(p->e, EXT2_ET_INODE_ALLOC_FAIL,
				"placing an inode", parent, 0);
	*ret = ino;
	return zero_table(p, ino);
}

/* -------------------------------------------- windows of e4l_place_window() */

static errcode_t push_gap(struct e4l_place *p, ext2_ino_t first, uint32_t n)
{
	struct gaps *g = &p->gaps[n];
	errcode_t err;

	if (!n)
		return 0;
	if (g->n == g->room) {
		size_t room = g->room ? g->room * 2 : 16;

		err = ext2fs_resize_array(sizeof(*g->first), g->room, room,
					  &g->first);
		if (err)
			return err;
		g->room = room;
	}
	g->first[g->n++] = first;
	return 0;
}

/*
 * Takes @n inodes from the smallest range in p->gaps that has at least @n
 * inodes and is still free.  Returns the first inode, or 0 if all ranges are
 * too small.
 */
static ext2_ino_t pop_gap(struct e4l_place *p, uint32_t n, errcode_t *err)
{
	uint32_t size;

	for (size = n; size < p->per_block; size++) {
		while (p->gaps[size].n) {
			struct gaps *g = &p->gaps[size];
			ext2_ino_t first = g->first[--g->n];

			if (used_in(p, first, first + size))
				continue;
			*err = push_gap(p, first + n, size - n);
			return first;
		}
	}
	return 0;
}

/*
 * Finds @n consecutive free inodes, from p->frontier on, that occupy the fewest
 * possible blocks.  Sets p->frontier to the inode after the @n inodes.  If free
 * inodes at the end of a block are skipped, adds them to p->gaps.
 */
static errcode_t advance(struct e4l_place *p, uint32_t n, ext2_ino_t *ret)
{
	uint64_t end = p->fs->super->s_inodes_count + 1ULL, at = p->frontier;
	ext2_ino_t start;
	errcode_t err = 0;

	do {
		at = free_in(p, at, end);
		if (!at)
			return EXT2_ET_INODE_ALLOC_FAIL;
		start = e4l_inode_window_start(p->per_block, at, n);
		if (start > at && !used_in(p, at, start))
			err = push_gap(p, at, start - at);
		at = start;
		if (at + n > end)
			return EXT2_ET_INODE_ALLOC_FAIL;
		*ret = at;
		at = used_in(p, at, at + n);
	} while (!err && at);
	p->frontier = *ret + n;
	return err;
}

errcode_t e4l_place_window(struct e4l_place *p, uint32_t n, ext2_ino_t *ret)
{
	errcode_t err = 0;

	*ret = 0;
	if (!n || n > p->fs->super->s_inodes_count)
		return e4l_fail(p->e, E4L_ET_BAD_ARGUMENT,
				"placing a directory's inodes", 0, 0);
	if (n < p->per_block)
		*ret = pop_gap(p, n, &err);
	if (!*ret && !err)
		err = advance(p, n, ret);
	if (err)
		return e4l_fail(p->e, err, "placing a directory's inodes", 0,
				0);
	return zero_table(p, *ret + n - 1);
}

/* ------------------------------------------------------------ the allocator */

static uint64_t all_unused(const struct e4l_place *p)
{
	uint64_t sum = 0;
	dgrp_t g;

	for (g = 0; g < p->fs->group_desc_count; g++)
		sum += per_group(p) - table_used(p, g);
	return sum;
}

void e4l_place_get_stats(const struct e4l_place *p,
			 struct e4l_place_stats *stats)
{
	*stats = p->stats;
	stats->inodes = p->free0 - p->fs->super->s_free_inodes_count;
	stats->fsck_inodes = p->unused0 - all_unused(p);
}

void e4l_place_free(struct e4l_place *p)
{
	uint32_t i;

	if (!p)
		return;
	for (i = 0; p->gaps && i < p->per_block; i++)
		ext2fs_free_mem(&p->gaps[i].first);
	free(p->gaps);
	free(p->own);
	free(p->shared);
	free(p->hint);
	free(p->zeroed);
	free(p);
}

bool e4l_place_is_window(uint32_t window)
{
	return window >= MIN_WINDOW && window <= MAX_WINDOW &&
	       !(window & (window - 1));
}

/* Allocates the tables of @p.  Returns false if there is no memory. */
static bool allocate(struct e4l_place *p)
{
	dgrp_t groups = p->fs->group_desc_count;

	p->hint = calloc((size_t)groups * CLASSES, sizeof(*p->hint));
	p->zeroed = calloc(groups, sizeof(*p->zeroed));
	p->shared = calloc(groups, sizeof(*p->shared));
	p->own = e4l_array_zalloc(p->own_mask + 1ULL, sizeof(*p->own));
	p->gaps = calloc(p->per_block, sizeof(*p->gaps));
	return p->hint && p->zeroed && p->shared && p->own && p->gaps;
}

errcode_t e4l_place_new(struct e4l *e, uint32_t window, unsigned int flags,
			struct e4l_place **ret)
{
	ext2_filsys fs = e->fs;
	struct e4l_place *p;

	*ret = NULL;
	if (flags & ~(E4L_PLACE_PACK | E4L_PLACE_NO_READ | E4L_PLACE_NO_ZERO))
		return e4l_fail(e, E4L_ET_OPTION,
				"starting the inode placement", 0, 0);
	if (window && !e4l_place_is_window(window))
		return e4l_fail(e, E4L_ET_BAD_ARGUMENT,
				"setting the inode window", 0, 0);
	if (!fs->inode_map)
		return e4l_fail(e, EXT2_ET_NO_INODE_BITMAP,
				"starting the inode placement", 0, 0);
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	p->e = e;
	p->fs = fs;
	p->window = window;
	p->flags = flags;
	p->per_block = fs->blocksize / EXT2_INODE_SIZE(fs->super);
	p->frontier = EXT2_FIRST_INO(fs->super);
	p->own_mask = 63;
	if (!allocate(p)) {
		e4l_place_free(p);
		return ENOMEM;
	}
	p->free0 = fs->super->s_free_inodes_count;
	p->unused0 = all_unused(p);
	*ret = p;
	return 0;
}
