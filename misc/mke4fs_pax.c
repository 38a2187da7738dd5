/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pax header consists of records "LENGTH KEYWORD=VALUE\n".  A global header
 * applies to all members that follow it.  libarchive ignores global headers and
 * malformed records, and reads a value that is not a number as 0.  libarchive
 * also normalizes names, so that two files can get the same name.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <archive_entry.h>
#include "mke4fs_pax.h"
#include "support/say.h"

struct record {
	const char *key, *value;	/* @value ends with a NUL */
	size_t key_len, value_len;
};

/* The current member. */
struct pax {
	struct load *l;
	struct archive_entry *entry;
	/* use the names in the pax headers */
	bool has_names;
	bool has_sparse_name;
};

/*
 * Reads the next record of the @len bytes at *@p, and replaces the newline
 * after its value by a NUL.  If the record is malformed, returns false.
 */
static bool next_record(char **p, size_t *len, struct record *r)
{
	const char *end = *p + *len, *at = *p, *equals;
	size_t n = 0;

	for (; at < end && *at >= '0' && *at <= '9' && n <= *len; at++)
		n = n * 10 + (*at - '0');
	if (at == *p || at == end || *at++ != ' ' || n > *len ||
	    *p + n <= at || (*p)[n - 1] != '\n')
		return false;
	end = *p + n - 1;
	equals = memchr(at, '=', end - at);
	if (!equals || equals == at || memchr(at, '\0', equals - at))
		return false;
	*r = (struct record) {
		.key = at, .key_len = equals - at,
		.value = equals + 1, .value_len = end - equals - 1,
	};
	(*p)[n - 1] = '\0';
	*p += n;
	*len -= n;
	return true;
}

static bool has_key(const struct record *r, const char *key)
{
	return strlen(key) == r->key_len && !memcmp(r->key, key, r->key_len);
}

/*
 * Returns whether a record of a global header has no effect on files.  Names of
 * owners are not used, and git writes the ID of a commit as a comment.
 */
static bool has_no_effect(const struct record *r)
{
	return has_key(r, "comment") || has_key(r, "uname") ||
	       has_key(r, "gname");
}

static bool check_global(const struct load *l, const struct record *r)
{
	if (has_no_effect(r))
		return true;
	say("%s: the global pax header sets %.*s, which is not supported: "
	    "unpack the archive, and give the directory to -d",
	    l->name, (int)r->key_len, r->key);
	return false;
}

/*
 * Returns whether @value is a decimal number, possibly negative; if
 * @has_fraction is true, it may have a fraction.
 */
static bool is_number(const char *value, bool has_fraction)
{
	static const char digits[] = "0123456789";
	size_t len, more = 0;

	value += *value == '-';
	len = strspn(value, digits);
	value += len;
	if (has_fraction && *value == '.')
		more = strspn(++value, digits);
	return len + more && !value[more];
}

static bool is_valid(const struct record *r)
{
	static const struct {
		const char *key;
		bool is_number, has_fraction;
	} kinds[] = {
		{ "path", false, false }, { "linkpath", false, false },
		{ "uid", true, false }, { "gid", true, false },
		{ "size", true, false }, { "SCHILY.devmajor", true, false },
		{ "SCHILY.devminor", true, false }, { "mtime", true, true },
		{ "atime", true, true }, { "ctime", true, true },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (has_key(r, kinds[i].key))
			return strlen(r->value) == r->value_len &&
			       (!kinds[i].is_number ||
				is_number(r->value, kinds[i].has_fraction));
	return true;
}

static bool check_local(const struct load *l, const struct record *r)
{
	if (is_valid(r))
		return true;
	say("%s: %s: invalid value of %.*s in the pax header", l->name,
	    l->path ? l->path : "archive", (int)r->key_len, r->key);
	return false;
}

static bool is_ascii(const char *name)
{
	while (name && *name && !(*name & 0x80))
		name++;
	return !name || !*name;
}

static void set_path(struct pax *x, const char *path)
{
	archive_entry_copy_pathname(x->entry, path);
	x->l->path = archive_entry_pathname(x->entry);
}

static void take_name(struct pax *x, const struct record *r)
{
	bool is_sparse = has_key(r, "GNU.sparse.name");

	x->has_sparse_name |= is_sparse;
	if (is_sparse || (has_key(r, "path") && !x->has_sparse_name))
		set_path(x, r->value);
	else if (!has_key(r, "linkpath"))
		return;
	else if (archive_entry_hardlink(x->entry))
		archive_entry_copy_hardlink(x->entry, r->value);
	else if (archive_entry_symlink(x->entry))
		archive_entry_copy_symlink(x->entry, r->value);
}

static bool take_records(struct pax *x, const struct ustar *h, char *p)
{
	bool is_global = h->type == 'g';
	size_t len = h->size;
	struct record r;

	while (len) {
		if (!next_record(&p, &len, &r))
			return complain(x->l, "malformed pax header");
		if (!(is_global ? check_global : check_local)(x->l, &r))
			return false;
		if (!is_global && x->has_names)
			take_name(x, &r);
	}
	return true;
}

static bool take_header(struct pax *x, const struct stream *s,
			const struct ustar *h, uint64_t at)
{
	char *records = malloc(h->size + 1);
	bool done;

	if (!records)
		return complain(x->l, "out of memory");
	done = stream_recall(s, at + USTAR_BLOCK_BYTES, records, h->size) ?
	       take_records(x, h, records) :
	       complain(x->l, "the pax header cannot be checked");
	free(records);
	return done;
}

bool pax_take(struct load *l, struct archive *a, struct archive_entry *entry,
	      const struct stream *s, uint64_t first,
	      struct ustar_member *found)
{
	uint64_t end = first + archive_filter_bytes(a, 0);
	struct pax x = { .l = l, .entry = entry };
	struct ustar *h = &found->h;

	found->at = first + archive_read_header_position(a);
	found->is_pax = false;
	x.has_names = !is_ascii(archive_entry_pathname(entry)) ||
		      !is_ascii(archive_entry_hardlink(entry)) ||
		      !is_ascii(archive_entry_symlink(entry));
	while (ustar_read(s, found->at, end, h)) {
		if (!ustar_is_extra(h))
			return true;
		/* libarchive does not skip the data of a volume header */
		if (h->type == 'V' && h->size)
			break;
		found->is_pax |= ustar_is_pax(h);
		if (ustar_is_pax(h) && !take_header(&x, s, h, found->at))
			return false;
		found->at = h->next;
	}
	return complain(l, "the headers of the member cannot be checked");
}
