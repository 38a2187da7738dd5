/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * waiting: collects inodes that may be swap files, so that the contents of many
 * inodes can be read together, in disk order.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "candidates.h"
#include "swap.h"
#include "e4layout/base/array.h"
#include "e4layout/read/scan.h"

#define WAITING_BYTES	(4u << 20) /* memory limit for all waiting inodes */
#define ONE_BYTES	(64u << 10)	/* memory limit for one inode */

/*
 * A possible swap file, whose content will be read later.  The pieces of the
 * inode are merged into one piece.
 */
struct e4l_waiting {
	struct e4l_piece piece;
	struct e4l_file_score score;
	/* the arrays to which @piece refers: extents, tree blocks, inode */
	_Alignas(uint64_t) char copies[];
};

/*
 * Reads the content of the current file immediately, to detect a swap file, and
 * calls e4l_candidates_settle().
 */
static errcode_t ask_now(struct e4l_candidates *c, const struct e4l_piece *p)
{
	struct e4l_swap_file file = {
		.extents = c->extents, .n_extents = c->n_extents,
		.size_bytes = EXT2_I_SIZE(p->inode),
	};
	errcode_t err = e4l_swap_ask(c->e, &file, 1, c->scratch);

	c->why = file.why;
	c->asked = true;
	return err ? err : e4l_candidates_settle(c, p);
}

/* Copies @bytes bytes of @v to *@at, and advances *@at.  Returns the copy. */
static void *put(char **at, const void *v, size_t bytes)
{
	char *to = *at;

	if (bytes)
		memcpy(to, v, bytes);
	*at += bytes;
	return to;
}

errcode_t e4l_candidates_wait(struct e4l_candidates *c, const struct e4l_piece *p)
{
	size_t inode_bytes = EXT2_INODE_SIZE(c->e->fs->super);
	size_t extents = c->n_extents * sizeof(*c->extents);
	size_t tree = c->n_tree * sizeof(*c->tree);
	size_t bytes = sizeof(struct e4l_waiting) + extents + tree + inode_bytes;
	struct e4l_waiting *w;
	errcode_t err;
	char *at;

	if (bytes > ONE_BYTES)
		return ask_now(c, p);
	err = e4l_grow(&c->waiting, c->n_waiting, sizeof(*c->waiting));
	w = err ? NULL : malloc(bytes);
	if (!w)
		return ENOMEM;
	w->piece = *p;
	w->score = *c->score;
	at = w->copies;
	w->piece.extents = put(&at, c->extents, extents);
	w->piece.n_extents = c->n_extents;
	w->piece.tree = put(&at, c->tree, tree);
	w->piece.n_tree = c->n_tree;
	w->piece.inode = put(&at, p->inode, inode_bytes);
	c->waiting[c->n_waiting++] = w;
	c->waiting_bytes += bytes;
	return c->waiting_bytes < WAITING_BYTES ? 0 : e4l_candidates_settle_all(c);
}

static errcode_t ask_waiting(struct e4l_candidates *c,
			     struct e4l_swap_file *files)
{
	size_t i;

	for (i = 0; i < c->n_waiting; i++) {
		const struct e4l_piece *p = &c->waiting[i]->piece;

		files[i] = (struct e4l_swap_file) {
			.extents = p->extents, .n_extents = p->n_extents,
			.size_bytes = EXT2_I_SIZE(p->inode),
		};
	}
	return e4l_swap_ask(c->e, files, c->n_waiting, c->scratch);
}

void e4l_candidates_forget_waiting(struct e4l_candidates *c)
{
	while (c->n_waiting)
		free(c->waiting[--c->n_waiting]);
	c->waiting_bytes = 0;
}

errcode_t e4l_candidates_settle_all(struct e4l_candidates *c)
{
	struct e4l_swap_file *files = calloc(c->n_waiting + 1, sizeof(*files));
	errcode_t err = files ? ask_waiting(c, files) : ENOMEM;
	size_t i;

	for (i = 0; i < c->n_waiting && !err; i++) {
		const struct e4l_waiting *w = c->waiting[i];

		c->extents = w->piece.extents;
		c->n_extents = w->piece.n_extents;
		c->tree = w->piece.tree;
		c->n_tree = w->piece.n_tree;
		c->score = &w->score;
		c->why = files[i].why;
		c->asked = true;
		err = e4l_candidates_settle(c, &w->piece);
	}
	free(files);
	e4l_candidates_forget_waiting(c);
	return err;
}
