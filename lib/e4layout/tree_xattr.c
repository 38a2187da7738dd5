/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The attributes of a tree's nodes: sets, each kept once. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tree.h"

#define MAX_XATTR_BYTES 65536	/* XATTR_SIZE_MAX in Linux */

struct prefix {
	const char *text;
	uint8_t index;
	bool whole;		/* the text is the whole name */
};

/* Documentation/filesystems/ext4/attributes.rst in Linux. */
static const struct prefix prefixes[] = {
	{ "user.", 1, false },
	{ "system.posix_acl_access", 2, true },
	{ "system.posix_acl_default", 3, true },
	{ "trusted.", 4, false },
	{ "security.", 6, false },
};

static const struct prefix *find_prefix(const char *name)
{
	size_t i, len;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		len = strlen(prefixes[i].text);
		if (!strncmp(name, prefixes[i].text, len) &&
		    (prefixes[i].whole ? !name[len] : name[len]))
			return &prefixes[i];
	}
	return NULL;
}

static uint16_t get16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

/*
 * Turns an ACL as getxattr(2) gives it (version 2, then entries of 8 bytes)
 * into what ext4 stores: version 1, and only users and groups that are named
 * have an id.  What ext4 stores stays as it is.  Returns the length, or 0 when
 * it is neither.
 */
static size_t acl_to_disk(const uint8_t *acl, size_t len, uint8_t *out)
{
	static const uint8_t version[4] = { 1 };
	size_t at, n = sizeof(version);

	if (len >= 4 && !memcmp(acl, version, sizeof(version))) {
		memcpy(out, acl, len);
		return len;
	}
	if (len < 4 || (len - 4) % 8 || get16(acl) != 2 || get16(acl + 2))
		return 0;
	memcpy(out, version, sizeof(version));
	for (at = 4; at < len; at += 8) {
		bool named = get16(acl + at) == 2 || get16(acl + at) == 8;

		memcpy(out + n, acl + at, named ? 8 : 4);
		n += named ? 8 : 4;
	}
	return n;
}

static int by_name(const void *a, const void *b)
{
	const struct e4l_tree_xattr *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Appends one attribute's record; those that ext4 has no place for are not. */
static errcode_t add_record(struct e4l_tree *t, const struct e4l_tree_xattr *x)
{
	const struct prefix *prefix = find_prefix(x->name);
	struct xrecord rec;
	const char *name;
	char *out;

	if (!prefix)
		return 0;
	name = x->name + strlen(prefix->text);
	if (strlen(name) > 255 || x->size > MAX_XATTR_BYTES)
		return E4L_ET_XATTR_TOO_LARGE;
	rec = (struct xrecord) {
		.index = prefix->index,
		.name_len = strlen(name),
		.value_len = x->size,
	};
	if (vec_room(&t->xbytes, sizeof(rec) + rec.name_len + x->size))
		return ENOMEM;
	out = t->xbytes.v + t->xbytes.n;
	if (prefix->whole) {
		rec.value_len = acl_to_disk(x->value, x->size,
					    (uint8_t *)out + sizeof(rec));
		if (!rec.value_len)
			return E4L_ET_BAD_ACL;
	} else {
		memcpy(out + sizeof(rec), name, rec.name_len);
		memcpy(out + sizeof(rec) + rec.name_len, x->value, x->size);
	}
	memcpy(out, &rec, sizeof(rec));
	t->xbytes.n += sizeof(rec) + rec.name_len + rec.value_len;
	return 0;
}

errcode_t tree_grow_sets(struct e4l_tree *t)
{
	size_t i, at, mask = t->set_mask * 2 + 1;
	uint32_t *table = calloc(mask + 1, sizeof(*table));

	if (!table)
		return ENOMEM;
	for (i = 1; i < t->sets.n; i++) {
		for (at = t->sets.v[i].hash & mask; table[at];)
			at = (at + 1) & mask;
		table[at] = i;
	}
	free(t->set_table);
	t->set_table = table;
	t->set_mask = mask;
	return 0;
}

/* The set that equals the records from @at on, which are dropped if it is not
 * a new one. */
static errcode_t find_set(struct e4l_tree *t, size_t at, uint32_t *ret)
{
	struct xset *set, new = { .at = at, .len = t->xbytes.n - at };
	size_t i;

	new.hash = tree_hash(t->xbytes.v + at, new.len, 0);
	if ((t->sets.n * 2 > t->set_mask && tree_grow_sets(t)) ||
	    vec_room(&t->sets, 1))
		return ENOMEM;
	for (i = new.hash & t->set_mask; t->set_table[i];
	     i = (i + 1) & t->set_mask) {
		set = &t->sets.v[t->set_table[i]];
		if (set->hash == new.hash && set->len == new.len &&
		    !memcmp(t->xbytes.v + set->at, t->xbytes.v + at, new.len)) {
			t->xbytes.n = at;
			*ret = t->set_table[i];
			return 0;
		}
	}
	*ret = t->set_table[i] = t->sets.n;
	t->sets.v[t->sets.n++] = new;
	return 0;
}

errcode_t tree_intern(struct e4l_tree *t, const struct e4l_tree_xattr *attrs,
		      size_t n, uint32_t *set)
{
	struct e4l_tree_xattr *sorted;
	size_t at = t->xbytes.n, i;
	errcode_t err = 0;

	*set = 0;
	if (!n)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return ENOMEM;
	memcpy(sorted, attrs, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 0; i < n && !err; i++)
		err = add_record(t, &sorted[i]);
	free(sorted);
	if (!err && t->xbytes.n > at)
		err = find_set(t, at, set);
	if (err)
		t->xbytes.n = at;
	return err;
}

size_t tree_record(const struct e4l_tree *t, size_t at, struct xrecord *rec,
		   const char **name, const char **value)
{
	memcpy(rec, t->xbytes.v + at, sizeof(*rec));
	*name = t->xbytes.v + at + sizeof(*rec);
	*value = *name + rec->name_len;
	return at + sizeof(*rec) + rec->name_len + rec->value_len;
}

/* ---------------------------------------------------------------- tunables */

/* How a record's whole name compares with that of the tunables. */
static int compare_tunables(const struct xrecord *rec, const char *name)
{
	const struct prefix *p = prefixes;
	char whole[300];

	while (p->index != rec->index)
		p++;
	snprintf(whole, sizeof(whole), "%s%.*s", p->text, rec->name_len, name);
	return strcmp(whole, E4L_TUNABLES_XATTR);
}

errcode_t e4l_tree_get_tunables(const struct e4l_tree *t,
				struct e4l_tunables **ret)
{
	const struct xset *set =
			&t->sets.v[t->nodes.v[E4L_TREE_ROOT].xattr];
	size_t at = set->at, end = set->at + set->len;
	const char *name, *value;
	struct xrecord rec;

	while (at < end) {
		at = tree_record(t, at, &rec, &name, &value);
		if (!compare_tunables(&rec, name))
			return e4l_tunables_parse(value, rec.value_len, ret);
	}
	return e4l_tunables_parse("", 0, ret);
}

/* Appends the records of @set, with @x in its place among them. */
static errcode_t copy_set(struct e4l_tree *t, const struct xset *set,
			  const struct e4l_tree_xattr *x)
{
	size_t at = set->at, end = at + set->len, next;
	const char *name, *value;
	bool put = !x->size;
	struct xrecord rec;
	errcode_t err = 0;
	int cmp;

	for (; at < end && !err; at = next) {
		next = tree_record(t, at, &rec, &name, &value);
		cmp = compare_tunables(&rec, name);
		if (!cmp)
			continue;
		if (cmp > 0 && !put) {
			err = add_record(t, x);
			put = true;
		}
		if (err || vec_room(&t->xbytes, next - at))
			return err ? err : ENOMEM;
		memcpy(t->xbytes.v + t->xbytes.n, t->xbytes.v + at, next - at);
		t->xbytes.n += next - at;
	}
	return err || put ? err : add_record(t, x);
}

errcode_t e4l_tree_set_tunables(struct e4l_tree *t,
				const struct e4l_tunables *tunables)
{
	uint32_t *set = &t->nodes.v[E4L_TREE_ROOT].xattr;
	char text[E4L_TUNABLES_MAX + 1];
	struct e4l_tree_xattr x = {
		.name = E4L_TUNABLES_XATTR, .value = text,
		.size = e4l_tunables_text(tunables, text),
	};
	size_t at = t->xbytes.n;
	errcode_t err = copy_set(t, &t->sets.v[*set], &x);

	if (!err && t->xbytes.n == at)
		*set = 0;
	else if (!err)
		err = find_set(t, at, set);
	if (err)
		t->xbytes.n = at;
	return err;
}
