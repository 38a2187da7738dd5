/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A treap (Seidel and Aragon, "Randomized search trees", 1996) of leaves.  Each
 * leaf has consecutive pairs, packed as differences from the previous pair.
 * All nodes are in one array, and each node is identified by its index.  The
 * priority of a node is a hash of its index.  At most one leaf is open: its
 * pairs are unpacked in an array.  When another leaf is opened, the pairs are
 * packed again.
 */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "bytes.h"
#include "sorted.h"

#define LEAF_BYTES	86 /* with 86 bytes, struct node is 128 bytes long */
#define LEAF_PAIRS	(LEAF_BYTES / 2) /* largest number of pairs in a leaf */

/* The index of a node, or 0 for no node. */
typedef uint32_t node_t;

struct node {
	struct e4l_pair low;		/* lower bound of the leaf's pairs */
	/* largest value of the leaf's pairs; 0 if knows_most is false */
	uint64_t most;
	uint64_t most_below; /* largest @most in the subtree of the node */
	/*
	 * children of the node; if the node is unused, kid[0] is the next
	 * unused node
	 */
	node_t kid[2];
	uint16_t used; /* number of bytes that the packed pairs occupy */
	uint8_t bytes[LEAF_BYTES];
};

struct e4l_sorted {
	/* nodes; v[0] is not used, because index 0 means no node */
	struct node *v;
	size_t n;
	/* first unused node, and root of the tree; 0: no node */
	node_t unused, root;
	/* the open leaf, which has its pairs in @pairs; 0: no leaf is open */
	node_t open;
	bool changed; /* @pairs differ from the packed pairs of the open leaf */
	bool knows_most;
	size_t n_pairs;
	struct e4l_pair pairs[LEAF_PAIRS + 1];
};

/*
 * Returns node @i, or NULL if @i is 0.  A call of new_leaf() invalidates the
 * pointer.
 */
static struct node *node_of(const struct e4l_sorted *s, node_t i)
{
	return i ? &s->v[i] : NULL;
}

static bool before(struct e4l_pair a, struct e4l_pair b)
{
	return a.key != b.key ? a.key < b.key : a.value < b.value;
}

/* ------------------------------------------------------- the tree of leaves */

static void pull(const struct e4l_sorted *s, struct node *n)
{
	unsigned int i;

	n->most_below = n->most;
	for (i = 0; i < 2; i++) {
		const struct node *kid = node_of(s, n->kid[i]);

		if (kid && n->most_below < kid->most_below)
			n->most_below = kid->most_below;
	}
}

/*
 * Splits the subtree with the root @i.  *@low gets the leaves that begin
 * before @p, and *@high gets all other leaves.
 */
static void part(const struct e4l_sorted *s, node_t i, struct e4l_pair p,
		 node_t *low, node_t *high)
{
	struct node *n = node_of(s, i);

	if (!n) {
		*low = *high = 0;
		return;
	}
	if (before(n->low, p)) {
		part(s, n->kid[1], p, &n->kid[1], high);
		*low = i;
	} else {
		part(s, n->kid[0], p, low, &n->kid[0]);
		*high = i;
	}
	pull(s, n);
}

/* Hashes @i with the last steps of splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t priority(node_t i)
{
	uint64_t x = i + 0x9E3779B97F4A7C15;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static node_t join(const struct e4l_sorted *s, node_t low, node_t high)
{
	bool first = low && (!high || priority(low) > priority(high));
	struct node *n = node_of(s, first ? low : high);

	if (!low || !high)
		return low ? low : high;
	n->kid[first] = first ? join(s, n->kid[1], high) :
				join(s, low, n->kid[0]);
	pull(s, n);
	return first ? low : high;
}

static void insert(const struct e4l_sorted *s, node_t *at, node_t i)
{
	struct node *top = node_of(s, *at), *n = &s->v[i];

	if (top && priority(*at) > priority(i)) {
		insert(s, &top->kid[before(top->low, n->low)], i);
		pull(s, top);
		return;
	}
	part(s, *at, n->low, &n->kid[0], &n->kid[1]);
	*at = i;
	pull(s, n);
}

static void erase(const struct e4l_sorted *s, node_t *at, node_t i)
{
	struct node *top = node_of(s, *at);

	if (*at == i) {
		*at = join(s, top->kid[0], top->kid[1]);
		return;
	}
	erase(s, &top->kid[before(top->low, s->v[i].low)], i);
	pull(s, top);
}

/*
 * Updates most_below of all nodes on the path from node @at to leaf @i, which
 * has changed.
 */
static void pull_all(const struct e4l_sorted *s, node_t at, node_t i)
{
	struct node *top = node_of(s, at);

	if (at != i)
		pull_all(s, top->kid[before(top->low, s->v[i].low)], i);
	pull(s, top);
}

/*
 * Returns whether @p is between the lower bound of the open leaf and the last
 * pair of the open leaf, inclusive.
 */
static bool is_within(const struct e4l_sorted *s, struct e4l_pair p)
{
	return s->n_pairs && !before(p, s->v[s->open].low) &&
	       !before(s->pairs[s->n_pairs - 1], p);
}

/*
 * Returns the last leaf that does not begin after @p.  No other leaf can
 * contain @p.  If all leaves begin after @p, returns 0.
 */
static node_t leaf_of(const struct e4l_sorted *s, struct e4l_pair p)
{
	node_t i = s->root, best = 0;

	if (is_within(s, p))
		return s->open;
	while (i) {
		bool behind = before(p, s->v[i].low);

		if (!behind)
			best = i;
		i = s->v[i].kid[!behind];
	}
	return best;
}

/* Returns the leaf after leaf @i, or 0 if @i is the last leaf. */
static node_t leaf_behind(const struct e4l_sorted *s, node_t i)
{
	struct e4l_pair low = s->v[i].low;
	node_t at = s->root, best = 0;

	while (at) {
		bool behind = before(low, s->v[at].low);

		if (behind)
			best = at;
		at = s->v[at].kid[!behind];
	}
	return best;
}

/* ------------------------------------------------------------ the open leaf */

static void put_pair(struct e4l_bytes *o, struct e4l_pair p,
		     struct e4l_pair last)
{
	e4l_put_number(o, p.key - last.key);
	e4l_put_apart(o, p.value, last.value);
}

/* Returns the packed size in bytes of a pair @p that follows the pair @last. */
static size_t size_of(struct e4l_pair p, struct e4l_pair last)
{
	return e4l_number_bytes(p.key - last.key) +
	       e4l_number_bytes(e4l_apart(p.value, last.value));
}

/* Unpacks the pairs of leaf @n, and appends them to s->pairs. */
static void unpack(struct e4l_sorted *s, const struct node *n)
{
	struct e4l_pair p = { 0 };
	size_t at = 0;

	while (at < n->used) {
		p.key += e4l_take_number(n->bytes, &at);
		p.value = e4l_take_apart(n->bytes, &at, p.value);
		s->pairs[s->n_pairs++] = p;
	}
}

/*
 * Packs @count pairs into leaf @n.  The packed pairs must fit into LEAF_BYTES.
 */
static void pack(struct node *n, const struct e4l_pair *pairs, size_t count)
{
	struct e4l_bytes o = { .v = n->bytes };
	struct e4l_pair last = { 0 };

	for (; count; count--, last = *pairs++)
		put_pair(&o, *pairs, last);
	n->used = o.n;
}

/* Removes leaf @i from the tree. */
static void drop(struct e4l_sorted *s, node_t i)
{
	erase(s, &s->root, i);
	s->v[i].kid[0] = s->unused;
	s->unused = i;
}

static void close_leaf(struct e4l_sorted *s)
{
	if (s->open && s->changed && s->n_pairs)
		pack(&s->v[s->open], s->pairs, s->n_pairs);
	else if (s->open && s->changed)
		drop(s, s->open);
	s->open = 0;
	s->changed = false;
	s->n_pairs = 0;
}

static void open_leaf(struct e4l_sorted *s, node_t i)
{
	if (s->open == i)
		return;
	close_leaf(s);
	s->open = i;
	unpack(s, &s->v[i]);
}

/*
 * Returns the index of the first pair of the open leaf that is not before @p.
 * If all pairs of the open leaf are before @p, returns n_pairs.
 */
static size_t find(const struct e4l_sorted *s, struct e4l_pair p)
{
	size_t low = 0, high = s->n_pairs;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (before(s->pairs[mid], p))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Returns the number of bytes by which the pairs of the open leaf grow in
 * packed form if @p is inserted at index @i of s->pairs.
 */
static size_t grows_by(const struct e4l_sorted *s, size_t i, struct e4l_pair p)
{
	struct e4l_pair last = i ? s->pairs[i - 1] : (struct e4l_pair) { 0 };

	if (i == s->n_pairs)
		return size_of(p, last);
	return size_of(p, last) + size_of(s->pairs[i], p) -
	       size_of(s->pairs[i], last);
}

static uint64_t most_of(const struct e4l_sorted *s,
			const struct e4l_pair *pairs, size_t n)
{
	uint64_t most = 0;

	for (; s->knows_most && n; n--, pairs++)
		most = most < pairs->value ? pairs->value : most;
	return most;
}

/*
 * Updates the largest value @most of the open leaf, and the largest value
 * @most_below of all subtrees that contain the leaf.
 */
static void set_most(struct e4l_sorted *s)
{
	uint64_t most = most_of(s, s->pairs, s->n_pairs);

	if (s->v[s->open].most == most)
		return;
	s->v[s->open].most = most;
	pull_all(s, s->root, s->open);
}

/* ------------------------------------------------------------------ changes */

struct e4l_sorted *e4l_sorted_new(bool knows_most)
{
	struct e4l_sorted *s = calloc(1, sizeof(*s));

	if (s)
		s->knows_most = knows_most;
	return s;
}

void e4l_sorted_free(struct e4l_sorted *s)
{
	if (s)
		free(s->v);
	free(s);
}

/* Allocates an empty leaf.  The allocation invalidates pointers to nodes. */
static errcode_t new_leaf(struct e4l_sorted *s, node_t *i)
{
	errcode_t err;

	*i = s->unused;
	if (*i) {
		s->unused = s->v[*i].kid[0];
	} else {
		s->n += !s->n;
		if (s->n > UINT32_MAX)
			return ENOMEM;
		err = e4l_grow(&s->v, s->n, sizeof(*s->v));
		if (err)
			return err;
		*i = s->n++;
	}
	s->v[*i].used = 0;
	return 0;
}

/*
 * Returns how many pairs at the start of the open leaf occupy half of the
 * leaf's bytes.
 */
static size_t half(const struct e4l_sorted *s)
{
	struct e4l_pair last = { 0 };
	size_t i = 0, bytes = 0;

	for (; bytes < s->v[s->open].used / 2; last = s->pairs[i++])
		bytes += size_of(s->pairs[i], last);
	return i;
}

/*
 * Splits the open leaf, because it has no space for pair @p at index @i.  If @p
 * would be the first or the last pair, all pairs stay together, and the other
 * leaf is for @p.  Adding pairs in sorted order therefore fills the leaves.
 */
static errcode_t split(struct e4l_sorted *s, size_t i, struct e4l_pair p)
{
	size_t k = i == s->n_pairs ? i : i ? half(s) : 0;
	struct node *n;
	node_t behind;
	errcode_t err = new_leaf(s, &behind);

	if (err)
		return err;
	n = &s->v[behind];
	n->low = k < s->n_pairs ? s->pairs[k] : p;
	n->most = most_of(s, s->pairs + k, s->n_pairs - k);
	pack(n, s->pairs + k, s->n_pairs - k);
	insert(s, &s->root, behind);
	s->n_pairs = k;
	s->changed = true;
	pack(&s->v[s->open], s->pairs, k);
	set_most(s);
	return 0;
}

/*
 * Returns the leaf to which @p must be added.  If @p is before all leaves,
 * returns the first leaf.  The tree must not be empty.
 */
static node_t leaf_for(const struct e4l_sorted *s, struct e4l_pair p)
{
	node_t i = leaf_of(s, p);

	if (!i)
		for (i = s->root; s->v[i].kid[0]; )
			i = s->v[i].kid[0];
	return i;
}

static errcode_t first_leaf(struct e4l_sorted *s, struct e4l_pair p)
{
	errcode_t err = new_leaf(s, &s->root);

	if (err)
		return err;
	s->v[s->root].low = p;
	s->v[s->root].kid[0] = s->v[s->root].kid[1] = 0;
	s->v[s->root].most = s->v[s->root].most_below = 0;
	return 0;
}

errcode_t e4l_sorted_add(struct e4l_sorted *s, struct e4l_pair p)
{
	errcode_t err = s->root ? 0 : first_leaf(s, p);
	struct node *n;
	size_t i, more;

	if (err)
		return err;
	for (;;) {
		open_leaf(s, leaf_for(s, p));
		n = &s->v[s->open];
		if (before(p, n->low))
			n->low = p;
		i = find(s, p);
		more = grows_by(s, i, p);
		if (n->used + more <= LEAF_BYTES)
			break;
		err = split(s, i, p);
		if (err)
			return err;
	}
	memmove(&s->pairs[i + 1], &s->pairs[i],
		(s->n_pairs++ - i) * sizeof(*s->pairs));
	s->pairs[i] = p;
	s->changed = true;
	n->used += more;
	if (n->most < p.value)
		set_most(s);
	return 0;
}

/*
 * If the open leaf is less than a quarter full, and the open leaf and the next
 * leaf together are at most half full, merges the next leaf into the open leaf.
 */
static void take_next_in(struct e4l_sorted *s)
{
	struct node *n = &s->v[s->open];
	node_t i = n->used < LEAF_BYTES / 4 ? leaf_behind(s, s->open) : 0;

	if (!i || n->used + s->v[i].used > LEAF_BYTES / 2)
		return;
	unpack(s, &s->v[i]);
	drop(s, i);
	pack(n, s->pairs, s->n_pairs);
	set_most(s);
}

void e4l_sorted_remove(struct e4l_sorted *s, struct e4l_pair p)
{
	size_t i;

	open_leaf(s, leaf_for(s, p));
	i = find(s, p);
	memmove(&s->pairs[i], &s->pairs[i + 1],
		(--s->n_pairs - i) * sizeof(*s->pairs));
	s->changed = true;
	s->v[s->open].used -= grows_by(s, i, p);
	/*
	 * e4l_sorted_last() finds the previous pair only if the lower bound is
	 * exact
	 */
	if (!i && s->n_pairs)
		s->v[s->open].low = s->pairs[0];
	if (s->v[s->open].most == p.value)
		set_most(s);
	take_next_in(s);
}

/* ------------------------------------------------------------------ queries */

/* Returns the leaf before leaf @i, or 0 if @i is the first leaf. */
static node_t leaf_before(const struct e4l_sorted *s, node_t i)
{
	struct e4l_pair low = s->v[i].low;
	node_t at = s->root, best = 0;

	while (at) {
		bool is_before = before(s->v[at].low, low);

		if (is_before)
			best = at;
		at = s->v[at].kid[is_before];
	}
	return best;
}

bool e4l_sorted_last(struct e4l_sorted *s, struct e4l_pair p,
		     struct e4l_pair *ret)
{
	node_t i = leaf_of(s, p);
	size_t k;

	if (!i)
		return false;
	open_leaf(s, i);
	k = find(s, p);
	k += k < s->n_pairs && !before(p, s->pairs[k]);
	if (!k) {
		i = leaf_before(s, i);
		if (!i)
			return false;
		open_leaf(s, i);
		k = s->n_pairs;
	}
	*ret = s->pairs[k - 1];
	return true;
}

/*
 * Of the leaves in the subtree with the root @at, returns the first leaf that
 * begins after @low and has a value of at least @least.  If there is no such
 * leaf, returns 0.
 */
static node_t leaf_with(const struct e4l_sorted *s, node_t at,
			struct e4l_pair low, uint64_t least)
{
	const struct node *n = node_of(s, at);
	node_t found;

	if (!n || n->most_below < least)
		return 0;
	if (!before(low, n->low))
		return leaf_with(s, n->kid[1], low, least);
	found = leaf_with(s, n->kid[0], low, least);
	if (found || n->most >= least)
		return found ? found : at;
	return leaf_with(s, n->kid[1], low, least);
}

bool e4l_sorted_first_of(struct e4l_sorted *s, struct e4l_pair p,
			 uint64_t least, struct e4l_pair *ret)
{
	size_t k;
	node_t i;

	if (!s->root)
		return false;
	open_leaf(s, leaf_for(s, p));
	for (k = find(s, p); k < s->n_pairs; k++)
		if (s->pairs[k].value >= least)
			break;
	if (k == s->n_pairs) {
		i = leaf_with(s, s->root, s->v[s->open].low, least);
		if (!i)
			return false;
		open_leaf(s, i);
		for (k = 0; s->pairs[k].value < least; )
			k++;
	}
	*ret = s->pairs[k];
	return true;
}

bool e4l_sorted_first(struct e4l_sorted *s, struct e4l_pair p,
		      struct e4l_pair *ret)
{
	return e4l_sorted_first_of(s, p, 0, ret);
}

uint64_t e4l_sorted_most(const struct e4l_sorted *s)
{
	return s->root ? s->v[s->root].most_below : 0;
}
