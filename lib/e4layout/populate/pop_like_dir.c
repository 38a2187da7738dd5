/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes the directories of an image that is like an old image.  Old names
 * stay in their blocks.  A new name goes to the leaf for the hash of the name.
 * A full leaf is split.  If the index has no space for another leaf, or if the
 * leaves have become mostly empty, the directory is rebuilt, in the old blocks
 * if possible.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "like.h"

/* A leaf block of an htree directory, or a block of a linear directory. */
struct leaf {
	/*
	 * smallest hash; bit 0: the hash also occurs in the leaf before this
	 * leaf
	 */
	uint32_t hash;
	uint32_t lblk;
	uint32_t index;		/* index block that refers to the leaf */
};

struct dirwork {
	struct e4l_like *l;
	uint32_t id;
	struct node *n;
	struct ext2_inode_large *inode;
	struct like_map map;
	/* number of blocks in @buf, and number of blocks that fit into @buf */
	uint32_t blocks, room;
	char *buf;
	uint8_t *dirty;		/* [block]: the block was changed */
	/* number of bytes in a leaf that can hold entries */
	uint32_t end;
	VEC(struct leaf) leaves;
	int hash_version;
	bool indexed;
	bool rebuild;
};

static char *block_of(const struct dirwork *w, uint32_t lblk)
{
	return w->buf + (size_t)lblk * w->l->fs->blocksize;
}

static struct dirent_raw entry_at(const struct dirwork *w, const char *at)
{
	return dirent_read(w->l->fs->blocksize, at);
}

static bool is_valid(const struct dirwork *w, uint32_t off,
		     const struct dirent_raw *d)
{
	return d->rec_len >= DIRENT_HEAD_BYTES && !(d->rec_len & 3) &&
	       d->rec_len <= w->end - off &&
	       (!d->ino || dirent_bytes(d->name_len) <= d->rec_len);
}

/* A length that does not fit in 16 bits is stored as 65535. */
static void set_rec_len(char *at, uint32_t len)
{
	put_le16(at + 4, len > UINT16_MAX ? UINT16_MAX : len);
}

static bool is_dots(const struct dirent_raw *d)
{
	return d->name_len && d->name_len <= 2 &&
	       !memcmp(d->name, "..", d->name_len);
}

/* --------------------------------------------------------- reading the blocks */

/* Makes space for one more block in w->buf and w->dirty. */
static errcode_t grow(struct dirwork *w)
{
	uint32_t bs = w->l->fs->blocksize, room = w->blocks + w->blocks / 4 + 4;
	char *buf;
	uint8_t *dirty;

	if (w->blocks < w->room)
		return 0;
	buf = (size_t)room > SIZE_MAX / bs ? NULL :
	      realloc(w->buf, (size_t)room * bs);
	if (!buf)
		return ENOMEM;
	w->buf = buf;
	dirty = realloc(w->dirty, room);
	if (!dirty)
		return ENOMEM;
	memset(dirty + w->blocks, 0, room - w->blocks);
	w->dirty = dirty;
	w->room = room;
	return 0;
}

static errcode_t load(struct dirwork *w)
{
	struct e4l_like *l = w->l;
	uint64_t blocks = EXT2_I_SIZE(w->inode) / l->fs->blocksize, have = 0;
	errcode_t err;
	size_t i;

	err = e4l_like_read_map(l, w->n->ino, w->inode, &w->map);
	for (i = 0; i < w->map.runs.n; i++) {
		if (w->map.runs.v[i].lblk != have || w->map.runs.v[i].unwritten)
			return E4L_ET_DIR_CORRUPT;
		have += w->map.runs.v[i].len;
	}
	if (err || blocks != have || blocks > INT32_MAX)
		return err ? err : E4L_ET_DIR_CORRUPT;
	w->blocks = blocks;
	w->buf = e4l_array_alloc(blocks + 1, l->fs->blocksize);
	w->dirty = calloc(1, blocks + 1);
	w->room = blocks + 1;
	if (!w->buf || !w->dirty)
		return ENOMEM;
	for (i = 0; i < w->map.runs.n && !err; i++)
		err = io_channel_read_blk64(l->fs->io, w->map.runs.v[i].pblk,
					    w->map.runs.v[i].len,
					    block_of(w, w->map.runs.v[i].lblk));
	return err;
}

static char *dx_entries(const struct dirwork *w, uint32_t lblk)
{
	return block_of(w, lblk) + (lblk ? DX_NODE_AT : DX_ROOT_AT);
}

/*
 * Lists the leaves below the index block @lblk.  @hash is the smallest hash in
 * this index block, and @levels is the number of index levels below the block.
 */
static errcode_t list_leaves(struct dirwork *w, uint32_t lblk, uint32_t hash,
			     unsigned int levels)
{
	const char *at = dx_entries(w, lblk);
	uint32_t limit = get_le16(at), count = get_le16(at + 2), i, child;
	errcode_t err = 0;

	if (!count || count > limit ||
	    limit > (w->l->fs->blocksize - DX_NODE_AT) / DX_ENTRY_BYTES)
		return E4L_ET_DIR_CORRUPT;
	for (i = 0; i < count && !err; i++, at += DX_ENTRY_BYTES) {
		child = get_le32(at + 4) & DX_BLOCK_MASK;
		if (i)
			hash = get_le32(at);
		if (!child || child >= w->blocks ||
		    w->leaves.n >= w->blocks)
			return E4L_ET_DIR_CORRUPT;
		if (levels) {
			err = list_leaves(w, child, hash, levels - 1);
			continue;
		}
		if (vec_room(&w->leaves, 1))
			return ENOMEM;
		w->leaves.v[w->leaves.n++] = (struct leaf) {
			hash, child, lblk,
		};
	}
	return err;
}

static errcode_t read_index(struct dirwork *w)
{
	const uint8_t *info = (uint8_t *)w->buf + DX_INFO_AT;
	uint32_t i;

	if (!w->blocks)
		return E4L_ET_DIR_CORRUPT;
	if (w->indexed) {
		if (info[5] != DX_INFO_BYTES || info[6] > E4L_DIR_MAX_LEVELS)
			return E4L_ET_DIR_CORRUPT;
		w->hash_version = hash_version_of(w->l->fs->super, info[4]);
		return list_leaves(w, 0, 0, info[6]);
	}
	for (i = 0; i < w->blocks; i++) {
		if (vec_room(&w->leaves, 1))
			return ENOMEM;
		w->leaves.v[w->leaves.n++] = (struct leaf) { 0, i, 0 };
	}
	return 0;
}

/* ---------------------------------------------------------------- old names */

/*
 * Removes the entry at @at, which has @len bytes.  @prev is the previous entry
 * of the block; NULL: @at is the first entry.
 */
static void remove_entry(struct dirwork *w, char *at, uint32_t len, char *prev)
{
	if (prev) {
		set_rec_len(prev, entry_at(w, prev).rec_len + len);
		memset(at, 0, len);
	} else {
		memset(at, 0, len);
		set_rec_len(at, len);
	}
}

/*
 * Compares an entry with the tree.  If the directory in the tree has no such
 * name, sets *@keep to false.  If the directory has the name, corrects the
 * inode number and the file type of the entry.
 */
static errcode_t compare_entry(struct dirwork *w, uint32_t lblk, char *at,
			       bool *keep)
{
	struct e4l_like *l = w->l;
	struct dirent_raw d = entry_at(w, at);
	const struct node *owner;
	uint8_t type;
	uint32_t id;
	errcode_t err;

	err = e4l_tree_find(l->t, w->id, d.name, d.name_len, &id);
	*keep = !err && id && !l->seen[id];
	if (!*keep)
		return err;
	l->seen[id] = 1;
	owner = &l->t->nodes.v[tree_owner(l->t, id)];
	type = e4l_pop_file_type(l->p, owner->mode);
	if (d.ino == owner->ino && (!type || d.type == type))
		return 0;
	put_le32(at, owner->ino);
	at[7] = type;
	w->dirty[lblk] = 1;
	return 0;
}

static errcode_t prune(struct dirwork *w, uint32_t lblk)
{
	char *buf = block_of(w, lblk), *prev = NULL, *at;
	struct dirent_raw d;
	errcode_t err = 0;
	bool keep;
	uint32_t off;

	for (off = 0; off < w->end && !err; off += d.rec_len) {
		at = buf + off;
		d = entry_at(w, at);
		if (!is_valid(w, off, &d))
			return E4L_ET_DIR_CORRUPT;
		keep = true;
		if (d.ino && !is_dots(&d))
			err = compare_entry(w, lblk, at, &keep);
		if (!err && !keep) {
			remove_entry(w, at, d.rec_len, prev);
			w->dirty[lblk] = 1;
		}
		if (keep || !prev)
			prev = at;
	}
	return err;
}

/* ---------------------------------------------------------------- new names */

static void put_entry(struct dirwork *w, char *at, uint32_t rec_len,
		      uint32_t id)
{
	const struct e4l_tree *t = w->l->t;
	const struct node *n = &t->nodes.v[id];
	const struct node *owner = &t->nodes.v[tree_owner(t, id)];

	memset(at, 0, dirent_bytes(n->name_len));
	put_le32(at, owner->ino);
	at[6] = n->name_len;
	at[7] = e4l_pop_file_type(w->l->p, owner->mode);
	memcpy(at + DIRENT_HEAD_BYTES, node_name(t, n), n->name_len);
	set_rec_len(at, rec_len);
}

static uint32_t used_bytes(const struct dirent_raw *d)
{
	return d->ino ? dirent_bytes(d->name_len) : 0;
}

/*
 * Inserts an entry for the node @id into the first gap of block @lblk that is
 * large enough.  If there is no such gap, returns false.
 */
static bool insert_in_gap(struct dirwork *w, uint32_t lblk, uint32_t id)
{
	uint32_t need = dirent_bytes(w->l->t->nodes.v[id].name_len), off, used;
	char *buf = block_of(w, lblk);
	struct dirent_raw d;

	for (off = 0; off < w->end; off += d.rec_len) {
		d = entry_at(w, buf + off);
		used = used_bytes(&d);
		if (d.rec_len - used < need)
			continue;
		if (used)
			set_rec_len(buf + off, used);
		put_entry(w, buf + off + used, d.rec_len - used, id);
		w->dirty[lblk] = 1;
		return true;
	}
	return false;
}

/* Moves all entries to the start of block @lblk, so that one gap remains. */
static void pack(struct dirwork *w, uint32_t lblk)
{
	char *buf = block_of(w, lblk), *last = NULL;
	uint32_t off, to = 0, used;
	struct dirent_raw d;

	for (off = 0; off < w->end; off += d.rec_len) {
		d = entry_at(w, buf + off);
		used = used_bytes(&d);
		if (!used)
			continue;
		memmove(buf + to, buf + off, used);
		last = buf + to;
		set_rec_len(last, used);
		to += used;
	}
	memset(buf + to, 0, w->end - to);
	if (last)
		set_rec_len(last, w->end - (last - buf));
	else
		set_rec_len(buf, w->end);
}

static uint32_t free_bytes(const struct dirwork *w, uint32_t lblk)
{
	const char *buf = block_of(w, lblk);
	uint32_t off, sum = 0;
	struct dirent_raw d;

	for (off = 0; off < w->end; off += d.rec_len) {
		d = entry_at(w, buf + off);
		sum += d.rec_len - used_bytes(&d);
	}
	return sum;
}

static bool insert(struct dirwork *w, uint32_t lblk, uint32_t id)
{
	if (insert_in_gap(w, lblk, id))
		return true;
	if (free_bytes(w, lblk) < dirent_bytes(w->l->t->nodes.v[id].name_len))
		return false;
	pack(w, lblk);
	return insert_in_gap(w, lblk, id);
}

/* Adds an empty block to the directory. */
static errcode_t add_block(struct dirwork *w, uint32_t *lblk)
{
	uint32_t bs = w->l->fs->blocksize;
	errcode_t err = grow(w);
	char *buf;

	if (err)
		return err;
	*lblk = w->blocks++;
	buf = block_of(w, *lblk);
	memset(buf, 0, bs);
	set_rec_len(buf, w->end);
	if (w->end < bs) {
		set_rec_len(buf + w->end, DIR_TAIL_BYTES);
		buf[w->end + 7] = (char)DIR_TAIL_TYPE;
	}
	w->dirty[*lblk] = 1;
	return 0;
}

/*
 * Adds the name of node @id to a directory without an index.  The blocks before
 * leaf *@from are full.
 */
static errcode_t add_linear(struct dirwork *w, uint32_t id, size_t *from)
{
	uint32_t lblk;
	errcode_t err;

	for (; *from < w->leaves.n; (*from)++)
		if (insert(w, w->leaves.v[*from].lblk, id))
			return 0;
	if (ext2fs_has_feature_dir_index(w->l->fs->super)) {
		w->rebuild = true;
		return 0;
	}
	err = add_block(w, &lblk);
	if (!err && vec_room(&w->leaves, 1))
		err = ENOMEM;
	if (err)
		return err;
	w->leaves.v[w->leaves.n++] = (struct leaf) { 0, lblk, 0 };
	insert(w, lblk, id);
	return 0;
}

/* --------------------------------------------------------- splitting a leaf */

struct hashed {
	uint32_t hash, minor, off, bytes;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->minor < y->minor ? -1 : x->minor > y->minor;
}

static errcode_t hash_name(const struct dirwork *w, const char *name, int len,
			   uint32_t *hash, uint32_t *minor)
{
	*hash = *minor = 0;
	return ext2fs_dirhash2(w->hash_version, name, len, NULL, 0,
			       w->l->fs->super->s_hash_seed, hash, minor);
}

/*
 * Lists the entries of the leaf @lblk, sorted by hash.  @h has space for all
 * entries of a leaf.
 */
static errcode_t list_hashes(struct dirwork *w, uint32_t lblk,
			     struct hashed *h, uint32_t *n)
{
	char *buf = block_of(w, lblk);
	struct dirent_raw d;
	errcode_t err = 0;
	uint32_t off;

	*n = 0;
	for (off = 0; off < w->end && !err; off += d.rec_len) {
		d = entry_at(w, buf + off);
		if (!d.ino)
			continue;
		h[*n] = (struct hashed) {
			.off = off, .bytes = used_bytes(&d),
		};
		err = hash_name(w, d.name, d.name_len, &h[*n].hash,
				&h[*n].minor);
		++*n;
	}
	e4l_sort(h, *n, sizeof(*h), by_hash);
	return err;
}

/* Copies the @n entries @h from the block @from to the empty leaf @lblk. */
static void put_hashed(struct dirwork *w, uint32_t lblk, const char *from,
		       const struct hashed *h, uint32_t n)
{
	char *buf = block_of(w, lblk);
	uint32_t to = 0, i;

	memset(buf, 0, w->end);
	set_rec_len(buf, w->end);
	for (i = 0; i < n; i++) {
		memcpy(buf + to, from + h[i].off, h[i].bytes);
		set_rec_len(buf + to, i + 1 < n ? h[i].bytes : w->end - to);
		to += h[i].bytes;
	}
	w->dirty[lblk] = 1;
}

/*
 * A leaf with the @n entries @h is split.  Returns how many entries stay in the
 * left leaf, so that each leaf gets about half of the bytes.
 */
static uint32_t middle(const struct hashed *h, uint32_t n)
{
	uint32_t all = 0, sum = 0, i;

	for (i = 0; i < n; i++)
		all += h[i].bytes;
	for (i = 0; i < n - 1 && sum < all / 2; i++)
		sum += h[i].bytes;
	return i ? i : 1;
}

/*
 * Inserts the leaf @new after the leaf @old into the index block of @old.  If
 * the index block is full, or has no entry for @old, returns false.
 */
static bool add_to_index(struct dirwork *w, const struct leaf *old,
			 const struct leaf *new)
{
	char *first = dx_entries(w, old->index), *at = first;
	uint32_t limit = get_le16(first), count = get_le16(first + 2), i;

	if (count >= limit)
		return false;
	for (i = 0; i < count; i++, at += DX_ENTRY_BYTES)
		if ((get_le32(at + 4) & DX_BLOCK_MASK) == old->lblk)
			break;
	if (i == count)
		return false;
	at += DX_ENTRY_BYTES;
	memmove(at + DX_ENTRY_BYTES, at, (count - i - 1) * DX_ENTRY_BYTES);
	put_le32(at, new->hash);
	put_le32(at + 4, new->lblk);
	put_le16(first + 2, count + 1);
	w->dirty[old->index] = 1;
	return true;
}

/*
 * Splits the leaf with index @k in w->leaves.  If the leaf cannot be split or
 * the index block is full, sets w->rebuild.  @h is a buffer for the hashes of
 * the leaf's entries, and @copy is a buffer for one block.
 */
static errcode_t split(struct dirwork *w, size_t k, struct hashed *h,
		       char *copy)
{
	struct leaf old = w->leaves.v[k], new = { .index = old.index };
	uint32_t n, left;
	errcode_t err = list_hashes(w, old.lblk, h, &n);

	if (err || vec_room(&w->leaves, 1))
		return err ? err : ENOMEM;
	if (n < 2) {
		w->rebuild = true;
		return 0;
	}
	left = middle(h, n);
	err = add_block(w, &new.lblk);
	if (err)
		return err;
	new.hash = h[left].hash | (h[left].hash == h[left - 1].hash);
	if (!add_to_index(w, &old, &new)) {
		w->rebuild = true;
		return 0;
	}
	memcpy(copy, block_of(w, old.lblk), w->end);
	put_hashed(w, old.lblk, copy, h, left);
	put_hashed(w, new.lblk, copy, h + left, n - left);
	memmove(w->leaves.v + k + 2, w->leaves.v + k + 1,
		(w->leaves.n - k - 1) * sizeof(*w->leaves.v));
	w->leaves.v[k + 1] = new;
	w->leaves.n++;
	return 0;
}

static size_t find_leaf(const struct dirwork *w, uint32_t hash)
{
	size_t lo = 0, hi = w->leaves.n, mid;

	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (w->leaves.v[mid].hash <= hash)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static errcode_t add_indexed(struct dirwork *w, uint32_t id)
{
	const struct node *n = &w->l->t->nodes.v[id];
	uint32_t hash, minor, bs = w->l->fs->blocksize;
	struct hashed *h;
	char *copy;
	size_t k;
	errcode_t err;

	err = hash_name(w, node_name(w->l->t, n), n->name_len, &hash, &minor);
	if (err)
		return err;
	k = find_leaf(w, hash);
	if (insert(w, w->leaves.v[k].lblk, id))
		return 0;
	h = e4l_array_alloc(bs / DIR_ENTRY_BYTES + 1, sizeof(*h));
	copy = malloc(bs);
	err = h && copy ? split(w, k, h, copy) : ENOMEM;
	free(h);
	free(copy);
	if (err || w->rebuild)
		return err;
	if (!insert(w, w->leaves.v[find_leaf(w, hash)].lblk, id))
		w->rebuild = true;
	return 0;
}

static errcode_t add_names(struct dirwork *w)
{
	struct e4l_like *l = w->l;
	const uint32_t *child = l->p->order + w->n->child;
	errcode_t err = 0;
	size_t from = 0;
	uint32_t i;

	for (i = 0; i < w->n->n_child && !err && !w->rebuild; i++) {
		if (l->seen[child[i]])
			continue;
		err = w->indexed ? add_indexed(w, child[i]) :
				   add_linear(w, child[i], &from);
	}
	return err;
}

/* ------------------------------------------------------------------ writing */

/*
 * Sets the runs of the directory in the new image: the old blocks, followed by
 * new blocks if w->blocks is larger than the number of old blocks.
 */
static errcode_t set_runs(struct dirwork *w, struct like_file *file)
{
	uint32_t have = 0, len;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < w->map.runs.n && have < w->blocks && !err; i++) {
		struct like_run r = w->map.runs.v[i];

		len = w->blocks - have < r.len ? w->blocks - have : r.len;
		r.len = len;
		err = e4l_like_add_run(w->l, file, r);
		have += len;
	}
	if (!err && have < w->blocks)
		err = e4l_like_add_run(w->l, file, (struct like_run) {
			.lblk = have, .len = w->blocks - have,
		});
	return err;
}

static errcode_t write_blocks(struct dirwork *w, const struct like_file *file)
{
	struct e4l_like *l = w->l;
	errcode_t err = 0;
	uint32_t k, lblk;
	size_t i;

	for (i = 0; i < file->n && !l->missing; i++) {
		const struct like_run r = l->runs.v[file->first + i];

		for (k = 0; k < r.len && !err; k++) {
			lblk = r.lblk + k;
			if (!w->dirty[lblk])
				continue;
			e4l_dir_block_csum_set(l->fs, w->n->ino,
					       w->inode->i_generation,
					       block_of(w, lblk));
			err = e4l_like_put_block(l, r.pblk + k,
						 block_of(w, lblk));
		}
	}
	return err;
}

static errcode_t store(struct dirwork *w)
{
	struct e4l_like *l = w->l;
	struct like_file file = { .node = w->id, .first = l->runs.n };
	errcode_t err = set_runs(w, &file);

	if (!err)
		err = e4l_like_drop(l, w->n->ino, w->inode, &w->map, &file);
	if (!err)
		err = e4l_like_settle(l, w->n->ino, w->inode, &w->map, &file);
	if (!err)
		err = write_blocks(w, &file);
	l->runs.n = file.first;
	w->n->size = (uint64_t)w->blocks * l->fs->blocksize;
	if (!err && EXT2_I_SIZE(w->inode) != w->n->size)
		err = ext2fs_inode_size_set(l->fs,
					    (struct ext2_inode *)w->inode,
					    w->n->size);
	return err;
}

/* Builds all blocks of the directory from the entries in the tree. */
static errcode_t rebuild(struct dirwork *w)
{
	struct e4l_like *l = w->l;
	errcode_t err = e4l_pop_size_dir(l->p, w->n);

	if (err)
		return err;
	free(w->buf);
	free(w->dirty);
	w->blocks = w->n->size / l->fs->blocksize;
	w->buf = e4l_array_zalloc(w->blocks, l->fs->blocksize);
	w->dirty = malloc(w->blocks);
	if (!w->buf || !w->dirty)
		return ENOMEM;
	memset(w->dirty, 1, w->blocks);
	w->inode->i_flags &= ~EXT2_INDEX_FL;
	if (w->n->flags & NODE_INDEXED)
		w->inode->i_flags |= EXT2_INDEX_FL;
	return e4l_pop_fill_dir(l->p, w->id, 0, w->blocks, w->buf);
}

static bool is_dirty(const struct dirwork *w)
{
	uint32_t i;

	for (i = 0; i < w->blocks; i++)
		if (w->dirty[i])
			return true;
	return false;
}

/* Whether the directory's entries would fit in a quarter of its blocks. */
static bool is_sparse(const struct dirwork *w)
{
	const uint32_t *child = w->l->p->order + w->n->child;
	uint64_t bytes = 0;
	uint32_t i;

	if (w->blocks < 2 || w->id == w->l->p->lost_found)
		return false;
	for (i = 0; i < w->n->n_child; i++)
		bytes += dirent_bytes(w->l->t->nodes.v[child[i]].name_len);
	return bytes * 4 < (uint64_t)w->end * w->blocks;
}

static errcode_t edit(struct dirwork *w)
{
	errcode_t err = load(w);
	size_t i;

	w->indexed = w->inode->i_flags & EXT2_INDEX_FL;
	if (!err)
		err = read_index(w);
	for (i = 0; i < w->leaves.n && !err; i++)
		err = prune(w, w->leaves.v[i].lblk);
	if (!err)
		err = add_names(w);
	if (!err && is_dirty(w) && is_sparse(w))
		w->rebuild = true;
	return err;
}

errcode_t e4l_like_put_dir(struct e4l_like *l, uint32_t id,
			   struct ext2_inode_large *inode)
{
	struct dirwork w = {
		.l = l, .id = id, .n = &l->t->nodes.v[id], .inode = inode,
		.end = e4l_dir_leaf_bytes(l->fs),
	};
	bool kept = l->state[id] == LIKE_KEPT;
	errcode_t err = 0;

	w.map.extents = inode->i_flags & EXT4_EXTENTS_FL;
	/*
	 * an inline directory has no blocks; the flag is set only if the
	 * directory does not change
	 */
	if (inode->i_flags & EXT4_INLINE_DATA_FL)
		return 0;
	if (kept)
		err = edit(&w);
	if (!err && (!kept || w.rebuild))
		err = rebuild(&w);
	if (!err && is_dirty(&w))
		err = store(&w);
	e4l_like_free_map(&w.map);
	free(w.buf);
	free(w.dirty);
	free(w.leaves.v);
	return err;
}

/* ------------------------------------------------------- inline directories */

struct inline_names {
	struct e4l_like *l;
	uint32_t id, n;
	bool same;
	errcode_t err;
};

static int see_inline(ext2_ino_t dir, int entry, struct ext2_dir_entry *d,
		      int offset, int blocksize, char *buf, void *priv)
{
	struct inline_names *names = priv;
	const struct e4l_tree *t = names->l->t;
	unsigned int len = ext2fs_dirent_name_len(d);
	uint32_t id;

	if (!len || (len <= 2 && !memcmp(d->name, "..", len)))
		return 0;
	names->err = e4l_tree_find(names->l->t, names->id, d->name, len, &id);
	if (names->err)
		return DIRENT_ABORT;
	if (!id || t->nodes.v[tree_owner(t, id)].ino != d->inode)
		names->same = false;
	names->n++;
	return 0;
}

errcode_t e4l_like_same_names(struct e4l_like *l, uint32_t id, bool *same)
{
	const struct node *n = &l->t->nodes.v[id];
	struct inline_names names = { .l = l, .id = id, .same = true };
	errcode_t err = ext2fs_dir_iterate2(l->fs, n->ino, 0, NULL, see_inline,
					    &names);

	*same = names.same && names.n == n->n_child;
	return err ? err : names.err;
}
