/* SPDX-License-Identifier: GPL-2.0-or-later */
/* es_cache: caches the extents of files, with a memory limit. */
#ifndef E4DEBUG_ES_CACHE_H
#define E4DEBUG_ES_CACHE_H

#include "e4layout/base/internal.h"

/* The state of a block of a file. */
enum e4l_es_state {
	E4L_ES_WRITTEN,
	E4L_ES_UNWRITTEN,
	E4L_ES_HOLE,		/* known to be unallocated */
	E4L_ES_DELAYED,		/* has content, but is not allocated yet */
};

/* @len blocks of one state; allocated blocks are contiguous on the disk. */
struct e4l_es {
	blk64_t pblk;		/* for written and unwritten; 0 otherwise */
	uint64_t len;		/* lblk + len is at most 2^32 */
	uint32_t lblk;
	enum e4l_es_state state;
};

/*
 * A cache of decoded extents of many inodes, with a memory limit.  Adjacent
 * extents of the same state form one entry.  At the limit, entries are freed,
 * inode by inode: entries that were not looked up since their insertion first.
 * Delayed entries exist only in the cache: they stay until they are removed,
 * whatever the limit.
 *
 * A cache has no locks and must not be used by two threads at a time.  Threads
 * may take turns, as in the callbacks of e4l_scan(), which never overlap.
 */
struct e4l_es_cache;

/* Error: ENOMEM.  @limit_bytes includes the overhead of malloc(3) per entry. */
errcode_t e4l_es_new(uint64_t limit_bytes, struct e4l_es_cache **ret);
/* NULL is allowed. */
void e4l_es_free(struct e4l_es_cache *c);

/*
 * Sets the state of @es's blocks in inode @ino.  Errors, after which nothing
 * has changed: E4L_ET_BAD_ARGUMENT, ENOMEM.
 */
errcode_t e4l_es_insert(struct e4l_es_cache *c, ext2_ino_t ino,
			const struct e4l_es *es);

/*
 * Returns true, and sets *@es to the whole entry that contains block @lblk, if
 * the cache has the block.  Counts the lookup as a hit or a miss.
 */
bool e4l_es_lookup(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
		   struct e4l_es *es);

/*
 * Looks up to @n contiguous entries, the first of which contains block @lblk.
 * Returns their number.  Each entry is a hit.  If there are fewer than @n, the
 * next block is unknown, which is a miss, or is beyond the largest file.
 */
size_t e4l_es_lookup_many(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			  struct e4l_es *es, size_t n);

/* Frees all entries of all inodes. */
void e4l_es_forget_all(struct e4l_es_cache *c);

struct e4l_es_stats {
	uint64_t inodes;	/* current number */
	uint64_t entries;
	uint64_t reclaimable;	/* entries that are not delayed */
	uint64_t active;	/* reclaimable entries that are active */
	uint64_t bytes, max_bytes;	/* current and maximum memory */
	uint64_t limit_bytes;
	uint64_t hits, misses;	/* lookup counters */
	uint64_t scans;		/* number of reclaims at the limit */
	/*
	 * visited inodes and entries: sum of all scans, and maximum of one scan
	 */
	uint64_t visited, max_visited;
	uint64_t reclaimed;	/* number of freed entries */
	/* processor time: sum of all scans, and maximum of one scan */
	uint64_t scan_ns, max_scan_ns;
};
void e4l_es_get_stats(const struct e4l_es_cache *c, struct e4l_es_stats *stats);

/* ----------------------------------- internal: for bench/es_cache and tests */

/*
 * A circular, doubly linked list: its head, or the first member of an element.
 */
struct es_link {
	struct es_link *prev, *next;
};

enum es_age { ES_INACTIVE, ES_ACTIVE, ES_AGES };

/* The state of a range of blocks. */
struct es_entry {
	struct es_link link;		/* in the inode's queue of its age */
	struct es_entry *kid[2], *parent; /* a treap by position in the file */
	blk64_t pblk;
	uint64_t len;			/* at most 2^32 blocks */
	uint32_t lblk;
	uint32_t priority;
	uint8_t state;			/* enum e4l_es_state */
	uint8_t age;			/* enum es_age */
	bool accessed; /* looked up after reclaim's last visit */
};

/* An inode's entries of one age. */
struct es_queue {
	struct es_link link;	/* in the cache's list if the queue has entries */
	struct es_link entries;		/* the oldest entry first */
	uint64_t n;
	struct es_inode *inode;
};

struct es_inode {
	struct es_queue age[ES_AGES];
	struct es_inode *chain;		/* next in the hash chain */
	struct es_entry *root;
	uint64_t entries;
	ext2_ino_t ino;
};

struct e4l_es_cache {
	/* queues that are not empty; the next to visit first */
	struct es_link queues[ES_AGES];
	struct es_inode **table;
	uint32_t mask;			/* table size - 1 */
	uint32_t random;
	struct e4l_es_stats stats;
	/*
	 * The policy: reclaim() frees up to @want entries; touch() updates an
	 * entry after a hit.
	 */
	uint64_t (*reclaim)(struct e4l_es_cache *c, uint64_t want);
	void (*touch)(struct e4l_es_cache *c, struct es_inode *inode,
		      struct es_entry *entry);
	void *priv;
};

/* Delayed entries are in no queue, so that reclaim never visits them. */
static inline bool es_reclaimable(const struct es_entry *entry)
{
	return entry->state != E4L_ES_DELAYED;
}

/*
 * Removes @len blocks from @lblk, including delayed ones.  The range may end
 * inside an entry.  Error, after which nothing has changed: ENOMEM.
 */
errcode_t e4l_es_remove(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			uint64_t len);

/*
 * Frees up to @want entries that are not delayed, and at least one if there is
 * any.  Returns their number.
 */
uint64_t e4l_es_shrink(struct e4l_es_cache *c, uint64_t want);

/* Whether @entries entries of a new inode fit without freeing others. */
bool e4l_es_has_room(const struct e4l_es_cache *c, uint64_t entries);

/*
 * Frees @entry, but not an inode that becomes empty: see e4l_es_drop_empty().
 */
void e4l_es_drop(struct e4l_es_cache *c, struct es_inode *inode,
		 struct es_entry *entry);
void e4l_es_drop_empty(struct e4l_es_cache *c, struct es_inode *inode);

#endif
