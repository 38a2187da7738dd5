/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loads a tree from another ext4 filesystem, including attributes that only
 * ext4 has.  Does not read the content of files; the nodes store where the
 * content is on the device.
 */
#include "config.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "tree.h"

struct todo {
	ext2_ino_t ino;
	uint32_t node;
};

struct load {
	struct e4l_tree *t;
	struct e4l *e;
	ext2_filsys fs;
	unsigned int flags;
	uint64_t offset_bytes;
	struct ext2_inode_large *inode;	/* buffer of s_inode_size bytes */
	uint32_t dir;			/* node of the current directory */
	errcode_t err;
	VEC(struct todo) todo;
	/* [inode number]: node; 0: no node was made for the inode yet */
	uint32_t *known;
	const struct e4l_load_damage *damage;
	/*
	 * All blocks of the inodes in damage->sharing.  A file that uses a
	 * block in @shared counts as damaged.  NULL if @damage is NULL.
	 */
	ext2fs_block_bitmap shared;
	bool noting_shared;
	VEC(struct e4l_stretch) stretches;
	VEC(struct e4l_tree_xattr) xattrs;
	char target[PATH_MAX];
};

/* ------------------------------------------------------------------ content */

/* Whether the stretch @next extends @s, in the file and on disk. */
static bool extends(const struct e4l_stretch *s, const struct e4l_stretch *next)
{
	return s->offset + s->bytes == next->offset &&
	       s->unwritten == next->unwritten &&
	       (s->unwritten || s->pos + s->bytes == next->pos);
}

/*
 * Whether blocks that end before block @end of the current file can be written
 * blocks: only the metadata of fs-verity is behind the end of a file.
 */
static bool can_be_written(const struct load *l, uint64_t end)
{
	uint64_t bytes = EXT2_I_SIZE(l->inode);

	return l->inode->i_flags & EXT4_VERITY_FL ||
	       end <= bytes / l->fs->blocksize + !!(bytes % l->fs->blocksize);
}

static errcode_t add_stretch(struct load *l, uint64_t lblk, uint64_t pblk,
			   uint64_t len, bool unwritten)
{
	uint32_t bs = l->fs->blocksize;
	const struct e4l_stretch next = {
		.offset = lblk * bs, .bytes = len * bs,
		.pos = l->offset_bytes + pblk * bs, .unwritten = unwritten,
	};
	struct e4l_stretch *last;

	if (pblk + len > ext2fs_blocks_count(l->fs->super) ||
	    lblk + len > FILE_MAX_BLOCKS || !pblk)
		return E4L_ET_EXTENT_RANGE;
	if (l->noting_shared) {
		ext2fs_mark_block_bitmap_range2(l->shared, pblk, len);
		return 0;
	}
	if (l->shared &&
	    !ext2fs_test_block_bitmap_range2(l->shared, pblk, len))
		return E4L_ET_BLOCK_SHARED;
	if (!unwritten && !can_be_written(l, lblk + len))
		return E4L_ET_EXTENT_RANGE;
	if (l->stretches.n) {
		last = &l->stretches.v[l->stretches.n - 1];
		if (last->offset + last->bytes > next.offset)
			return E4L_ET_EXTENT_ORDER;
		if (extends(last, &next)) {
			last->bytes += next.bytes;
			return 0;
		}
	}
	if (vec_room(&l->stretches, 1))
		return ENOMEM;
	l->stretches.v[l->stretches.n++] = next;
	return 0;
}

static errcode_t list_extents(struct load *l, ext2_ino_t ino)
{
	struct ext2fs_extent x;
	ext2_extent_handle_t h;
	errcode_t err;

	err = ext2fs_extent_open2(l->fs, ino, (struct ext2_inode *)l->inode,
				  &h);
	if (err)
		return err;
	err = ext2fs_extent_get(h, EXT2_EXTENT_ROOT, &x);
	while (!err) {
		if (x.e_flags & EXT2_EXTENT_FLAGS_LEAF)
			err = add_stretch(l, x.e_lblk, x.e_pblk, x.e_len,
					x.e_flags & EXT2_EXTENT_FLAGS_UNINIT);
		if (!err)
			err = ext2fs_extent_get(h, EXT2_EXTENT_NEXT, &x);
	}
	ext2fs_extent_free(h);
	return err == EXT2_ET_EXTENT_NO_NEXT || err == EXT2_ET_NO_CURRENT_NODE ?
	       0 : err;
}

static int list_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
		      blk64_t ref_blk, int ref_offset, void *priv)
{
	struct load *l = priv;

	if (lblk >= 0)
		l->err = add_stretch(l, lblk, *blk, 1, false);
	return l->err ? BLOCK_ABORT : 0;
}

/* Returns the position of inode @ino on the device, in bytes. */
static uint64_t inode_pos(const struct load *l, ext2_ino_t ino)
{
	dgrp_t group = ext2fs_group_of_ino(l->fs, ino);
	uint64_t index = (ino - 1) % l->fs->super->s_inodes_per_group;

	return l->offset_bytes +
	       ext2fs_inode_table_loc(l->fs, group) * l->fs->blocksize +
	       index * EXT2_INODE_SIZE(l->fs->super);
}

/*
 * Lists the stretches of inline data.  Bytes between the end of the inline data
 * and the end of the file are a hole, because Linux returns zeroes.
 */
static errcode_t list_inline(struct load *l, ext2_ino_t ino, uint64_t size)
{
	const size_t in_block = sizeof(l->inode->i_block);
	uint64_t pos = inode_pos(l, ino);
	const char *rest;
	size_t len;

	rest = e4l_inline_value(l->inode, EXT2_INODE_SIZE(l->fs->super), &len);
	if (!rest)
		return EXT2_ET_NO_INLINE_DATA;
	if (vec_room(&l->stretches, 2))
		return ENOMEM;
	l->stretches.v[l->stretches.n++] = (struct e4l_stretch) {
		.bytes = size < in_block ? size : in_block,
		.pos = pos + offsetof(struct ext2_inode_large, i_block),
	};
	if (size <= in_block || !len)
		return 0;
	if (len > size - in_block)
		len = size - in_block;
	l->stretches.v[l->stretches.n++] = (struct e4l_stretch) {
		.offset = in_block, .bytes = len,
		.pos = pos + (rest - (const char *)l->inode),
	};
	return 0;
}

static errcode_t list_blocks(struct load *l, ext2_ino_t ino)
{
	errcode_t err;

	l->err = 0;
	if (l->inode->i_flags & EXT4_EXTENTS_FL)
		return list_extents(l, ino);
	err = ext2fs_block_iterate3(l->fs, ino, BLOCK_FLAG_READ_ONLY |
				    BLOCK_FLAG_DATA_ONLY, NULL, list_block, l);
	return err ? err : l->err;
}

static errcode_t list_content(struct load *l, ext2_ino_t ino,
			      struct e4l_entry *e)
{
	const struct e4l_stretch *one;
	errcode_t err;
	size_t i;

	l->stretches.n = 0;
	if (vec_room(&l->stretches, 1))
		return ENOMEM;
	err = l->inode->i_flags & EXT4_INLINE_DATA_FL ?
	      list_inline(l, ino, e->size) : list_blocks(l, ino);
	/*
	 * Drop the bytes beyond the end of the file, which are content only in
	 * files with fs-verity.
	 */
	for (i = 0; i < l->stretches.n && !err; i++) {
		struct e4l_stretch *x = &l->stretches.v[i];

		if (!x->unwritten && x->offset < e->size &&
		    x->bytes > e->size - x->offset &&
		    !(l->inode->i_flags & EXT4_VERITY_FL))
			x->bytes = e->size - x->offset;
	}
	one = l->stretches.v;
	if (l->stretches.n == 1 && !one->offset && one->bytes == e->size &&
	    !one->unwritten) {
		e->pos = one->pos;
		return err;
	}
	e->stretches = l->stretches.v;
	e->n_stretches = l->stretches.n;
	return err;
}

/* --------------------------------------------------------------- attributes */

static int take_xattr(char *name, char *value, size_t len, void *priv)
{
	struct load *l = priv;
	char *copy = malloc(strlen(name) + 1 + len);

	if (!copy || vec_room(&l->xattrs, 1)) {
		free(copy);
		l->err = ENOMEM;
		return XATTR_ABORT;
	}
	strcpy(copy, name);
	memcpy(copy + strlen(name) + 1, value, len);
	l->xattrs.v[l->xattrs.n++] = (struct e4l_tree_xattr) {
		.name = copy, .value = copy + strlen(name) + 1, .size = len,
	};
	return 0;
}

static void drop_xattrs(struct load *l)
{
	while (l->xattrs.n)
		free((char *)l->xattrs.v[--l->xattrs.n].name);
}

static errcode_t list_xattrs(struct load *l, ext2_ino_t ino)
{
	struct ext2_xattr_handle *h;
	errcode_t err;

	l->err = 0;
	err = ext2fs_xattrs_open(l->fs, ino, &h);
	if (err)
		return err;
	err = ext2fs_xattrs_read(h);
	if (!err)
		err = ext2fs_xattrs_iterate(h, take_xattr, l);
	ext2fs_xattrs_close(&h);
	return err ? err : l->err;
}

/* ------------------------------------------------------------------- inodes */

static struct e4l_time stamp(int32_t sec, uint32_t extra)
{
	return (struct e4l_time) {
		.tv_sec = sec + ((int64_t)(extra & 3) << 32),
		.tv_nsec = extra >> 2,
	};
}

#define HAS(l, field) \
	(EXT2_INODE_SIZE((l)->fs->super) > EXT2_GOOD_OLD_INODE_SIZE && \
	 E4L_INODE_HAS((l)->inode, field))

static void read_times(const struct load *l, struct e4l_entry *e)
{
	const struct ext2_inode_large *i = l->inode;

	e->mtime = stamp(i->i_mtime, HAS(l, i_mtime_extra) ?
			 i->i_mtime_extra : 0);
	e->atime = stamp(i->i_atime, HAS(l, i_atime_extra) ?
			 i->i_atime_extra : 0);
	e->ctime = stamp(i->i_ctime, HAS(l, i_ctime_extra) ?
			 i->i_ctime_extra : 0);
	e->crtime = HAS(l, i_crtime_extra) ?
		    stamp(i->i_crtime, i->i_crtime_extra) : e->ctime;
}

static uint64_t device_number(const struct ext2_inode_large *i)
{
	uint32_t old = i->i_block[0], new = i->i_block[1];

	if (old)
		return makedev(old >> 8 & 0xff, old & 0xff);
	return makedev(new >> 8 & 0xfff, (new & 0xff) | (new >> 12 & 0xfff00));
}

/* Reads the target of a symlink that is too long for the inode. */
static errcode_t read_long_target(struct load *l, ext2_ino_t ino, size_t size)
{
	unsigned int got = 0;
	ext2_file_t file;
	errcode_t err;

	err = ext2fs_file_open(l->fs, ino, 0, &file);
	if (err)
		return err;
	err = ext2fs_file_read(file, l->target, size, &got);
	ext2fs_file_close(file);
	return err ? err : got == size ? 0 : E4L_ET_BAD_SYMLINK;
}

static errcode_t read_target(struct load *l, ext2_ino_t ino,
			     struct e4l_entry *e)
{
	errcode_t err = 0;

	if (!e->size || e->size >= sizeof(l->target))
		return E4L_ET_BAD_SYMLINK;
	e->target = l->target;
	if (!ext2fs_is_fast_symlink((struct ext2_inode *)l->inode))
		err = read_long_target(l, ino, e->size);
	else if (e->size > sizeof(l->inode->i_block))
		err = E4L_ET_BAD_SYMLINK;
	else
		memcpy(l->target, l->inode->i_block, e->size);
	if (!err && memchr(l->target, 0, e->size))
		err = E4L_ET_BAD_SYMLINK;
	return err;
}

static errcode_t read_inode(struct load *l, ext2_ino_t ino)
{
	const size_t size = EXT2_INODE_SIZE(l->fs->super);

	memset(l->inode, 0, size);
	return ext2fs_read_inode_full(l->fs, ino,
				      (struct ext2_inode *)l->inode, size);
}

/*
 * Whether a directory entry may refer to the inode @i.  The inode must be in
 * use, have a valid type, and not be an EA inode.
 */
static bool is_file(const struct ext2_inode_large *i)
{
	return i->i_links_count && !(i->i_flags & EXT4_EA_INODE_FL) &&
	       (S_ISREG(i->i_mode) || S_ISDIR(i->i_mode) ||
		S_ISLNK(i->i_mode) || S_ISCHR(i->i_mode) ||
		S_ISBLK(i->i_mode) || S_ISFIFO(i->i_mode) ||
		S_ISSOCK(i->i_mode));
}

/* Reads the inode @ino into l->inode, and fills in @e from the inode. */
static errcode_t describe(struct load *l, ext2_ino_t ino, struct e4l_entry *e)
{
	struct ext2_inode_large *i = l->inode;
	errcode_t err = read_inode(l, ino);

	if (!err && !is_file(i))
		err = E4L_ET_DANGLING;
	/*
	 * check for encryption first, because encrypted content causes other
	 * errors
	 */
	if (!err && i->i_flags & EXT4_ENCRYPT_FL)
		err = E4L_ET_ENCRYPTED;
	if (!err && l->fs->super->s_creator_os == EXT2_OS_HURD &&
	    i->osd1.hurd1.h_i_translator)
		err = E4L_ET_TRANSLATOR;
	if (err)
		return err;
	*e = (struct e4l_entry) {
		.mode = i->i_mode, .uid = inode_uid(*i), .gid = inode_gid(*i),
		.size = EXT2_I_SIZE(i), .from_ext4 = true,
		.flags = i->i_flags & KEPT_FLAGS,
		.generation = l->flags & E4L_LOAD_GENERATION ?
			      i->i_generation : 0,
	};
	if (ext2fs_has_feature_project(l->fs->super) && HAS(l, i_projid))
		e->projid = i->i_projid;
	read_times(l, e);
	if (S_ISLNK(i->i_mode))
		err = read_target(l, ino, e);
	else if (S_ISREG(i->i_mode))
		err = list_content(l, ino, e);
	else if (S_ISCHR(i->i_mode) || S_ISBLK(i->i_mode))
		e->rdev = device_number(i);
	if (!err && !(l->flags & E4L_LOAD_NO_XATTRS))
		err = list_xattrs(l, ino);
	e->xattrs = l->xattrs.v;
	e->n_xattrs = l->xattrs.n;
	return err;
}

/*
 * Checks an entry of directory l->dir before inode @ino of the entry is read.
 * Returns 0 if the entry can be loaded, or an error.
 */
static errcode_t check_entry(struct load *l, ext2_ino_t ino, const char *name,
			     size_t len)
{
	const struct e4l_load_damage *d = l->damage;
	uint32_t other = 0;
	errcode_t err = 0;

	if (!ino || ino > l->fs->super->s_inodes_count ||
	    (ino != EXT2_ROOT_INO && ino < EXT2_FIRST_INODE(l->fs->super)))
		return E4L_ET_DANGLING;
	if (l->known[ino] && S_ISDIR(l->t->nodes.v[l->known[ino]].mode))
		return E4L_ET_DIR_CORRUPT;
	if (!d)
		return 0;
	if (ext2fs_test_inode_bitmap2(d->inodes, ino))
		return E4L_ET_FILE_DAMAGED;
	err = e4l_tree_find(l->t, l->dir, name, len, &other);
	return err || !other ? err : E4L_ET_DUPLICATE_NAME;
}

static errcode_t add(struct load *l, ext2_ino_t ino, const char *name,
		     size_t len)
{
	struct e4l_entry e;
	errcode_t err = check_entry(l, ino, name, len);
	uint32_t id;

	if (!err && l->known[ino])
		return e4l_tree_link(l->t, l->dir, name, len, l->known[ino]);
	if (!err)
		err = describe(l, ino, &e);
	if (!err)
		err = e4l_tree_add(l->t, l->dir, name, len, &e, &id);
	drop_xattrs(l);
	if (err)
		return e4l_tree_fail(l->t, err, l->dir, name, len);
	l->known[ino] = id;
	if (!S_ISDIR(e.mode))
		return 0;
	if (vec_room(&l->todo, 1))
		return ENOMEM;
	l->todo.v[l->todo.n++] = (struct todo) { ino, id };
	return 0;
}

/* -------------------------------------------------------------- directories */

struct names {
	struct load *l;
	/* for each entry: inode number, length of the name, name */
	VEC(char) bytes;
	errcode_t err;
};

static int take_name(ext2_ino_t dir, int entry, struct ext2_dir_entry *d,
		     int offset, int blocksize, char *buf, void *priv)
{
	struct names *n = priv;
	uint8_t len = ext2fs_dirent_name_len(d);

	/*
	 * compare names, because libext2fs does not pass ".." of an inline
	 * directory as the second entry
	 */
	if (len && len <= 2 && !memcmp(d->name, "..", len))
		return 0;
	if (vec_room(&n->bytes, sizeof(d->inode) + 1 + len)) {
		n->err = ENOMEM;
		return DIRENT_ABORT;
	}
	memcpy(n->bytes.v + n->bytes.n, &d->inode, sizeof(d->inode));
	n->bytes.n += sizeof(d->inode);
	n->bytes.v[n->bytes.n++] = len;
	memcpy(n->bytes.v + n->bytes.n, d->name, len);
	n->bytes.n += len;
	return 0;
}

/*
 * Decides whether to continue after @err.  If damaged entries may be skipped
 * and @err concerns only the current entry, reports the skipped entry and
 * returns 0.  In all other cases, returns @err.
 */
static errcode_t leave_out(const struct load *l, errcode_t err)
{
	if (!err || !l->damage || err == ENOMEM || err == E4L_ET_ENCRYPTED ||
	    err == E4L_ET_INTERRUPTED || err == E4L_ET_TREE_TOO_LARGE)
		return err;
	l->damage->left_out(e4l_tree_where(l->t), err, l->damage->priv);
	return 0;
}

/*
 * Loads the entries of a directory.  First lists all names, then reads the
 * inodes.
 */
static errcode_t load_dir(struct load *l, struct todo dir)
{
	struct names n = { .l = l };
	ext2_ino_t ino;
	errcode_t err;
	size_t at = 0;
	uint8_t len;

	l->dir = dir.node;
	err = ext2fs_dir_iterate2(l->fs, dir.ino, 0, NULL, take_name, &n);
	if (!err)
		err = n.err;
	if (err)
		err = leave_out(l, e4l_tree_fail(l->t, err, dir.node, NULL, 0));
	while (at < n.bytes.n && !err) {
		memcpy(&ino, n.bytes.v + at, sizeof(ino));
		at += sizeof(ino);
		len = n.bytes.v[at++];
		err = e4l_is_interrupted(l->e) ? E4L_ET_INTERRUPTED :
		      leave_out(l, add(l, ino, n.bytes.v + at, len));
		at += len;
	}
	free(n.bytes.v);
	return err;
}

static errcode_t load_root(struct load *l)
{
	struct e4l_entry e;
	errcode_t err;

	err = l->damage && ext2fs_test_inode_bitmap2(l->damage->inodes,
						     EXT2_ROOT_INO) ?
	      E4L_ET_FILE_DAMAGED : describe(l, EXT2_ROOT_INO, &e);
	if (!err && !S_ISDIR(e.mode))
		err = E4L_ET_NOT_DIR;
	if (!err)
		err = e4l_tree_set(l->t, E4L_TREE_ROOT, &e);
	drop_xattrs(l);
	if (!err && vec_room(&l->todo, 1))
		err = ENOMEM;
	if (err)
		return e4l_tree_fail(l->t, err, E4L_TREE_ROOT, NULL, 0);
	l->todo.v[l->todo.n++] = (struct todo) { EXT2_ROOT_INO, E4L_TREE_ROOT };
	l->known[EXT2_ROOT_INO] = E4L_TREE_ROOT;
	return 0;
}

/*
 * Sets in l->shared the bits of all blocks of the inodes in l->damage->sharing.
 */
static errcode_t note_shared(struct load *l)
{
	ext2_ino_t ino, last = l->fs->super->s_inodes_count, at = 1;
	errcode_t err;

	err = ext2fs_allocate_block_bitmap(l->fs, "shared blocks", &l->shared);
	l->noting_shared = true;
	for (; !err && at <= last && !ext2fs_find_first_set_inode_bitmap2(
			l->damage->sharing, at, last, &ino); at = ino + 1)
		if (!read_inode(l, ino) &&
		    inode_has_map(l->fs, (struct ext2_inode *)l->inode))
			/* a file with a damaged map is skipped later */
			list_blocks(l, ino);
	l->noting_shared = false;
	return err;
}

errcode_t e4l_tree_load_fs(struct e4l_tree *t, struct e4l *e,
			   uint64_t offset_bytes, unsigned int flags,
			   const struct e4l_load_damage *damage)
{
	struct load l = {
		.t = t, .e = e, .fs = e->fs, .flags = flags,
		.offset_bytes = offset_bytes, .damage = damage,
	};
	const bool has_xattrs = ext2fs_has_feature_xattr(e->fs->super);
	errcode_t err = ENOMEM;

	if (flags & ~(E4L_LOAD_GENERATION | E4L_LOAD_NO_XATTRS) ||
	    (damage && E4L_HAS_UNKNOWN(damage)))
		return e4l_fail(e, E4L_ET_OPTION, "reading the source", 0, 0);
	/*
	 * libext2fs reads extended attributes only if the feature ext_attr is
	 * set, but Linux always reads extended attributes
	 */
	ext2fs_set_feature_xattr(e->fs->super);
	l.known = e4l_array_zalloc(e->fs->super->s_inodes_count + 1ULL,
			 sizeof(*l.known));
	l.inode = calloc(1, EXT2_INODE_SIZE(e->fs->super));
	if (l.known && l.inode)
		err = damage ? note_shared(&l) : 0;
	if (!err)
		err = load_root(&l);
	while (!err && l.todo.n)
		err = load_dir(&l, l.todo.v[--l.todo.n]);
	if (!has_xattrs)
		ext2fs_clear_feature_xattr(e->fs->super);
	if (l.shared)
		ext2fs_free_block_bitmap(l.shared);
	free(l.known);
	free(l.inode);
	free(l.todo.v);
	free(l.stretches.v);
	free(l.xattrs.v);
	return err;
}
