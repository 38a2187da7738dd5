/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The extent status cache.
 *
 * Each inode has a treap of entries, sorted by the position in the file.  An
 * entry is active or inactive.  For each of these two ages, each inode has a
 * queue of reclaimable entries.  A new entry is inactive.  A lookup sets the
 * accessed flag of the entry.
 *
 * Reclaim visits the inodes with inactive entries in turn, and begins with the
 * oldest entry of each inode.  An entry without the accessed flag is freed.  An
 * entry with the flag becomes active, and the flag is cleared.  If no inactive
 * entry could be freed, reclaim frees active entries.
 *
 * While more than half of the entries are active, reclaim also makes active
 * entries without the flag inactive.  Entries that were used only once
 * therefore do not fill the cache forever.
 *
 * Queues contain only reclaimable entries, and empty queues are not visited.  A
 * scan therefore visits at most as many inodes as entries.  Each visited entry
 * is freed, loses the flag, or becomes inactive.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "e4layout/format/format.h"
#include "es_cache.h"

#define MALLOC_BYTES	16u		/* estimated overhead of malloc(3) */
#define ENTRY_BYTES	(sizeof(struct es_entry) + MALLOC_BYTES)
#define INODE_BYTES	(sizeof(struct es_inode) + MALLOC_BYTES)
/* maximum number of entries that keep_limit() frees in one scan */
#define BATCH		64
#define FIRST_MASK	63u

/* -------------------------------------------------------------------- lists */

static void list_init(struct es_link *head)
{
	head->prev = head->next = head;
}

static void list_del(struct es_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

static void list_add_tail(struct es_link *head, struct es_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/* ------------------------------------------------------------------- inodes */

static uint32_t bucket(const struct e4l_es_cache *c, ext2_ino_t ino)
{
	return (ino * 0x9e3779b1u >> 8) & c->mask;
}

static struct es_inode *find_inode(const struct e4l_es_cache *c, ext2_ino_t ino)
{
	struct es_inode *inode = c->table[bucket(c, ino)];

	while (inode && inode->ino != ino)
		inode = inode->chain;
	return inode;
}

/*
 * Doubles the hash table when it is full.  If memory runs out, keeps the table:
 * hash chains then become longer.
 */
static void grow_table(struct e4l_es_cache *c)
{
	uint32_t size = c->mask + 1, i;
	struct es_inode **old = c->table, *inode, *next;
	struct es_inode **table;

	if (c->stats.inodes < size || size > UINT32_MAX / 2)
		return;
	table = calloc(2 * (size_t)size, sizeof(*table));
	if (!table)
		return;
	c->table = table;
	c->mask = 2 * size - 1;
	c->stats.bytes += size * sizeof(*table);
	for (i = 0; i < size; i++) {
		for (inode = old[i]; inode; inode = next) {
			next = inode->chain;
			inode->chain = table[bucket(c, inode->ino)];
			table[bucket(c, inode->ino)] = inode;
		}
	}
	free(old);
}

/*
 * Returns the inode @ino of the cache.  If the cache does not contain the
 * inode, adds the inode.  If memory runs out, returns NULL.
 */
static struct es_inode *get_inode(struct e4l_es_cache *c, ext2_ino_t ino)
{
	struct es_inode *inode = find_inode(c, ino), **at;
	int age;

	if (inode)
		return inode;
	inode = calloc(1, sizeof(*inode));
	if (!inode)
		return NULL;
	grow_table(c);
	inode->ino = ino;
	for (age = 0; age < ES_AGES; age++) {
		list_init(&inode->age[age].link);
		list_init(&inode->age[age].entries);
		inode->age[age].inode = inode;
	}
	at = &c->table[bucket(c, ino)];
	inode->chain = *at;
	*at = inode;
	c->stats.inodes++;
	c->stats.bytes += INODE_BYTES;
	return inode;
}

void e4l_es_drop_empty(struct e4l_es_cache *c, struct es_inode *inode)
{
	struct es_inode **at = &c->table[bucket(c, inode->ino)];

	if (inode->entries)
		return;
	while (*at != inode)
		at = &(*at)->chain;
	*at = inode->chain;
	c->stats.inodes--;
	c->stats.bytes -= INODE_BYTES;
	free(inode);
}

/* ------------------------------------------------------------------ entries */

static uint64_t end_of(const struct es_entry *entry)
{
	return entry->lblk + entry->len;
}

static void set_kid(struct es_entry *entry, bool side, struct es_entry *kid)
{
	entry->kid[side] = kid;
	if (kid)
		kid->parent = entry;
}

/*
 * Splits a tree into the entries that begin before @lblk, and all other
 * entries.
 */
static void part(struct es_entry *tree, uint64_t lblk, struct es_entry **before,
		 struct es_entry **rest)
{
	struct es_entry *kid;

	if (!tree) {
		*before = *rest = NULL;
	} else if (tree->lblk < lblk) {
		part(tree->kid[1], lblk, &kid, rest);
		set_kid(tree, 1, kid);
		*before = tree;
	} else {
		part(tree->kid[0], lblk, before, &kid);
		set_kid(tree, 0, kid);
		*rest = tree;
	}
}

/* Joins two trees. All entries of @a must precede all entries of @b. */
static struct es_entry *join(struct es_entry *a, struct es_entry *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority > b->priority) {
		set_kid(a, 1, join(a->kid[1], b));
		return a;
	}
	set_kid(b, 0, join(a, b->kid[0]));
	return b;
}

static void set_root(struct es_inode *inode, struct es_entry *root)
{
	inode->root = root;
	if (root)
		root->parent = NULL;
}

/*
 * Returns the last entry that begins at or before @lblk.  If there is no such
 * entry, returns NULL.
 */
static struct es_entry *find_at_or_before(const struct es_inode *inode,
					  uint64_t lblk)
{
	struct es_entry *at = inode->root, *found = NULL;

	while (at) {
		if (at->lblk <= lblk)
			found = at;
		at = at->kid[at->lblk <= lblk];
	}
	return found;
}

/*
 * Returns the first entry that has a block in [@lblk, @end).  If there is no
 * such entry, returns NULL.
 */
static struct es_entry *find_in(const struct es_inode *inode, uint64_t lblk,
				uint64_t end)
{
	struct es_entry *at = inode->root, *found = NULL;

	while (at) {
		if (end_of(at) > lblk)
			found = at;
		at = at->kid[end_of(at) <= lblk];
	}
	return found && found->lblk < end ? found : NULL;
}

static struct es_entry *last_entry(const struct es_inode *inode)
{
	struct es_entry *at = inode->root;

	while (at && at->kid[1])
		at = at->kid[1];
	return at;
}

/*
 * Appends @entry to the tree after @last, the last entry of the tree.  The
 * result is equal to the result of join(), but the search begins at @last.
 */
static void append(struct es_inode *inode, struct es_entry *last,
		   struct es_entry *entry)
{
	struct es_entry *above = last, *below = NULL;

	for (; above && above->priority <= entry->priority;
	     above = above->parent)
		below = above;
	set_kid(entry, 0, below);
	if (above)
		set_kid(above, 1, entry);
	else
		set_root(inode, entry);
}

/* Appends a reclaimable entry to the queue of @inode for entries of @age. */
static void enlist(struct e4l_es_cache *c, struct es_inode *inode,
		   struct es_entry *entry, enum es_age age)
{
	struct es_queue *queue = &inode->age[age];

	if (!queue->n++)
		list_add_tail(&c->queues[age], &queue->link);
	list_add_tail(&queue->entries, &entry->link);
	entry->age = age;
	c->stats.active += age == ES_ACTIVE;
}

static void delist(struct e4l_es_cache *c, struct es_inode *inode,
		   struct es_entry *entry)
{
	struct es_queue *queue = &inode->age[entry->age];

	list_del(&entry->link);
	if (!--queue->n)
		list_del(&queue->link);
	c->stats.active -= entry->age == ES_ACTIVE;
}

static struct es_entry *new_entry(const struct e4l_es *es)
{
	struct es_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	list_init(&entry->link);
	entry->lblk = es->lblk;
	entry->len = es->len;
	entry->pblk = es->pblk;
	entry->state = es->state;
	return entry;
}

/*
 * Adds @entry to the tree, whose last entry is @last.  @entry must not overlap
 * any entry of the tree.  If @entry is reclaimable, also adds @entry to the
 * inode's queue of active or inactive entries, according to @age.
 */
static void add(struct e4l_es_cache *c, struct es_inode *inode,
		struct es_entry *last, struct es_entry *entry, enum es_age age)
{
	struct es_entry *before, *rest;

	c->random = c->random * 1664525 + 1013904223;
	entry->priority = c->random;
	if (!last || last->lblk < entry->lblk) {
		append(inode, last, entry);
	} else {
		part(inode->root, entry->lblk, &before, &rest);
		set_root(inode, join(join(before, entry), rest));
	}
	inode->entries++;
	c->stats.entries++;
	c->stats.bytes += ENTRY_BYTES;
	if (!es_reclaimable(entry))
		return;
	c->stats.reclaimable++;
	enlist(c, inode, entry, age);
}

/* Frees an entry that is in no tree. */
static void free_entry(struct e4l_es_cache *c, struct es_inode *inode,
		       struct es_entry *entry)
{
	inode->entries--;
	c->stats.entries--;
	c->stats.bytes -= ENTRY_BYTES;
	if (es_reclaimable(entry)) {
		c->stats.reclaimable--;
		delist(c, inode, entry);
	}
	free(entry);
}

/* Replaces @entry by @kid in the tree. */
static void replace(struct es_inode *inode, struct es_entry *entry,
		    struct es_entry *kid)
{
	struct es_entry *parent = entry->parent;

	if (parent)
		set_kid(parent, parent->kid[1] == entry, kid);
	else
		set_root(inode, kid);
}

void e4l_es_drop(struct e4l_es_cache *c, struct es_inode *inode,
		 struct es_entry *entry)
{
	replace(inode, entry, join(entry->kid[0], entry->kid[1]));
	free_entry(c, inode, entry);
}

/* ------------------------------------------------------------------ reclaim */

/*
 * Visits the oldest entry of a queue.  If @keep is true, the entry is not
 * freed.  If the entry was freed, returns true.
 */
static bool visit(struct e4l_es_cache *c, struct es_queue *queue, bool keep)
{
	struct es_entry *entry = (struct es_entry *)queue->entries.next;
	struct es_inode *inode = queue->inode;
	bool accessed = entry->accessed;

	c->stats.visited++;
	entry->accessed = false;
	if (!accessed && !keep) {
		e4l_es_drop(c, inode, entry);
		return true;
	}
	delist(c, inode, entry);
	enlist(c, inode, entry, accessed ? ES_ACTIVE : ES_INACTIVE);
	return false;
}

/*
 * Visits entries of @age, inode by inode, and each entry at most once.  If
 * @keep is false, stops after freeing @want entries, and returns the number of
 * freed entries.  If @keep is true, stops after visiting @want entries, and
 * returns the number of visited entries.
 */
static uint64_t go_round(struct e4l_es_cache *c, enum es_age age, uint64_t want,
			 bool keep)
{
	uint64_t left = age == ES_ACTIVE ? c->stats.active :
			c->stats.reclaimable - c->stats.active;
	uint64_t done = 0, n;

	while (left && done < want) {
		struct es_queue *queue = (struct es_queue *)c->queues[age].next;
		struct es_inode *inode = queue->inode;

		/*
		 * Move the inode to the end of the list, so that all other
		 * inodes are visited before the remaining entries of this
		 * inode.
		 */
		list_del(&queue->link);
		list_add_tail(&c->queues[age], &queue->link);
		c->stats.visited++;
		for (n = queue->n; n && done < want; n--, left--)
			done += visit(c, queue, keep) || keep;
		e4l_es_drop_empty(c, inode);
	}
	return done;
}

static uint64_t reclaim(struct e4l_es_cache *c, uint64_t want)
{
	uint64_t inactive = c->stats.reclaimable - c->stats.active, done;

	if (c->stats.active > inactive)
		go_round(c, ES_ACTIVE, want, true);
	done = go_round(c, ES_INACTIVE, want, false);
	if (!done)
		done = go_round(c, ES_ACTIVE, want, false);
	/*
	 * If nothing was freed, all active entries had the accessed flag.  The
	 * first round has cleared the flags.
	 */
	if (!done)
		done = go_round(c, ES_ACTIVE, want, false);
	return done;
}

static void touch(struct e4l_es_cache *c, struct es_inode *inode,
		  struct es_entry *entry)
{
	entry->accessed = true;
}

/*
 * Returns the CPU time of this thread, so that other processes do not affect
 * the measured duration of a scan.
 */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void note_max(uint64_t value, uint64_t *max)
{
	if (*max < value)
		*max = value;
}

uint64_t e4l_es_shrink(struct e4l_es_cache *c, uint64_t want)
{
	struct e4l_es_stats *s = &c->stats;
	uint64_t visited = s->visited, ns, done;

	if (!s->reclaimable)
		return 0;
	ns = now_ns();
	done = c->reclaim(c, want ? want : 1);
	ns = now_ns() - ns;
	s->scans++;
	s->reclaimed += done;
	s->scan_ns += ns;
	note_max(ns, &s->max_scan_ns);
	note_max(s->visited - visited, &s->max_visited);
	return done;
}

/*
 * Frees entries until the cache is within its limit.  A scan frees up to BATCH
 * entries, so that scans are rare.  In a small cache, a scan frees at most an
 * eighth of the limit.
 */
static void keep_limit(struct e4l_es_cache *c)
{
	uint64_t batch = c->stats.limit_bytes / ENTRY_BYTES / 8;

	note_max(c->stats.bytes, &c->stats.max_bytes);
	while (c->stats.bytes > c->stats.limit_bytes && c->stats.reclaimable)
		e4l_es_shrink(c, batch < BATCH ? batch : BATCH);
}

bool e4l_es_has_room(const struct e4l_es_cache *c, uint64_t entries)
{
	const struct e4l_es_stats *s = &c->stats;

	return s->bytes + INODE_BYTES <= s->limit_bytes &&
	       entries <= (s->limit_bytes - s->bytes - INODE_BYTES) /
			  ENTRY_BYTES;
}

/* ------------------------------------------------------------------- public */

errcode_t e4l_es_new(uint64_t limit_bytes, struct e4l_es_cache **ret)
{
	struct e4l_es_cache *c = calloc(1, sizeof(*c));
	int age;

	*ret = NULL;
	if (!c)
		return ENOMEM;
	c->mask = FIRST_MASK;
	c->table = calloc(c->mask + 1, sizeof(*c->table));
	if (!c->table) {
		free(c);
		return ENOMEM;
	}
	for (age = 0; age < ES_AGES; age++)
		list_init(&c->queues[age]);
	c->stats.limit_bytes = limit_bytes;
	c->stats.bytes = sizeof(*c) + (c->mask + 1) * sizeof(*c->table);
	c->stats.max_bytes = c->stats.bytes;
	c->reclaim = reclaim;
	c->touch = touch;
	*ret = c;
	return 0;
}

/*
 * Frees all entries of an inode, beginning with the leaves of the tree, so that
 * no subtrees must be joined.
 */
static void forget(struct e4l_es_cache *c, struct es_inode *inode)
{
	struct es_entry *at = inode->root, *parent;

	while (at) {
		if (at->kid[0] || at->kid[1]) {
			at = at->kid[!at->kid[0]];
			continue;
		}
		parent = at->parent;
		replace(inode, at, NULL);
		free_entry(c, inode, at);
		at = parent;
	}
	e4l_es_drop_empty(c, inode);
}

void e4l_es_forget_all(struct e4l_es_cache *c)
{
	uint32_t i;

	for (i = 0; i <= c->mask; i++)
		while (c->table[i])
			forget(c, c->table[i]);
}

void e4l_es_free(struct e4l_es_cache *c)
{
	if (!c)
		return;
	e4l_es_forget_all(c);
	free(c->table);
	free(c);
}

static bool has_place(int state)
{
	return state == E4L_ES_WRITTEN || state == E4L_ES_UNWRITTEN;
}

/*
 * Returns whether a block can be part of @entry.  The block has @state and
 * @pblk, and is @distance blocks after the first block of @entry.
 */
static bool continues(const struct es_entry *entry, uint64_t distance,
		      int state, blk64_t pblk)
{
	return entry->state == state &&
	       (!has_place(state) || entry->pblk + distance == pblk);
}

/*
 * Removes the blocks before @lblk from @entry.  @lblk must be a block of
 * @entry.
 */
static void cut_head(struct es_entry *entry, uint64_t lblk)
{
	uint64_t cut = lblk - entry->lblk;

	if (has_place(entry->state))
		entry->pblk += cut;
	entry->len -= cut;
	entry->lblk = lblk;
}

/* Removes [@lblk, @end) from the middle of @entry. */
static errcode_t cut_middle(struct e4l_es_cache *c, struct es_inode *inode,
			    struct es_entry *entry, uint32_t lblk, uint64_t end)
{
	struct es_entry *rest = malloc(sizeof(*rest));

	if (!rest)
		return ENOMEM;
	*rest = *entry;
	list_init(&rest->link);
	rest->kid[0] = rest->kid[1] = NULL;
	cut_head(rest, end);
	entry->len = lblk - entry->lblk;
	add(c, inode, last_entry(inode), rest, entry->age);
	return 0;
}

static errcode_t remove_range(struct e4l_es_cache *c, struct es_inode *inode,
			      uint32_t lblk, uint64_t end)
{
	struct es_entry *entry;

	while ((entry = find_in(inode, lblk, end))) {
		if (entry->lblk < lblk && end_of(entry) > end)
			return cut_middle(c, inode, entry, lblk, end);
		if (entry->lblk < lblk)
			entry->len = lblk - entry->lblk;
		else if (end_of(entry) > end)
			cut_head(entry, end);
		else
			e4l_es_drop(c, inode, entry);
	}
	return 0;
}

errcode_t e4l_es_remove(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			uint64_t len)
{
	struct es_inode *inode = find_inode(c, ino);
	uint64_t end = len < FILE_MAX_BLOCKS - lblk ? lblk + len : FILE_MAX_BLOCKS;
	errcode_t err = 0;

	if (inode) {
		err = remove_range(c, inode, lblk, end);
		e4l_es_drop_empty(c, inode);
	}
	keep_limit(c);
	return err;
}

/*
 * Joins @entry and the next entry, if the two entries are contiguous and have
 * the same state.
 */
static void join_next(struct e4l_es_cache *c, struct es_inode *inode,
		      struct es_entry *entry)
{
	uint64_t end = end_of(entry);
	struct es_entry *next = find_in(inode, end, end + 1);

	if (!next || !continues(entry, entry->len, next->state, next->pblk))
		return;
	entry->len += next->len;
	entry->accessed |= next->accessed;
	e4l_es_drop(c, inode, next);
}

/*
 * Inserts @entry, which must not overlap an entry of the tree.  @last is the
 * last entry of the tree.
 */
static void insert(struct e4l_es_cache *c, struct es_inode *inode,
		   struct es_entry *last, struct es_entry *entry)
{
	bool is_last = !last || last->lblk < entry->lblk;
	struct es_entry *prev = is_last ? last :
				find_at_or_before(inode, entry->lblk);

	if (prev && end_of(prev) == entry->lblk &&
	    continues(prev, prev->len, entry->state, entry->pblk)) {
		prev->len += entry->len;
		free(entry);
		entry = prev;
	} else {
		add(c, inode, last, entry, ES_INACTIVE);
	}
	if (!is_last)
		join_next(c, inode, entry);
}

/*
 * Returns whether the cache already contains all blocks of @es in the same
 * state.
 */
static bool is_known(const struct es_inode *inode, const struct e4l_es *es)
{
	struct es_entry *entry = find_at_or_before(inode, es->lblk);

	return entry && end_of(entry) >= es->lblk + es->len &&
	       continues(entry, es->lblk - entry->lblk, es->state, es->pblk);
}

errcode_t e4l_es_insert(struct e4l_es_cache *c, ext2_ino_t ino,
			const struct e4l_es *es)
{
	struct es_inode *inode;
	struct es_entry *entry, *last;
	errcode_t err = 0;
	bool behind;

	if (!es->len || es->len > FILE_MAX_BLOCKS - es->lblk ||
	    es->state > E4L_ES_DELAYED)
		return E4L_ET_BAD_ARGUMENT;
	inode = get_inode(c, ino);
	if (!inode)
		return ENOMEM;
	/* Usually, new blocks come after all known entries of the inode. */
	last = last_entry(inode);
	behind = !last || end_of(last) <= es->lblk;
	if (!behind && is_known(inode, es))
		return 0;
	entry = new_entry(es);
	if (!entry)
		err = ENOMEM;
	else if (!behind)
		err = remove_range(c, inode, es->lblk, es->lblk + es->len);
	if (err) {
		free(entry);
		e4l_es_drop_empty(c, inode);
		return err;
	}
	insert(c, inode, behind ? last : last_entry(inode), entry);
	keep_limit(c);
	return 0;
}

/*
 * Returns the entry that follows @entry in the file.  If @entry is the last
 * entry, returns NULL.
 */
static struct es_entry *next_entry(const struct es_entry *entry)
{
	struct es_entry *at = entry->kid[1];

	if (at) {
		while (at->kid[0])
			at = at->kid[0];
		return at;
	}
	for (at = entry->parent; at && at->kid[1] == entry; at = at->parent)
		entry = at;
	return at;
}

size_t e4l_es_lookup_many(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			  struct e4l_es *es, size_t n)
{
	struct es_inode *inode = find_inode(c, ino);
	struct es_entry *entry = inode ? find_at_or_before(inode, lblk) : NULL;
	uint64_t at = lblk;
	size_t found = 0;

	while (found < n && at < FILE_MAX_BLOCKS) {
		if (found)
			entry = next_entry(entry);
		if (!entry || entry->lblk > at || end_of(entry) <= at) {
			c->stats.misses++;
			break;
		}
		c->stats.hits++;
		c->touch(c, inode, entry);
		es[found++] = (struct e4l_es) {
			.lblk = entry->lblk, .len = entry->len,
			.pblk = has_place(entry->state) ? entry->pblk : 0,
			.state = entry->state,
		};
		at = end_of(entry);
	}
	return found;
}

bool e4l_es_lookup(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
		   struct e4l_es *es)
{
	return e4l_es_lookup_many(c, ino, lblk, es, 1);
}

void e4l_es_get_stats(const struct e4l_es_cache *c, struct e4l_es_stats *stats)
{
	*stats = c->stats;
}
