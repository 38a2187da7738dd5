/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Updates the quota files of a new image that e4l_like_plan() derives from an
 * old image.  If only usage changes, the entries are changed in place.  If a
 * quota file gets or loses an entry, the file is rebuilt with the limits of the
 * old file.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/array.h"
#include "like.h"

/* ------------------------------------------------------------------ counting */

static errcode_t add_usage(struct e4l_like *l, enum e4l_quota_type type,
			   uint32_t id, int64_t inodes, int64_t bytes)
{
	struct like_usage *u = l->usage[type].v;
	size_t i;

	for (i = 0; i < l->usage[type].n && u[i].id != id; i++)
		;
	if (i == l->usage[type].n) {
		if (vec_room(&l->usage[type], 1))
			return ENOMEM;
		u = l->usage[type].v;
		u[l->usage[type].n++] = (struct like_usage) { .id = id };
	}
	u[i].inodes += inodes;
	u[i].bytes += bytes;
	return 0;
}

errcode_t e4l_like_count(struct e4l_like *l, ext2_ino_t ino,
			 const struct ext2_inode_large *inode, int sign)
{
	ext2_ino_t inos[QUOTA_TYPES];
	enum e4l_quota_type type;
	errcode_t err = 0;
	int64_t bytes;

	/* e2fsck does not count symbolic links with inline data */
	if (!ext2fs_has_feature_quota(l->fs->super) ||
	    (LINUX_S_ISLNK(inode->i_mode) &&
	     inode->i_flags & EXT4_INLINE_DATA_FL))
		return 0;
	e4l_quota_inodes(l->fs->super, inos);
	bytes = ext2fs_get_stat_i_blocks(l->fs, (struct ext2_inode *)inode) *
		512;
	for (type = 0; type < QUOTA_TYPES && !err; type++)
		if (inos[type])
			err = add_usage(l, type,
					e4l_quota_owner(l->fs, inode, type),
					sign, sign * bytes);
	return err;
}

/* ------------------------------------------------------------------ the file */

struct quota_file {
	struct e4l_like *l;
	ext2_ino_t ino;
	enum e4l_quota_type type;
	struct ext2_inode_large *inode;
	struct like_map map;
	char *bytes;
	size_t len;
};

static errcode_t load(struct quota_file *f)
{
	struct e4l_like *l = f->l;
	uint32_t bs = l->fs->blocksize;
	uint64_t size;
	errcode_t err;
	size_t i;

	err = e4l_like_read_inode(l, f->ino, f->inode);
	if (!err)
		err = e4l_like_read_map(l, f->ino, f->inode, &f->map);
	size = EXT2_I_SIZE(f->inode);
	if (err || size < 2 * QUOTA_BLOCK || size > INT32_MAX)
		return err ? err : E4L_ET_QUOTA;
	f->len = blocks_of(l->p, size) * bs;
	f->bytes = calloc(1, f->len);
	if (!f->bytes)
		return ENOMEM;
	for (i = 0; i < f->map.runs.n && !err; i++) {
		const struct like_run *r = &f->map.runs.v[i];

		if ((r->lblk + (uint64_t)r->len) * bs > f->len || r->unwritten)
			return E4L_ET_QUOTA;
		err = io_channel_read_blk64(l->fs->io, r->pblk, r->len,
					    f->bytes + (size_t)r->lblk * bs);
	}
	return err;
}

/* Finds the entry of the ID @id.  If there is no entry, returns NULL. */
static char *find_entry(const struct quota_file *f, uint32_t id)
{
	uint32_t block = QUOTA_ROOT_BLOCK, i;
	int level;
	char *at;

	for (level = 0; level < QUOTA_LEVELS; level++) {
		if ((uint64_t)block * QUOTA_BLOCK + QUOTA_BLOCK > f->len)
			return NULL;
		block = get_le32(f->bytes + (size_t)block * QUOTA_BLOCK +
				 e4l_quota_index(id, level) * 4);
		if (block <= QUOTA_ROOT_BLOCK)
			return NULL;
	}
	if ((uint64_t)block * QUOTA_BLOCK + QUOTA_BLOCK > f->len)
		return NULL;
	at = f->bytes + (size_t)block * QUOTA_BLOCK + QUOTA_HEADER_BYTES;
	for (i = 0; i < QUOTA_PER_BLOCK; i++, at += QUOTA_ENTRY_BYTES)
		if (get_le32(at + QUOTA_AT_ID) == id &&
		    e4l_any_byte(at + 4, QUOTA_ENTRY_BYTES - 4))
			return at;
	return NULL;
}

static void change_entry(char *at, const struct like_usage *u)
{
	put_le64(at + QUOTA_AT_INODES, get_le64(at + QUOTA_AT_INODES) +
				       u->inodes);
	put_le64(at + QUOTA_AT_BYTES, get_le64(at + QUOTA_AT_BYTES) +
				      u->bytes);
}

/*
 * Changes entries in place.  If an entry must be added or removed, changes
 * nothing and returns false.
 */
static bool change_entries(struct quota_file *f)
{
	struct e4l_like *l = f->l;
	size_t i;
	char *at;

	for (i = 0; i < l->usage[f->type].n; i++) {
		const struct like_usage *u = &l->usage[f->type].v[i];

		if (!u->inodes && !u->bytes)
			continue;
		at = find_entry(f, u->id);
		if (!at || get_le64(at + QUOTA_AT_INODES) + u->inodes == 0)
			return false;
	}
	for (i = 0; i < l->usage[f->type].n; i++) {
		at = find_entry(f, l->usage[f->type].v[i].id);
		if (at)
			change_entry(at, &l->usage[f->type].v[i]);
	}
	return true;
}

/* ---------------------------------------------------------------- rebuilding */

struct entries {
	VEC(struct e4l_quota_entry) v;
	size_t visits;		/* number of blocks visited */
};

/* Appends the entries of the block @at to @out. */
static errcode_t collect_block(const char *at, struct entries *out)
{
	uint32_t i;

	at += QUOTA_HEADER_BYTES;
	for (i = 0; i < QUOTA_PER_BLOCK; i++, at += QUOTA_ENTRY_BYTES) {
		if (!e4l_any_byte(at, QUOTA_ENTRY_BYTES))
			continue;
		if (vec_room(&out->v, 1))
			return ENOMEM;
		memcpy(out->v.v[out->v.n++].raw, at, QUOTA_ENTRY_BYTES);
	}
	return 0;
}

/*
 * Appends the entries below the tree block @block to @out.  @level is the level
 * of @block: 0 for the root, QUOTA_LEVELS for a block of entries.  Entries
 * occur several times, because several references lead to one block of entries.
 */
static errcode_t collect(const struct quota_file *f, uint32_t block, int level,
			 struct entries *out)
{
	const char *at = f->bytes + (size_t)block * QUOTA_BLOCK;
	errcode_t err = 0;
	uint32_t i, next;

	if (out->visits++ > f->len / QUOTA_BLOCK * (QUOTA_PER_BLOCK + 1))
		return E4L_ET_QUOTA;
	if (level == QUOTA_LEVELS)
		return collect_block(at, out);
	for (i = 0; i < QUOTA_BLOCK / 4 && !err; i++) {
		next = get_le32(at + i * 4);
		if (!next)
			continue;
		if ((uint64_t)next * QUOTA_BLOCK + QUOTA_BLOCK > f->len)
			return E4L_ET_QUOTA;
		err = collect(f, next, level + 1, out);
	}
	return err;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = get_le32(a), y = get_le32(b);

	return x < y ? -1 : x > y;
}

/*
 * Sorts the entries by ID.  Drops duplicates, and entries without usage and
 * limits.
 */
static void clean(struct entries *e)
{
	size_t i, n = 0;

	e4l_sort(e->v.v, e->v.n, sizeof(*e->v.v), by_id);
	for (i = 0; i < e->v.n; i++) {
		if (!e4l_any_byte(e->v.v[i].raw + 4, QUOTA_ENTRY_BYTES - 4))
			continue;
		if (n && !by_id(&e->v.v[n - 1], &e->v.v[i]))
			continue;
		e->v.v[n++] = e->v.v[i];
	}
	e->v.n = n;
}

static errcode_t apply(struct entries *e, const struct like_usage *u, size_t n)
{
	struct e4l_quota_entry key = { { 0 } }, *found;
	size_t i;

	for (i = 0; i < n; i++) {
		put_le32(key.raw, u[i].id);
		found = e->v.n ? bsearch(&key, e->v.v, e->v.n,
					 sizeof(*e->v.v), by_id) : NULL;
		if (!found) {
			if (vec_room(&e->v, 1))
				return ENOMEM;
			found = &e->v.v[e->v.n++];
			*found = key;
			change_entry(found->raw, &u[i]);
			e4l_sort(e->v.v, e->v.n, sizeof(*e->v.v), by_id);
		} else {
			change_entry(found->raw, &u[i]);
		}
	}
	clean(e);
	return 0;
}

static errcode_t rebuild(struct quota_file *f)
{
	struct e4l_like *l = f->l;
	struct entries e = { 0 };
	char *bytes = NULL;
	size_t len = 0;
	errcode_t err = collect(f, QUOTA_ROOT_BLOCK, 0, &e);

	if (!err) {
		clean(&e);
		err = apply(&e, l->usage[f->type].v, l->usage[f->type].n);
	}
	if (!err)
		err = e4l_pop_quota_bytes(e.v.v, e.v.n, f->bytes,
					  l->fs->blocksize, &bytes, &len);
	free(e.v.v);
	if (err)
		return err;
	free(f->bytes);
	f->bytes = bytes;
	f->len = len;
	return ext2fs_inode_size_set(l->fs, (struct ext2_inode *)f->inode, len);
}

/* Adds runs for the new length to @file: old blocks first, then new blocks. */
static errcode_t add_runs(struct quota_file *f, struct like_file *file)
{
	struct e4l_like *l = f->l;
	uint32_t blocks = f->len / l->fs->blocksize, have = 0;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < f->map.runs.n && have < blocks && !err; i++) {
		struct like_run r = f->map.runs.v[i];

		if (r.lblk != have)
			return E4L_ET_QUOTA;
		if (r.len > blocks - have)
			r.len = blocks - have;
		err = e4l_like_add_run(l, file, r);
		have += r.len;
	}
	if (!err && have < blocks)
		err = e4l_like_add_run(l, file, (struct like_run) {
			.lblk = have, .len = blocks - have,
		});
	return err;
}

static errcode_t put_run(const struct quota_file *f, const struct like_run *r)
{
	size_t bs = f->l->fs->blocksize;
	errcode_t err = 0;
	uint32_t k;

	for (k = 0; k < r->len && !err; k++)
		err = e4l_like_put_block(f->l, r->pblk + k,
					 f->bytes + (r->lblk + k) * bs);
	return err;
}

static errcode_t store(struct quota_file *f)
{
	struct e4l_like *l = f->l;
	struct like_file file = { .first = l->runs.n };
	errcode_t err = add_runs(f, &file);
	size_t i;

	if (!err)
		err = e4l_like_drop(l, f->ino, f->inode, &f->map, &file);
	if (!err)
		err = e4l_like_settle(l, f->ino, f->inode, &f->map, &file);
	for (i = 0; i < file.n && !err && !l->missing; i++)
		err = put_run(f, &l->runs.v[file.first + i]);
	l->runs.n = file.first;
	return err ? err : ext2fs_write_inode_full(l->fs, f->ino,
				(struct ext2_inode *)f->inode,
				EXT2_INODE_SIZE(l->fs->super));
}

static bool has_changes(const struct e4l_like *l, enum e4l_quota_type type)
{
	size_t i;

	for (i = 0; i < l->usage[type].n; i++)
		if (l->usage[type].v[i].inodes || l->usage[type].v[i].bytes)
			return true;
	return false;
}

static errcode_t put_file(struct e4l_like *l, ext2_ino_t ino,
			  enum e4l_quota_type type)
{
	struct quota_file f = {
		.l = l, .ino = ino, .type = type,
		.inode = e4l_like_new_inode(l),
	};
	errcode_t err = f.inode ? load(&f) : ENOMEM;

	if (!err && !change_entries(&f))
		err = rebuild(&f);
	if (!err)
		err = store(&f);
	e4l_like_free_map(&f.map);
	free(f.bytes);
	free(f.inode);
	return err;
}

errcode_t e4l_like_put_quota(struct e4l_like *l)
{
	ext2_ino_t inos[QUOTA_TYPES];
	enum e4l_quota_type type;
	errcode_t err = 0;

	if (!ext2fs_has_feature_quota(l->fs->super))
		return 0;
	e4l_quota_inodes(l->fs->super, inos);
	for (type = 0; type < QUOTA_TYPES && !err; type++)
		if (inos[type] && has_changes(l, type))
			err = put_file(l, inos[type], type);
	return err ? e4l_fail(l->e, err, "changing the quota files", 0, 0) : 0;
}
