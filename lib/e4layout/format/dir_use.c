/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "dir_use.h"
#include "format.h"

/* average fill level below which leaves are sparse, in percent */
#define SPARSE_PERCENT	50

/*
 * Returns whether all entries of the directory fill at most
 * E4L_DIR_FILL_PERCENT of one block.
 */
static bool fits_block(const struct e4l_dir_use *u)
{
	return u->bytes * 100 <= (uint64_t)E4L_DIR_FILL_PERCENT *
				 e4l_dir_leaf_bytes(u->fs);
}

bool e4l_dir_wants_index(const struct e4l_dir_use *u)
{
	return ext2fs_has_feature_dir_index(u->fs->super) && !fits_block(u);
}

bool e4l_dir_is_outgrown(const struct e4l_dir_use *u)
{
	return e4l_dir_wants_index(u) && !u->indexed;
}

bool e4l_dir_is_sparse(const struct e4l_dir_use *u)
{
	uint64_t room = (u->blocks - u->indexed) * e4l_dir_leaf_bytes(u->fs);

	return u->bytes * 100 < room * SPARSE_PERCENT;
}

/*
 * Returns the maximum number of leaves of @room bytes for entries with a total
 * size of @bytes.  A new leaf begins only if an entry does not fit.  Therefore
 * each leaf except the last has more than @room - @longest bytes in use.
 */
static uint64_t most_leaves(uint64_t bytes, unsigned int room,
			    unsigned int longest)
{
	if (bytes <= room)
		return 1;
	return 1 + (bytes - 1) / (room - longest + 1);
}

uint64_t e4l_dir_most_blocks(const struct e4l_dir_use *u)
{
	unsigned int room = e4l_dir_leaf_bytes(u->fs);
	struct e4l_dir_builder b = { .fs = u->fs };
	struct e4l_dir_shape s = { .indexed = true };
	uint64_t leaves;

	if (!e4l_dir_wants_index(u))
		return most_leaves(u->bytes + DIR_DOTS_BYTES, room,
				   u->longest);
	leaves = most_leaves(u->bytes, room * E4L_DIR_FILL_PERCENT / 100,
			     u->longest);
	s.leaves = leaves;
	return s.leaves != leaves || e4l_dir_cut_index(&b, &s) ? 0 : s.blocks;
}
