/* SPDX-License-Identifier: GPL-2.0-or-later */
/* es_cache: what is known of files' blocks, under a limit of memory. */
#ifndef E4DEBUG_ES_CACHE_H
#define E4DEBUG_ES_CACHE_H

#include "e4layout/base/internal.h"

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
};
void e4l_es_get_stats(const struct e4l_es_cache *c, struct e4l_es_stats *stats);

/* -------------------------------------- inside, for bench/es_cache and tests */

/* A circular, doubly linked list: its head, or the first member of an element. */
struct es_link {
	struct es_link *prev, *next;
};

enum es_age { ES_INACTIVE, ES_ACTIVE, ES_AGES };

/* What is known of some blocks. */
struct es_entry {
	struct es_link link;		/* its inode's, of its age */
	struct es_entry *kid[2], *parent;	/* a treap by place in the file */
	blk64_t pblk;
	uint64_t len;			/* 2^32 blocks at most */
	uint32_t lblk;
	uint32_t priority;
	uint8_t state;			/* enum e4l_es_state */
	uint8_t age;			/* enum es_age */
	bool accessed;			/* since it was last looked at */
};

/* An inode's entries of one age. */
struct es_queue {
	struct es_link link;		/* the cache's, unless it is empty */
	struct es_link entries;		/* the oldest first */
	uint64_t n;
	struct es_inode *inode;
};

struct es_inode {
	struct es_queue age[ES_AGES];
	struct es_inode *chain;		/* of the hash table */
	struct es_entry *root;
	uint64_t entries;
	ext2_ino_t ino;
};

struct e4l_es_cache {
	/* of queues that are not empty; the next to visit first */
	struct es_link queues[ES_AGES];
	struct es_inode **table;
	uint32_t mask;			/* table size - 1 */
	uint32_t random;
	struct e4l_es_stats stats;
	/* How to free up to @want entries, and what a hit does. */
	uint64_t (*reclaim)(struct e4l_es_cache *c, uint64_t want);
	void (*touch)(struct e4l_es_cache *c, struct es_inode *inode,
		      struct es_entry *entry);
	void *priv;
};

/* Delayed entries are in no list: who reclaims never meets them. */
static inline bool es_reclaimable(const struct es_entry *entry)
{
	return entry->state != E4L_ES_DELAYED;
}

/*
 * Nothing is known any more of @len blocks from @lblk, delayed ones included.
 * The range may end anywhere.  Error, after which nothing has changed: ENOMEM.
 */
errcode_t e4l_es_remove(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			uint64_t len);

/*
 * Forgets up to @want entries that are not delayed, and at least one if there
 * is any.  Returns how many.
 */
uint64_t e4l_es_shrink(struct e4l_es_cache *c, uint64_t want);

/* Whether so many entries of a new inode fit without forgetting others. */
bool e4l_es_has_room(const struct e4l_es_cache *c, uint64_t entries);

/*
 * Forgets @entry.  It does not free an inode that has no entries then: see
 * e4l_es_drop_empty().
 */
void e4l_es_drop(struct e4l_es_cache *c, struct es_inode *inode,
		 struct es_entry *entry);
void e4l_es_drop_empty(struct e4l_es_cache *c, struct es_inode *inode);

#endif
