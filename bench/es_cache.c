/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays the test cases of the kernel's extent status tree shrinker of 2014
 * ("ext4: extents status tree shrinker improvements", on linux-ext4).  Each case
 * is replayed with four policies that reclaim entries of the trees:
 *
 *	es_cache [PERCENT]	scales the cases to PERCENT of their sizes
 *				(default: 100)
 *
 *  LRU            scans inodes by their last use, and sorts the inodes if a scan
 *                 frees no entry; walks the tree of an inode from its start
 *                 (Linux 3.12 to 3.18)
 *  round robin    scans inodes in turn, and walks their trees
 *  lists          scans inodes in turn; each inode has a list of reclaimable
 *                 entries
 *  lists, ages    is the library's policy: lists of two ages, and accessed flags
 *
 * The report counts visits: entries and inodes that a scan examines or sorts.
 */
#include "config.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include "../debugfs/es_cache.h"

/* ----------------------------------------------------------------- policies */

/* State of the least-recently-used (LRU) policy. */
struct lru {
	/*
	 * time now, and time of the last sort; the time is the number of uses
	 * of inodes so far
	 */
	uint64_t clock, sorted;
	uint64_t *used;	/* used[inode]: time of the inode's last use */
	struct es_queue **order;
};

static struct es_queue *queue_of(struct es_link *link)
{
	return (struct es_queue *)link;
}

static void move_tail(struct es_link *head, struct es_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

#define MAX_WANT 64

struct walk {
	struct es_entry *found[MAX_WANT];
	uint64_t n, want;
};

/*
 * Finds the first entries that can be freed.  Delayed entries cannot be freed,
 * but count as visits.
 */
static void walk(struct e4l_es_cache *c, struct es_entry *tree, struct walk *w)
{
	if (!tree || w->n == w->want)
		return;
	walk(c, tree->kid[0], w);
	if (w->n == w->want)
		return;
	c->stats.visited++;
	if (es_reclaimable(tree))
		w->found[w->n++] = tree;
	walk(c, tree->kid[1], w);
}

static uint64_t walk_inode(struct e4l_es_cache *c, struct es_inode *inode,
			   uint64_t want)
{
	struct walk w = { .want = want < MAX_WANT ? want : MAX_WANT };
	uint64_t i;

	c->stats.visited++;
	walk(c, inode->root, &w);
	for (i = 0; i < w.n; i++)
		e4l_es_drop(c, inode, w.found[i]);
	e4l_es_drop_empty(c, inode);
	return w.n;
}

static uint64_t round_robin(struct e4l_es_cache *c, uint64_t want)
{
	struct es_link *head = &c->queues[ES_INACTIVE];
	uint64_t done = 0;

	while (done < want && head->next != head) {
		struct es_link *link = head->next;

		move_tail(head, link);
		done += walk_inode(c, queue_of(link)->inode, want - done);
	}
	return done;
}

static int by_use(const void *a, const void *b, void *priv)
{
	const uint64_t *used = priv;
	uint64_t x = used[(*(struct es_queue *const *)a)->inode->ino];
	uint64_t y = used[(*(struct es_queue *const *)b)->inode->ino];

	return x < y ? -1 : x > y;
}

static void sort(struct e4l_es_cache *c, struct lru *lru)
{
	struct es_link *head = &c->queues[ES_INACTIVE], *link;
	size_t n = 0, i;

	for (link = head->next; link != head; link = link->next)
		lru->order[n++] = queue_of(link);
	qsort_r(lru->order, n, sizeof(*lru->order), by_use, lru->used);
	for (i = 0; i < n; i++)
		move_tail(head, &lru->order[i]->link);
	c->stats.visited += n;
	lru->sorted = lru->clock;
}

/*
 * Visits each inode of the LRU list once, and frees up to @want entries.  An
 * inode that was used after the last sort moves to the end of the list.
 * Returns the number of freed entries.
 */
static uint64_t lru_round(struct e4l_es_cache *c, struct lru *lru,
			  uint64_t want)
{
	struct es_link *head = &c->queues[ES_INACTIVE];
	struct es_link *last = head->prev, *link, *next;
	uint64_t done = 0;
	bool end;

	for (link = head->next; link != head; link = next) {
		struct es_inode *inode = queue_of(link)->inode;

		next = link->next;
		end = link == last;
		if (lru->used[inode->ino] > lru->sorted) {
			c->stats.visited++;
			move_tail(head, link);
			next = next == head ? link : next;
		} else {
			done += walk_inode(c, inode, want - done);
		}
		if (end || done == want)
			break;
	}
	return done;
}

static uint64_t least_recently_used(struct e4l_es_cache *c, uint64_t want)
{
	struct lru *lru = c->priv;
	uint64_t done = lru_round(c, lru, want);

	if (done)
		return done;
	sort(c, lru);
	return lru_round(c, lru, want);
}

static void no_touch(struct e4l_es_cache *c, struct es_inode *inode,
		     struct es_entry *entry)
{
}

static const struct policy {
	const char *name;
	uint64_t (*reclaim)(struct e4l_es_cache *c, uint64_t want);
	/* NULL for the library's policy */
	void (*touch)(struct e4l_es_cache *c, struct es_inode *inode,
		      struct es_entry *entry);
} policies[] = {
	{ "LRU", least_recently_used, no_touch },
	{ "round robin", round_robin, no_touch },
	{ "lists", NULL, no_touch },
	{ "lists, ages", NULL, NULL },
};

/* -------------------------------------------------------------------- cases */

struct replay {
	struct e4l_es_cache *c;
	struct lru lru;
	unsigned int percent;
};

static uint32_t scaled(const struct replay *r, uint32_t n)
{
	uint32_t part = (uint64_t)n * r->percent / 100;

	return part ? part : 1;
}

static uint32_t any(uint32_t n)
{
	return random() % n;
}

/*
 * Inserts an entry of one block.  A gap follows each entry, so that entries are
 * not merged.
 */
static void put(struct replay *r, ext2_ino_t ino, uint32_t n,
		enum e4l_es_state state)
{
	struct e4l_es es = { .lblk = 2 * n, .len = 1, .state = state };

	r->lru.used[ino] = ++r->lru.clock;
	if (e4l_es_insert(r->c, ino, &es))
		errx(1, "no memory");
}

/* Looks up a block, and inserts its entry after a miss. */
static void get(struct replay *r, ext2_ino_t ino, uint32_t n)
{
	struct e4l_es es;

	r->lru.used[ino] = ++r->lru.clock;
	if (!e4l_es_lookup(r->c, ino, 2 * n, &es))
		put(r, ino, n, E4L_ES_WRITTEN);
}

/* Sets the memory limit so that @n more entries fit into the cache. */
static void set_room(struct replay *r, uint64_t n)
{
	r->c->stats.limit_bytes = r->c->stats.bytes +
				  n * (sizeof(struct es_entry) + 16);
}

/*
 * Replays the case of large trees.  Random writes to three of every four blocks
 * leave about half of these blocks delayed.  Then, random reads use only the
 * remaining quarter of the blocks.
 */
static void large_trees(struct replay *r)
{
	enum { INODES = 500, BLOCKS = 10000, READS = 300000 };
	uint32_t inodes = scaled(r, INODES), i;

	for (i = 0; i < inodes * (BLOCKS / 2); i++)
		put(r, any(inodes), 4 * any(BLOCKS / 4) + 1 + any(3),
		    E4L_ES_DELAYED);
	set_room(r, inodes * (BLOCKS / 200));
	for (i = 0; i < scaled(r, READS); i++)
		get(r, any(inodes), 4 * any(BLOCKS / 4));
}

/*
 * Replays the case of a long list of inodes.  Many small files, which fit in
 * the cache, are read while one file grows.
 */
static void long_list(struct replay *r)
{
	enum { INODES = 50000, ENTRIES = 2, READS = 1000000, STREAM = 8 };
	uint32_t inodes = scaled(r, INODES), i;

	for (i = 0; i < inodes * ENTRIES; i++)
		get(r, 1 + i % inodes, i / inodes);
	set_room(r, inodes / 50);
	for (i = 0; i < scaled(r, READS); i++) {
		get(r, 1 + any(inodes), any(ENTRIES));
		if (i % STREAM == 0)
			put(r, 0, i, E4L_ES_WRITTEN);
	}
}

/*
 * Reads entries that fit in half of the limit again and again, while other
 * inodes are written from start to end.
 */
static void hot_set(struct replay *r)
{
	enum { INODES = 100, ENTRIES = 200, WRITERS = 4, READS = 500000,
	       DELAY = 250 };
	uint32_t inodes = scaled(r, INODES), i, k, at = 0;

	set_room(r, inodes * ENTRIES * 2);
	for (i = 0; i < scaled(r, READS); i++) {
		get(r, WRITERS + any(inodes), any(ENTRIES));
		for (k = i % 2; k < WRITERS; k += 2) {
			put(r, k, at, E4L_ES_DELAYED);
			if (at >= DELAY)
				put(r, k, at - DELAY, E4L_ES_WRITTEN);
		}
		at += i % 2;
	}
}

static const struct {
	const char *title;
	void (*run)(struct replay *r);
} cases[] = {
	{ "(a) 500 inodes with very large trees", large_trees },
	{ "(b) a very long list of inodes", long_list },
	{ "(c) a hot set beside streaming writers", hot_set },
};

/* ------------------------------------------------------------------- report */

static void report(const char *name, const struct e4l_es_stats *s)
{
	double scans = s->scans ? s->scans : 1;
	double lookups = s->hits + s->misses;

	printf("  %-12s %8llu %9.1f %9.1f %9.1f %9llu %9llu %9llu %6.1f\n",
	       name, (unsigned long long)s->scans, s->scan_ns / scans / 1000,
	       s->max_scan_ns / 1000.0, s->visited / scans,
	       (unsigned long long)s->max_visited,
	       (unsigned long long)s->hits, (unsigned long long)s->misses,
	       lookups ? 100 * s->hits / lookups : 0);
}

#define MAX_INODES 50001

static void replay(void (*run)(struct replay *r), const struct policy *policy,
		   unsigned int percent)
{
	struct replay r = { .percent = percent };
	struct e4l_es_stats stats;

	r.lru.used = calloc(MAX_INODES, sizeof(*r.lru.used));
	r.lru.order = calloc(MAX_INODES, sizeof(*r.lru.order));
	if (!r.lru.used || !r.lru.order || e4l_es_new(UINT64_MAX, &r.c))
		errx(1, "no memory");
	r.c->priv = &r.lru;
	if (policy->reclaim)
		r.c->reclaim = policy->reclaim;
	if (policy->touch)
		r.c->touch = policy->touch;
	srandom(1);
	run(&r);
	e4l_es_get_stats(r.c, &stats);
	report(policy->name, &stats);
	e4l_es_free(r.c);
	free(r.lru.used);
	free(r.lru.order);
}

int main(int argc, char **argv)
{
	unsigned int percent = argc > 1 ? atoi(argv[1]) : 100;
	size_t i, k;

	if (argc > 2 || percent < 1 || percent > 100)
		errx(2, "usage: es_cache [PERCENT]");
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		printf("%s%s\n  %-12s %8s %9s %9s %9s %9s %9s %9s %6s\n",
		       i ? "\n" : "", cases[i].title, "", "scans", "mean us",
		       "max us", "visits", "max", "hits", "misses", "hit %");
		for (k = 0; k < sizeof(policies) / sizeof(*policies); k++) {
			replay(cases[i].run, &policies[k], percent);
			fflush(stdout);
		}
	}
	return 0;
}
