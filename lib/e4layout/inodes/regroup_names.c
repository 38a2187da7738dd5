/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup_names: reads all directories; see regroup.c. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "regroup_work.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "e4layout/format/format.h"

#define READ_BYTES	(1u << 20)

/* ---------------------------------------------------- reading one directory */

static errcode_t walk(struct regroup *r, uint32_t dir, struct e4l_dir_walk *w,
		      uint32_t lblk, e4l_regroup_entry fn)
{
	enum e4l_dir_step step = DIR_END;
	struct e4l_dirent entry;
	errcode_t err = 0;

	while (!err && (step = e4l_dir_next(w, &entry)) == DIR_ENTRY)
		if (!e4l_dirent_is_dotdot(&entry))
			err = fn(r, dir, &entry, lblk);
	if (!err && step == DIR_BAD)
		err = e4l_fail(r->e, E4L_ET_DAMAGED,
			       "reading a directory's entries", w->dir, 0);
	return err;
}

static errcode_t walk_inline(struct regroup *r, uint32_t dir,
			     struct e4l_dir_walk *w, e4l_regroup_entry fn)
{
	size_t bytes = EXT2_INODE_SIZE(r->e->fs->super);
	errcode_t err = ext2fs_read_inode_full(r->e->fs, w->dir,
					       (void *)r->inode, bytes);

	if (err)
		return e4l_fail(r->e, err, "reading an inode", w->dir, 0);
	w->buf = (char *)r->inode->i_block + DIR_INLINE_PARENT;
	w->len = I_BLOCK_BYTES - DIR_INLINE_PARENT;
	err = walk(r, dir, w, 0, fn);
	w->buf = e4l_inline_value(r->inode, bytes, &w->len);
	w->off = 0;
	return err ? err : walk(r, dir, w, 0, fn);
}

errcode_t e4l_regroup_read(struct regroup *r, uint32_t dir,
			   e4l_regroup_entry fn)
{
	const struct e4l_dir_map *map = map_of(r, dir);
	struct e4l_dir_walk w = {
		.fs = r->e->fs, .dir = map->ino,
		.encrypted = map->flags & EXT4_ENCRYPT_FL,
	};
	size_t bs = r->e->fs->blocksize;
	unsigned int n, i;
	uint64_t lblk = 0;
	errcode_t err = 0;

	if (!map->blocks)
		return walk_inline(r, dir, &w, fn);
	w.len = bs;
	while (lblk < map->blocks && !err) {
		err = e4l_dir_map_read_run(r->e, &r->g.maps, map, lblk,
					   READ_BYTES / bs, r->buf, &n);
		for (i = 0; !err && i < n; i++, lblk++) {
			w.buf = r->buf + i * bs;
			w.off = 0;
			w.has_dots = !lblk;
			err = walk(r, dir, &w, lblk, fn);
		}
	}
	return err;
}

uint32_t e4l_regroup_find(const struct regroup *r, ext2_ino_t ino)
{
	size_t i = e4l_lower_bound(&ino, r->g.dirs, r->g.n_dirs,
				   sizeof(*r->g.dirs), e4l_u32_cmp);

	return i < r->g.n_dirs && r->g.dirs[i].map.ino == ino ? i : E4L_NO_DIR;
}

bool e4l_regroup_is_linked(const struct regroup *r, ext2_ino_t ino)
{
	size_t i = e4l_lower_bound(&ino, r->linked, r->n_linked,
				   sizeof(*r->linked), e4l_u32_cmp);

	return i < r->n_linked && r->linked[i] == ino;
}

/* ----------------------------------------------------------------- 2. names */

errcode_t e4l_regroup_add_ino(struct regroup *r, ext2_ino_t ino)
{
	errcode_t err = e4l_grow(&r->inos, r->n_inos, sizeof(*r->inos));

	if (!err)
		r->inos[r->n_inos++] = ino;
	return err;
}

static errcode_t learn_name(struct regroup *r, uint32_t dir,
			    const struct e4l_dirent *entry, uint32_t lblk)
{
	uint32_t sub = e4l_regroup_find(r, entry->ino);
	struct e4l_name_graph *g = &r->g;
	errcode_t err;

	if (sub != E4L_NO_DIR) {
		g->dirs[sub].parent = dir;
		g->dirs[sub].parent_lblk = lblk;
		return 0;
	}
	if (e4l_regroup_is_linked(r, entry->ino)) {
		r->names_cut |= g->n_names >= e4l_regroup_mem(r) / 2 /
					      sizeof(*g->names);
		err = r->names_cut ? 0 : e4l_grow(&g->names, g->n_names,
						  sizeof(*g->names));
		if (err)
			return err;
		if (!r->names_cut)
			g->names[g->n_names++] = (struct e4l_name) {
				entry->ino, dir, lblk
			};
	}
	return e4l_regroup_add_ino(r, entry->ino);
}

bool e4l_regroup_is_asked(const struct regroup *r, ext2_ino_t ino)
{
	ext2fs_inode_bitmap exclude = r->run->what.exclude;

	return e4l_run_selects(r->run, ino) &&
	       (!exclude || !ext2fs_test_inode_bitmap2(exclude, ino));
}

static errcode_t learn_dir(struct regroup *r, uint32_t dir)
{
	const struct e4l_dir_map *map = map_of(r, dir);
	struct fate *fate = &r->fates[dir];
	struct e4l_dir_locality l;
	errcode_t err;

	if (!e4l_dir_map_is_whole(&r->g.maps, map))
		return e4l_fail(r->e, E4L_ET_DAMAGED, "mapping a directory",
				map->ino, 0);
	r->n_inos = 0;
	err = e4l_regroup_add_ino(r, map->ino);
	if (!err)
		err = e4l_regroup_read(r, dir, learn_name);
	if (err)
		return err;
	l = e4l_count_locality(r->e->fs, map->ino, r->inos, r->n_inos);
	fate->blocks = l.itable_blocks;
	fate->ideal = l.itable_blocks_ideal;
	fate->wanted = e4l_regroup_is_asked(r, map->ino);
	if (fate->wanted) {
		r->result->blocks_before += l.itable_blocks;
		r->result->blocks_ideal += l.itable_blocks_ideal;
	}
	return 0;
}

static int by_parent(const void *va, const void *vb, void *vg)
{
	const struct e4l_name_graph *g = vg;

	return e4l_u32_cmp(&g->dirs[*(const uint32_t *)va].parent,
			   &g->dirs[*(const uint32_t *)vb].parent);
}

errcode_t e4l_regroup_learn_names(struct regroup *r)
{
	struct e4l_name_graph *g = &r->g;
	errcode_t err = 0;
	uint32_t i;

	r->fates = calloc(g->n_dirs + 1, sizeof(*r->fates));
	g->children = calloc(g->n_dirs + 1, sizeof(*g->children));
	r->buf = malloc(READ_BYTES);
	r->inode = calloc(1, EXT2_INODE_SIZE(r->e->fs->super) +
			     sizeof(*r->inode));
	if (!r->fates || !g->children || !r->buf || !r->inode)
		return ENOMEM;
	for (i = 0; i < g->n_dirs && !err; i++) {
		g->children[i] = i;
		err = should_stop(r) ? E4L_ET_INTERRUPTED : learn_dir(r, i);
	}
	if (err)
		return err;
	qsort_r(g->children, g->n_dirs, sizeof(*g->children), by_parent, g);
	e4l_sort(g->names, g->n_names, sizeof(*g->names), e4l_u32_cmp);
	return 0;
}
