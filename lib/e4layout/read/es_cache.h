/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * es_cache, seen from inside: what the bench needs to try other ways to
 * reclaim over the same trees.
 */
#ifndef E4L_ES_CACHE_H
#define E4L_ES_CACHE_H

#include <e4layout/es_cache.h>
#include "e4layout/base/internal.h"

/* A list's head, and first member of what is on it: a ring. */
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

/* What remains of an inode without entries goes by e4l_es_drop_empty(). */
void e4l_es_drop(struct e4l_es_cache *c, struct es_inode *inode,
		 struct es_entry *entry);
void e4l_es_drop_empty(struct e4l_es_cache *c, struct es_inode *inode);

#endif
