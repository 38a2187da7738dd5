/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "reread.h"
#include "e4layout/base/array.h"
#include "e4layout/read/scan.h"

/* Indexes of a file's extents and tree blocks in struct e4l_reread. */
struct e4l_reread_file {
	ext2_ino_t ino;			/* must be first, for e4l_u32_cmp() */
	size_t extents, n_extents;
	size_t tree, n_tree;
};

static errcode_t begin_file(struct e4l_reread *r, ext2_ino_t ino)
{
	errcode_t err = e4l_grow(&r->files, r->n_files, sizeof(*r->files));

	if (!err)
		r->files[r->n_files++] = (struct e4l_reread_file) {
			.ino = ino, .extents = r->n_extents, .tree = r->n_tree,
		};
	return err;
}

static errcode_t keep_piece(const struct e4l_piece *p, void *priv)
{
	struct e4l_reread *r = priv;
	struct e4l_reread_file *f;
	errcode_t err = p->first ? begin_file(r, p->ino) : 0;

	if (!err)
		err = e4l_append(&r->extents, &r->n_extents, &r->max_extents,
				 p->extents, p->n_extents, sizeof(*r->extents));
	if (!err)
		err = e4l_append(&r->tree, &r->n_tree, &r->max_tree,
				 p->tree, p->n_tree, sizeof(*r->tree));
	if (err)
		return err;
	f = &r->files[r->n_files - 1];
	f->n_extents = r->n_extents - f->extents;
	f->n_tree = r->n_tree - f->tree;
	return 0;
}

/*
 * Ignores wrong checksums of group descriptors.  An open journal session
 * changes descriptors in memory, and updates the checksums only when it writes
 * the descriptors.
 */
static errcode_t judge_damage(const struct e4l_damage *damage, void *priv)
{
	return damage->why == E4L_ET_GROUP_CSUM ? 0 :
	       e4l_refuse_damage(damage, priv);
}

errcode_t e4l_reread(struct e4l *e, const ext2_ino_t *inos, size_t n,
		     bool changing, struct e4l_reread *ret)
{
	const struct e4l_scan_ops ops = {
		.piece = keep_piece, .damage = changing ? NULL : judge_damage,
	};
	int type = e->fs->default_bitmap_type;
	ext2fs_inode_bitmap only;
	errcode_t err;

	*ret = (struct e4l_reread) { .e = e };
	/* use an rbtree, because a bit array can need 512 MiB */
	e->fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
	err = ext2fs_allocate_inode_bitmap(e->fs, "files of a plan", &only);
	e->fs->default_bitmap_type = type;
	if (err)
		return err;
	for (; n; n--, inos++)
		ext2fs_mark_inode_bitmap2(only, *inos);
	err = e4l_scan(e, 0, only, &ops, ret);
	ext2fs_free_inode_bitmap(only);
	return err;
}

bool e4l_reread_find(const struct e4l_reread *r, ext2_ino_t ino,
		     struct e4l_plan_now *now)
{
	const struct e4l_reread_file *f;

	if (!r->n_files)
		return false;
	f = bsearch(&ino, r->files, r->n_files, sizeof(*r->files), e4l_u32_cmp);
	if (!f)
		return false;
	*now = (struct e4l_plan_now) {
		.extents = r->extents + f->extents, .n_extents = f->n_extents,
		.tree = r->tree + f->tree, .n_tree = f->n_tree,
	};
	return true;
}

void e4l_reread_free(struct e4l_reread *r)
{
	free(r->files);
	free(r->extents);
	free(r->tree);
	*r = (struct e4l_reread) { .e = r->e };
}
