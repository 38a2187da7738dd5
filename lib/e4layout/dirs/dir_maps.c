/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include "dir_maps.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/dir_block.h"

void e4l_dir_maps_free(struct e4l_dir_maps *maps)
{
	free(maps->extents);
	free(maps->tree);
}

errcode_t e4l_dir_maps_add(struct e4l_dir_maps *maps, struct e4l_dir_map *map,
			   const struct e4l_piece *p, uint32_t blocksize)
{
	uint64_t size = EXT2_I_SIZE((struct ext2_inode *)p->inode);
	errcode_t err;

	if (p->first)
		*map = (struct e4l_dir_map) {
			.ino = p->ino, .generation = p->inode->i_generation,
			.flags = p->inode->i_flags,
			.blocks = p->map == E4L_MAP_INLINE ? 0 :
				  size / blocksize,
			.extent = maps->n_extents, .tree = maps->n_tree,
		};
	err = e4l_append(&maps->extents, &maps->n_extents, &maps->max_extents,
			 p->extents, p->n_extents, sizeof(*maps->extents));
	if (!err)
		err = e4l_append(&maps->tree, &maps->n_tree, &maps->max_tree,
				 p->tree, p->n_tree, sizeof(*maps->tree));
	map->n_extents = maps->n_extents - map->extent;
	map->n_tree = maps->n_tree - map->tree;
	return err;
}

bool e4l_dir_map_is_whole(const struct e4l_dir_maps *maps,
			  const struct e4l_dir_map *map)
{
	const struct e4l_extent *x = maps->extents + map->extent;
	uint64_t next = 0;
	size_t i;

	for (i = 0; i < map->n_extents; i++, x++) {
		if (x->lblk != next || x->unwritten)
			return false;
		next += x->len;
	}
	return next == map->blocks;
}

static int by_lblk(const void *va, const void *vkey)
{
	const struct e4l_extent *x = va;
	uint64_t lblk = *(const uint64_t *)vkey;

	return x->lblk + (uint64_t)x->len <= lblk ? -1 : x->lblk > lblk;
}

/* Returns the extent that contains logical block @lblk of the directory. */
static const struct e4l_extent *find_extent(const struct e4l_dir_maps *maps,
					    const struct e4l_dir_map *map,
					    uint64_t lblk)
{
	const struct e4l_extent *x = maps->extents + map->extent;

	return x + e4l_lower_bound(&lblk, x, map->n_extents, sizeof(*x),
				   by_lblk);
}

blk64_t e4l_dir_map_pblk(const struct e4l_dir_maps *maps,
			 const struct e4l_dir_map *map, uint64_t lblk)
{
	const struct e4l_extent *x = find_extent(maps, map, lblk);

	return x->pblk + (lblk - x->lblk);
}

errcode_t e4l_dir_map_read_run(struct e4l *e, const struct e4l_dir_maps *maps,
			       const struct e4l_dir_map *map, uint64_t lblk,
			       unsigned int max, char *to, unsigned int *n)
{
	const struct e4l_extent *x = find_extent(maps, map, lblk);
	blk64_t blk = x->pblk + (lblk - x->lblk);
	unsigned int i;
	errcode_t err;

	*n = x->lblk + (uint64_t)x->len - lblk;
	if (*n > max)
		*n = max;
	err = e4l_read(e, blk, *n, to);
	if (err)
		return e4l_fail(e, err, "reading a directory", map->ino, blk);
	for (i = 0; i < *n; i++, to += e->fs->blocksize)
		if (!e4l_dir_block_csum_ok(e->fs, map->ino, map->generation,
					   to))
			return e4l_fail(e, E4L_ET_DAMAGED,
					"checking a directory", map->ino,
					blk + i);
	return 0;
}

errcode_t e4l_dir_map_read(struct e4l *e, const struct e4l_dir_maps *maps,
			   const struct e4l_dir_map *map, char *to)
{
	uint64_t lblk = 0;
	unsigned int n;
	errcode_t err = 0;

	for (; lblk < map->blocks && !err; lblk += n) {
		err = e4l_dir_map_read_run(e, maps, map, lblk, UINT32_MAX, to,
					   &n);
		to += (size_t)n * e->fs->blocksize;
	}
	return err;
}

errcode_t e4l_lost_found(struct e4l *e, ext2_ino_t *ino)
{
	errcode_t err = ext2fs_lookup(e->fs, EXT2_ROOT_INO, "lost+found", 10,
				      NULL, ino);

	if (!err)
		return 0;
	*ino = 0;
	return err == EXT2_ET_FILE_NOT_FOUND ? 0 :
	       e4l_fail(e, err, "finding lost+found", EXT2_ROOT_INO, 0);
}
