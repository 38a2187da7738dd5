/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "ea_inodes.h"

static int use_cmp(const void *a, const void *b)
{
	const struct ea_use *x = a, *y = b;

	if (x->ea_ino != y->ea_ino)
		return x->ea_ino < y->ea_ino ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/*
 * Returns the hash of an attribute whose value is in the EA inode @ea.  The
 * hash combines @name_hash with the hash of the value.
 */
static uint32_t whole_hash(uint32_t name_hash, struct ext2_inode *ea)
{
	return (name_hash << 16) ^ (name_hash >> 16) ^
	       ext2fs_get_ea_inode_hash(ea);
}

static bool hash_ok(const struct ea_use *u, struct ext2_inode *ea)
{
	return u->hash == whole_hash(u->name_hash, ea) ||
	       u->hash == whole_hash(u->signed_name_hash, ea);
}

/*
 * Whether Lustre created the EA inode @ea.  Lustre never shares an EA inode
 * between inodes, and stores no hash in the EA inode.  Instead, i_mtime and
 * i_generation of the EA inode contain the number and the generation of the
 * inode that has the attribute.
 */
static bool is_lustre(const struct ea_use *u, const struct ext2_inode *ea)
{
	return ea->i_mtime == u->ino && ea->i_generation == u->generation;
}

bool e4l_ea_inode_is_lustre(struct check *ck, const struct ea_use *u)
{
	struct ext2_inode_large inode;
	struct ext2_inode *ea = (struct ext2_inode *)&inode;

	return !e4l_inode_read(ck, u->ea_ino, &inode) && !hash_ok(u, ea) &&
	       is_lustre(u, ea);
}

static void judge_use(struct check *ck, const struct ea_use *u,
		      struct ext2_inode *ea)
{
	if (!(ea->i_flags & EXT4_EA_INODE_FL) || !u->size ||
	    u->size != EXT2_I_SIZE(ea) ||
	    e4l_inode_is_skipped(ck, u->ea_ino))
		FOUND(ck, EA_INODE, .ino = u->ino, .got = u->ea_ino);
	else if (!hash_ok(u, ea) && !is_lustre(u, ea))
		FOUND(ck, XATTR_HASH, .ino = u->ino, .got = u->hash);
}

errcode_t e4l_ea_inodes_prepare(struct check *ck)
{
	struct ext2_inode_large ea = { 0 };
	ext2_ino_t last = 0;
	size_t i;

	e4l_sort(ck->eas, ck->n_eas, sizeof(*ck->eas), use_cmp);
	for (i = 0; i < ck->n_eas; i++) {
		const struct ea_use *u = &ck->eas[i];

		if (u->ea_ino != last && e4l_inode_read(ck, u->ea_ino, &ea)) {
			FOUND(ck, EA_INODE, .ino = u->ino, .got = u->ea_ino);
			continue;
		}
		last = u->ea_ino;
		judge_use(ck, u, (struct ext2_inode *)&ea);
	}
	return 0;
}

/*
 * Returns the index in ck->eas of the first use of the EA inode @ino.  If no
 * attribute uses @ino, returns ck->n_eas.
 */
static size_t first_use(const struct check *ck, ext2_ino_t ino)
{
	size_t i = e4l_lower_bound(&ino, ck->eas, ck->n_eas, sizeof(*ck->eas),
				   e4l_u32_cmp);

	return i < ck->n_eas && ck->eas[i].ea_ino == ino ? i : ck->n_eas;
}

bool e4l_ea_inode_judge(struct check *ck, ext2_ino_t ino, unsigned int names)
{
	size_t first = first_use(ck, ino), end = first;
	struct ext2_inode_large inode;
	struct ext2_inode *ea = (struct ext2_inode *)&inode;

	while (end < ck->n_eas && ck->eas[end].ea_ino == ino)
		end++;
	if (first == end || e4l_inode_read(ck, ino, &inode))
		return false;
	if (names)
		FOUND(ck, EA_INODE_NAMED, .ino = ino, .got = names);
	else if (ext2fs_get_ea_inode_ref(ea) != end - first &&
		 ea->i_ctime != ea->i_atime)
		FOUND(ck, EA_INODE_REFCOUNT, .ino = ino,
		      .got = ext2fs_get_ea_inode_ref(ea), .want = end - first);
	return true;
}
