/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes random cases of one to three changes of fields or bytes, mostly with
 * recomputed checksums.  Each kind of structure has the same probability.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "corrupt.h"
#include "e4layout/base/array.h"

#define MAX_CHANGES	3
#define LABEL_LEN	96

struct spot {
	struct site site;
	/*
	 * if @field has no name, a change affects random bytes of the block or
	 * structure that the checksum of @site covers
	 */
	struct field field;
};

struct spots {
	struct spot *v;
	size_t n;
	/*
	 * first[kind]: index in @v of the first spot in structures of that
	 * kind; first[n_kinds] is @n
	 */
	size_t *first;
	size_t n_kinds;
	uint64_t state;
};

/* ---- random numbers: xorshift64*, the same on every system ---- */

static uint64_t draw(struct spots *all)
{
	all->state ^= all->state >> 12;
	all->state ^= all->state << 25;
	all->state ^= all->state >> 27;
	return all->state * 0x2545F4914F6CDD1DULL;
}

static uint64_t below(struct spots *all, uint64_t n)
{
	return (draw(all) >> 16) % n;
}

/* ---- the fields of the image ---- */

static void note_spot(struct corpus *c, const struct site *s,
		      const struct field *f)
{
	struct spots *all = c->spots;
	struct spot *spot;

	die_if(e4l_grow(&all->v, all->n, sizeof(*all->v)), "noting a field");
	spot = &all->v[all->n++];
	*spot = (struct spot) { .site = *s };
	if (f)
		spot->field = *f;
	spot->site.name = strdup(s->name);
	if (!spot->site.name)
		die_if(ENOMEM, "noting a field");
}

static int spot_cmp(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;
	int by_name = strcmp(x->site.name, y->site.name);

	if (by_name)
		return by_name;
	if (x->site.at != y->site.at)
		return x->site.at < y->site.at ? -1 : 1;
	return x->field.off - y->field.off;
}

static void sort_spots(struct spots *all)
{
	size_t i;

	qsort(all->v, all->n, sizeof(*all->v), spot_cmp);
	all->first = calloc(all->n + 1, sizeof(*all->first));
	if (!all->first)
		die_if(ENOMEM, "sorting fields");
	for (i = 0; i < all->n; i++)
		if (!i || strcmp(all->v[i].site.name, all->v[i - 1].site.name))
			all->first[all->n_kinds++] = i;
	all->first[all->n_kinds] = all->n;
}

static const struct spot *choose(struct spots *all)
{
	size_t kind = below(all, all->n_kinds);
	size_t first = all->first[kind];

	return &all->v[first + below(all, all->first[kind + 1] - first)];
}

/* Returns the size of the block or structure that the checksum of @s covers. */
static uint32_t sealed_bytes(const struct corpus *c, const struct site *s)
{
	if (s->seal == seal_super)
		return SUPERBLOCK_SIZE;
	if (s->seal == seal_group)
		return EXT2_DESC_SIZE(c->fs->super);
	return s->seal == seal_inode ? EXT2_INODE_SIZE(c->fs->super) :
				       c->fs->blocksize;
}

/* ---- one change ---- */

struct change {
	const struct site *site;
	char field[40];
	uint64_t at, value;
	unsigned int width;
};

/* Returns a value that is valid in another field, or nearly valid. */
static uint64_t plausible(struct corpus *c)
{
	struct ext2_super_block *super = c->fs->super;
	const uint64_t values[] = {
		c->data_blk, c->table_blk, c->bitmap_blk, c->free_blk,
		c->file_ino, c->dir_ino, c->free_ino,
		ext2fs_blocks_count(super), super->s_inodes_count,
		super->s_inodes_per_group, super->s_blocks_per_group,
		super->s_first_ino, c->fs->blocksize, 8 * c->fs->blocksize,
		EXT2_INODE_SIZE(super), EXT2_DESC_SIZE(super),
		EXT2_EXT_ATTR_MAGIC, 0xF30A, 0x10000, 0x8000, 0xFFFF,
	};
	const unsigned int n = sizeof(values) / sizeof(*values);

	return values[below(c->spots, n)];
}

static uint64_t new_value(struct corpus *c, const struct change *change)
{
	struct spots *all = c->spots;
	uint64_t old = get_le(c, change->at, change->width);
	unsigned int bits = 8 * change->width;
	const struct spot *other;

	switch (below(all, 8)) {
	case 0:
		return draw(all);
	case 1:
	case 2:
		return old ^ 1ULL << below(all, bits);
	case 3:
		return below(all, 17);
	case 4:
		return old + below(all, 17) - 8;
	case 5:
		other = choose(all);
		return get_le(c, other->site.at + other->field.off,
			      change->width);
	case 6:
		return below(all, 3) - 1 + plausible(c);
	default:
		return ~below(all, 9);
	}
}

/*
 * Sets change->field to the name of the field that contains byte change->at.
 * If no field contains the byte, sets change->field to "+OFFSET", with the
 * offset in the block or structure.
 */
static void name_field(const struct spots *all, struct change *change)
{
	uint64_t container = change->site->container;
	size_t i;

	snprintf(change->field, sizeof(change->field), "+%" PRIu64,
		 change->at - container);
	for (i = 0; i < all->n; i++) {
		const struct spot *spot = &all->v[i];
		uint64_t at = spot->site.at + spot->field.off;

		if (spot->site.container != container || !spot->field.name ||
		    change->at < at || change->at >= at + spot->field.width)
			continue;
		change->site = &spot->site;
		snprintf(change->field, sizeof(change->field), "%s",
			 spot->field.name);
		return;
	}
}

static void choose_change(struct corpus *c, struct change *change)
{
	struct spots *all = c->spots;
	const struct spot *spot = choose(all);
	uint32_t bytes = sealed_bytes(c, &spot->site);

	change->site = &spot->site;
	if (spot->field.name && below(all, 4)) {
		change->at = spot->site.at + spot->field.off;
		change->width = spot->field.width;
		snprintf(change->field, sizeof(change->field), "%s",
			 spot->field.name);
	} else {
		change->width = 1 << below(all, 3);
		change->at = spot->site.container +
			     below(all, bytes / change->width) * change->width;
		name_field(all, change);
	}
	if (change->at + change->width > c->bytes)
		change->at = spot->site.at;
	change->value = new_value(c, change);
}

/* ---- cases ---- */

static void make_change(struct corpus *c, struct change *change, bool sealed)
{
	unsigned int i;
	uint8_t bytes[8];

	for (i = 0; i < change->width; i++)
		bytes[i] = change->value >> 8 * i;
	put(c, change->at, bytes, change->width);
	change->value = get_le(c, change->at, change->width);
	if (sealed)
		change->site->seal(c, change->site);
}

/*
 * Makes a case of one to three random changes.  The names of the changed
 * structures and fields, and the values, are listed with semicolons.
 */
static void make_case(struct corpus *c)
{
	static const unsigned int counts[] = { 1, 1, 1, 1, 1, 2, 2, 2, 2, 3 };
	struct spots *all = c->spots;
	unsigned int n = counts[below(all, 10)], i;
	char names[MAX_CHANGES * LABEL_LEN] = "", label[LABEL_LEN];
	char fields[MAX_CHANGES * LABEL_LEN] = "";
	char values[MAX_CHANGES * LABEL_LEN] = "";
	bool sealed = below(all, 6);
	struct site site;
	struct change change;

	for (i = 0; i < n; i++) {
		choose_change(c, &change);
		make_change(c, &change, sealed);
		snprintf(label, sizeof(label), "%s%s", i ? ";" : "",
			 change.site->name);
		strcat(names, label);
		snprintf(label, sizeof(label), "%s%s", i ? ";" : "",
			 change.field);
		strcat(fields, label);
		snprintf(label, sizeof(label), "%s0x%" PRIx64, i ? ";" : "",
			 change.value);
		strcat(values, label);
		site = *change.site;
	}
	site.name = names;
	c->emit(c, &site, fields, values, sealed ? "sealed" : "stale");
}

void try_randomly(struct corpus *c, uint64_t seed, uint32_t cases)
{
	struct spots all = { .state = seed * 0x9E3779B97F4A7C15ULL + 1 };
	size_t i;

	c->spots = &all;
	c->note = note_spot;
	try_image(c);
	c->note = NULL;
	sort_spots(&all);
	while (cases--) {
		make_case(c);
		undo_case(c);
	}
	for (i = 0; i < all.n; i++)
		free((char *)all.v[i].site.name);
	free(all.v);
	free(all.first);
	c->spots = NULL;
}
