/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --all: the parts of a repair of the whole filesystem, each planned for what
 * those before it have left.
 */
#include "config.h"
#include <stdlib.h>
#include "e4repack.h"

/*
 * In the order that copies least.  First free space is put together, so that
 * hardly anything has to make room for files then; what these leave is free in
 * short runs again.
 */
static const unsigned int parts[E4REPACK_PARTS] = {
	ONLY_INDEX, ONLY_INODES, ONLY_FREE, ONLY_DEFAULT | ONLY_ROOM, ONLY_FREE,
};

/* What the part before has left is not of this one. */
static void begin_part(struct e4repack *r)
{
	e4repack_forget(r);
	r->only = parts[r->parts_done];
	r->repairing.writing = false;
	r->repairing.planned_from = repairing_seconds(&r->repairing);
}

static bool should_begin(const struct e4repack *r)
{
	return r->parts_done < e4repack_parts(r) &&
	       !(r->parts_done && repairing_stop(&r->repairing));
}

errcode_t e4repack_all(struct e4repack *r)
{
	errcode_t err;

	while (should_begin(r)) {
		begin_part(r);
		err = e4repack_part(r);
		if (err)
			return err;
		e4repack_end_part(r);
		if (e4repack_is_stopped(r))
			break;
		r->parts_done++;
	}
	return 0;
}
