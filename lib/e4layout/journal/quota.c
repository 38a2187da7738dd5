/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/io_pool.h"
#include "quota.h"

/* The quota entry of one user, group or project. */
struct record {
	enum e4l_quota_type type;
	uint32_t id;
	/* block with the usage in bytes, and byte offset in the block */
	blk64_t blk;
	size_t offset;
	uint64_t bytes; /* usage in bytes when the entry was read */
	/* sum of the decreases in bytes that e4l_quota_check() has accepted */
	uint64_t less;
};

struct e4l_quota {
	struct e4l *e;
	ext2_ino_t inos[QUOTA_TYPES];
	/* length of each quota file in blocks of QUOTA_BLOCK bytes */
	uint32_t blocks[QUOTA_TYPES];
	void *entries;			/* tsearch(3) tree of struct record */
	char *buf; /* buffer for one block of the filesystem */
};

static const char doing[] = "reading the quota usage";

static int by_id(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* ----------------------------------------------------- reading a quota file */

/*
 * Reads block @number of a quota file.  A quota file has blocks of QUOTA_BLOCK
 * bytes.  Sets *@at to the content in q->buf.  Stores the filesystem block that
 * contains the quota block in @record.
 */
static errcode_t read_block(struct e4l_quota *q, enum e4l_quota_type type,
			    uint32_t number, struct record *record, char **at)
{
	ext2_filsys fs = q->e->fs;
	uint64_t byte = (uint64_t)number * QUOTA_BLOCK;
	blk64_t blk = 0;
	int flags = 0;
	errcode_t err;

	err = ext2fs_bmap2(fs, q->inos[type], NULL, NULL, 0,
			   byte / fs->blocksize, &flags, &blk);
	if (!err && (blk <= fs->super->s_first_data_block ||
		     blk >= ext2fs_blocks_count(fs->super) ||
		     flags & BMAP_RET_UNINIT))
		err = E4L_ET_QUOTA;
	if (!err)
		err = e4l_read(q->e, blk, 1, q->buf);
	if (err)
		return e4l_fail(q->e, err, "reading a quota file",
				q->inos[type], blk);
	record->blk = blk;
	record->offset = byte % fs->blocksize;
	*at = q->buf + record->offset;
	return 0;
}

static errcode_t read_header(struct e4l_quota *q, enum e4l_quota_type type)
{
	struct record here;
	errcode_t err;
	char *at;

	err = read_block(q, type, 0, &here, &at);
	if (err)
		return err;
	if (get_le32(at + QUOTA_AT_MAGIC) != e4l_quota_magics[type] ||
	    get_le32(at + QUOTA_AT_VERSION) != QUOTA_VERSION)
		return e4l_fail(q->e, E4L_ET_QUOTA, "reading a quota file",
				q->inos[type], here.blk);
	q->blocks[type] = get_le32(at + QUOTA_AT_BLOCKS);
	return 0;
}

errcode_t e4l_quota_new(struct e4l *e, struct e4l_quota **ret)
{
	struct e4l_quota *q;
	enum e4l_quota_type type;
	errcode_t err;

	*ret = NULL;
	if (!ext2fs_has_feature_quota(e->fs->super))
		return 0;
	q = calloc(1, sizeof(*q));
	if (!q)
		return ENOMEM;
	q->e = e;
	e4l_quota_inodes(e->fs->super, q->inos);
	err = io_channel_alloc_buf(e->fs->io, 1, &q->buf);
	for (type = 0; type < QUOTA_TYPES && !err; type++)
		if (q->inos[type])
			err = read_header(q, type);
	if (err) {
		e4l_quota_free(q);
		return err;
	}
	*ret = q;
	return 0;
}

void e4l_quota_free(struct e4l_quota *q)
{
	if (!q)
		return;
	tdestroy(q->entries, free);
	ext2fs_free_mem(&q->buf);
	free(q);
}

/*
 * Searches the tree of the quota file for the ID of @record.  Sets *@number to
 * the number of the block that has the entry.
 */
static errcode_t find_leaf(struct e4l_quota *q, struct record *record,
			   uint32_t *number)
{
	int level;
	errcode_t err;
	char *at;

	*number = QUOTA_ROOT_BLOCK;
	for (level = 0; level < QUOTA_LEVELS; level++) {
		err = read_block(q, record->type, *number, record, &at);
		if (err)
			return err;
		*number = get_le32(at + 4 * e4l_quota_index(record->id, level));
		if (*number <= QUOTA_ROOT_BLOCK ||
		    *number >= q->blocks[record->type])
			return e4l_fail(q->e, E4L_ET_QUOTA, doing,
					q->inos[record->type], record->blk);
	}
	return 0;
}

/*
 * Reads the quota entry of @record.  Ignores entries with 0 inodes, because
 * unused entries have the ID 0 of root.
 */
static errcode_t read_entry(struct e4l_quota *q, struct record *record)
{
	uint32_t number;
	unsigned int i;
	errcode_t err;
	char *at;

	err = find_leaf(q, record, &number);
	if (!err)
		err = read_block(q, record->type, number, record, &at);
	if (err)
		return err;
	at += QUOTA_HEADER_BYTES;
	for (i = 0; i < QUOTA_PER_BLOCK; i++, at += QUOTA_ENTRY_BYTES) {
		if (get_le32(at + QUOTA_AT_ID) != record->id ||
		    !get_le64(at + QUOTA_AT_INODES))
			continue;
		record->offset = at + QUOTA_AT_BYTES - q->buf;
		record->bytes = get_le64(at + QUOTA_AT_BYTES);
		return 0;
	}
	return e4l_fail(q->e, E4L_ET_QUOTA, doing, q->inos[record->type],
			record->blk);
}

static errcode_t find_entry(struct e4l_quota *q, enum e4l_quota_type type,
			    uint32_t id, struct record **ret)
{
	struct record key = { .type = type, .id = id };
	void *node = tfind(&key, &q->entries, by_id);
	errcode_t err;

	if (node) {
		*ret = *(struct record **)node;
		return 0;
	}
	*ret = NULL;
	err = read_entry(q, &key);
	if (err)
		return err;
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return ENOMEM;
	**ret = key;
	if (tsearch(*ret, &q->entries, by_id))
		return 0;
	free(*ret);
	return ENOMEM;
}

/* ------------------------------------------------------------------ counting */

/*
 * Returns whether a change of @inode by @bytes changes quota usage.  The size
 * of an EA inode is charged to the owners of the inodes that have the
 * attribute, not to the owner of the EA inode.
 */
static bool is_counted(const struct e4l_quota *q,
		       const struct ext2_inode_large *inode, int64_t bytes)
{
	return q && bytes && !(inode->i_flags & EXT4_EA_INODE_FL);
}

errcode_t e4l_quota_check(struct e4l_quota *q, ext2_ino_t ino,
			  const void *inode, int64_t bytes)
{
	enum e4l_quota_type type;
	struct record *record;
	errcode_t err = 0;

	if (!is_counted(q, inode, bytes))
		return 0;
	for (type = 0; type < QUOTA_TYPES && !err; type++) {
		if (!q->inos[type])
			continue;
		err = find_entry(q, type,
				 e4l_quota_owner(q->e->fs, inode, type),
				 &record);
		if (err || bytes > 0)
			continue;
		if ((uint64_t)-bytes > record->bytes - record->less)
			err = e4l_fail(q->e, E4L_ET_QUOTA, doing, ino,
				       record->blk);
		else
			record->less += -bytes;
	}
	return err;
}

errcode_t e4l_quota_charge(struct e4l_quota *q, struct e4l_txn *t,
			   ext2_ino_t ino, const void *inode, int64_t bytes)
{
	enum e4l_quota_type type;
	struct record *record;
	errcode_t err = 0;
	uint64_t now;
	void *data;

	if (!is_counted(q, inode, bytes))
		return 0;
	for (type = 0; type < QUOTA_TYPES && !err; type++) {
		if (!q->inos[type])
			continue;
		err = find_entry(q, type,
				 e4l_quota_owner(q->e->fs, inode, type),
				 &record);
		if (!err)
			err = e4l_txn_edit_block(t, record->blk, &data);
		if (err)
			continue;
		data = (char *)data + record->offset;
		now = ext2fs_cpu_to_le64(get_le64(data) + bytes);
		memcpy(data, &now, sizeof(now));
	}
	return err;
}
