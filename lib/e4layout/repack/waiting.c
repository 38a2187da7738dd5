/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * waiting: inodes that may be swap files wait until many are asked about together,
 * in disk order.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "forecast.h"
#include "swap.h"
#include "e4layout/base/array.h"
#include "e4layout/read/scan.h"

#define WAITING_BYTES	(4u << 20)	/* at most, of all that wait */
#define ONE_BYTES	(64u << 10)	/* of one of them */

/* An inode that waits, with what the scan said of it. */
struct e4l_waiting {
	struct e4l_piece piece;
	struct e4l_file_score score;
	/* extents, tree blocks and the inode */
	_Alignas(uint64_t) char copies[];
};

/* Asks about the inode at hand alone. */
static errcode_t ask_now(struct e4l_forecast *f, const struct e4l_piece *p)
{
	struct e4l_swap_file file = {
		.extents = f->extents, .n_extents = f->n_extents,
		.size_bytes = EXT2_I_SIZE(p->inode),
	};
	errcode_t err = e4l_swap_ask(f->e, &file, 1, f->scratch);

	f->why = file.why;
	return err ? err : e4l_forecast_end_inode(f, p);
}

/* Appends @bytes to what is at *@at; returns them. */
static void *put(char **at, const void *v, size_t bytes)
{
	char *to = *at;

	if (bytes)
		memcpy(to, v, bytes);
	*at += bytes;
	return to;
}

errcode_t e4l_forecast_wait(struct e4l_forecast *f, const struct e4l_piece *p)
{
	size_t inode_bytes = EXT2_INODE_SIZE(f->e->fs->super);
	size_t extents = f->n_extents * sizeof(*f->extents);
	size_t tree = f->n_tree * sizeof(*f->tree);
	size_t bytes = sizeof(struct e4l_waiting) + extents + tree + inode_bytes;
	struct e4l_waiting *w;
	errcode_t err;
	char *at;

	if (bytes > ONE_BYTES)
		return ask_now(f, p);
	err = e4l_grow(&f->waiting, f->n_waiting, sizeof(*f->waiting));
	w = err ? NULL : malloc(bytes);
	if (!w)
		return ENOMEM;
	w->piece = *p;
	w->score = *f->score;
	at = w->copies;
	w->piece.extents = put(&at, f->extents, extents);
	w->piece.n_extents = f->n_extents;
	w->piece.tree = put(&at, f->tree, tree);
	w->piece.n_tree = f->n_tree;
	w->piece.inode = put(&at, p->inode, inode_bytes);
	f->waiting[f->n_waiting++] = w;
	f->waiting_bytes += bytes;
	return f->waiting_bytes < WAITING_BYTES ? 0 : e4l_forecast_end_all(f);
}

static errcode_t ask_waiting(struct e4l_forecast *f,
			     struct e4l_swap_file *files)
{
	size_t i;

	for (i = 0; i < f->n_waiting; i++) {
		const struct e4l_piece *p = &f->waiting[i]->piece;

		files[i] = (struct e4l_swap_file) {
			.extents = p->extents, .n_extents = p->n_extents,
			.size_bytes = EXT2_I_SIZE(p->inode),
		};
	}
	return e4l_swap_ask(f->e, files, f->n_waiting, f->scratch);
}

void e4l_forecast_forget_waiting(struct e4l_forecast *f)
{
	while (f->n_waiting)
		free(f->waiting[--f->n_waiting]);
	f->waiting_bytes = 0;
}

errcode_t e4l_forecast_end_all(struct e4l_forecast *f)
{
	struct e4l_swap_file *files = calloc(f->n_waiting + 1, sizeof(*files));
	errcode_t err = files ? ask_waiting(f, files) : ENOMEM;
	size_t i;

	for (i = 0; i < f->n_waiting && !err; i++) {
		const struct e4l_waiting *w = f->waiting[i];

		f->extents = w->piece.extents;
		f->n_extents = w->piece.n_extents;
		f->tree = w->piece.tree;
		f->n_tree = w->piece.n_tree;
		f->score = &w->score;
		f->why = files[i].why;
		err = e4l_forecast_end_inode(f, &w->piece);
	}
	free(files);
	e4l_forecast_forget_waiting(f);
	return err;
}
