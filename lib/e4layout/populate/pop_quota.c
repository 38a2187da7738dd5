/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds quota files with the usage of the planned image. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "populate.h"
#include "e4layout/journal/quota.h"

#define GRACE_SEC	(7 * 24 * 60 * 60)

struct usage {
	uint32_t id;
	uint64_t inodes;	/* 0: the slot is empty */
	uint64_t bytes;
};

struct usages {
	struct usage *v;
	size_t n, mask;
};

/* ------------------------------------------------------------------- usage */

static struct usage *slot(struct usages *u, uint32_t id)
{
	size_t i = id * 2654435761U & u->mask;

	while (u->v[i].inodes && u->v[i].id != id)
		i = (i + 1) & u->mask;
	return &u->v[i];
}

static errcode_t grow(struct usages *u)
{
	struct usages bigger = { .n = u->n, .mask = u->mask * 2 + 1 };
	size_t i;

	bigger.v = calloc(bigger.mask + 1, sizeof(*bigger.v));
	if (!bigger.v)
		return ENOMEM;
	for (i = 0; u->v && i <= u->mask; i++)
		if (u->v[i].inodes)
			*slot(&bigger, u->v[i].id) = u->v[i];
	free(u->v);
	*u = bigger;
	return 0;
}

static uint32_t id_of(const struct e4l_populate *p, const struct node *n,
		      enum e4l_quota_type type)
{
	if (type == QUOTA_USER)
		return n->uid;
	return type == QUOTA_GROUP ? n->gid : p->t->extras.v[n->extra].projid;
}

static errcode_t count(struct e4l_populate *p, enum e4l_quota_type type,
		       struct usages *u)
{
	const struct node *n;
	struct usage *s;
	uint32_t i;

	*u = (struct usages) { .mask = 31 };
	if (grow(u))
		return ENOMEM;
	for (i = E4L_TREE_ROOT; i < p->t->nodes.n; i++) {
		n = &p->t->nodes.v[i];
		if (!stands(n) || n->flags & NODE_BLOB)
			continue;
		if (u->n * 2 > u->mask && grow(u))
			return ENOMEM;
		s = slot(u, id_of(p, n, type));
		u->n += !s->inodes;
		s->id = id_of(p, n, type);
		s->inodes += 1 + (n->xattr ?
				  p->xplaces.v[n->xattr].ea_inodes : 0);
		s->bytes += e4l_pop_inode_sectors(p, n) * 512;
	}
	return 0;
}

/* -------------------------------------------------------------------- file */

struct file {
	VEC(char) bytes;
	uint32_t blocks;
	/* block number, in the file, of the block that gets new entries */
	uint32_t entries_block;
	uint32_t entries;	/* number of entries in @entries_block */
};

static errcode_t add_block(struct file *f, uint32_t *ret)
{
	if (vec_room(&f->bytes, QUOTA_BLOCK))
		return ENOMEM;
	memset(f->bytes.v + f->bytes.n, 0, QUOTA_BLOCK);
	f->bytes.n += QUOTA_BLOCK;
	*ret = f->blocks++;
	return 0;
}

/*
 * Finds the element of the lowest tree block that refers to the block with the
 * entry of @id.  Sets *@ref to the offset of this element in the quota file, in
 * bytes.  Creates missing tree blocks.
 */
static errcode_t find_ref(struct file *f, uint32_t id, size_t *ref)
{
	uint32_t block = QUOTA_ROOT_BLOCK, next;
	int level;

	for (level = 0;; level++) {
		*ref = (size_t)block * QUOTA_BLOCK +
		       e4l_quota_index(id, level) * 4;
		if (level == QUOTA_LEVELS - 1)
			return 0;
		next = get_le32(f->bytes.v + *ref);
		if (!next) {
			if (add_block(f, &next))
				return ENOMEM;
			put_le32(f->bytes.v + *ref, next);
		}
		block = next;
	}
}

static errcode_t add_entry(struct file *f, const struct usage *u)
{
	size_t ref;
	char *at;

	if (!f->entries_block || f->entries == QUOTA_PER_BLOCK) {
		f->entries = 0;
		if (add_block(f, &f->entries_block))
			return ENOMEM;
	}
	if (find_ref(f, u->id, &ref))
		return ENOMEM;
	put_le32(f->bytes.v + ref, f->entries_block);
	at = f->bytes.v + (size_t)f->entries_block * QUOTA_BLOCK;
	put_le32(at + QUOTA_AT_ENTRIES, f->entries + 1);
	at += QUOTA_HEADER_BYTES + f->entries++ * QUOTA_ENTRY_BYTES;
	put_le32(at + QUOTA_AT_ID, u->id);
	put_le64(at + QUOTA_AT_INODES, u->inodes);
	put_le64(at + QUOTA_AT_BYTES, u->bytes);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static errcode_t make_file(struct usages *u, enum e4l_quota_type type,
			   struct file *f)
{
	uint32_t block;
	size_t i, n = 0;

	for (i = 0; i <= u->mask; i++)
		if (u->v[i].inodes)
			u->v[n++] = u->v[i];
	qsort(u->v, n, sizeof(*u->v), by_id);
	if (add_block(f, &block) || add_block(f, &block))
		return ENOMEM;
	for (i = 0; i < n; i++)
		if (add_entry(f, &u->v[i]))
			return ENOMEM;
	put_le32(f->bytes.v + QUOTA_AT_MAGIC, e4l_quota_magics[type]);
	put_le32(f->bytes.v + QUOTA_AT_VERSION, QUOTA_VERSION);
	put_le32(f->bytes.v + QUOTA_AT_GRACE, GRACE_SEC);
	put_le32(f->bytes.v + QUOTA_AT_GRACE + 4, GRACE_SEC);
	put_le32(f->bytes.v + QUOTA_AT_BLOCKS, f->blocks);
	if (f->entries < QUOTA_PER_BLOCK)
		put_le32(f->bytes.v + QUOTA_AT_FREE_ENTRY, f->entries_block);
	return 0;
}

static errcode_t add_raw(struct file *f, const struct e4l_quota_entry *e)
{
	const struct usage u = {
		.id = get_le32(e->raw + QUOTA_AT_ID),
		.inodes = get_le64(e->raw + QUOTA_AT_INODES),
		.bytes = get_le64(e->raw + QUOTA_AT_BYTES),
	};
	errcode_t err = add_entry(f, &u);
	size_t at = (size_t)f->entries_block * QUOTA_BLOCK;

	if (!err)
		memcpy(f->bytes.v + at + QUOTA_HEADER_BYTES +
		       (f->entries - 1) * QUOTA_ENTRY_BYTES, e->raw,
		       QUOTA_ENTRY_BYTES);
	return err;
}

errcode_t e4l_pop_quota_bytes(const struct e4l_quota_entry *e, size_t n,
			      const char *old, uint32_t blocksize,
			      char **bytes, size_t *len)
{
	struct file f = { 0 };
	uint32_t block;
	errcode_t err = add_block(&f, &block);
	size_t i;

	if (!err)
		err = add_block(&f, &block);
	for (i = 0; i < n && !err; i++)
		err = add_raw(&f, &e[i]);
	if (!err) {
		memcpy(f.bytes.v, old, QUOTA_AT_BLOCKS);
		put_le32(f.bytes.v + QUOTA_AT_BLOCKS, f.blocks);
		if (f.entries < QUOTA_PER_BLOCK)
			put_le32(f.bytes.v + QUOTA_AT_FREE_ENTRY,
				 f.entries_block);
	}
	while (!err && f.bytes.n % blocksize) {
		if (vec_room(&f.bytes, QUOTA_BLOCK))
			err = ENOMEM;
		else
			memset(f.bytes.v + f.bytes.n, 0, QUOTA_BLOCK);
		f.bytes.n += QUOTA_BLOCK;
	}
	if (err)
		free(f.bytes.v);
	*bytes = err ? NULL : f.bytes.v;
	*len = f.bytes.n;
	return err;
}

/* -------------------------------------------------------------------- inode */

static int free_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t blockcnt,
		      blk64_t ref_blk, int ref_offset, void *priv)
{
	if (ext2fs_test_block_bitmap2(fs->block_map, *blk))
		ext2fs_block_alloc_stats2(fs, *blk, -1);
	return 0;
}

/*
 * Makes @f the planned content of the quota inode @ino, and frees the inode's
 * old blocks.  The plan takes ownership of f->bytes.
 */
static errcode_t set_content(struct e4l_populate *p, ext2_ino_t ino,
			     struct file *f)
{
	struct extra x = { .crtime = p->now };
	struct ext2_inode inode;
	struct node n = {
		.ino = ino, .links = 1, .flags = NODE_BLOB,
		.pos = p->blobs.n, .size = f->bytes.n, .mtime = p->now,
		.atime = p->now, .ctime = p->now, .priority = PRIORITY_NONE,
	};
	errcode_t err;
	uint32_t id;

	err = ext2fs_read_inode(p->fs, ino, &inode);
	if (!err)
		err = ext2fs_block_iterate3(p->fs, ino, BLOCK_FLAG_READ_ONLY,
					    NULL, free_block, NULL);
	if (err)
		return err;
	if (vec_room(&p->blobs, 1) || vec_room(&p->t->extras, 1))
		return ENOMEM;
	if (p->max_ino < ino)
		p->max_ino = ino;
	n.mode = inode.i_mode;
	x.flags = inode.i_flags & ~(EXT4_EXTENTS_FL | EXT4_INLINE_DATA_FL);
	n.extra = p->t->extras.n;
	p->t->extras.v[p->t->extras.n++] = x;
	p->blobs.v[p->blobs.n++] = (struct blob) {
		.bytes = f->bytes.v, .owned = f->bytes.v,
	};
	f->bytes.v = NULL;
	err = e4l_tree_add_hidden(p->t, &n, &id);
	return err ? err : e4l_pop_place_blob(p, id);
}

errcode_t e4l_pop_quota(struct e4l_populate *p)
{
	struct ext2_super_block *sb = p->fs->super;
	ext2_ino_t inos[QUOTA_TYPES];
	enum e4l_quota_type type;
	errcode_t err = 0;

	e4l_quota_inodes(sb, inos);
	for (type = 0; type < QUOTA_TYPES && !err; type++) {
		struct file f = { 0 };
		struct usages u;

		if (!ext2fs_has_feature_quota(sb) || !inos[type])
			continue;
		err = count(p, type, &u);
		if (!err)
			err = make_file(&u, type, &f);
		if (!err)
			err = set_content(p, inos[type], &f);
		free(u.v);
		free(f.bytes.v);
	}
	return err ? e4l_pop_fail(p, err, "making the quota files", 0) : 0;
}
