/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* es_cache: what is known of files' blocks, under a limit of memory. */
#ifndef E4LAYOUT_ES_CACHE_H
#define E4LAYOUT_ES_CACHE_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a block of a file. */
enum e4l_es_state {
	E4L_ES_WRITTEN,
	E4L_ES_UNWRITTEN,
	E4L_ES_HOLE,		/* known to have no place */
	E4L_ES_DELAYED,		/* has content that has no place yet */
};

/* @len blocks of one state; on the disk, if they have a place, in one run. */
struct e4l_es {
	blk64_t pblk;		/* written and unwritten; 0 otherwise */
	uint64_t len;		/* lblk + len is 2^32 at most */
	uint32_t lblk;
	enum e4l_es_state state;
};

/*
 * Opaque: decoded extents of many inodes, under a limit of memory.  What is
 * adjacent and alike is one entry.  When the limit is reached, entries are
 * forgotten: those that have not been looked up since they came first, inode by
 * inode.  Delayed entries are known nowhere else, so they stay until they are
 * removed, whatever the limit.
 *
 * Not shared: it has no locks and is for one thread at a time.  Threads may take
 * turns, as they do in the callbacks of e4l_scan(), which never overlap; nobody
 * else may use a cache while e4l_repack() runs that it was given to.
 */
struct e4l_es_cache;

/* Error: ENOMEM.  @limit_bytes counts what malloc(3) adds to each entry. */
errcode_t e4l_es_new(uint64_t limit_bytes, struct e4l_es_cache **ret);
/* NULL is allowed. */
void e4l_es_free(struct e4l_es_cache *c);

/*
 * From now on @es is what is known of its blocks in inode @ino.  Errors, after
 * which nothing has changed: E4L_ET_BAD_ARGUMENT, ENOMEM.
 */
errcode_t e4l_es_insert(struct e4l_es_cache *c, ext2_ino_t ino,
			const struct e4l_es *es);

/*
 * Whether anything is known of block @lblk: then *@es is all of the entry that
 * has it.  Counts as a hit or a miss.
 */
bool e4l_es_lookup(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
		   struct e4l_es *es);

/*
 * The same for up to @n entries that follow one on the other, the first of which
 * has block @lblk.  Returns how many: each is a hit; fewer than @n: what follows
 * is not known, a miss, or there can be no more.
 */
size_t e4l_es_lookup_many(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			  struct e4l_es *es, size_t n);

/* Nothing is known any more of inode @ino; of any. */
void e4l_es_forget(struct e4l_es_cache *c, ext2_ino_t ino);
void e4l_es_forget_all(struct e4l_es_cache *c);

struct e4l_es_stats {
	uint64_t inodes;	/* now */
	uint64_t entries;
	uint64_t reclaimable;	/* of these: not delayed */
	uint64_t active;	/* of these: in use */
	uint64_t bytes, max_bytes;	/* now; at most so far */
	uint64_t limit_bytes;
	uint64_t hits, misses;	/* so far */
	uint64_t scans;		/* for what to forget, by the limit */
	uint64_t visited, max_visited;	/* inodes and entries: in all scans,
					 * in one */
	uint64_t reclaimed;	/* entries */
	uint64_t scan_ns, max_scan_ns;	/* processor time, likewise */
	uint64_t reserved[8];
};
void e4l_es_get_stats(const struct e4l_es_cache *c, struct e4l_es_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
