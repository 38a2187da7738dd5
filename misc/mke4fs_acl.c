/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the ACLs of an archive's entries.  An archive stores an ACL as text,
 * with numbers or only names of users and groups, or in the form of
 * getxattr(2).
 */
#include "config.h"
#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "mke4fs_source.h"
#include "support/say.h"

/* Tags of linux/posix_acl.h, in ascending order. */
enum {
	TAG_USER_OBJ = 0x01, TAG_USER = 0x02, TAG_GROUP_OBJ = 0x04,
	TAG_GROUP = 0x08, TAG_MASK = 0x10, TAG_OTHER = 0x20,
};

#define XATTR_VERSION		2
#define HEADER_BYTES		4
#define ENTRY_BYTES		8

struct acl_entry {
	uint16_t tag, perm;
	uint32_t id;
};

struct acl {
	struct acl_entry *v;
	size_t n;
};

static bool is_named(const struct acl_entry *e)
{
	return e->tag & (TAG_USER | TAG_GROUP);
}

/* ------------------------------------------------------------------ reading */

static uint16_t tag_of(int tag)
{
	static const struct {
		int archive;
		uint16_t tag;
	} tags[] = {
		{ ARCHIVE_ENTRY_ACL_USER_OBJ, TAG_USER_OBJ },
		{ ARCHIVE_ENTRY_ACL_USER, TAG_USER },
		{ ARCHIVE_ENTRY_ACL_GROUP_OBJ, TAG_GROUP_OBJ },
		{ ARCHIVE_ENTRY_ACL_GROUP, TAG_GROUP },
		{ ARCHIVE_ENTRY_ACL_MASK, TAG_MASK },
		{ ARCHIVE_ENTRY_ACL_OTHER, TAG_OTHER },
	};
	size_t i;

	for (i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (tags[i].archive == tag)
			return tags[i].tag;
	return 0;
}

/*
 * Sets *@ret to the ID of the user or group @who.  Uses @id if @id is less than
 * INT_MAX, because libarchive replaces larger IDs with INT_MAX.  Otherwise,
 * unless --numeric-acls is given, uses the ID of @who on this host.  If the ID
 * is unknown, returns false.
 */
static bool find_id(struct acls *a, uint16_t tag, const char *who, int id,
		    uint32_t *ret)
{
	int64_t found = id < INT_MAX ? id : -1;

	if (found < 0 && who && !a->l->c->numeric_acls)
		found = tag == TAG_USER ?
			archive_write_disk_uid(a->names, who, -1) :
			archive_write_disk_gid(a->names, who, -1);
	*ret = found;
	return found >= 0;
}

/*
 * Handles an entry for @who, whose ID is unknown.  If the entry may be omitted,
 * returns true.  Otherwise, prints an error and returns false.
 */
static bool skip_name(struct acls *a, const char *who)
{
	const char *why = a->l->c->numeric_acls ? "has no numeric ID" :
			  "is unknown on this host";

	who = who ? who : "(no name)";
	if (a->l->c->drop_acl_names)
		say("%s: %s: ACL entry omitted: %s %s",
		    a->l->name, a->l->path, who, why);
	else
		say("%s: %s: an ACL contains %s, which %s (--drop-acl-names "
		    "omits such entries)", a->l->name, a->l->path, who, why);
	return a->l->c->drop_acl_names;
}

static bool read_text(struct acls *a, struct archive_entry *entry, int type,
		      struct acl *acl)
{
	int n = archive_entry_acl_reset(entry, type), kind, perm, tag, id;
	struct acl_entry *e;
	const char *who;

	/* An access ACL with three entries only repeats the mode. */
	if (n <= (type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS ? 3 : 0))
		return true;
	acl->v = calloc(n, sizeof(*acl->v));
	if (!acl->v)
		return complain(a->l, "out of memory");
	while (acl->n < (size_t)n && archive_entry_acl_next(entry, type, &kind,
			&perm, &tag, &id, &who) == ARCHIVE_OK) {
		e = &acl->v[acl->n];
		*e = (struct acl_entry) {
			.tag = tag_of(tag), .perm = perm & 7, .id = UINT32_MAX,
		};
		if (!is_named(e) || find_id(a, e->tag, who, id, &e->id))
			acl->n++;
		else if (!skip_name(a, who))
			return false;
	}
	return true;
}

static uint32_t get_le(const uint8_t *p, unsigned int bytes)
{
	return bytes ? p[0] | get_le(p + 1, bytes - 1) << 8 : 0;
}

static bool read_xattr(struct acls *a, const struct e4l_tree_xattr *x,
		       struct acl *acl)
{
	const uint8_t *p = x->value, *end = p + x->size;

	if (x->size < HEADER_BYTES ||
	    (x->size - HEADER_BYTES) % ENTRY_BYTES ||
	    get_le(p, HEADER_BYTES) != XATTR_VERSION)
		return complain(a->l, "invalid ACL");
	acl->v = calloc(x->size / ENTRY_BYTES + 1, sizeof(*acl->v));
	if (!acl->v)
		return complain(a->l, "out of memory");
	for (p += HEADER_BYTES; p < end; p += ENTRY_BYTES)
		acl->v[acl->n++] = (struct acl_entry) {
			.tag = get_le(p, 2), .perm = get_le(p + 2, 2),
			.id = get_le(p + 4, 4),
		};
	return true;
}

/* ------------------------------------------------------------------ writing */

static int by_tag(const void *a, const void *b)
{
	const struct acl_entry *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/*
 * Returns whether setxattr(2) would accept the sorted ACL.  Entries for the
 * owner, the owning group and others are required.  If there are entries for
 * named users or groups, a mask is also required.
 */
static bool is_valid(const struct acl *acl)
{
	const unsigned int base = TAG_USER_OBJ | TAG_GROUP_OBJ | TAG_OTHER;
	unsigned int seen = 0;
	size_t i;

	for (i = 0; i < acl->n; i++) {
		const struct acl_entry *e = &acl->v[i];

		if (!e->tag || e->tag > TAG_OTHER || e->tag & (e->tag - 1) ||
		    e->perm > 7 || (seen & e->tag && !is_named(e)) ||
		    (is_named(e) && e->id == UINT32_MAX))
			return false;
		seen |= e->tag;
	}
	return (seen & base) == base &&
	       (seen & TAG_MASK || !(seen & (TAG_USER | TAG_GROUP)));
}

static void put_le(uint8_t *p, uint32_t value, unsigned int bytes)
{
	for (; bytes--; value >>= 8)
		*p++ = value;
}

/*
 * Sets the permissions in @mode from the ACL.  If the ACL has a mask, the mask
 * replaces the permissions of the owning group.
 */
static void set_mode(const struct acl *acl, uint32_t *mode)
{
	static const struct {
		uint16_t tag;
		unsigned int shift;
	} shifts[] = {
		{ TAG_USER_OBJ, 6 }, { TAG_GROUP_OBJ, 3 }, { TAG_MASK, 3 },
		{ TAG_OTHER, 0 },
	};
	size_t i, k;

	for (i = 0; i < acl->n; i++)
		for (k = 0; k < sizeof(shifts) / sizeof(*shifts); k++)
			if (acl->v[i].tag == shifts[k].tag)
				*mode = (*mode & ~(7u << shifts[k].shift)) |
					acl->v[i].perm << shifts[k].shift;
}

/*
 * Writes the ACL in the form of getxattr(2).  Returns false after printing an
 * error.
 */
static bool write_xattr(struct acls *a, const struct acl *acl, uint8_t **value,
			struct e4l_tree_xattr *x)
{
	uint8_t *p = calloc(1, HEADER_BYTES + acl->n * ENTRY_BYTES);
	size_t i;

	if (!p)
		return complain(a->l, "out of memory");
	free(*value);
	*value = p;
	x->value = p;
	x->size = HEADER_BYTES + acl->n * ENTRY_BYTES;
	put_le(p, XATTR_VERSION, HEADER_BYTES);
	for (i = 0, p += HEADER_BYTES; i < acl->n; i++, p += ENTRY_BYTES) {
		put_le(p, acl->v[i].tag, 2);
		put_le(p + 2, acl->v[i].perm, 2);
		put_le(p + 4, acl->v[i].id, 4);
	}
	return true;
}

bool acls_take(struct acls *a, struct archive_entry *entry, bool is_default,
	       struct e4l_tree_xattr *x, uint32_t *mode)
{
	struct acl acl = { 0 };
	bool done;

	done = x->value ? read_xattr(a, x, &acl) :
	       read_text(a, entry, is_default ? ARCHIVE_ENTRY_ACL_TYPE_DEFAULT :
			 ARCHIVE_ENTRY_ACL_TYPE_ACCESS, &acl);
	x->value = NULL;
	if (!done || !acl.n)
		goto out;
	qsort(acl.v, acl.n, sizeof(*acl.v), by_tag);
	done = is_valid(&acl) || complain(a->l, "invalid ACL");
	if (!done)
		goto out;
	if (!is_default)
		set_mode(&acl, mode);
	/* An access ACL of three entries is equivalent to the mode. */
	if (is_default || acl.n > 3)
		done = write_xattr(a, &acl, &a->value[is_default], x);
out:
	free(acl.v);
	return done;
}

bool acls_start(struct acls *a, const struct load *l)
{
	*a = (struct acls) { .l = l, .names = archive_write_disk_new() };
	if (a->names && archive_write_disk_set_standard_lookup(a->names) ==
			ARCHIVE_OK)
		return true;
	say("out of memory");
	return false;
}

void acls_end(struct acls *a)
{
	archive_write_free(a->names);
	free(a->value[0]);
	free(a->value[1]);
}
