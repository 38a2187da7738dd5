/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An inode with its extents, and the extent status cache. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "support/say.h"
#include "support/units.h"
#include "e4debug.h"

/*
 * Parses an inode number in the form "<12>".  Returns false if the form is
 * different.
 */
static bool parse_inode(const char *path, uint64_t *ino)
{
	char number[24];
	size_t len = strlen(path);

	if (path[0] != '<' || len < 3 || len > sizeof(number) ||
	    path[len - 1] != '>')
		return false;
	memcpy(number, path + 1, len - 2);
	number[len - 2] = '\0';
	return units_parse_count(number, ino);
}

bool file_find(const struct shell *s, const char *path, ext2_ino_t *ino)
{
	ext2_filsys fs = s->target.fs;
	uint64_t number;
	errcode_t err;

	if (parse_inode(path, &number)) {
		*ino = number;
		if (number && number <= fs->super->s_inodes_count)
			return true;
		return shell_fails(s, path, EXT2_ET_BAD_INODE_NUM);
	}
	err = ext2fs_namei(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, path, ino);
	return err ? shell_fails(s, path, err) : true;
}

bool file_subtree(const struct shell *s, const char *path,
		  ext2fs_inode_bitmap *ret)
{
	ext2_ino_t ino;
	errcode_t err;

	if (path[0] != '<') {
		err = e4l_subtree(s->e, &path, 1, NULL, ret);
	} else {
		if (!file_find(s, path, &ino))
			return false;
		err = ext2fs_allocate_inode_bitmap(s->target.fs, "one inode",
						   ret);
		if (!err)
			ext2fs_mark_inode_bitmap2(*ret, ino);
	}
	return err ? shell_fails(s, path, err) : true;
}

errcode_t file_scan(const struct shell *s, ext2_ino_t ino,
		    errcode_t (*piece)(const struct e4l_piece *, void *),
		    void *priv)
{
	struct e4l_scan_ops ops = { .piece = piece };

	return e4l_scan_inode(s->e, ino, &ops, priv);
}

struct loading {
	const struct shell *s;
	struct file *f;
	struct e4l_scorer scorer;
	bool found;
};

static errcode_t load_piece(const struct e4l_piece *p, void *priv)
{
	struct loading *l = priv;
	struct file *f = l->f;
	size_t size = EXT2_INODE_SIZE(l->s->target.fs->super);
	errcode_t err;

	if (p->first)
		memcpy(&f->inode, p->inode, size < sizeof(f->inode) ?
					    size : sizeof(f->inode));
	l->found = true;
	f->map = p->map;
	f->depth = p->depth;
	f->damaged |= p->damaged;
	e4l_score_piece(&l->scorer, p);
	if (p->last)
		e4l_score_finish(&l->scorer, p, l->s->target.fs);
	err = e4l_append(&f->extents, &f->n_extents, &f->max_extents,
			 p->extents, p->n_extents, sizeof(*p->extents));
	return err ? err : e4l_append(&f->tree, &f->n_tree, &f->max_tree,
				      p->tree, p->n_tree, sizeof(*p->tree));
}

bool file_load(const struct shell *s, ext2_ino_t ino, struct file *f)
{
	struct loading l = { .s = s, .f = f };
	errcode_t err;

	memset(f, 0, sizeof(*f));
	f->ino = ino;
	err = file_scan(s, ino, load_piece, &l);
	f->score = l.scorer.score;
	if (err)
		return shell_fails_e4l(s, "cannot read the inode", err);
	if (l.found)
		return true;
	say("%s: inode %u is not in use", s->request, ino);
	return false;
}

bool file_open(const struct shell *s, const char *path, struct file *f)
{
	ext2_ino_t ino;

	memset(f, 0, sizeof(*f));
	return file_find(s, path, &ino) && file_load(s, ino, f);
}

void file_free(struct file *f)
{
	free(f->extents);
	free(f->tree);
}

uint64_t file_blocks(const struct shell *s, const struct file *f)
{
	uint64_t bs = s->target.fs->blocksize;

	return EXT2_I_SIZE(&f->inode) / bs + !!(EXT2_I_SIZE(&f->inode) % bs);
}

/* -------------------------------------------------------------------- cache */

/*
 * Maximum number of entries that one read of an inode adds to the cache.  The
 * entries fit into the cache, so that they are not freed immediately.
 */
#define FILL_ENTRIES 65536

struct filling {
	const struct shell *s;
	/* @from: first block to cache; @at: first block not read yet */
	uint64_t from, at;
	unsigned int n;
};

static errcode_t fill(struct filling *f, ext2_ino_t ino, uint64_t end,
		      enum e4l_es_state state, blk64_t pblk)
{
	struct e4l_es es = {
		.lblk = f->at, .len = end - f->at, .state = state, .pblk = pblk,
	};

	f->at = end;
	if (!es.len || end <= f->from || f->n == FILL_ENTRIES)
		return 0;
	f->n++;
	return e4l_es_insert(f->s->cache, ino, &es);
}

static errcode_t fill_piece(const struct e4l_piece *p, void *priv)
{
	struct filling *f = priv;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < p->n_extents && !err; i++) {
		const struct e4l_extent *x = &p->extents[i];

		err = fill(f, p->ino, x->lblk, E4L_ES_HOLE, 0);
		if (!err)
			err = fill(f, p->ino, (uint64_t)x->lblk + x->len,
				   x->unwritten ? E4L_ES_UNWRITTEN :
						  E4L_ES_WRITTEN, x->pblk);
	}
	if (p->last && !err)
		err = fill(f, p->ino, FILE_MAX_BLOCKS, E4L_ES_HOLE, 0);
	return err;
}

errcode_t file_block(const struct shell *s, ext2_ino_t ino, uint32_t lblk,
		     struct e4l_es *es)
{
	struct filling f = { .s = s, .from = lblk };
	errcode_t err;

	if (e4l_es_lookup(s->cache, ino, lblk, es))
		return 0;
	err = file_scan(s, ino, fill_piece, &f);
	if (!err && !e4l_es_lookup(s->cache, ino, lblk, es))
		err = EXT2_ET_BAD_INODE_NUM;
	return err;
}
