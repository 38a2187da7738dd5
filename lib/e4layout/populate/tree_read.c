/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree_read: reads and changes the files of a tree that is not planned yet. */
#include "config.h"
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/io_pool.h"
#include "pop_source.h"

uint32_t e4l_tree_next_file(const struct e4l_tree *t, uint32_t id)
{
	const struct node *n;

	while (++id < t->nodes.n) {
		n = &t->nodes.v[id];
		if (S_ISREG(n->mode) && !(n->flags & NODE_REMOVED))
			return id;
	}
	return 0;
}

errcode_t e4l_tree_read(struct e4l_tree *t, uint32_t id, uint64_t at,
			size_t len, char *buf)
{
	struct e4l_source s = { .t = t, .reading = e4l_reading_for(false) };
	errcode_t err;
	uint32_t map;

	if (!e4l_tree_has(t, id) || !S_ISREG(t->nodes.v[id].mode))
		return E4L_ET_BAD_ARGUMENT;
	e4l_tree_share_change(t, id);
	/*
	 * before planning, a map without stretches means that the file is a
	 * hole
	 */
	map = t->nodes.v[id].map;
	if (map && !t->maps.v[map].n_stretch) {
		memset(buf, 0, len);
		return 0;
	}
	err = e4l_source_want(&s, id, at, len, buf);
	if (!err)
		err = e4l_source_fetch(&s);
	e4l_source_close(&s);
	return err;
}

uint32_t e4l_tree_flags(const struct e4l_tree *t, uint32_t id)
{
	const struct node *n = &t->nodes.v[id];

	if (n->flags & NODE_GROUPED && t->groups.v[n->child].changed)
		n = &t->changed.v[t->groups.v[n->child].changed];
	return t->extras.v[n->extra].flags;
}

errcode_t e4l_tree_add_flags(struct e4l_tree *t, uint32_t id, uint32_t flags,
			     const struct e4l_time *crtime)
{
	struct extra x = { .crtime = e4l_pack_stamp(crtime) };
	struct node *n;
	errcode_t err;

	if (!e4l_tree_has(t, id))
		return E4L_ET_BAD_ARGUMENT;
	if (vec_room(&t->extras, 1))
		return ENOMEM;
	err = e4l_tree_change(t, id, &n);
	if (err)
		return err;
	if (n->extra)
		x = t->extras.v[n->extra];
	x.flags |= flags;
	n->extra = t->extras.n;
	t->extras.v[t->extras.n++] = x;
	return 0;
}
