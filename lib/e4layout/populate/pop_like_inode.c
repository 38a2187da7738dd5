/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes the inodes of an image that is like an old image.  An inode is written
 * only if the owner, mode, modification time, size, flags, link count, map or
 * attributes of the inode change.  If only the access time or the change time
 * differs, the inode is not written.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/extent_tree_build.h"
#include "like.h"

#define MAX_NAME (sizeof("system.posix_acl_default") + 255)

static uint32_t inode_bytes(const struct e4l_like *l)
{
	return EXT2_INODE_SIZE(l->fs->super);
}

struct ext2_inode_large *e4l_like_new_inode(const struct e4l_like *l)
{
	size_t bytes = inode_bytes(l);

	return calloc(1, bytes > sizeof(struct ext2_inode_large) ? bytes :
			 sizeof(struct ext2_inode_large));
}

errcode_t e4l_like_read_inode(struct e4l_like *l, ext2_ino_t ino,
			      struct ext2_inode_large *inode)
{
	memset(inode, 0, inode_bytes(l));
	return ext2fs_read_inode_full(l->fs, ino, (struct ext2_inode *)inode,
				      inode_bytes(l));
}

static errcode_t write_inode(struct e4l_like *l, ext2_ino_t ino,
			     struct ext2_inode_large *inode)
{
	l->changed = true;
	return ext2fs_write_inode_full(l->fs, ino, (struct ext2_inode *)inode,
				       inode_bytes(l));
}

/* ------------------------------------------------- content inside the inode */

static errcode_t read_inline(struct e4l_like *l, ext2_ino_t ino,
			     struct ext2_inode_large *inode, char **ret,
			     size_t *len)
{
	errcode_t err;

	*ret = calloc(1, inode_bytes(l) + l->fs->blocksize);
	if (!*ret)
		return ENOMEM;
	err = ext2fs_inline_data_get(l->fs, ino, (struct ext2_inode *)inode,
				     *ret, len);
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}

/* Reads the target of the symbolic link @ino. */
static errcode_t read_target(struct e4l_like *l, ext2_ino_t ino,
			     struct ext2_inode_large *inode, char **ret,
			     size_t *len)
{
	struct like_map map;
	errcode_t err;

	*len = EXT2_I_SIZE(inode);
	if (inode->i_flags & EXT4_INLINE_DATA_FL)
		return read_inline(l, ino, inode, ret, len);
	*ret = calloc(1, l->fs->blocksize + I_BLOCK_BYTES);
	if (!*ret)
		return ENOMEM;
	if (*len < I_BLOCK_BYTES) {
		memcpy(*ret, inode->i_block, *len);
		return 0;
	}
	err = e4l_like_read_map(l, ino, inode, &map);
	if (!err && (!map.runs.n || *len >= l->fs->blocksize))
		err = E4L_ET_BAD_SYMLINK;
	if (!err)
		err = io_channel_read_blk64(l->fs->io, map.runs.v->pblk, 1,
					    *ret);
	e4l_like_free_map(&map);
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}

/* Compares the inline data of @inode with the source of node @id. */
static errcode_t same_inline(struct e4l_like *l, uint32_t id,
			     struct ext2_inode_large *inode, bool *same)
{
	const struct node *n = &l->t->nodes.v[id];
	char *old, *new = NULL;
	size_t len = 0;
	errcode_t err;

	*same = false;
	if (n->size != EXT2_I_SIZE(inode) ||
	    n->size > inode_bytes(l) + l->fs->blocksize)
		return 0;
	err = read_inline(l, n->ino, inode, &old, &len);
	if (err)
		return err;
	new = malloc(n->size + 1);
	err = new ? e4l_source_want(&l->source, id, 0, n->size, new) : ENOMEM;
	if (!err)
		err = e4l_source_fetch(&l->source);
	/*
	 * read_inline() has filled the bytes after the inline data with zeroes
	 */
	*same = !err && !memcmp(old, new, n->size);
	free(old);
	free(new);
	return err;
}

errcode_t e4l_like_same_inside(struct e4l_like *l, uint32_t id,
			       struct ext2_inode_large *inode, bool *same)
{
	const struct node *n = &l->t->nodes.v[id];
	size_t len = 0;
	errcode_t err;
	char *old;

	if (S_ISDIR(n->mode))
		return e4l_like_same_names(l, id, same);
	if (S_ISREG(n->mode))
		return same_inline(l, id, inode, same);
	err = read_target(l, n->ino, inode, &old, &len);
	if (err)
		return err;
	*same = EXT2_I_SIZE(inode) == n->size && len >= n->size &&
		!memcmp(old, l->t->names.v + n->pos, n->size);
	free(old);
	return 0;
}

errcode_t e4l_like_release(struct e4l_like *l, ext2_ino_t ino,
			   struct ext2_inode_large *inode)
{
	struct like_map map;
	errcode_t err;

	l->changed = true;
	err = e4l_like_read_map(l, ino, inode, &map);
	if (!err)
		err = e4l_like_drop(l, ino, inode, &map, NULL);
	e4l_like_free_map(&map);
	if (!err && ext2fs_file_acl_block(l->fs, (struct ext2_inode *)inode))
		err = ext2fs_free_ext_attr(l->fs, ino, inode);
	return err;
}

/* ------------------------------------------------------------------- fields */

#define LARGE(l, inode, field) \
	(inode_bytes(l) > EXT2_GOOD_OLD_INODE_SIZE && \
	 E4L_INODE_HAS(inode, field))

static uint32_t extra_time(uint64_t packed)
{
	int64_t sec = e4l_time_sec(packed);
	uint32_t epoch = (sec - (int32_t)sec) >> 32 & 3;

	return e4l_time_nsec(packed) << 2 | epoch;
}

/* Returns the time @packed for an inode that stores times in 32 bits. */
static uint32_t short_time(uint64_t packed)
{
	uint64_t last = e4l_pack_time(INT32_MAX, 0);

	return (uint32_t)e4l_time_sec(packed < last ? packed : last);
}

#define PUT_TIME(l, inode, field, packed) do { \
	if (LARGE(l, inode, field##_extra)) { \
		(inode)->field = (uint32_t)e4l_time_sec(packed); \
		(inode)->field##_extra = extra_time(packed); \
	} else { \
		(inode)->field = short_time(packed); \
	} \
} while (0)

static void put_ids(const struct e4l_like *l, const struct node *n,
		    struct ext2_inode_large *i)
{
	const struct extra *x = &l->t->extras.v[n->extra];

	i->i_mode = n->mode;
	i->i_uid = n->uid & 0xffff;
	i->i_uid_high = n->uid >> 16;
	i->i_gid = n->gid & 0xffff;
	i->i_gid_high = n->gid >> 16;
	i->i_flags = (i->i_flags & ~KEPT_FLAGS) | (n->extra ? x->flags : 0);
	if (LARGE(l, i, i_projid))
		i->i_projid = n->extra ? x->projid : 0;
}

static void put_links(const struct e4l_like *l, const struct node *n,
		      struct ext2_inode_large *i)
{
	bool many = S_ISDIR(n->mode) &&
		    ext2fs_has_feature_dir_nlink(l->fs->super);

	/* a link count of 1 means that subdirectories are not counted */
	if (many && (i->i_links_count == 1 || n->links >= EXT2_LINK_MAX))
		i->i_links_count = 1;
	else
		i->i_links_count = n->links;
}

static void put_device(uint64_t rdev, uint32_t *block)
{
	uint32_t major = major(rdev), minor = minor(rdev);

	block[0] = block[1] = 0;
	if (major < 256 && minor < 256)
		block[0] = major << 8 | minor;
	else
		block[1] = (minor & 0xff) | major << 8 | (minor & ~0xffU) << 12;
}

/*
 * Initializes the inode @i without content.  If @again is true, @i is the old
 * inode of the same path, and the creation time is kept.
 */
static errcode_t put_new(struct e4l_like *l, const struct node *n, bool again,
			 struct ext2_inode_large *i)
{
	const struct extra *x = &l->t->extras.v[n->extra];
	uint64_t crtime = n->extra ? x->crtime : l->p->now;
	bool keeps = again && LARGE(l, i, i_crtime_extra);
	uint32_t old = i->i_crtime, old_extra = i->i_crtime_extra;

	memset(i, 0, inode_bytes(l));
	i->i_mode = n->mode;
	if (n->extra)
		i->i_generation = x->generation;
	if (inode_bytes(l) > EXT2_GOOD_OLD_INODE_SIZE)
		i->i_extra_isize = l->p->extra_isize;
	if (l->p->o.clamp_times)
		crtime = n->mtime;
	if (LARGE(l, i, i_crtime_extra)) {
		PUT_TIME(l, i, i_crtime, crtime);
		if (keeps) {
			i->i_crtime = old;
			i->i_crtime_extra = old_extra;
		}
	}
	if (!ext2fs_has_feature_extents(l->fs->super) ||
	    !(S_ISREG(n->mode) || S_ISDIR(n->mode) ||
	      (S_ISLNK(n->mode) && n->size >= I_BLOCK_BYTES)))
		return 0;
	i->i_flags = EXT4_EXTENTS_FL;
	return e4l_extent_tree_build(l->fs, n->ino, i->i_generation, NULL, 0,
				     NULL, i->i_block, NULL);
}

static errcode_t set_size(struct e4l_like *l, const struct node *n,
			  struct ext2_inode_large *i)
{
	if (EXT2_I_SIZE(i) == n->size)
		return 0;
	return ext2fs_inode_size_set(l->fs, (struct ext2_inode *)i, n->size);
}

/* ------------------------------------------------------------------ content */

static errcode_t put_file(struct e4l_like *l, uint32_t id,
			  struct ext2_inode_large *i, struct like_file *file)
{
	const struct node *n = &l->t->nodes.v[id];
	struct like_map map = { 0 };
	errcode_t err = 0;

	if (i->i_flags & EXT4_INLINE_DATA_FL)
		return 0;
	if (l->state[id] == LIKE_KEPT) {
		err = e4l_like_read_map(l, n->ino, i, &map);
	} else {
		*file = (struct like_file) { .node = id, .first = l->runs.n };
		map.extents = i->i_flags & EXT4_EXTENTS_FL;
		err = e4l_like_new_runs(l, file);
	}
	if (!err)
		err = e4l_like_settle(l, n->ino, i, &map, file);
	if (l->state[id] != LIKE_KEPT)
		l->runs.n = file->first;
	e4l_like_free_map(&map);
	return err ? err : set_size(l, n, i);
}

/* Stores a small new file in the inode. */
static errcode_t put_inline(struct e4l_like *l, uint32_t id,
			    struct ext2_inode_large *i)
{
	const struct node *n = &l->t->nodes.v[id];
	errcode_t err;

	i->i_flags &= ~EXT4_EXTENTS_FL;
	i->i_flags |= EXT4_INLINE_DATA_FL;
	memset(i->i_block, 0, sizeof(i->i_block));
	err = e4l_source_want(&l->source, id, 0, n->size, (char *)i->i_block);
	if (!err)
		err = e4l_source_fetch(&l->source);
	return err ? err : set_size(l, n, i);
}

static bool goes_inline(const struct e4l_like *l, uint32_t id)
{
	const struct node *n = &l->t->nodes.v[id];

	return l->state[id] != LIKE_KEPT && S_ISREG(n->mode) && !n->map &&
	       n->size && n->size <= I_BLOCK_BYTES &&
	       ext2fs_has_feature_inline_data(l->fs->super) &&
	       inode_bytes(l) > EXT2_GOOD_OLD_INODE_SIZE;
}

static errcode_t put_symlink(struct e4l_like *l, uint32_t id,
			     struct ext2_inode_large *i)
{
	const struct node *n = &l->t->nodes.v[id];
	struct like_file file = { .node = id, .first = l->runs.n };
	struct like_map map = { .extents = i->i_flags & EXT4_EXTENTS_FL };
	errcode_t err;
	blk64_t pblk;
	char *buf;

	if (l->state[id] == LIKE_KEPT)
		return 0;
	if (n->size < I_BLOCK_BYTES) {
		memcpy(i->i_block, l->t->names.v + n->pos, n->size);
		return set_size(l, n, i);
	}
	buf = calloc(1, l->fs->blocksize);
	if (!buf)
		return ENOMEM;
	memcpy(buf, l->t->names.v + n->pos, n->size);
	e4l_like_take_one(l, &pblk);
	err = e4l_like_add_run(l, &file, (struct like_run) {
		.pblk = pblk, .len = 1,
	});
	if (!err)
		err = ext2fs_iblk_add_blocks(l->fs, (struct ext2_inode *)i, 1);
	if (!err)
		err = e4l_like_settle(l, n->ino, i, &map, &file);
	if (!err)
		err = e4l_like_put_block(l, pblk, buf);
	l->runs.n = file.first;
	free(buf);
	return err ? err : set_size(l, n, i);
}

static errcode_t put_content(struct e4l_like *l, uint32_t id,
			     struct ext2_inode_large *i, struct like_file *file)
{
	const struct node *n = &l->t->nodes.v[id];

	if (goes_inline(l, id))
		return put_inline(l, id, i);
	if (S_ISREG(n->mode))
		return put_file(l, id, i, file);
	if (S_ISDIR(n->mode))
		return e4l_like_put_dir(l, id, i);
	if (S_ISLNK(n->mode))
		return put_symlink(l, id, i);
	put_device(n->pos, i->i_block);
	return 0;
}

/* --------------------------------------------------------------- attributes */

struct attributes {
	VEC(struct e4l_tree_xattr) v;
	errcode_t err;
};

static int take_xattr(char *name, char *value, size_t len, void *priv)
{
	struct attributes *a = priv;
	char *copy = malloc(strlen(name) + 1 + len);

	if (!copy || vec_room(&a->v, 1)) {
		free(copy);
		a->err = ENOMEM;
		return XATTR_ABORT;
	}
	strcpy(copy, name);
	memcpy(copy + strlen(name) + 1, value, len);
	a->v.v[a->v.n++] = (struct e4l_tree_xattr) {
		.name = copy, .value = copy + strlen(name) + 1, .size = len,
	};
	return 0;
}

static void drop_xattrs(struct attributes *a)
{
	while (a->v.n)
		free((char *)a->v.v[--a->v.n].name);
	free(a->v.v);
}

static errcode_t open_xattrs(struct e4l_like *l, ext2_ino_t ino,
			     struct ext2_xattr_handle **h)
{
	unsigned int flags = XATTR_HANDLE_FLAG_RAW;
	errcode_t err = ext2fs_xattrs_open(l->fs, ino, h);

	if (err)
		return err;
	err = ext2fs_xattrs_flags(*h, &flags, NULL);
	if (!err)
		err = ext2fs_xattrs_read(*h);
	if (err)
		ext2fs_xattrs_close(h);
	return err;
}

/*
 * Writes the name of an attribute, including the prefix, to @name, which has
 * MAX_NAME bytes.
 */
static void full_name(const struct xrecord *rec, const char *text, char *name)
{
	const char *prefix = e4l_tree_xattr_prefix(rec->index);
	size_t len = strlen(prefix);

	memcpy(name, prefix, len);
	memcpy(name + len, text, rec->name_len);
	name[len + rec->name_len] = '\0';
}

static errcode_t set_xattrs(struct e4l_like *l, struct ext2_xattr_handle *h,
			    const struct attributes *old, uint32_t set)
{
	const struct xset *s = &l->t->sets.v[set];
	const char *text, *value;
	char name[MAX_NAME];
	struct xrecord rec;
	errcode_t err = 0;
	size_t i, at = s->at, end = s->at + s->len;

	for (i = 0; i < old->v.n && !err; i++)
		if (strcmp(old->v.v[i].name, "system.data"))
			err = ext2fs_xattr_remove(h, old->v.v[i].name);
	while (set && at < end && !err) {
		at = e4l_tree_record(l->t, at, &rec, &text, &value);
		full_name(&rec, text, name);
		err = ext2fs_xattr_set(h, name, value, rec.value_len);
	}
	if (err == EXT2_ET_EA_NO_SPACE || err == EXT2_ET_FILE_TOO_BIG)
		err = E4L_ET_XATTR_TOO_LARGE;
	return err;
}

/*
 * If the attributes of @n and of @n's inode @i differ, replaces the attributes
 * of the inode.  @has_none: the inode has no attributes.
 */
static errcode_t put_xattrs(struct e4l_like *l, const struct node *n,
			    struct ext2_inode_large *i, bool has_none)
{
	struct attributes old = { 0 };
	struct ext2_xattr_handle *h;
	uint32_t set = 0;
	errcode_t err;

	if (has_none && !n->xattr)
		return 0;
	err = open_xattrs(l, n->ino, &h);
	if (err)
		return err;
	err = ext2fs_xattrs_iterate(h, take_xattr, &old);
	if (!err)
		err = old.err;
	if (!err)
		err = e4l_tree_intern(l->t, old.v.v, old.v.n, &set);
	if (!err && set != n->xattr) {
		l->changed = true;
		err = set_xattrs(l, h, &old, n->xattr);
		if (!err)
			err = e4l_like_read_inode(l, n->ino, i);
	}
	drop_xattrs(&old);
	ext2fs_xattrs_close(&h);
	return err;
}

static bool may_have_xattrs(const struct e4l_like *l,
			    const struct ext2_inode_large *i)
{
	size_t fixed = EXT2_GOOD_OLD_INODE_SIZE + i->i_extra_isize;
	uint32_t magic;

	if (ext2fs_file_acl_block(l->fs, (struct ext2_inode *)i))
		return true;
	if (inode_bytes(l) <= EXT2_GOOD_OLD_INODE_SIZE ||
	    fixed + sizeof(magic) > inode_bytes(l))
		return false;
	memcpy(&magic, (const char *)i + fixed, sizeof(magic));
	return magic == EXT2_EXT_ATTR_MAGIC;
}

/* ---------------------------------------------------------- the whole inode */

/* Sets the fields of the inode @i that depend on the source of node @id. */
static errcode_t fill_inode(struct e4l_like *l, uint32_t id,
			    struct ext2_inode_large *i, struct like_file *file)
{
	const struct node *n = &l->t->nodes.v[id];
	bool raw = l->keep_lost_found && id == l->p->lost_found;
	errcode_t err = 0;

	if (l->state[id] != LIKE_KEPT)
		err = put_new(l, n, l->state[id] == LIKE_AGAIN, i);
	if (!err)
		err = put_content(l, id, i, file);
	if (err || raw) {
		put_links(l, n, i);
		return err;
	}
	put_ids(l, n, i);
	put_links(l, n, i);
	PUT_TIME(l, i, i_mtime, n->mtime);
	return 0;
}

static errcode_t write_changed(struct e4l_like *l, uint32_t id,
			       struct ext2_inode_large *i,
			       const struct ext2_inode_large *old)
{
	const struct node *n = &l->t->nodes.v[id];

	if (l->state[id] == LIKE_KEPT && !memcmp(i, old, inode_bytes(l)))
		return 0;
	if (!l->keep_lost_found || id != l->p->lost_found) {
		PUT_TIME(l, i, i_atime, n->atime);
		PUT_TIME(l, i, i_ctime, n->ctime);
	}
	return write_inode(l, n->ino, i);
}

errcode_t e4l_like_finish(struct e4l_like *l, uint32_t id,
			  struct like_file *file)
{
	const struct node *n = &l->t->nodes.v[id];
	bool raw = l->keep_lost_found && id == l->p->lost_found;
	struct ext2_inode_large *i = e4l_like_new_inode(l);
	struct ext2_inode_large *old = e4l_like_new_inode(l);
	errcode_t err = i && old ? 0 : ENOMEM;

	if (!err)
		err = e4l_like_read_inode(l, n->ino, i);
	if (!err) {
		memcpy(old, i, inode_bytes(l));
		err = fill_inode(l, id, i, file);
	}
	if (!err)
		err = write_changed(l, id, i, old);
	if (!err && goes_inline(l, id))
		err = ext2fs_inline_data_init(l->fs, n->ino);
	if (!err && !raw)
		err = put_xattrs(l, n, i, l->state[id] != LIKE_KEPT ||
					  !may_have_xattrs(l, i));
	if (!err)
		err = e4l_like_count(l, n->ino, i, 1);
	free(i);
	free(old);
	return err;
}
