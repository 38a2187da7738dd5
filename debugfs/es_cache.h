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
	E4L_ES_DELAYED,		/* has data in memory, but no blocks yet */
};

/*
 * @len blocks of a file in the same state.  Written and unwritten blocks are
 * contiguous on the disk.
 */
struct e4l_es {
	/* first block on the disk; 0 for holes and delayed blocks */
	blk64_t pblk;
	uint64_t len;		/* lblk + len is at most 2^32 */
	uint32_t lblk;
	enum e4l_es_state state;
};

/*
 * A cache of the decoded extents of many inodes, with a memory limit.  Adjacent
 * extents of the same state form one entry.  When the limit is reached, entries
 * are freed inode by inode: first the entries that have not been looked up
 * since their insertion.  Delayed entries are never freed by the limit, because
 * their state exists only in the cache.
 *
 * A cache has no locks, and must not be used by two threads at the same time.
 * Threads may take turns, as in the callbacks of e4l_scan(), which never
 * overlap.
 */
struct e4l_es_cache;

/*
 * Makes a cache.  @limit_bytes includes the overhead of malloc(3) for each
 * entry.  Errors: ENOMEM.
 */
errcode_t e4l_es_new(uint64_t limit_bytes, struct e4l_es_cache **ret);
/* Frees @c; NULL is allowed. */
void e4l_es_free(struct e4l_es_cache *c);

/*
 * Sets the state of the blocks @es of inode @ino.  Errors: E4L_ET_BAD_ARGUMENT,
 * ENOMEM; the cache is then unchanged.
 */
errcode_t e4l_es_insert(struct e4l_es_cache *c, ext2_ino_t ino,
			const struct e4l_es *es);

/*
 * If the cache contains block @lblk, sets *@es to the whole entry that contains
 * the block, and returns true.  Counts a hit or a miss.
 */
bool e4l_es_lookup(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
		   struct e4l_es *es);

/*
 * Looks up contiguous entries, beginning with the entry that contains block
 * @lblk, and copies up to @n entries to @es.  Returns the number of entries
 * found, and counts a hit for each entry.  If the next block is unknown, also
 * counts a miss.  The search also ends at the maximum size of a file.
 */
size_t e4l_es_lookup_many(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			  struct e4l_es *es, size_t n);

/* Removes all entries of all inodes, including delayed entries. */
void e4l_es_forget_all(struct e4l_es_cache *c);

struct e4l_es_stats {
	uint64_t inodes;	/* number of inodes in the cache */
	uint64_t entries;
	uint64_t reclaimable;	/* number of entries not delayed */
	uint64_t active;	/* reclaimable entries with the age ES_ACTIVE */
	/*
	 * memory that the cache uses now, and its maximum since the cache was
	 * made
	 */
	uint64_t bytes, max_bytes;
	uint64_t limit_bytes;
	/* numbers of lookups with, and without, a result */
	uint64_t hits, misses;
	/*
	 * number of scans; if the memory limit is reached, a scan searches for
	 * entries to free
	 */
	uint64_t scans;
	/*
	 * number of inodes and entries that scans have visited: total of all
	 * scans, and maximum of one scan
	 */
	uint64_t visited, max_visited;
	uint64_t reclaimed;	/* number of freed entries */
	/* CPU time: total of all scans, and maximum of one scan */
	uint64_t scan_ns, max_scan_ns;
};
void e4l_es_get_stats(const struct e4l_es_cache *c, struct e4l_es_stats *stats);

/* ----------------------------------- internal: for bench/es_cache and tests */

/*
 * A link of a circular, doubly linked list: the head of the list, or the first
 * member of an element.
 */
struct es_link {
	struct es_link *prev, *next;
};

enum es_age { ES_INACTIVE, ES_ACTIVE, ES_AGES };

/* A range of blocks in the same state. */
struct es_entry {
	struct es_link link;		/* link in the inode's queue of @age */
	/* links of the treap, sorted by @lblk */
	struct es_entry *kid[2], *parent;
	blk64_t pblk;
	uint64_t len;			/* number of blocks, at most 2^32 */
	uint32_t lblk;
	uint32_t priority;
	uint8_t state;			/* enum e4l_es_state */
	uint8_t age;			/* enum es_age */
	bool accessed; /* looked up since reclaim last visited the entry */
};

/* All reclaimable entries of an inode that have the same enum es_age. */
struct es_queue {
	/* if the queue is not empty: link in the cache's list of queues */
	struct es_link link;
	struct es_link entries;		/* the oldest entry first */
	uint64_t n;
	struct es_inode *inode;
};

struct es_inode {
	struct es_queue age[ES_AGES];
	struct es_inode *chain;		/* next inode in the hash chain */
	struct es_entry *root;
	uint64_t entries;
	ext2_ino_t ino;
};

struct e4l_es_cache {
	/*
	 * [age]: queues that are not empty.  Reclaim visits the first queue
	 * next.
	 */
	struct es_link queues[ES_AGES];
	struct es_inode **table;
	uint32_t mask;			/* size of the hash table - 1 */
	uint32_t random;
	struct e4l_es_stats stats;
	/*
	 * The replacement policy: reclaim() frees up to @want entries, and
	 * touch() updates an entry after a hit.
	 */
	uint64_t (*reclaim)(struct e4l_es_cache *c, uint64_t want);
	void (*touch)(struct e4l_es_cache *c, struct es_inode *inode,
		      struct es_entry *entry);
	void *priv;
};

/*
 * Returns whether @entry can be freed to stay within the memory limit.  Delayed
 * entries are in no queue, so that reclaim never visits them.
 */
static inline bool es_reclaimable(const struct es_entry *entry)
{
	return entry->state != E4L_ES_DELAYED;
}

/*
 * Removes @len blocks from @lblk on, including delayed blocks.  The range may
 * begin or end inside an entry.  Errors: ENOMEM; the cache is then unchanged.
 */
errcode_t e4l_es_remove(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			uint64_t len);

/*
 * Frees up to @want entries that are not delayed, and at least one if such an
 * entry exists.  Returns the number of freed entries.
 */
uint64_t e4l_es_shrink(struct e4l_es_cache *c, uint64_t want);

/*
 * Returns whether @entries entries of a new inode fit without freeing other
 * entries.
 */
bool e4l_es_has_room(const struct e4l_es_cache *c, uint64_t entries);

/*
 * e4l_es_drop() frees @entry, and keeps an inode without entries.
 * e4l_es_drop_empty() frees @inode if it has no entries.
 */
void e4l_es_drop(struct e4l_es_cache *c, struct es_inode *inode,
		 struct es_entry *entry);
void e4l_es_drop_empty(struct e4l_es_cache *c, struct es_inode *inode);

#endif
