/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "fit.h"

#define WORDS		((E4L_FIT_LISTS + E4L_WORD_BITS - 1) / E4L_WORD_BITS)
#define WORD_WORDS	((WORDS + E4L_WORD_BITS - 1) / E4L_WORD_BITS)
/* a search compares at most the first TRIES extents of a list */
#define TRIES		64

static uint32_t list_of(uint32_t len)
{
	unsigned int log = 31 - __builtin_clz(len | 1);

	if (len < E4L_FIT_EXACT)
		return len;
	return E4L_FIT_EXACT + (log - 16) * 32 + (len >> (log - 5) & 31);
}

static void put(struct e4l_fit *fit, uint32_t i)
{
	uint32_t list;

	if (!fit->run[i].len)
		return;
	list = list_of(fit->run[i].len);
	fit->next[i] = e4l_map_test(fit->any, list) ? fit->head[list] : E4L_NONE;
	fit->head[list] = i;
	e4l_map_set(fit->any, list, list + 1, true);
	list /= E4L_WORD_BITS;
	e4l_map_set(fit->any_word, list, list + 1, true);
}

static errcode_t add(struct e4l_fit *fit, const struct e4l_span *run)
{
	size_t max = fit->max;
	errcode_t err = e4l_reserve(&fit->run, fit->n, &max, 1,
				    sizeof(*fit->run));

	if (!err)
		err = e4l_reserve(&fit->next, fit->n, &fit->max, 1,
				  sizeof(*fit->next));
	if (err)
		return err;
	fit->run[fit->n] = *run;
	put(fit, fit->n++);
	return 0;
}

errcode_t e4l_fit_begin(struct e4l_fit *fit, const uint64_t *map,
			uint32_t clusters)
{
	struct e4l_span run = { 0 };
	errcode_t err = 0;

	if (!fit->head) {
		fit->head = calloc(E4L_FIT_LISTS, sizeof(*fit->head));
		fit->any = calloc(WORDS, sizeof(*fit->any));
		fit->any_word = calloc(WORD_WORDS, sizeof(*fit->any_word));
		if (!fit->head || !fit->any || !fit->any_word)
			return ENOMEM;
	}
	memset(fit->any, 0, WORDS * sizeof(*fit->any));
	memset(fit->any_word, 0, WORD_WORDS * sizeof(*fit->any_word));
	fit->n = 0;
	while (!err && e4l_map_next_clear(map, clusters, &run))
		err = add(fit, &run);
	return err;
}

/*
 * Returns the first non-empty list from @list on, or E4L_NONE if the lists from
 * @list on are empty.
 */
static uint32_t next_list(const struct e4l_fit *fit, uint32_t list)
{
	uint32_t word = list / E4L_WORD_BITS, end = (word + 1) * E4L_WORD_BITS;

	if (list >= E4L_FIT_LISTS)
		return E4L_NONE;
	list = e4l_map_next(fit->any, list, end, true);
	if (list < end)
		return list;
	word = e4l_map_next(fit->any_word, word + 1, WORDS, true);
	if (word == WORDS)
		return E4L_NONE;
	return word * E4L_WORD_BITS + __builtin_ctzll(fit->any[word]);
}

/*
 * Removes the extent whose index is *@link from @list, and returns the index.
 * @link is the head of @list or an element of fit->next.
 */
static uint32_t unlink_run(struct e4l_fit *fit, uint32_t list, uint32_t *link)
{
	uint32_t i = *link, word = list / E4L_WORD_BITS;

	*link = fit->next[i];
	if (fit->head[list] != E4L_NONE)
		return i;
	e4l_map_set(fit->any, list, list + 1, false);
	if (!fit->any[word])
		e4l_map_set(fit->any_word, word, word + 1, false);
	return i;
}

/*
 * Returns a pointer to the list link of the shortest extent of at least @len
 * clusters among the first TRIES extents of @list.  If no extent is long
 * enough, returns NULL.
 */
static uint32_t *tightest(struct e4l_fit *fit, uint32_t list, uint32_t len)
{
	uint32_t *link = &fit->head[list], *best = NULL;
	unsigned int tries;

	for (tries = 0; *link != E4L_NONE && tries < TRIES; tries++) {
		if (fit->run[*link].len >= len &&
		    (!best || fit->run[*link].len < fit->run[*best].len))
			best = link;
		link = &fit->next[*link];
	}
	return best;
}

/*
 * Removes the shortest listed extent of at least @len clusters from its list.
 * Returns the index of the extent, or E4L_NONE if no extent was found.
 */
static uint32_t take_out(struct e4l_fit *fit, uint32_t len)
{
	uint32_t list = next_list(fit, list_of(len)), *link;

	while (list != E4L_NONE) {
		link = tightest(fit, list, len);
		if (link)
			return unlink_run(fit, list, link);
		list = next_list(fit, list + 1);
	}
	return E4L_NONE;
}

uint32_t e4l_fit_take(struct e4l_fit *fit, uint32_t len)
{
	uint32_t i = take_out(fit, len), start;

	if (i == E4L_NONE)
		return E4L_NONE;
	start = fit->run[i].start;
	fit->run[i].start += len;
	fit->run[i].len -= len;
	put(fit, i);
	return start;
}

errcode_t e4l_fit_take_aligned(struct e4l_fit *fit, uint32_t len,
			       uint32_t align, uint32_t *start)
{
	uint32_t i = E4L_NONE, end, at;

	*start = E4L_NONE;
	if (len <= UINT32_MAX - align)
		i = take_out(fit, len + align - 1);
	if (i == E4L_NONE)
		return 0;
	at = fit->run[i].start;
	end = at + fit->run[i].len;
	*start = at + (align - at % align) % align;
	fit->run[i].len = *start - at;
	put(fit, i);
	at = *start + len;
	return at == end ? 0 : add(fit, &(struct e4l_span) { at, end - at });
}

void e4l_fit_free(struct e4l_fit *fit)
{
	free(fit->head);
	free(fit->any);
	free(fit->any_word);
	free(fit->run);
	free(fit->next);
	*fit = (struct e4l_fit) { 0 };
}
