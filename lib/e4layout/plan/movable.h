/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * movable: what may be moved away to make room, in order of place.  A file in
 * one fragment, of which nothing else needs to be known, takes 16 bytes; all
 * others are files of the draft.
 */
#ifndef E4L_MOVABLE_H
#define E4L_MOVABLE_H

#include <e4layout/plan.h>
#include "draft.h"
#include "fragments.h"

/* One fragment. */
struct e4l_movable {
	uint64_t pblk : 61;
	uint64_t listed : 1;	/* among the lodgers of a struct e4l_evict */
	uint64_t drafted : 1;	/* @whose is a file of the draft, not an inode */
	uint64_t plain : 1;	/* one written extent, from the file's start */
	uint32_t blocks;	/* 0: it has moved */
	uint32_t whose;
};

struct e4l_movables {
	struct e4l_movable *v;
	size_t n;
	size_t most;		/* for more there is no memory: those stay */
	size_t n_steps;		/* of the draft, when @v was put in order */
	/* See struct e4l_plan_options. */
	bool (*may_move)(ext2_ino_t ino, const struct e4l_extent *extents,
			 size_t n, void *priv);	/* or NULL */
	void *priv;
};

/*
 * Adds the file @ino if it is one fragment.  Errors: ENOMEM,
 * E4L_ET_BAD_ARGUMENT (not aligned with clusters).
 */
errcode_t e4l_movables_add(struct e4l_movables *m, ext2_ino_t ino,
			   const struct e4l_extent *ex, size_t n,
			   uint32_t cluster_blocks, bool *added);
/* Adds the draft's files as they are now, and puts all in order. */
errcode_t e4l_movables_renew(struct e4l_movables *m, struct e4l_draft *d);

/* Where @v is, in clusters. */
static inline struct e4l_run e4l_movable_run(const struct e4l_movable *v,
					     uint64_t ratio)
{
	return (struct e4l_run) {
		v->pblk / ratio, (v->blocks + ratio - 1) / ratio,
	};
}

/* Whether @v is still where it was when all was put in order, and may move. */
static inline bool e4l_is_there(const struct e4l_movables *m,
				const struct e4l_draft *d,
				const struct e4l_movable *v)
{
	const struct e4l_file *f = v->drafted ? &d->files[v->whose] : NULL;

	return v->blocks && (!f || (f->rules.allowed & E4L_PLAN_ROOM &&
				    f->step <= m->n_steps));
}

/* The first that begins at block @pblk or behind it. */
size_t e4l_movables_from(const struct e4l_movables *m, blk64_t pblk);

#endif
