/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes changes that the user gives as STRUCTURE[@NUMBER][:N].FIELD=VALUE, and
 * recomputes the checksums over the field, unless the field is a checksum.
 *
 * corrupt --list prints STRUCTURE, NUMBER (of an inode, group or block) and
 * FIELD.  N, from 0, selects one of several matches.  FIELD can also be
 * +OFFSET: a byte of the block or inode.  VALUE is a number, old+X, old-X, ^X
 * (bits to flip), or the name of a block or inode: see target_of().
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include "corrupt.h"

struct wish {
	/* pointers into a copy of the argument */
	char *structure, *field, *value;
	uint32_t number;
	bool any_number;
	unsigned long skip; /* number of matching fields that are skipped */
	bool found;
	struct site site;
	struct field f;
};

struct wishes {
	struct wish *v;
	size_t n;
};

static noreturn void refuse(const char *change, const char *why)
{
	fprintf(stderr, "corrupt: %s: %s\n", change, why);
	exit(2);
}

/*
 * Cuts @text at the first @sign, and returns the text after @sign.  If @text
 * does not contain @sign, returns NULL.
 */
static char *cut(char *text, char sign)
{
	char *at = strchr(text, sign);

	if (at)
		*at++ = '\0';
	return at;
}

static void parse(struct wish *w, const char *change, bool needs_value)
{
	char *text = strdup(change), *nth, *number;

	if (!text)
		die_if(ENOMEM, "a change");
	w->structure = text;
	w->field = cut(text, '.');
	w->value = w->field ? cut(w->field, '=') : NULL;
	if (needs_value != (w->value != NULL))
		refuse(change, "not STRUCTURE[@NUMBER][:N][.FIELD=VALUE]");
	nth = cut(text, ':');
	number = cut(text, '@');
	w->skip = nth ? strtoul(nth, NULL, 10) : 0;
	w->any_number = !number;
	w->number = number ? strtoul(number, NULL, 10) : 0;
}

static bool is_wished(const struct wish *w, const struct site *s,
		      const struct field *f)
{
	return !w->found && !strcmp(w->structure, s->name) &&
	       (w->any_number || w->number == s->number) &&
	       (!w->field || *w->field == '+' ? !f || !f->off :
		f && !strcmp(w->field, f->name));
}

static void note_wish(struct corpus *c, const struct site *s,
		      const struct field *f)
{
	size_t i;

	for (i = 0; i < c->wishes->n; i++) {
		struct wish *w = &c->wishes->v[i];

		if (!is_wished(w, s, f) || w->skip--)
			continue;
		w->found = true;
		w->site = *s;
		if (!w->field || *w->field == '+')
			w->f = (struct field) { w->field, 0, 1, NUM };
		else
			w->f = *f;
	}
}

/* Sets *@ret to the number of the block or inode that is called @name. */
static bool target_of(const struct corpus *c, const char *name, uint64_t *ret)
{
	const struct { const char *name; uint64_t value; } targets[] = {
		{ "data", c->data_blk }, { "table", c->table_blk },
		{ "bitmap", c->bitmap_blk }, { "free-block", c->free_blk },
		{ "file", c->file_ino }, { "dir", c->dir_ino },
		{ "free-inode", c->free_ino },
		{ "blocks", ext2fs_blocks_count(c->fs->super) },
	};
	size_t i;

	for (i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		*ret = targets[i].value;
		if (!strcmp(name, targets[i].name))
			return true;
	}
	return false;
}

static uint64_t new_value(const struct corpus *c, const struct wish *w,
			  uint64_t old)
{
	const char *digits = w->value;
	uint64_t value;
	char *end;

	if (target_of(c, w->value, &value))
		return value;
	if (!strncmp(digits, "old", 3))
		digits += 3;
	else if (*digits == '^')
		digits++;
	value = strtoull(digits, &end, 0);
	if (end == digits || *end)
		refuse(w->value, "not a value");
	if (*w->value == '^')
		return old ^ value;
	return *w->value == 'o' ? old + value : value;
}

static void look_up(struct corpus *c, struct wishes *wishes)
{
	size_t i;

	c->wishes = wishes;
	c->note = note_wish;
	try_image(c);
	c->note = NULL;
	c->wishes = NULL;
	for (i = 0; i < wishes->n; i++)
		if (!wishes->v[i].found)
			refuse(wishes->v[i].structure, "there is no such "
			       "structure with such a field");
}

static void grant(struct corpus *c, const struct wish *w)
{
	struct site where = w->site;
	uint64_t value;

	if (*w->field == '+')
		where.at = where.container + strtoul(w->field + 1, NULL, 10);
	value = new_value(c, w, get_field(c, &where, &w->f));
	if (w->f.kind & BE)
		put_be(c, where.at + w->f.off, w->f.width, value);
	else
		put_le(c, where.at + w->f.off, w->f.width, value);
	if (w->f.kind != CSUM)
		w->site.seal(c, &w->site);
}

void set_fields(struct corpus *c, char **changes, size_t n)
{
	struct wishes wishes = { .v = calloc(n, sizeof(*wishes.v)), .n = n };
	size_t i;

	if (!wishes.v)
		die_if(ENOMEM, "changes");
	for (i = 0; i < n; i++)
		parse(&wishes.v[i], changes[i], true);
	look_up(c, &wishes);
	for (i = 0; i < n; i++) {
		grant(c, &wishes.v[i]);
		free(wishes.v[i].structure);
	}
	free(wishes.v);
}

uint64_t where_is(struct corpus *c, const char *structure)
{
	struct wish wish = { 0 };
	struct wishes wishes = { .v = &wish, .n = 1 };

	parse(&wish, structure, false);
	look_up(c, &wishes);
	free(wish.structure);
	return wish.site.container;
}
