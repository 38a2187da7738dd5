/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * keep: extents of files, in a cache or, when that has forgotten some of them
 * or they are very many, to be read again.  What is read again must be what it
 * was.
 */
#ifndef E4L_KEEP_H
#define E4L_KEEP_H

#include <e4layout/es_cache.h>
#include <e4layout/extents.h>

/* Borrows all: see struct e4l_plan_options. */
struct e4l_keep {
	struct e4l_es_cache *cache;
	errcode_t (*reread)(ext2_ino_t ino, struct e4l_extent **extents,
			    size_t *n, void *priv);
	void *priv;
	uint64_t files_reread;
};

/* What is remembered of a file in any case. */
struct e4l_kept {
	uint32_t sum;
	size_t n_packed;
};

/* Keeps the extents of @ino, in place of what the cache knew of it. */
errcode_t e4l_keep_put(struct e4l_keep *k, ext2_ino_t ino,
		       const struct e4l_extent *ex, size_t n,
		       struct e4l_kept *ret);
/*
 * They, packed, in an array of the caller's.  Errors: what reading says;
 * E4L_ET_CHANGED: they are not what they were.
 */
errcode_t e4l_keep_get(struct e4l_keep *k, ext2_ino_t ino,
		       const struct e4l_kept *kept, struct e4l_extent **ex);

/*
 * Those of a file that was not kept, as they are read now.  Errors: what
 * reading says; E4L_ET_CHANGED: they are not in order.
 */
errcode_t e4l_keep_read(struct e4l_keep *k, ext2_ino_t ino,
			struct e4l_extent **ex, size_t *n);

#endif
