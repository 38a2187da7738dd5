/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds inodes and extent trees.  Formats:
 * Documentation/filesystems/ext4/inodes.rst and ifork.rst in Linux.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "e4layout/base/array.h"
#include "e4layout/format/extent_tree_build.h"
#include "populate.h"

/* ------------------------------------------------------------ extent trees */

static uint32_t max_len(const struct seg *s)
{
	return s->unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
			      E4L_WRITTEN_MAX_BLOCKS;
}

uint64_t e4l_pop_extents(const struct seg *seg, uint32_t n)
{
	uint64_t extents = 0;

	for (; n; n--, seg++)
		extents += (seg->len + (uint64_t)max_len(seg) - 1) /
			   max_len(seg);
	return extents;
}

/*
 * Converts the @n runs @seg to extents.  Splits runs that are longer than an
 * extent can be.
 */
static void list_extents(const struct seg *seg, uint32_t n,
			 struct e4l_extent *e)
{
	uint32_t done, len;

	for (; n; n--, seg++) {
		for (done = 0; done < seg->len; done += len, e++) {
			len = seg->len - done;
			if (len > max_len(seg))
				len = max_len(seg);
			*e = (struct e4l_extent) {
				.pblk = seg->pblk + done, .len = len,
				.lblk = seg->lblk + done,
				.unwritten = seg->unwritten,
			};
		}
	}
}

static uint32_t generation(const struct e4l_populate *p, const struct node *n)
{
	return n->extra ? p->t->extras.v[n->extra].generation : 0;
}

errcode_t e4l_pop_make_tree(struct e4l_populate *p, const struct map *map,
			    char *root, char *blocks)
{
	const struct node *n = &p->t->nodes.v[map->node];
	uint64_t count = e4l_pop_extents(p->segs.v + map->seg, map->n_seg);
	struct e4l_extent *e = e4l_array_alloc(count + 1, sizeof(*e));
	blk64_t *pblk = e4l_array_alloc(map->n_tree + 1ULL, sizeof(*pblk));
	errcode_t err = e && pblk ? 0 : ENOMEM;
	uint32_t i;

	if (!err) {
		list_extents(p->segs.v + map->seg, map->n_seg, e);
		for (i = 0; i < map->n_tree; i++)
			pblk[i] = map->tree_pblk + (uint64_t)i * p->ratio;
		err = e4l_extent_tree_build(p->fs, n->ino, generation(p, n), e, count,
				     pblk, root, blocks);
	}
	free(e);
	free(pblk);
	return err;
}

/* Builds the root of @n's extent tree, for i_block. */
static errcode_t put_root(struct e4l_populate *p, const struct node *n,
			  char *root)
{
	const struct map *map = &p->t->maps.v[n->map];
	struct seg one = { .pblk = n->pblk, .len = blocks_of(p, n->size) };
	struct e4l_extent e[EXTENT_ROOT_ENTRIES];
	errcode_t err = ENOMEM;
	char *blocks;

	if (!n->map) {
		list_extents(&one, 1, e);
		return e4l_extent_tree_build(p->fs, n->ino, generation(p, n), e,
				      e4l_pop_extents(&one, 1), NULL, root,
				      NULL);
	}
	blocks = e4l_array_alloc(map->n_tree + 1ULL, p->bs);
	if (blocks)
		err = e4l_pop_make_tree(p, map, root, blocks);
	free(blocks);
	return err;
}

/* ------------------------------------------------------------------- inodes */

static bool has_blocks(const struct node *n)
{
	return S_ISREG(n->mode) || S_ISDIR(n->mode) ||
	       (S_ISLNK(n->mode) && n->size >= I_BLOCK_BYTES);
}

uint64_t e4l_pop_inode_sectors(const struct e4l_populate *p,
			       const struct node *n)
{
	const struct map *map = &p->t->maps.v[n->map];
	uint64_t clusters = 0, blocks;

	if (n->map)
		clusters = map->clusters + map->n_tree;
	else if (has_blocks(n) && !(n->flags & NODE_INLINE))
		clusters = (blocks_of(p, n->size) + p->ratio - 1) / p->ratio;
	if (n->xattr && p->xplaces.v[n->xattr].pblk)
		clusters++;
	blocks = clusters * p->ratio;
	if (n->xattr)
		blocks += p->xplaces.v[n->xattr].ea_blocks;
	return blocks * (p->bs / 512);
}

static uint32_t extra_time(uint64_t packed)
{
	int64_t sec = e4l_time_sec(packed);
	uint32_t epoch = (sec - (int32_t)sec) >> 32 & 3;

	return ext2fs_cpu_to_le32(e4l_time_nsec(packed) << 2 | epoch);
}

static uint32_t low_time(uint64_t packed)
{
	return ext2fs_cpu_to_le32((uint32_t)e4l_time_sec(packed));
}

/*
 * Sets the times of the inode.  Inodes of 128 bytes have 32 bits for a time, so
 * a time after January 2038 becomes the last valid time.
 */
static void put_times(const struct e4l_populate *p, const struct node *n,
		      struct ext2_inode_large *i)
{
	uint64_t crtime = n->extra ? p->t->extras.v[n->extra].crtime : p->now;
	uint64_t last = e4l_pack_time(INT32_MAX, 0);

	if (p->o.clamp_times)
		crtime = n->mtime;
	if (!p->extra_isize) {
		i->i_atime = low_time(n->atime < last ? n->atime : last);
		i->i_ctime = low_time(n->ctime < last ? n->ctime : last);
		i->i_mtime = low_time(n->mtime < last ? n->mtime : last);
		return;
	}
	i->i_atime = low_time(n->atime);
	i->i_ctime = low_time(n->ctime);
	i->i_mtime = low_time(n->mtime);
	i->i_extra_isize = ext2fs_cpu_to_le16(p->extra_isize);
	if (p->extra_isize < 28)
		return;
	i->i_crtime = low_time(crtime);
	i->i_atime_extra = extra_time(n->atime);
	i->i_ctime_extra = extra_time(n->ctime);
	i->i_mtime_extra = extra_time(n->mtime);
	i->i_crtime_extra = extra_time(crtime);
}

static void put_size(const struct e4l_populate *p, const struct node *n,
		     struct ext2_inode_large *i, uint32_t *flags)
{
	uint64_t sectors = e4l_pop_inode_sectors(p, n);

	i->i_size = ext2fs_cpu_to_le32((uint32_t)n->size);
	i->i_size_high = ext2fs_cpu_to_le32(n->size >> 32);
	if (sectors >> 48 || (sectors >> 32 &&
			      !ext2fs_has_feature_huge_file(p->fs->super))) {
		*flags |= EXT4_HUGE_FILE_FL;
		sectors /= p->bs / 512;
	}
	i->i_blocks = ext2fs_cpu_to_le32((uint32_t)sectors);
	i->osd2.linux2.l_i_blocks_hi = ext2fs_cpu_to_le16(sectors >> 32);
}

/*
 * Stores a device number.  If the major and the minor number fit into 8 bits
 * each, the old format is used.  If not, the new format is used.
 */
static void put_device(uint64_t rdev, uint32_t *block)
{
	uint32_t major = major(rdev), minor = minor(rdev);

	if (major < 256 && minor < 256)
		block[0] = ext2fs_cpu_to_le32(major << 8 | minor);
	else
		block[1] = ext2fs_cpu_to_le32((minor & 0xff) | major << 8 |
					      (minor & ~0xffU) << 12);
}

static errcode_t put_content(struct e4l_populate *p, uint32_t id,
			     const char *content, struct ext2_inode_large *i,
			     uint32_t *flags)
{
	const struct node *n = &p->t->nodes.v[id];

	if (n->flags & NODE_INLINE) {
		*flags |= EXT4_INLINE_DATA_FL;
		if (S_ISDIR(n->mode))
			e4l_pop_inline_dir(p, n, (char *)i->i_block,
					   sizeof(i->i_block));
		else
			memcpy(i->i_block, content,
			       n->size < sizeof(i->i_block) ? n->size :
			       sizeof(i->i_block));
	} else if (S_ISLNK(n->mode) && !has_blocks(n)) {
		memcpy(i->i_block, p->t->names.v + n->pos, n->size);
	} else if (has_blocks(n)) {
		*flags |= EXT4_EXTENTS_FL;
		if (n->flags & NODE_INDEXED)
			*flags |= EXT2_INDEX_FL;
		return put_root(p, n, (char *)i->i_block);
	} else {
		put_device(n->pos, i->i_block);
	}
	return 0;
}

/* Sets attributes that only ext4 has, and the fields of EA inodes. */
static void put_extra(const struct e4l_populate *p, const struct node *n,
		      struct ext2_inode_large *i, uint32_t *flags)
{
	const struct extra *x = &p->t->extras.v[n->extra];

	if (n->extra) {
		*flags |= x->flags;
		i->i_generation = ext2fs_cpu_to_le32(x->generation);
		if (p->extra_isize >= 32)
			i->i_projid = ext2fs_cpu_to_le32(x->projid);
	}
	if (n->flags & NODE_EA_INODE) {
		*flags |= EXT4_EA_INODE_FL;
		i->osd1.linux1.l_i_version = ext2fs_cpu_to_le32(1);
	}
}

errcode_t e4l_pop_fill_inode(struct e4l_populate *p, uint32_t id,
			     const char *content, char *buf)
{
	const struct node *n = &p->t->nodes.v[id];
	struct ext2_inode_large *i = (void *)buf;
	unsigned int fixed = EXT2_GOOD_OLD_INODE_SIZE + p->extra_isize;
	uint32_t links = n->links, flags = 0;
	uint64_t acl = n->xattr ? p->xplaces.v[n->xattr].pblk : 0;
	errcode_t err;

	i->i_mode = ext2fs_cpu_to_le16(n->mode);
	i->i_uid = ext2fs_cpu_to_le16(n->uid & 0xffff);
	i->osd2.linux2.l_i_uid_high = ext2fs_cpu_to_le16(n->uid >> 16);
	i->i_gid = ext2fs_cpu_to_le16(n->gid & 0xffff);
	i->osd2.linux2.l_i_gid_high = ext2fs_cpu_to_le16(n->gid >> 16);
	/*
	 * With dir_nlink, a link count of 1 means that subdirectories are not
	 * counted.
	 */
	if (S_ISDIR(n->mode) && links >= EXT2_LINK_MAX)
		links = 1;
	i->i_links_count = ext2fs_cpu_to_le16(links);
	i->i_file_acl = ext2fs_cpu_to_le32((uint32_t)acl);
	i->osd2.linux2.l_i_file_acl_high = ext2fs_cpu_to_le16(acl >> 32);
	put_times(p, n, i);
	put_extra(p, n, i, &flags);
	err = put_content(p, id, content, i, &flags);
	if (err)
		return err;
	put_size(p, n, i, &flags);
	i->i_flags = ext2fs_cpu_to_le32(flags);
	if (p->isize > fixed + 8)
		e4l_pop_fill_ibody(p, n, buf + fixed, p->isize - fixed,
				   content + sizeof(i->i_block),
				   n->size > sizeof(i->i_block) &&
				   S_ISREG(n->mode) ?
				   n->size - sizeof(i->i_block) : 0);
	return ext2fs_inode_csum_set(p->fs, n->ino, i);
}
