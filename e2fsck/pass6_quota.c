/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quota files against what was found: the kernel's format vfsv1, a radix tree
 * of four levels over blocks of 1 KiB (fs/quota/quota_tree.c in Linux).
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "quota.h"

#define QBLOCK		1024u
#define ROOT_BLOCK	1
#define LEVELS		4
#define REFS		(QBLOCK / 4)
#define HEADER_BYTES	16	/* of a block of entries */
#define MAX_FILE_BYTES	(1ULL << 31)
#define TYPES		3

/* Offsets in the file, and in an entry, by the format's version. */
#define FILE_VERSION	4
#define FILE_BLOCKS	20
#define FILE_FREE_BLOCK	24
#define FILE_FREE_ENTRY	28
static const struct layout {
	unsigned int bytes, inodes, inodes_bytes, space;
} layouts[] = {
	{ 48, 12, 4, 24 }, { 72, 24, 8, 48 },
};

struct usage {
	uint32_t id;
	bool used, seen;
	uint64_t space, inodes;
};

/* By id, open addressing; the room is a power of two. */
struct usages {
	struct usage *v;
	size_t n, room;
};

struct quota {
	struct usages type[TYPES];
};

static uint32_t get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ext2fs_le32_to_cpu(v);
}

static uint64_t get_number(const uint8_t *p, unsigned int bytes)
{
	return bytes == 4 ? get32(p) :
	       get32(p) | (uint64_t)get32(p + 4) << 32;
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

static ext2_ino_t quota_ino(const struct ext2_super_block *sb, int type)
{
	return type == 0 ? sb->s_usr_quota_inum :
	       type == 1 ? sb->s_grp_quota_inum : sb->s_prj_quota_inum;
}

static uint32_t id_of(const struct ext2_inode_large *inode, int type)
{
	if (type == 0)
		return inode_uid(*inode);
	if (type == 1)
		return inode_gid(*inode);
	return EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize >=
	       offsetof(struct ext2_inode_large, i_projid) +
	       sizeof(inode->i_projid) ? inode->i_projid : 0;
}

errcode_t quota_charge(struct check *ck, ext2_ino_t ino,
		       const struct ext2_inode_large *inode,
		       uint64_t clusters)
{
	struct ext2_super_block *sb = ck->fs->super;
	struct usage *u;
	errcode_t err = 0;
	int type;

	if (!ext2fs_has_feature_quota(sb) || ino == sb->s_prj_quota_inum ||
	    ino == sb->s_orphan_file_inum ||
	    inode->i_flags & EXT4_EA_INODE_FL || !inode->i_links_count ||
	    (ino != EXT2_ROOT_INO && ino < EXT2_FIRST_INODE(sb)))
		return 0;
	if (!ck->quota && !(ck->quota = calloc(1, sizeof(*ck->quota))))
		return ENOMEM;
	for (type = 0; type < TYPES && !err; type++) {
		if (!quota_ino(sb, type))
			continue;
		err = get_usage(&ck->quota->type[type], id_of(inode, type),
				&u);
		if (err)
			break;
		u->space += clusters * ck->fs->blocksize <<
			    ck->fs->cluster_ratio_bits;
		u->inodes++;
	}
	return err;
}

void quota_free(struct check *ck)
{
	int type;

	for (type = 0; ck->quota && type < TYPES; type++)
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
	uint8_t *read;		/* a bit for each block of entries */
	uint64_t visits;	/* of tree blocks */
};

static bool read_block(struct qfile *q, uint32_t block, uint8_t *buf)
{
	unsigned int got;

	/* what is after the end is zero */
	memset(buf, 0, QBLOCK);
	return !ext2fs_file_llseek(q->file, (uint64_t)block * QBLOCK,
				   EXT2_SEEK_SET, NULL) &&
	       !ext2fs_file_read(q->file, buf, QBLOCK, &got);
}

static bool is_unused(const uint8_t *entry, unsigned int bytes)
{
	return !*entry && !memcmp(entry, entry + 1, bytes - 1);
}

static bool compare_entry(struct qfile *q, const uint8_t *entry)
{
	const struct layout *l = q->layout;
	uint32_t id = get32(entry);
	struct usage *u;

	if (get_usage(q->usages, id, &u))
		return false;
	u->seen = true;
	if (get_number(entry + l->space, 8) != u->space ||
	    (get_number(entry + l->inodes, l->inodes_bytes) != u->inodes &&
	     !q->ck->ea_in_blocks))
		FOUND(q->ck, QUOTA_USAGE, .ino = q->ino, .want = id);
	return true;
}

static bool walk_entries(struct qfile *q, uint32_t block)
{
	uint8_t buf[QBLOCK];
	unsigned int at = HEADER_BYTES;

	if (q->read[block / 8] & 1 << block % 8)
		return true;
	q->read[block / 8] |= 1 << block % 8;
	if (!read_block(q, block, buf))
		return false;
	for (; at + q->layout->bytes <= QBLOCK; at += q->layout->bytes)
		if (!is_unused(buf + at, q->layout->bytes) &&
		    !compare_entry(q, buf + at))
			return false;
	return true;
}

static bool walk_tree(struct qfile *q, uint32_t block, unsigned int level)
{
	uint8_t buf[QBLOCK];
	unsigned int i;
	uint32_t ref;

	/* a tree visits no block twice */
	if (q->visits++ > q->blocks || !read_block(q, block, buf))
		return false;
	for (i = 0; i < REFS; i++) {
		ref = get32(buf + 4 * i);
		if (!ref)
			continue;
		if (ref >= q->blocks ||
		    !(level + 1 < LEVELS ? walk_tree(q, ref, level + 1) :
					   walk_entries(q, ref)))
			return false;
	}
	return true;
}

static bool read_head(struct qfile *q)
{
	uint8_t buf[QBLOCK];
	__u64 size;
	uint32_t version;

	if (!read_block(q, 0, buf) || ext2fs_file_get_lsize(q->file, &size))
		return false;
	version = get32(buf + FILE_VERSION);
	q->blocks = get32(buf + FILE_BLOCKS);
	if (version >= sizeof(layouts) / sizeof(*layouts))
		return false;
	q->layout = &layouts[version];
	return size <= MAX_FILE_BYTES &&
	       q->blocks <= (size + QBLOCK - 1) / QBLOCK &&
	       get32(buf + FILE_FREE_BLOCK) < q->blocks &&
	       get32(buf + FILE_FREE_ENTRY) < q->blocks;
}

static bool compare_file(struct qfile *q)
{
	bool ok = read_head(q);
	size_t i;

	if (ok) {
		q->read = calloc(q->blocks / 8 + 1, 1);
		ok = q->read && walk_tree(q, ROOT_BLOCK, 0);
		free(q->read);
	}
	for (i = 0; ok && i < q->usages->room; i++)
		if (q->usages->v[i].used && !q->usages->v[i].seen)
			FOUND(q->ck, QUOTA_USAGE, .ino = q->ino,
			      .want = q->usages->v[i].id);
	return ok;
}

errcode_t pass6_quota(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	int type;

	for (type = 0; ck->quota && type < TYPES; type++) {
		struct qfile q = {
			.ck = ck, .ino = quota_ino(sb, type),
			.usages = &ck->quota->type[type],
		};

		if (!q.ino)
			continue;
		if (q.ino > sb->s_inodes_count ||
		    ext2fs_file_open(ck->fs, q.ino, 0, &q.file)) {
			FOUND(ck, QUOTA_FILE, .ino = q.ino);
			continue;
		}
		if (!compare_file(&q))
			FOUND(ck, QUOTA_FILE, .ino = q.ino);
		ext2fs_file_close(q.file);
	}
	return 0;
}
