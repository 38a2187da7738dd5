/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directory blocks, built from children that are sorted by their hashes.  A
 * directory of one block is linear; a larger one is an htree with full leaves:
 * the root, then the index blocks, level by level downwards, then the leaves.
 * Formats: Documentation/filesystems/ext4/directory.rst in Linux.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "csum.h"
#include "populate.h"

#define DOTS_BYTES	24	/* "." and ".." */
#define TAIL_BYTES	12	/* the checksum of a leaf */
#define DX_TAIL_BYTES	8	/* and of an index block */
#define DX_ROOT_AT	32	/* where the entries begin */
#define DX_NODE_AT	8
#define MAX_LEVELS	3

/* How a directory is divided into blocks. */
struct shape {
	uint32_t *start;	/* [leaf]: its first child; to be freed */
	uint32_t leaves;
	unsigned int levels;		/* of index blocks below the root */
	uint32_t index[MAX_LEVELS];	/* their number, from the top */
	uint32_t blocks;
};

static unsigned int entry_bytes(unsigned int name_len)
{
	return (8 + name_len + 3) & ~3u;
}

static unsigned int leaf_bytes(const struct e4l_populate *p)
{
	return p->bs - (p->csum ? TAIL_BYTES : 0);
}

static uint32_t dx_limit(const struct e4l_populate *p, unsigned int at)
{
	return (p->bs - at - (p->csum ? DX_TAIL_BYTES : 0)) / 8;
}

static const struct node *child(const struct e4l_populate *p,
				const struct node *dir, uint32_t i)
{
	return &p->t->nodes.v[p->order[dir->child + i]];
}

/* Divides the children among leaves, the first of which has @used bytes gone */
static errcode_t cut_leaves(const struct e4l_populate *p,
			    const struct node *dir, unsigned int used,
			    struct shape *s)
{
	VEC(uint32_t) start = { 0 };
	unsigned int bytes;
	uint32_t i;

	if (vec_room(&start, 2))
		return ENOMEM;
	start.v[start.n++] = 0;
	for (i = 0; i < dir->n_child; i++) {
		bytes = entry_bytes(child(p, dir, i)->name_len);
		if (used + bytes > leaf_bytes(p)) {
			if (vec_room(&start, 2)) {
				free(start.v);
				return ENOMEM;
			}
			start.v[start.n++] = i;
			used = 0;
		}
		used += bytes;
	}
	s->leaves = start.n;
	start.v[start.n] = dir->n_child;
	s->start = start.v;
	return 0;
}

/* How many index blocks are needed at each level. */
static errcode_t cut_index(const struct e4l_populate *p, struct shape *s)
{
	struct ext2_super_block *sb = p->fs->super;
	uint32_t limit = dx_limit(p, DX_NODE_AT), n = s->leaves, i;
	unsigned int max = ext2fs_has_feature_largedir(sb) ? 2 : 1;

	while (n > dx_limit(p, DX_ROOT_AT)) {
		if (s->levels == max)
			return E4L_ET_DIR_TOO_LARGE;
		n = (n + limit - 1) / limit;
		for (i = s->levels; i > 0; i--)
			s->index[i] = s->index[i - 1];
		s->index[0] = n;
		s->levels++;
	}
	s->blocks = 1 + s->leaves;
	for (i = 0; i < s->levels; i++)
		s->blocks += s->index[i];
	return 0;
}

/* @indexed says which form it takes. */
static errcode_t find_shape(const struct e4l_populate *p,
			    const struct node *dir, bool indexed,
			    struct shape *s)
{
	errcode_t err;

	*s = (struct shape) { 0 };
	err = cut_leaves(p, dir, indexed ? 0 : DOTS_BYTES, s);
	if (err)
		return err;
	s->blocks = s->leaves;
	return indexed ? cut_index(p, s) : 0;
}

errcode_t pop_size_dir(struct e4l_populate *p, struct node *n)
{
	uint64_t bytes = DOTS_BYTES;
	struct shape s;
	errcode_t err;
	uint32_t i;

	for (i = 0; i < n->n_child && bytes <= leaf_bytes(p); i++)
		bytes += entry_bytes(child(p, n, i)->name_len);
	n->flags &= ~NODE_INDEXED;
	n->size = p->bs;
	if (bytes > leaf_bytes(p)) {
		if (ext2fs_has_feature_dir_index(p->fs->super))
			n->flags |= NODE_INDEXED;
		err = find_shape(p, n, n->flags & NODE_INDEXED, &s);
		free(s.start);
		if (err)
			return err;
		n->size = (uint64_t)s.blocks * p->bs;
	}
	if (n == &p->t->nodes.v[p->lost_found] && !(n->flags & NODE_INDEXED) &&
	    n->size < (uint64_t)p->lost_found_blocks * p->bs)
		n->size = (uint64_t)p->lost_found_blocks * p->bs;
	return 0;
}

/* ------------------------------------------------------------------ entries */

static uint8_t file_type(const struct e4l_populate *p, uint16_t mode)
{
	if (!p->filetype)
		return 0;
	switch (mode & S_IFMT) {
	case S_IFREG:
		return EXT2_FT_REG_FILE;
	case S_IFDIR:
		return EXT2_FT_DIR;
	case S_IFCHR:
		return EXT2_FT_CHRDEV;
	case S_IFBLK:
		return EXT2_FT_BLKDEV;
	case S_IFIFO:
		return EXT2_FT_FIFO;
	case S_IFSOCK:
		return EXT2_FT_SOCK;
	default:
		return EXT2_FT_SYMLINK;
	}
}

/* Lengths from 65536 on do not fit and are folded, as the kernel does. */
static uint16_t coded_len(const struct e4l_populate *p, unsigned int len)
{
	if (len < 65536)
		return ext2fs_cpu_to_le16(len);
	if (len == p->bs)
		return ext2fs_cpu_to_le16(len == 65536 ? 65535 : 0);
	return ext2fs_cpu_to_le16((len & 65532) | (len >> 16 & 3));
}

static void put_entry(const struct e4l_populate *p, char *at, ext2_ino_t ino,
		      unsigned int rec_len, const char *name, uint8_t name_len,
		      uint8_t type)
{
	struct ext2_dir_entry_2 *d = (void *)at;

	d->inode = ext2fs_cpu_to_le32(ino);
	d->rec_len = coded_len(p, rec_len);
	d->name_len = name_len;
	d->file_type = type;
	memcpy(d->name, name, name_len);
}

static ext2_ino_t parent_ino(const struct e4l_populate *p,
			     const struct node *dir)
{
	return dir->parent ? p->t->nodes.v[dir->parent].ino : EXT2_ROOT_INO;
}

/*
 * Writes the children [from, to) to @buf; the last entry reaches to @end.
 * @used bytes are filled already, up to the entry at @last (-1: none).
 */
static void put_children(const struct e4l_populate *p, const struct node *dir,
			 uint32_t from, uint32_t to, char *buf,
			 unsigned int used, int last, unsigned int end)
{
	uint32_t i;

	for (i = from; i < to; i++) {
		const struct node *c = child(p, dir, i), *owner;
		unsigned int bytes = entry_bytes(c->name_len);

		owner = &p->t->nodes.v[tree_owner(p->t, c - p->t->nodes.v)];
		put_entry(p, buf + used, owner->ino, bytes, node_name(p->t, c),
			  c->name_len, file_type(p, owner->mode));
		last = used;
		used += bytes;
	}
	if (last < 0)
		put_entry(p, buf, 0, end, "", 0, 0);
	else
		((struct ext2_dir_entry_2 *)(buf + last))->rec_len =
			coded_len(p, end - last);
}

static void put_dots(const struct e4l_populate *p, const struct node *dir,
		     char *buf, unsigned int end)
{
	uint8_t type = file_type(p, S_IFDIR);

	put_entry(p, buf, dir->ino, 12, ".", 1, type);
	put_entry(p, buf + 12, parent_ino(p, dir), end - 12, "..", 2, type);
}

static void seal_leaf(const struct e4l_populate *p, uint32_t seed, char *buf)
{
	struct ext2_dir_entry_tail *tail = (void *)(buf + leaf_bytes(p));

	if (!p->csum)
		return;
	tail->det_rec_len = ext2fs_cpu_to_le16(TAIL_BYTES);
	tail->det_reserved_name_len =
		ext2fs_cpu_to_le16(EXT2_DIR_NAME_LEN_CSUM);
	tail->det_checksum = ext2fs_cpu_to_le32(e4l_crc32c(seed, buf,
							   leaf_bytes(p)));
}

bool pop_inline_dir(struct e4l_populate *p, const struct node *n, char *buf,
		    unsigned int bytes)
{
	uint32_t parent = ext2fs_cpu_to_le32(parent_ino(p, n)), i;
	unsigned int used = sizeof(parent);

	for (i = 0; i < n->n_child; i++)
		used += entry_bytes(child(p, n, i)->name_len);
	if (used > bytes || n->size > p->bs)
		return false;
	if (buf) {
		memcpy(buf, &parent, sizeof(parent));
		put_children(p, n, 0, n->n_child, buf + sizeof(parent), 0, -1,
			     bytes - sizeof(parent));
	}
	return true;
}

/* -------------------------------------------------------------------- index */

static void put_dx(struct ext2_dx_entry *e, uint32_t i, uint32_t hash,
		   uint32_t block)
{
	e[i].block = ext2fs_cpu_to_le32(block);
	if (i)		/* the first one's hash is where the counts are */
		e[i].hash = ext2fs_cpu_to_le32(hash);
}

/* The first hash of a leaf; odd when the leaf before ends with the same. */
static uint32_t leaf_hash(const struct e4l_populate *p, const struct node *dir,
			  const struct shape *s, uint32_t leaf)
{
	uint32_t at = s->start[leaf], hash = child(p, dir, at)->hash;

	return hash | (at && child(p, dir, at - 1)->hash == hash);
}

/*
 * Writes the index entries of block @nth of @level (0: below the root) or, with
 * @at for the root's, those of the root.
 */
static void put_index(const struct e4l_populate *p, const struct node *dir,
		      const struct shape *s, unsigned int level, uint32_t nth,
		      unsigned int at, uint32_t seed, char *buf)
{
	struct ext2_dx_entry *e = (void *)(buf + at);
	struct ext2_dx_countlimit *cl = (void *)e;
	uint32_t limit = dx_limit(p, at), per = dx_limit(p, DX_NODE_AT);
	uint32_t below = level < s->levels ? s->index[level] : s->leaves;
	uint32_t first = 1, leaves_each = 1, count, i, *tail;
	unsigned int l;

	for (l = 0; l < s->levels && l <= level; l++)
		first += l < level ? s->index[l] : 0;
	if (level == s->levels)
		first = s->blocks - s->leaves;
	for (l = level; l < s->levels; l++)
		leaves_each *= per;
	count = nth * limit < below ? below - nth * limit : 0;
	if (count > limit)
		count = limit;
	for (i = 0; i < count; i++) {
		uint32_t b = nth * limit + i;

		put_dx(e, i, leaf_hash(p, dir, s, b * leaves_each), first + b);
	}
	cl->limit = ext2fs_cpu_to_le16(limit);
	cl->count = ext2fs_cpu_to_le16(count);
	if (!p->csum)
		return;
	tail = (void *)(e + limit);
	i = e4l_crc32c(seed, buf, at + count * 8);
	tail[1] = ext2fs_cpu_to_le32(e4l_crc32c(i, tail, DX_TAIL_BYTES));
}

static void put_root(const struct e4l_populate *p, const struct node *dir,
		     const struct shape *s, uint32_t seed, char *buf)
{
	struct ext2_dx_root_info *info = (void *)(buf + DOTS_BYTES);

	put_dots(p, dir, buf, p->bs);
	info->hash_version = p->fs->super->s_def_hash_version;
	info->info_length = sizeof(*info);
	info->indirect_levels = s->levels;
	put_index(p, dir, s, 0, 0, DX_ROOT_AT, seed, buf);
}

/* Block @blk of an indexed directory, in @buf of zeroes. */
static void put_block(const struct e4l_populate *p, const struct node *dir,
		      const struct shape *s, uint32_t blk, uint32_t seed,
		      char *buf)
{
	unsigned int level;

	if (!blk) {
		put_root(p, dir, s, seed, buf);
		return;
	}
	blk--;
	for (level = 0; level < s->levels; level++) {
		if (blk < s->index[level]) {
			put_entry(p, buf, 0, p->bs, "", 0, 0);
			put_index(p, dir, s, level + 1, blk, DX_NODE_AT, seed,
				  buf);
			return;
		}
		blk -= s->index[level];
	}
	put_children(p, dir, s->start[blk], s->start[blk + 1], buf, 0, -1,
		     leaf_bytes(p));
	seal_leaf(p, seed, buf);
}

/* Block @blk of a linear one; it may be past the last child. */
static void put_linear(const struct e4l_populate *p, const struct node *dir,
		       const struct shape *s, uint32_t blk, uint32_t seed,
		       char *buf)
{
	uint32_t from = dir->n_child, to = from;

	if (blk < s->leaves) {
		from = s->start[blk];
		to = s->start[blk + 1];
	}
	if (!blk)
		put_dots(p, dir, buf, leaf_bytes(p));
	/* ".." gives up what it does not need to the children behind it. */
	if (!blk && from < to)
		put_entry(p, buf + 12, parent_ino(p, dir), 12, "..", 2,
			  file_type(p, S_IFDIR));
	if (blk || from < to)
		put_children(p, dir, from, to, buf, blk ? 0 : DOTS_BYTES, -1,
			     leaf_bytes(p));
	seal_leaf(p, seed, buf);
}

errcode_t pop_fill_dir(struct e4l_populate *p, uint32_t id, uint32_t first,
		       uint32_t len, char *buf)
{
	const struct node *dir = &p->t->nodes.v[id];
	bool indexed = dir->flags & NODE_INDEXED;
	uint32_t seed = 0, i;
	struct shape s;
	errcode_t err;

	err = find_shape(p, dir, indexed, &s);
	if (!err) {
		uint32_t generation = dir->extra ?
			p->t->extras.v[dir->extra].generation : 0;

		if (p->csum)
			seed = e4l_inode_seed(p->fs, dir->ino, generation);
		memset(buf, 0, (size_t)len * p->bs);
		for (i = 0; i < len; i++, buf += p->bs)
			(indexed ? put_block : put_linear)(p, dir, &s,
							   first + i, seed,
							   buf);
	}
	free(s.start);
	return err;
}
