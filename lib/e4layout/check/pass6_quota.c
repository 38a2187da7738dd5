/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pass 6: compares quota files with the usage found.  A quota file is a radix
 * tree of four levels over blocks of 1 KiB: see format/quota.h.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/quota.h"
#include "usage.h"

#define REFS		(QUOTA_BLOCK / 4)
#define MAX_FILE_BYTES	(1ULL << 31)

/*
 * For each version of the format: the size of an entry, the offset and the size
 * of the inode count, and the offset of the space in use, in bytes.
 */
static const struct layout {
	unsigned int bytes, inodes, inodes_bytes, space;
} layouts[] = {
	{ 48, 12, 4, 24 },
	{ QUOTA_ENTRY_BYTES, QUOTA_AT_INODES, 8, QUOTA_AT_BYTES },
};

struct usage {
	uint32_t id;
	bool used, seen;
	uint64_t space, inodes;
};

/*
 * A hash table by ID, with open addressing.  @room: number of slots, a power of
 * two.
 */
struct usages {
	struct usage *v;
	size_t n, room;
};

struct quota {
	ext2_ino_t inos[QUOTA_TYPES];
	struct usages type[QUOTA_TYPES];
};

static uint64_t get_number(const uint8_t *p, unsigned int bytes)
{
	return bytes == 4 ? get_le32(p) : get_le64(p);
}

/* ------------------------------------------------------------------- usage */

static struct usage *find_slot(const struct usages *u, uint32_t id)
{
	size_t i = id * 2654435761u & (u->room - 1);

	while (u->v[i].used && u->v[i].id != id)
		i = (i + 1) & (u->room - 1);
	return &u->v[i];
}

static errcode_t grow(struct usages *u)
{
	struct usages more = { .n = u->n, .room = u->room ? 2 * u->room : 64 };
	size_t i;

	more.v = calloc(more.room, sizeof(*more.v));
	if (!more.v)
		return ENOMEM;
	for (i = 0; i < u->room; i++)
		if (u->v[i].used)
			*find_slot(&more, u->v[i].id) = u->v[i];
	free(u->v);
	*u = more;
	return 0;
}

static errcode_t get_usage(struct usages *u, uint32_t id, struct usage **ret)
{
	errcode_t err = 2 * u->n >= u->room ? grow(u) : 0;

	if (err)
		return err;
	*ret = find_slot(u, id);
	if (!(*ret)->used) {
		**ret = (struct usage) { .id = id, .used = true };
		u->n++;
	}
	return 0;
}

errcode_t e4l_usage_charge(struct check *ck, ext2_ino_t ino,
			   const struct ext2_inode_large *inode,
			   uint64_t clusters, uint64_t inodes)
{
	struct ext2_super_block *sb = ck->fs->super;
	struct usage *u;
	errcode_t err = 0;
	enum e4l_quota_type type;

	if (!ext2fs_has_feature_quota(sb) || is_inline_link(inode) ||
	    ino == sb->s_prj_quota_inum ||
	    ino == sb->s_orphan_file_inum ||
	    inode->i_flags & EXT4_EA_INODE_FL || !inode->i_links_count ||
	    (ino != EXT2_ROOT_INO && ino < EXT2_FIRST_INODE(sb)))
		return 0;
	if (!ck->quota && !(ck->quota = calloc(1, sizeof(*ck->quota))))
		return ENOMEM;
	e4l_quota_inodes(sb, ck->quota->inos);
	for (type = 0; type < QUOTA_TYPES && !err; type++) {
		if (!ck->quota->inos[type])
			continue;
		err = get_usage(&ck->quota->type[type],
				e4l_quota_owner(ck->fs, inode, type), &u);
		if (err)
			break;
		u->space += clusters * ck->fs->blocksize <<
			    ck->fs->cluster_ratio_bits;
		u->inodes += inodes;
	}
	return err;
}

void e4l_usage_free(struct check *ck)
{
	enum e4l_quota_type type;

	for (type = 0; ck->quota && type < QUOTA_TYPES; type++)
		free(ck->quota->type[type].v);
	free(ck->quota);
}

/* -------------------------------------------------------------------- files */

struct qfile {
	struct check *ck;
	ext2_ino_t ino;
	ext2_file_t file;
	uint32_t blocks;
	const struct layout *layout;
	struct usages *usages;
	uint8_t *read;		/* bitmap of entry blocks already compared */
	uint64_t visits;	/* number of visited tree blocks */
};

static bool read_block(struct qfile *q, uint32_t block, uint8_t *buf)
{
	unsigned int got;

	/* bytes beyond the end of the file are zero */
	memset(buf, 0, QUOTA_BLOCK);
	return !ext2fs_file_llseek(q->file, (uint64_t)block * QUOTA_BLOCK,
				   EXT2_SEEK_SET, NULL) &&
	       !e4l_check_noted(q->ck, ext2fs_file_read(q->file, buf, QUOTA_BLOCK,
							&got));
}

static bool compare_entry(struct qfile *q, const uint8_t *entry)
{
	const struct layout *l = q->layout;
	uint32_t id = get_le32(entry);
	struct usage *u;

	if (e4l_check_noted(q->ck, get_usage(q->usages, id, &u)))
		return false;
	u->seen = true;
	if (get_number(entry + l->space, 8) != u->space ||
	    get_number(entry + l->inodes, l->inodes_bytes) != u->inodes)
		FOUND(q->ck, QUOTA_USAGE, .ino = q->ino, .want = id);
	return true;
}

static bool walk_entries(struct qfile *q, uint32_t block)
{
	uint8_t buf[QUOTA_BLOCK];
	unsigned int at = QUOTA_HEADER_BYTES;

	if (q->read[block / 8] & 1 << block % 8)
		return true;
	q->read[block / 8] |= 1 << block % 8;
	if (!read_block(q, block, buf))
		return false;
	for (; at + q->layout->bytes <= QUOTA_BLOCK; at += q->layout->bytes)
		if (!is_zero(buf + at, q->layout->bytes) &&
		    !compare_entry(q, buf + at))
			return false;
	return true;
}

static bool walk_tree(struct qfile *q, uint32_t block, unsigned int level)
{
	uint8_t buf[QUOTA_BLOCK];
	unsigned int i;
	uint32_t ref;

	/* a valid tree refers to each block at most once */
	if (q->visits++ > q->blocks || !read_block(q, block, buf))
		return false;
	for (i = 0; i < REFS; i++) {
		ref = get_le32(buf + 4 * i);
		if (!ref)
			continue;
		if (ref >= q->blocks ||
		    !(level + 1 < QUOTA_LEVELS ? walk_tree(q, ref, level + 1) :
					   walk_entries(q, ref)))
			return false;
	}
	return true;
}

static bool read_head(struct qfile *q)
{
	uint8_t buf[QUOTA_BLOCK];
	__u64 size;
	uint32_t version;

	if (!read_block(q, 0, buf) || ext2fs_file_get_lsize(q->file, &size))
		return false;
	version = get_le32(buf + QUOTA_AT_VERSION);
	q->blocks = get_le32(buf + QUOTA_AT_BLOCKS);
	if (version >= sizeof(layouts) / sizeof(*layouts))
		return false;
	q->layout = &layouts[version];
	return size <= MAX_FILE_BYTES &&
	       q->blocks <= (size + QUOTA_BLOCK - 1) / QUOTA_BLOCK &&
	       get_le32(buf + QUOTA_AT_FREE_BLOCK) < q->blocks &&
	       get_le32(buf + QUOTA_AT_FREE_ENTRY) < q->blocks;
}

static bool compare_file(struct qfile *q)
{
	bool ok = read_head(q);
	size_t i;

	if (ok) {
		q->read = calloc(q->blocks / 8 + 1, 1);
		ok = !e4l_check_noted(q->ck, q->read ? 0 : ENOMEM) &&
		     walk_tree(q, QUOTA_ROOT_BLOCK, 0);
		free(q->read);
	}
	for (i = 0; ok && i < q->usages->room; i++)
		if (q->usages->v[i].used && !q->usages->v[i].seen)
			FOUND(q->ck, QUOTA_USAGE, .ino = q->ino,
			      .want = q->usages->v[i].id);
	return ok;
}

errcode_t e4l_pass6_quota(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	enum e4l_quota_type type;

	for (type = 0; ck->quota && type < QUOTA_TYPES; type++) {
		struct qfile q = {
			.ck = ck, .ino = ck->quota->inos[type],
			.usages = &ck->quota->type[type],
		};

		if (!q.ino)
			continue;
		if (q.ino > sb->s_inodes_count ||
		    e4l_check_noted(ck, ext2fs_file_open(ck->fs, q.ino, 0,
							 &q.file))) {
			FOUND(ck, QUOTA_FILE, .ino = q.ino);
			continue;
		}
		if (!compare_file(&q))
			FOUND(ck, QUOTA_FILE, .ino = q.ino);
		ext2fs_file_close(q.file);
	}
	return 0;
}
