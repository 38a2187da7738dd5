/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Places extended attributes.  If the inode has space, an attribute is stored
 * in the inode.  If the inode has no space, the attribute is stored in a block
 * that up to 1024 inodes with equal attributes share.  If the block has no
 * space for the value, and the filesystem has ea_inode, the value is stored in
 * an EA inode.  Formats: Documentation/filesystems/ext4/attributes.rst in
 * Linux.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/format/csum.h"
#include "populate.h"

#define MAX_REFS	EXT2_EXT_ATTR_REFCOUNT_MAX
#define END_BYTES	4	/* four zero bytes after the last entry */
/* name index of "system."; inline data is in the attribute "system.data" */
#define DATA_INDEX	7

enum where { IN_INODE, IN_BLOCK, IN_EA_INODE, NOWHERE };

/*
 * Iterates over the attributes of a set, and decides the location of each
 * attribute.
 */
struct walk {
	const struct e4l_populate *p;
	size_t at, end;		/* offsets in xbytes */
	unsigned int inode_left, block_left;
	struct xrecord rec;
	const char *name, *value;
	enum where where;
};

static unsigned int entry_bytes(unsigned int name_len)
{
	return EXT2_EXT_ATTR_LEN(name_len);
}

/*
 * Returns the number of bytes in an inode for attribute entries and values.  If
 * the inode has no attribute area, returns 0.
 */
static unsigned int inode_space(const struct e4l_populate *p)
{
	unsigned int fixed = EXT2_GOOD_OLD_INODE_SIZE + p->extra_isize +
			     sizeof(uint32_t) + END_BYTES;

	return p->isize > fixed && p->isize > EXT2_GOOD_OLD_INODE_SIZE ?
	       p->isize - fixed : 0;
}

static void start(struct walk *w, const struct e4l_populate *p, uint32_t set)
{
	const struct xset *s = &p->t->sets.v[set];

	*w = (struct walk) {
		.p = p, .at = s->at, .end = s->at + s->len,
		.inode_left = inode_space(p),
		.block_left = p->bs - sizeof(struct ext2_ext_attr_header) -
			      END_BYTES,
	};
}

static bool next(struct walk *w)
{
	unsigned int entry, all;

	if (w->at >= w->end)
		return false;
	w->at = e4l_tree_record(w->p->t, w->at, &w->rec, &w->name, &w->value);
	entry = entry_bytes(w->rec.name_len);
	all = entry + EXT2_EXT_ATTR_SIZE(w->rec.value_len);
	if (all <= w->inode_left) {
		w->where = IN_INODE;
		w->inode_left -= all;
	} else if (all <= w->block_left) {
		w->where = IN_BLOCK;
		w->block_left -= all;
	} else if (ext2fs_has_feature_ea_inode(w->p->fs->super) &&
		   entry <= w->block_left) {
		w->where = IN_EA_INODE;
		w->block_left -= entry;
	} else {
		w->where = NOWHERE;
	}
	return true;
}

/* --------------------------------------------------------------- placement */

static errcode_t add_ea_inode(struct e4l_populate *p, struct xplace *x,
			      const struct walk *w)
{
	struct node n = {
		.mode = S_IFREG | 0600, .links = 1, .size = w->rec.value_len,
		.flags = NODE_BLOB | NODE_EA_INODE, .pos = p->blobs.n,
		.priority = PRIORITY_NONE,
	};
	uint64_t cluster = (uint64_t)p->bs * p->ratio;
	errcode_t err;
	uint32_t id;

	if (vec_room(&p->blobs, 1))
		return ENOMEM;
	n.mtime = p->now;
	/*
	 * The access time of an EA inode is the hash of the value.  The change
	 * time is the upper half of the reference count; i_version is the lower
	 * half.
	 */
	n.atime = e4l_pack_time((int32_t)e4l_crc32c(p->fs->csum_seed, w->value,
						    w->rec.value_len), 0);
	n.ctime = e4l_pack_time(0, 0);
	err = e4l_tree_add_hidden(p->t, &n, &id);
	if (err)
		return err;
	p->blobs.v[p->blobs.n++] = (struct blob) { .bytes = w->value };
	if (!x->ea_inodes++)
		x->ea_node = id;
	x->ea_blocks += (w->rec.value_len + cluster - 1) / cluster * p->ratio;
	return 0;
}

/*
 * Returns the error for attributes that do not fit.  With the feature ea_inode,
 * large values need no space in the block, so only the names can be too large.
 */
static errcode_t no_room(const struct e4l_populate *p)
{
	return ext2fs_has_feature_ea_inode(p->fs->super) ?
	       E4L_ET_XATTR_TOO_MANY : E4L_ET_XATTR_TOO_LARGE;
}

static errcode_t new_place(struct e4l_populate *p, uint32_t set, uint32_t node)
{
	struct xplace x = { .set = set };
	unsigned int space = inode_space(p);
	struct walk w;
	errcode_t err = 0;

	start(&w, p, set);
	while (!err && next(&w)) {
		if (w.where == IN_INODE)
			x.in_inode = space - w.inode_left;
		else
			/*
			 * pop_blocks.c replaces 1 by the number of the
			 * attribute block
			 */
			x.pblk = 1;
		if (w.where == IN_EA_INODE)
			err = add_ea_inode(p, &x, &w);
		if (w.where == NOWHERE)
			err = e4l_pop_fail(p, no_room(p),
					   "placing extended attributes", node);
	}
	if (!err && vec_room(&p->xplaces, 1))
		err = ENOMEM;
	if (!err) {
		p->xplace_of[set] = p->xplaces.n;
		p->xplaces.v[p->xplaces.n++] = x;
	}
	return err;
}

errcode_t e4l_pop_place_xattrs(struct e4l_populate *p, uint32_t id)
{
	struct node *n = &p->t->nodes.v[id];
	uint32_t set = n->xattr, place = p->xplace_of[set];
	errcode_t err;

	if (!set || n->flags & NODE_PLACED)
		return 0;
	if (!place || p->xplaces.v[place].refs == MAX_REFS) {
		err = new_place(p, set, id);
		if (err)
			return err;
		place = p->xplace_of[set];
		/* p->t->nodes.v may have moved */
		n = &p->t->nodes.v[id];
	}
	if (p->xplaces.v[place].pblk)
		p->xplaces.v[place].refs++;
	n->xattr = place;
	n->flags |= NODE_PLACED;
	return 0;
}

unsigned int e4l_pop_inline_room(const struct e4l_populate *p,
				 const struct node *n)
{
	unsigned int space = inode_space(p), entry = entry_bytes(4);
	unsigned int used = n->xattr ? p->xplaces.v[n->xattr].in_inode : 0;

	return space >= used + entry ? space - used - entry + 1 : 0;
}

/* ----------------------------------------------------------------- contents */

/* Pointers to the next entry and the next value in an attribute area. */
struct area {
	char *base;		/* address from which e_value_offs counts */
	char *entry;
	/* start of the last value; values fill the area from its end */
	char *value;
};

static struct ext2_ext_attr_entry *put(struct area *a, uint8_t index,
				       const char *name, uint8_t name_len,
				       const char *value, uint32_t value_len,
				       bool stored)
{
	struct ext2_ext_attr_entry *e = (void *)a->entry;

	e->e_name_index = index;
	e->e_name_len = name_len;
	e->e_value_size = ext2fs_cpu_to_le32(value_len);
	memcpy(a->entry + sizeof(*e), name, name_len);
	a->entry += entry_bytes(name_len);
	if (stored && value_len) {
		a->value -= EXT2_EXT_ATTR_SIZE(value_len);
		memcpy(a->value, value, value_len);
		e->e_value_offs = ext2fs_cpu_to_le16(a->value - a->base);
	}
	return e;
}

/*
 * Returns e_hash of the entry @e: the hash of the name and of @value.  If the
 * value is in an EA inode, @len must be 0: only the name is hashed.
 */
static uint32_t hash_entry(const struct ext2_ext_attr_entry *e,
			   const char *name, const char *value, uint32_t len)
{
	uint32_t hash = 0, i, word;

	for (i = 0; i < e->e_name_len; i++)
		hash = hash << 5 ^ hash >> 27 ^ (uint8_t)name[i];
	for (i = 0; i < len; i += 4) {
		word = 0;
		memcpy(&word, value + i, len - i < 4 ? len - i : 4);
		hash = hash << 16 ^ hash >> 16 ^ ext2fs_le32_to_cpu(word);
	}
	return hash;
}

struct sorted {
	struct xrecord rec;
	const char *name, *value;
	ext2_ino_t ea_ino;
};

static int in_block_order(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->rec.index != y->rec.index)
		return x->rec.index < y->rec.index ? -1 : 1;
	if (x->rec.name_len != y->rec.name_len)
		return x->rec.name_len < y->rec.name_len ? -1 : 1;
	return memcmp(x->name, y->name, x->rec.name_len);
}

/* Writes an entry to an attribute block.  Returns the entry's hash. */
static uint32_t put_sorted(const struct e4l_populate *p, struct area *a,
			   const struct sorted *s)
{
	struct ext2_ext_attr_entry *e;
	uint32_t hash;

	e = put(a, s->rec.index, s->name, s->rec.name_len, s->value,
		s->rec.value_len, !s->ea_ino);
	hash = hash_entry(e, s->name, s->value, s->ea_ino ? 0 :
			  s->rec.value_len);
	if (s->ea_ino) {
		e->e_value_inum = ext2fs_cpu_to_le32(s->ea_ino);
		hash = hash << 16 ^ hash >> 16 ^
		       e4l_crc32c(p->fs->csum_seed, s->value,
				  s->rec.value_len);
	}
	e->e_hash = ext2fs_cpu_to_le32(hash);
	return hash;
}

/*
 * Sets the header of an attribute block: hash, reference count, and checksum.
 * The checksum includes the block number @pblk.
 */
static void seal_block(const struct e4l_populate *p, uint64_t pblk,
		       uint32_t hash, uint32_t refs, char *buf)
{
	struct ext2_ext_attr_header *h = (void *)buf;
	uint64_t le = ext2fs_cpu_to_le64(pblk);
	uint32_t crc;

	h->h_magic = ext2fs_cpu_to_le32(EXT2_EXT_ATTR_MAGIC);
	h->h_blocks = ext2fs_cpu_to_le32(1);
	h->h_refcount = ext2fs_cpu_to_le32(refs);
	h->h_hash = ext2fs_cpu_to_le32(hash);
	if (!p->csum)
		return;
	crc = e4l_crc32c(p->fs->csum_seed, &le, sizeof(le));
	h->h_checksum = ext2fs_cpu_to_le32(e4l_crc32c(crc, buf, p->bs));
}

errcode_t e4l_pop_fill_xattr_block(struct e4l_populate *p, uint32_t xplace,
				   char *buf)
{
	const struct xplace *x = &p->xplaces.v[xplace];
	/* An entry takes at least 16 bytes of the block. */
	struct sorted *s = calloc(p->bs / 16, sizeof(*s));
	struct area a = {
		.base = buf, .value = buf + p->bs,
		.entry = buf + sizeof(struct ext2_ext_attr_header),
	};
	uint32_t n = 0, i, ea = 0, hash = 0;
	struct walk w;

	if (!s)
		return ENOMEM;
	memset(buf, 0, p->bs);
	for (start(&w, p, x->set); next(&w);) {
		if (w.where == IN_INODE)
			continue;
		s[n] = (struct sorted) { w.rec, w.name, w.value, 0 };
		if (w.where == IN_EA_INODE)
			s[n].ea_ino = p->t->nodes.v[x->ea_node + ea++].ino;
		n++;
	}
	qsort(s, n, sizeof(*s), in_block_order);
	for (i = 0; i < n; i++)
		hash = hash << 16 ^ hash >> 16 ^ put_sorted(p, &a, &s[i]);
	free(s);
	seal_block(p, x->pblk, hash, x->refs, buf);
	return 0;
}

void e4l_pop_fill_ibody(struct e4l_populate *p, const struct node *n,
			char *area, unsigned int area_bytes,
			const char *data, size_t data_len)
{
	uint32_t magic = ext2fs_cpu_to_le32(EXT2_EXT_ATTR_MAGIC);
	struct area a = {
		.base = area + sizeof(magic), .entry = area + sizeof(magic),
		.value = area + area_bytes,
	};
	struct ext2_ext_attr_entry *e;
	struct walk w;

	if (n->flags & NODE_INLINE)
		put(&a, DATA_INDEX, "data", 4, data, data_len, true);
	if (n->xattr) {
		start(&w, p, p->xplaces.v[n->xattr].set);
		while (next(&w)) {
			if (w.where != IN_INODE)
				continue;
			e = put(&a, w.rec.index, w.name, w.rec.name_len,
				w.value, w.rec.value_len, true);
			e->e_hash = ext2fs_cpu_to_le32(
				hash_entry(e, w.name, w.value,
					   w.rec.value_len));
		}
	}
	if (a.entry != a.base)
		memcpy(area, &magic, sizeof(magic));
}
