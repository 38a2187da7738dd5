/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: scans an image.  The scan must end, stay within bounds, and keep
 * the promises of e4layout.h.
 */
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "mem_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(cond) do { if (!(cond)) abort(); } while (0)

struct state {
	ext2_filsys fs;
	ext2_ino_t ino;
	uint64_t next_lblk;
	bool open;
};

static errcode_t piece(const struct e4l_piece *p, void *priv)
{
	struct state *s = priv;
	blk64_t blocks = ext2fs_blocks_count(s->fs->super);
	size_t i;

	require(p->first == !s->open);
	require(p->first ? p->ino > s->ino : p->ino == s->ino);
	require(p->ino <= s->fs->super->s_inodes_count);
	if (p->first)
		s->next_lblk = 0;
	for (i = 0; i < p->n_extents; i++) {
		const struct e4l_extent *x = &p->extents[i];

		require(x->len && x->lblk >= s->next_lblk);
		require(x->pblk + x->len <= blocks);
		s->next_lblk = (uint64_t)x->lblk + x->len;
	}
	require(s->next_lblk <= UINT32_MAX);
	for (i = 0; i < p->n_tree; i++)
		require(p->tree[i].pblk < blocks);
	s->ino = p->ino;
	s->open = !p->last;
	return 0;
}

static errcode_t damage(const struct e4l_damage *d, void *priv)
{
	require(d->why);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct e4l_scan_ops ops = {
		.piece = piece, .damage = damage,
	};
	struct state s = { 0 };
	struct e4l *e;

	e = mem_io_open(data, size, &s.fs);
	if (!e)
		return 0;
	e4l_set_threads(e, 1);
	e4l_scan(e, 0, NULL, &ops, &s);
	mem_io_close(e, s.fs);
	return 0;
}
