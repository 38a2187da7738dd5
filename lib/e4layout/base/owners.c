/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "bits.h"
#include "owners.h"

#define PAGE_BITS	15
#define PAGE_CLUSTERS	(1u << PAGE_BITS)
#define PAGE_MAP_BYTES	(PAGE_CLUSTERS / 8)
/*
 * Maximum number of runs in a page.  An array of MAX_RUNS runs is as large as
 * the bitmap of a page.
 */
#define MAX_RUNS	(PAGE_MAP_BYTES / sizeof(struct run))

/* A run of claimed clusters in a page, inclusive of @first and @last. */
struct run {
	uint16_t first, last;
};

struct page {
	union {
		struct run *runs;
		uint8_t *map;	/* bitmap, if dense is true */
	};
	uint16_t n;
	bool dense;
};

struct e4l_owners {
	uint64_t n_pages;
	struct page *pages;
};

struct e4l_owners *e4l_owners_new(uint64_t clusters)
{
	uint64_t n = (clusters + PAGE_CLUSTERS - 1) >> PAGE_BITS;
	struct e4l_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->n_pages = n;
	o->pages = e4l_array_zalloc(n, sizeof(*o->pages));
	if (o->pages)
		return o;
	free(o);
	return NULL;
}

void e4l_owners_free(struct e4l_owners *o)
{
	uint64_t i;

	if (!o)
		return;
	for (i = 0; i < o->n_pages; i++)
		free(o->pages[i].runs);
	free(o->pages);
	free(o);
}

static bool map_test(const uint8_t *map, unsigned int i)
{
	return map[i / 8] >> i % 8 & 1;
}

/*
 * Returns the index of the first run that ends at or after @cluster.  If all
 * runs end before @cluster, returns the number of runs.
 */
static unsigned int find_run(const struct page *p, unsigned int cluster)
{
	unsigned int low = 0, high = p->n;

	if (p->n && p->runs[p->n - 1].last < cluster)
		return p->n;
	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (p->runs[mid].last < cluster)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static errcode_t make_dense(struct page *p)
{
	uint8_t *map = calloc(1, PAGE_MAP_BYTES);
	unsigned int i;

	if (!map)
		return ENOMEM;
	for (i = 0; i < p->n; i++)
		e4l_bits_set(map, p->runs[i].first, p->runs[i].last);
	free(p->runs);
	p->map = map;
	p->dense = true;
	return 0;
}

static errcode_t insert_run(struct page *p, unsigned int at, struct run run)
{
	if (e4l_grow(&p->runs, p->n, sizeof(*p->runs)))
		return ENOMEM;
	memmove(p->runs + at + 1, p->runs + at, (p->n - at) * sizeof(run));
	p->runs[at] = run;
	p->n++;
	return 0;
}

/*
 * Returns the number of claimed clusters in [@first, @last].  If this number is
 * not 0, sets *@hit to the first claimed cluster.
 */
static unsigned int count_taken(const struct page *p, unsigned int first,
				unsigned int last, unsigned int *hit)
{
	unsigned int i, n = 0;

	if (p->dense)
		return e4l_bits_count(p->map, first, last, hit);
	for (i = find_run(p, first); i < p->n && p->runs[i].first <= last;
	     i++) {
		unsigned int from = p->runs[i].first, to = p->runs[i].last;

		from = from < first ? first : from;
		to = to > last ? last : to;
		if (!n)
			*hit = from;
		n += to - from + 1;
	}
	return n;
}

/*
 * Claims the clusters from @first to @last, counted from the start of the page,
 * and merges the range with overlapping and adjacent runs.
 */
static errcode_t add_run(struct page *p, unsigned int first, unsigned int last)
{
	unsigned int at = find_run(p, first ? first - 1 : 0), end = at;

	while (end < p->n && p->runs[end].first <= last + 1) {
		if (p->runs[end].first < first)
			first = p->runs[end].first;
		if (p->runs[end].last > last)
			last = p->runs[end].last;
		end++;
	}
	if (at == end)
		return insert_run(p, at, (struct run) { first, last });
	p->runs[at] = (struct run) { first, last };
	memmove(p->runs + at + 1, p->runs + end,
		(p->n - end) * sizeof(*p->runs));
	p->n -= end - at - 1;
	return 0;
}

static errcode_t claim_in_page(struct page *p, unsigned int first,
			       unsigned int last, unsigned int *taken,
			       unsigned int *hit)
{
	errcode_t err = 0;

	*taken = count_taken(p, first, last, hit);
	if (*taken == last - first + 1)
		return 0;
	if (!p->dense && p->n >= MAX_RUNS)
		err = make_dense(p);
	if (err)
		return err;
	if (!p->dense)
		return add_run(p, first, last);
	e4l_bits_set(p->map, first, last);
	return 0;
}

/*
 * Returns how many clusters of a range of @len clusters are in the page in
 * which the range starts.  @at is the first cluster of the range, counted from
 * the start of the page.
 */
static unsigned int part_in_page(unsigned int at, uint64_t len)
{
	return len < PAGE_CLUSTERS - at ? len : PAGE_CLUSTERS - at;
}

uint64_t e4l_owners_count(const struct e4l_owners *o, uint64_t start,
			  uint64_t len, uint64_t *first)
{
	unsigned int n, in_page, hit = 0;
	uint64_t taken = 0;

	for (; len; start += n, len -= n) {
		unsigned int at = start % PAGE_CLUSTERS;

		n = part_in_page(at, len);
		in_page = count_taken(&o->pages[start >> PAGE_BITS], at,
				      at + n - 1, &hit);
		if (in_page && !taken)
			*first = start - at + hit;
		taken += in_page;
	}
	return taken;
}

errcode_t e4l_owners_claim(struct e4l_owners *o, uint64_t start, uint64_t len,
			   uint64_t *taken, uint64_t *first)
{
	unsigned int n, in_page, hit = 0;
	errcode_t err = 0;

	for (; len && !err; start += n, len -= n) {
		unsigned int at = start % PAGE_CLUSTERS;

		n = part_in_page(at, len);
		err = claim_in_page(&o->pages[start >> PAGE_BITS], at,
				    at + n - 1, &in_page, &hit);
		if (!err && in_page && !*taken)
			*first = start - at + hit;
		if (!err)
			*taken += in_page;
	}
	return err;
}

/*
 * For each claimed cluster from @first to @last of the page, sets a bit in
 * @bits, which must be zeroed.  Bit @to stands for cluster @first.
 */
static void page_bits(const struct page *p, unsigned int first,
		      unsigned int last, uint32_t to, uint8_t *bits)
{
	unsigned int i;

	if (p->dense && first % 8 == 0 && to % 8 == 0) {
		memcpy(bits + to / 8, p->map + first / 8,
		       (last - first) / 8 + 1);
		return;
	}
	if (p->dense) {
		for (i = first; i <= last; i++)
			if (map_test(p->map, i))
				e4l_bits_set(bits, to + i - first,
					     to + i - first);
		return;
	}
	for (i = find_run(p, first); i < p->n && p->runs[i].first <= last;
	     i++) {
		unsigned int from = p->runs[i].first, end = p->runs[i].last;

		from = from < first ? first : from;
		end = end > last ? last : end;
		e4l_bits_set(bits, to + from - first, to + end - first);
	}
}

void e4l_owners_bits(const struct e4l_owners *o, uint64_t start, uint32_t n,
		     uint8_t *bits)
{
	uint32_t to = 0, part;

	memset(bits, 0, (n + 7) / 8);
	for (; n; start += part, n -= part, to += part) {
		unsigned int at = start % PAGE_CLUSTERS;

		part = part_in_page(at, n);
		page_bits(&o->pages[start >> PAGE_BITS], at, at + part - 1, to,
			  bits);
	}
	/* the last byte copied from a bitmap may have bits beyond the range */
	if (to % 8)
		bits[to / 8] &= (1 << to % 8) - 1;
}
