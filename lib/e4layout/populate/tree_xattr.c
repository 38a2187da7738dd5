/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stores the extended attributes of a tree's nodes.  Equal sets of attributes
 * are stored once.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/tunables/tunables.h"
#include "tree.h"

#define MAX_XATTR_BYTES 65536	/* XATTR_SIZE_MAX in Linux */

#define INDEX_ACCESS	2
#define INDEX_DEFAULT	3
#define INDEX_SECURITY	6

struct prefix {
	const char *text;
	uint8_t index;
	bool whole;		/* the text is the whole attribute name */
};

/*
 * The prefixes of attribute names, and their numbers on disk.  Documentation:
 * Documentation/filesystems/ext4/attributes.rst in Linux.
 */
static const struct prefix prefixes[] = {
	{ "user.", 1, false },
	{ "system.posix_acl_access", INDEX_ACCESS, true },
	{ "system.posix_acl_default", INDEX_DEFAULT, true },
	{ "trusted.", 4, false },
	{ "security.", INDEX_SECURITY, false },
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

const char *e4l_tree_xattr_prefix(uint8_t index)
{
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (prefixes[i].index == index)
			return prefixes[i].text;
	return "";
}

bool e4l_tree_stores_xattr(const char *name)
{
	return find_prefix(name);
}

#define EVM_PORTABLE 5	/* EVM_XATTR_PORTABLE_DIGSIG in Linux */

/*
 * Whether the attribute @name must not be copied to the new filesystem.  The
 * array private[] has the names that xattr.conf(5) lists with the action
 * "skip", except names that ext4 cannot store.
 */
bool e4l_xattr_is_private(const char *name, const void *value, size_t size)
{
	static const struct {
		const char *name;
		bool begins;		/* the name begins with the text */
	} private[] = {
		{ "trusted.SGI_ACL_DEFAULT", false },
		{ "trusted.SGI_ACL_FILE", false },
		{ "trusted.SGI_CAP_FILE", false },
		{ "trusted.SGI_MAC_FILE", false },
		{ "trusted.SGI_DMI_", true },
		{ "user.Beagle.", true },
	};
	const uint8_t *kind = value;
	size_t i;

	/*
	 * A portable signature does not depend on the inode and is valid in a
	 * copy.  Image builders rely on portable signatures.
	 */
	if (!strcmp(name, "security.evm"))
		return !size || *kind != EVM_PORTABLE;
	for (i = 0; i < sizeof(private) / sizeof(*private); i++)
		if (private[i].begins ?
		    !strncmp(name, private[i].name, strlen(private[i].name)) :
		    !strcmp(name, private[i].name))
			return true;
	return false;
}

/*
 * Converts an ACL from the format of getxattr(2) (version 2, entries of 8
 * bytes) to ext4's format (version 1; only entries of named users and groups
 * have an ID).  An ACL that is in ext4's format already is copied.  Returns the
 * length, or 0 if the ACL has neither format.
 */
static size_t acl_to_disk(const uint8_t *acl, size_t len, uint8_t *out)
{
	static const uint8_t version[4] = { 1 };
	size_t at, n = sizeof(version);

	if (len >= 4 && !memcmp(acl, version, sizeof(version))) {
		memcpy(out, acl, len);
		return len;
	}
	if (len < 4 || (len - 4) % 8 || get_le16(acl) != 2 || get_le16(acl + 2))
		return 0;
	memcpy(out, version, sizeof(version));
	for (at = 4; at < len; at += 8) {
		bool named = get_le16(acl + at) == 2 || get_le16(acl + at) == 8;

		memcpy(out + n, acl + at, named ? 8 : 4);
		n += named ? 8 : 4;
	}
	return n;
}

/*
 * Compares by name.  Attributes with equal names stay in the order of the
 * array.
 */
static int by_name(const void *a, const void *b)
{
	const struct e4l_tree_xattr *x = *(const struct e4l_tree_xattr **)a;
	const struct e4l_tree_xattr *y = *(const struct e4l_tree_xattr **)b;
	int cmp = strcmp(x->name, y->name);

	return cmp ? cmp : x < y ? -1 : x > y;
}

/* If ext4 can store the attribute @x, appends a record of @x to xbytes. */
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
		return E4L_ET_XATTR_LIMIT;
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
		if (x->size)
			memcpy(out + sizeof(rec) + rec.name_len, x->value,
			       x->size);
	}
	memcpy(out, &rec, sizeof(rec));
	t->xbytes.n += sizeof(rec) + rec.name_len + rec.value_len;
	return 0;
}

errcode_t e4l_tree_grow_sets(struct e4l_tree *t)
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

/*
 * The attributes from offset @at in t->xbytes on form a set.  If t->sets has an
 * equal set, removes the attributes from t->xbytes.  Otherwise, adds the set to
 * t->sets.  Sets *@ret to the index of the set in t->sets.
 */
static errcode_t find_set(struct e4l_tree *t, size_t at, uint32_t *ret)
{
	struct xset *set, new = { .at = at, .len = t->xbytes.n - at };
	size_t i;

	new.hash = e4l_tree_hash(t->xbytes.v + at, new.len, 0);
	if ((t->sets.n * 2 > t->set_mask && e4l_tree_grow_sets(t)) ||
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

errcode_t e4l_tree_intern(struct e4l_tree *t,
			  const struct e4l_tree_xattr *attrs,
			  size_t n, uint32_t *set)
{
	const struct e4l_tree_xattr **sorted;
	size_t at = t->xbytes.n, i;
	errcode_t err = 0;

	*set = 0;
	if (!n)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return ENOMEM;
	for (i = 0; i < n; i++)
		sorted[i] = &attrs[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 0; i < n && !err; i++)
		if (!i || strcmp(sorted[i - 1]->name, sorted[i]->name))
			err = add_record(t, sorted[i]);
	free(sorted);
	if (!err && t->xbytes.n > at)
		err = find_set(t, at, set);
	if (err)
		t->xbytes.n = at;
	return err;
}

size_t e4l_tree_record(const struct e4l_tree *t, size_t at, struct xrecord *rec,
		       const char **name, const char **value)
{
	memcpy(rec, t->xbytes.v + at, sizeof(*rec));
	*name = t->xbytes.v + at + sizeof(*rec);
	*value = *name + rec->name_len;
	return at + sizeof(*rec) + rec->name_len + rec->value_len;
}

/* --------------------------------------------------------------------- ids */

#define ACL_USER_OBJ	0x01
#define ACL_USER	0x02	/* entries with an ID */
#define ACL_GROUP_OBJ	0x04
#define ACL_GROUP	0x08	/* entries with an ID */
#define ACL_MASK	0x10
#define ACL_OTHER	0x20
#define ACL_NAMED_BYTES	8	/* entry with an ID: tag, permissions, ID */
#define ACL_SHORT_BYTES	4

/* size, and offset of rootid, of struct vfs_ns_cap_data in Linux */
#define CAP_V3_BYTES	24
#define CAP_V3_ROOTID	20

struct ids {
	void (*map)(uint32_t *uid, uint32_t *gid, void *priv);
	void *priv;
};

static void map_id(const struct ids *ids, bool is_group, uint8_t *p)
{
	uint32_t id = get_le32(p), other = 0;

	ids->map(is_group ? &other : &id, is_group ? &id : &other, ids->priv);
	id = ext2fs_cpu_to_le32(id);
	memcpy(p, &id, sizeof(id));
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = get_le32((const uint8_t *)a + 4);
	uint32_t y = get_le32((const uint8_t *)b + 4);

	return x < y ? -1 : x > y;
}

/*
 * Sorts @n ACL entries of one tag by ID.  If two entries have the same ID,
 * returns E4L_ET_ACL_MERGED.
 */
static errcode_t sort_named(uint8_t *entries, size_t n)
{
	size_t i;

	qsort(entries, n, ACL_NAMED_BYTES, by_id);
	for (i = 1; i < n; i++)
		if (!by_id(entries + (i - 1) * ACL_NAMED_BYTES,
			   entries + i * ACL_NAMED_BYTES))
			return E4L_ET_ACL_MERGED;
	return 0;
}

static size_t acl_entry_bytes(uint16_t tag)
{
	return tag == ACL_USER || tag == ACL_GROUP ? ACL_NAMED_BYTES :
						     ACL_SHORT_BYTES;
}

/*
 * Maps the IDs of the entries with the tag @named in @acl, which is in ext4's
 * format.
 */
static errcode_t map_acl(const struct ids *ids, uint8_t *acl, size_t len,
			 uint16_t named)
{
	size_t at, size, first = 0, n = 0;
	bool changed = false;
	uint16_t tag;
	uint32_t old;

	for (at = 4; at + ACL_SHORT_BYTES <= len; at += size) {
		tag = get_le16(acl + at);
		size = acl_entry_bytes(tag);
		if (tag != named || at + size > len)
			continue;
		if (n && at != first + n * size)
			return E4L_ET_BAD_ACL;
		first = n++ ? first : at;
		old = get_le32(acl + at + 4);
		map_id(ids, named == ACL_GROUP, acl + at + 4);
		changed |= get_le32(acl + at + 4) != old;
	}
	if (at != len)
		return E4L_ET_BAD_ACL;
	return changed ? sort_named(acl + first, n) : 0;
}

static errcode_t map_record(const struct ids *ids, const struct xrecord *rec,
			    const char *name, uint8_t *value)
{
	errcode_t err = 0;

	if (rec->index == INDEX_ACCESS || rec->index == INDEX_DEFAULT) {
		err = map_acl(ids, value, rec->value_len, ACL_USER);
		if (!err)
			err = map_acl(ids, value, rec->value_len, ACL_GROUP);
	} else if (rec->index == INDEX_SECURITY && rec->name_len == 10 &&
		   !memcmp(name, "capability", 10) &&
		   rec->value_len == CAP_V3_BYTES && value[3] == 3) {
		map_id(ids, false, value + CAP_V3_ROOTID);
	}
	return err;
}

/*
 * Sets *@ret to a set that has the attributes of the set @old with mapped IDs.
 */
static errcode_t map_set(struct e4l_tree *t, const struct ids *ids,
			 uint32_t old, uint32_t *ret)
{
	const struct xset set = t->sets.v[old];
	const size_t begin = t->xbytes.n;
	const char *name, *value;
	size_t at = begin, end = begin + set.len;
	struct xrecord rec;
	errcode_t err = 0;

	if (vec_room(&t->xbytes, set.len))
		return ENOMEM;
	memcpy(t->xbytes.v + begin, t->xbytes.v + set.at, set.len);
	while (at < end && !err) {
		at = e4l_tree_record(t, at, &rec, &name, &value);
		err = map_record(ids, &rec, name, (uint8_t *)value);
	}
	*ret = old;
	if (!err && memcmp(t->xbytes.v + begin, t->xbytes.v + set.at,
			   set.len)) {
		t->xbytes.n = end;
		err = find_set(t, begin, ret);
	}
	if (err)
		t->xbytes.n = begin;
	return err;
}

errcode_t e4l_tree_map_ids(struct e4l_tree *t,
			   void (*map)(uint32_t *uid, uint32_t *gid,
				       void *priv), void *priv)
{
	const struct ids ids = { map, priv };
	uint32_t n = t->sets.n, set, *new_set = calloc(n, sizeof(*new_set));
	errcode_t err = new_set ? 0 : ENOMEM;
	size_t i;

	e4l_tree_share_changes(t);
	for (set = 1; set < n && !err; set++)
		err = map_set(t, &ids, set, &new_set[set]);
	for (i = E4L_TREE_ROOT; i < t->nodes.n; i++) {
		if (!err)
			t->nodes.v[i].xattr = new_set[t->nodes.v[i].xattr];
		else if (t->nodes.v[i].xattr == set - 1)
			break;
	}
	free(new_set);
	return err ? e4l_tree_fail(t, err, i, NULL, 0) : 0;
}

/* ------------------------------------------------------------------ changes */

/* Compares a record's name, including the prefix, with @whole. */
static int compare_name(const struct xrecord *rec, const char *name,
			const char *whole)
{
	const struct prefix *p = prefixes;
	char text[300];

	while (p->index != rec->index)
		p++;
	snprintf(text, sizeof(text), "%s%.*s", p->text, rec->name_len, name);
	return strcmp(text, whole);
}

/*
 * Appends the records of @set, sorted by name, with @x in place of an attribute
 * of the same name.  If @x has no value, leaves out the attribute of the same
 * name.
 */
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
		next = e4l_tree_record(t, at, &rec, &name, &value);
		cmp = compare_name(&rec, name, x->name);
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

errcode_t e4l_tree_set_xattr(struct e4l_tree *t, uint32_t id,
			     const struct e4l_tree_xattr *x)
{
	size_t at = t->xbytes.n;
	struct node *n;
	errcode_t err = e4l_tree_change(t, id, &n);

	if (err)
		return err;
	err = copy_set(t, &t->sets.v[n->xattr], x);
	if (!err && t->xbytes.n == at)
		n->xattr = 0;
	else if (!err)
		err = find_set(t, at, &n->xattr);
	if (err)
		t->xbytes.n = at;
	return err;
}

void e4l_tree_drop_xattrs(struct e4l_tree *t)
{
	size_t i;

	e4l_tree_share_changes(t);
	for (i = E4L_TREE_ROOT; i < t->nodes.n; i++)
		t->nodes.v[i].xattr = 0;
}

/* ------------------------------------------------------------- permissions */

static size_t find_acl_entry(const uint8_t *acl, size_t len, uint16_t tag)
{
	size_t at = 4;

	while (at + ACL_SHORT_BYTES <= len && get_le16(acl + at) != tag)
		at += acl_entry_bytes(get_le16(acl + at));
	return at + ACL_SHORT_BYTES <= len ? at : 0;
}

/*
 * Changes an ACL in ext4's format like chmod(2).  If the ACL has a mask, the
 * group permissions in @perms set the mask.  If the ACL has no mask, the group
 * permissions set the entry of the owning group.
 */
static void change_acl(uint8_t *acl, size_t len, uint32_t perms)
{
	const struct {
		uint16_t tag;
		unsigned int shift;
	} change[] = {
		{ ACL_USER_OBJ, 6 },
		{ find_acl_entry(acl, len, ACL_MASK) ? ACL_MASK : ACL_GROUP_OBJ,
		  3 },
		{ ACL_OTHER, 0 },
	};
	size_t i, at;

	for (i = 0; i < sizeof(change) / sizeof(*change); i++) {
		at = find_acl_entry(acl, len, change[i].tag);
		if (at)
			acl[at + 2] = perms >> change[i].shift & 7;
	}
}

/*
 * Copies the access ACL in @set to *@acl, which the caller frees.  If @set has
 * no access ACL, sets *@acl to NULL.
 */
static errcode_t copy_acl(const struct e4l_tree *t, const struct xset *set,
			  uint8_t **acl, size_t *len)
{
	size_t at = set->at, end = at + set->len;
	const char *name, *value;
	struct xrecord rec;

	*acl = NULL;
	while (at < end) {
		at = e4l_tree_record(t, at, &rec, &name, &value);
		if (rec.index != INDEX_ACCESS)
			continue;
		*len = rec.value_len;
		*acl = malloc(*len + 1);
		if (!*acl)
			return ENOMEM;
		memcpy(*acl, value, *len);
		break;
	}
	return 0;
}

errcode_t e4l_tree_set_perms(struct e4l_tree *t, uint32_t id, uint32_t perms)
{
	struct e4l_tree_xattr x = { .name = "system.posix_acl_access" };
	struct node *n;
	uint8_t *acl;
	errcode_t err = e4l_tree_change(t, id, &n);

	if (err)
		return err;
	err = copy_acl(t, &t->sets.v[n->xattr], &acl, &x.size);
	if (acl) {
		change_acl(acl, x.size, perms);
		x.value = acl;
		err = e4l_tree_set_xattr(t, id, &x);
		free(acl);
	}
	if (!err)
		n->mode = (n->mode & S_IFMT) | (perms & 07777);
	return err;
}

/* ---------------------------------------------------------------- tunables */

errcode_t e4l_tree_get_tunables(const struct e4l_tree *t,
				struct e4l_tunables **ret)
{
	const struct xset *set =
			&t->sets.v[t->nodes.v[E4L_TREE_ROOT].xattr];
	size_t at = set->at, end = set->at + set->len;
	const char *name, *value;
	struct xrecord rec;

	while (at < end) {
		at = e4l_tree_record(t, at, &rec, &name, &value);
		if (!compare_name(&rec, name, E4L_TUNABLES_XATTR))
			return e4l_tunables_parse(value, rec.value_len, ret);
	}
	return e4l_tunables_parse("", 0, ret);
}

errcode_t e4l_tree_set_tunables(struct e4l_tree *t,
				const struct e4l_tunables *tunables)
{
	char text[E4L_TUNABLES_MAX + 1];
	struct e4l_tree_xattr x = {
		.name = E4L_TUNABLES_XATTR, .value = text,
		.size = e4l_tunables_text(tunables, text),
	};

	return e4l_tree_set_xattr(t, E4L_TREE_ROOT, &x);
}
