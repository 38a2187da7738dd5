/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds directory blocks from children that are sorted by hash.  A directory
 * of one block is linear.  If the filesystem has dir_index, a larger directory
 * is an htree with full leaves.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/format/dir_build.h"
#include "populate.h"

/* The directory that supplies the entries of a struct e4l_dir_builder. */
struct children {
	const struct e4l_populate *p;
	const struct node *dir;
};

uint8_t e4l_pop_file_type(const struct e4l_populate *p, uint16_t mode)
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

static void get_child(uint32_t i, struct e4l_new_dirent *entry,
		      const void *priv)
{
	const struct children *c = priv;
	const struct e4l_tree *t = c->p->t;
	const struct node *n, *owner;

	n = &t->nodes.v[c->p->order[c->dir->child + i]];
	owner = &t->nodes.v[tree_owner(t, n - t->nodes.v)];
	*entry = (struct e4l_new_dirent) {
		.name = node_name(t, n), .name_len = n->name_len,
		.file_type = e4l_pop_file_type(c->p, owner->mode), .ino = owner->ino,
		.hash = n->hash,
	};
}

static ext2_ino_t parent_ino(const struct e4l_populate *p,
			     const struct node *dir)
{
	return dir->parent ? p->t->nodes.v[dir->parent].ino : EXT2_ROOT_INO;
}

static struct e4l_dir_builder builder(const struct children *c)
{
	const struct e4l_populate *p = c->p;

	return (struct e4l_dir_builder) {
		.fs = p->fs, .ino = c->dir->ino,
		.parent = parent_ino(p, c->dir),
		.generation = c->dir->extra ?
			      p->t->extras.v[c->dir->extra].generation : 0,
		.hash_version = p->fs->super->s_def_hash_version,
		.fill_percent = 100,
		.n = c->dir->n_child, .entry = get_child, .priv = c,
	};
}

/*
 * If a directory has KEPT_BLOCKS or more blocks, the plan stores the division
 * of the directory into blocks, because the directory may be written in several
 * parts.
 */
#define KEPT_BLOCKS	128

static const struct e4l_dir_shape *find_shape(const struct e4l_populate *p,
					      uint32_t node)
{
	size_t i;

	if (p->t->nodes.v[node].size < (uint64_t)KEPT_BLOCKS * p->bs)
		return NULL;
	for (i = 0; i < p->shapes.n; i++)
		if (p->shapes.v[i].node == node)
			return &p->shapes.v[i].shape;
	return NULL;
}

/*
 * Stores the shape @s of the directory @node in p->shapes if the directory is
 * large, and frees the content of @s if the directory is small.
 */
static errcode_t keep_shape(struct e4l_populate *p, uint32_t node,
			    const struct e4l_dir_shape *s)
{
	if (s->blocks < KEPT_BLOCKS || vec_room(&p->shapes, 1)) {
		free(s->start);
		return s->blocks < KEPT_BLOCKS ? 0 : ENOMEM;
	}
	p->shapes.v[p->shapes.n++] = (struct kept_shape) { node, *s };
	return 0;
}

void e4l_pop_free_shapes(struct e4l_populate *p)
{
	while (p->shapes.n)
		free(p->shapes.v[--p->shapes.n].shape.start);
	free(p->shapes.v);
}

errcode_t e4l_pop_size_dir(struct e4l_populate *p, struct node *n)
{
	struct children c = { .p = p, .dir = n };
	struct e4l_dir_builder b = builder(&c);
	struct e4l_dir_shape s;
	errcode_t err;

	n->flags &= ~NODE_INDEXED;
	n->size = p->bs;
	if (!e4l_dir_fits_block(&b)) {
		if (ext2fs_has_feature_dir_index(p->fs->super))
			n->flags |= NODE_INDEXED;
		err = e4l_dir_shape(&b, n->flags & NODE_INDEXED, &s);
		if (err)
			return err;
		n->size = (uint64_t)s.blocks * p->bs;
		err = keep_shape(p, n - p->t->nodes.v, &s);
		if (err)
			return err;
	}
	if (n == &p->t->nodes.v[p->lost_found] && !(n->flags & NODE_INDEXED) &&
	    n->size < (uint64_t)p->lost_found_blocks * p->bs)
		n->size = (uint64_t)p->lost_found_blocks * p->bs;
	return 0;
}

bool e4l_pop_inline_dir(struct e4l_populate *p, const struct node *n, char *buf,
			unsigned int bytes)
{
	struct children c = { .p = p, .dir = n };
	struct e4l_dir_builder b = builder(&c);
	uint32_t parent = ext2fs_cpu_to_le32(b.parent), i;
	unsigned int used = sizeof(parent);
	struct e4l_new_dirent entry;

	for (i = 0; i < b.n; i++) {
		get_child(i, &entry, &c);
		used += e4l_dirent_bytes(&b, entry.name_len);
	}
	if (used > bytes || n->size > p->bs)
		return false;
	if (buf) {
		memcpy(buf, &parent, sizeof(parent));
		e4l_dir_put_entries(&b, 0, b.n, buf + sizeof(parent),
				    bytes - sizeof(parent));
	}
	return true;
}

errcode_t e4l_pop_fill_dir(struct e4l_populate *p, uint32_t id, uint32_t first,
			   uint32_t len, char *buf)
{
	const struct node *dir = &p->t->nodes.v[id];
	struct children c = { .p = p, .dir = dir };
	struct e4l_dir_builder b = builder(&c);
	const struct e4l_dir_shape *kept = find_shape(p, id);
	struct e4l_dir_shape s = { 0 };
	errcode_t err = 0;
	uint32_t i;

	if (!kept)
		err = e4l_dir_shape(&b, dir->flags & NODE_INDEXED, &s);
	if (err)
		return err;
	memset(buf, 0, (size_t)len * p->bs);
	for (i = 0; i < len; i++, buf += p->bs)
		e4l_dir_put_block(&b, kept ? kept : &s, first + i, buf);
	free(s.start);
	return 0;
}
