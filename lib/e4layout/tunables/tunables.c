// SPDX-License-Identifier: LGPL-2.1-or-later
/* Parses, changes and writes the text of the tunables.  Does no I/O. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/internal.h"
#include "tunables.h"

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyz0123456789_"

/*
 * The maximum number of entries.  The shortest entry is "a=1,", and the last
 * entry has no comma.
 */
#define MAX_COUNT	((E4L_TUNABLES_MAX + 1) / 4)

/*
 * The entries are sorted by name.  The name and the value of an entry share one
 * allocation, which begins with the name.
 */
struct e4l_tunables {
	size_t count;
	size_t len;		/* length of the canonical text, in bytes */
	struct e4l_tunable at[MAX_COUNT];
};

static bool decimal(const char *text, uint32_t *number)
{
	uint64_t n = 0;
	const char *p;

	if (!*text || (text[0] == '0' && text[1]))
		return false;
	for (p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (*p - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*number = n;
	return true;
}

static bool in_range(const struct e4l_tunable_info *info, uint32_t n)
{
	if (info->type == E4L_TUNABLE_POWER_OF_TWO) {
		if (!n)
			return true;
		if (n & (n - 1))
			return false;
	}
	return n >= info->min && n <= info->max;
}

errcode_t e4l_tunable_number(const struct e4l_tunable_info *info,
			     const char *value, uint32_t *number)
{
	const struct e4l_tunable_word *w;
	uint32_t n;

	for (w = info->words; w && w->word; w++) {
		if (!strcmp(w->word, value)) {
			*number = w->number;
			return 0;
		}
	}
	if (!decimal(value, &n) || !in_range(info, n))
		return E4L_ET_TUNABLE_RANGE;
	*number = n;
	return 0;
}

const char *e4l_tunable_range(const struct e4l_tunable_info *info, char *buf,
			      size_t size)
{
	const struct e4l_tunable_word *w;
	size_t n;

	n = snprintf(buf, size, "%s%u to %u",
		     info->type == E4L_TUNABLE_POWER_OF_TWO ?
		     "0, or a power of two from " : "", info->min, info->max);
	for (w = info->words; w && w->word && n < size; w++)
		n += snprintf(buf + n, size - n, ", %s = %u", w->word,
			      w->number);
	return buf;
}

struct e4l_tunables *e4l_tunables_new(void)
{
	return calloc(1, sizeof(struct e4l_tunables));
}

static void free_entry(struct e4l_tunable *entry)
{
	free((char *)entry->name);
}

void e4l_tunables_free(struct e4l_tunables *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->count; i++)
		free_entry(&t->at[i]);
	free(t);
}

/*
 * Searches for the entry @name.  If the entry exists, sets *@i to its index and
 * returns true.  If the entry does not exist, sets *@i to the index for a new
 * entry @name and returns false.
 */
static bool position(const struct e4l_tunables *t, const char *name, size_t *i)
{
	int cmp = -1;

	for (*i = 0; *i < t->count; (*i)++) {
		cmp = strcmp(name, t->at[*i].name);
		if (cmp <= 0)
			break;
	}
	return *i < t->count && !cmp;
}

static size_t entry_len(const struct e4l_tunable *entry)
{
	return strlen(entry->name) + 1 + strlen(entry->value);
}

static void take_out(struct e4l_tunables *t, size_t i)
{
	t->len -= entry_len(&t->at[i]) + (t->count > 1);
	free_entry(&t->at[i]);
	t->count--;
	memmove(&t->at[i], &t->at[i + 1], (t->count - i) * sizeof(t->at[0]));
}

static bool well_formed(const char *text, size_t len, const char *equals)
{
	const char *p;

	if (!equals || equals == text || equals == text + len - 1 ||
	    equals - text > E4L_TUNABLE_NAME_MAX)
		return false;
	for (p = text; p < equals; p++)
		if (!*p || !strchr(NAME_CHARS, *p))
			return false;
	for (p = equals + 1; p < text + len; p++)
		if (*p < '!' || *p > '~' || *p == ',' || *p == '=')
			return false;
	return true;
}

/*
 * Makes an entry from the @len bytes "name=value".  If the tunable is known and
 * the value is valid, converts the value to a decimal number.
 */
static errcode_t make_entry(const char *text, size_t len,
			    struct e4l_tunable *entry)
{
	const char *equals = memchr(text, '=', len);
	const size_t room = len + sizeof("4294967295");
	char *name, *value;

	if (!well_formed(text, len, equals))
		return E4L_ET_TUNABLE_SYNTAX;
	name = calloc(1, room);
	if (!name)
		return ENOMEM;
	memcpy(name, text, len);
	value = name + (equals - text);
	*value++ = '\0';
	*entry = (struct e4l_tunable){
		.info = e4l_tunable_find(name), .name = name, .value = value,
	};
	entry->valid = entry->info &&
		       !e4l_tunable_number(entry->info, value, &entry->number);
	if (entry->valid)
		snprintf(value, room - (value - name), "%u", entry->number);
	return 0;
}

/*
 * Inserts @entry, or replaces the entry with the same name.  Takes ownership of
 * @entry on success.
 */
static errcode_t put_entry(struct e4l_tunables *t,
			   const struct e4l_tunable *entry)
{
	size_t i, old = 0;
	bool there = position(t, entry->name, &i);

	if (there)
		old = entry_len(&t->at[i]) + (t->count > 1);
	if (t->len - old + (t->count > there) + entry_len(entry) >
	    E4L_TUNABLES_MAX)
		return E4L_ET_TUNABLES_LONG;
	if (there)
		take_out(t, i);
	t->len += entry_len(entry) + (t->count > 0);
	memmove(&t->at[i + 1], &t->at[i], (t->count - i) * sizeof(t->at[0]));
	t->at[i] = *entry;
	t->count++;
	return 0;
}

static errcode_t parse_list(const char *text, size_t len,
			    struct e4l_tunables *t)
{
	const char *end = text + len, *comma;
	struct e4l_tunable entry;
	errcode_t err;
	size_t i;

	for (; len; text = comma + 1) {
		comma = memchr(text, ',', end - text);
		if (!comma)
			comma = end;
		err = make_entry(text, comma - text, &entry);
		if (err)
			return err;
		err = position(t, entry.name, &i) ? E4L_ET_TUNABLE_TWICE :
						    put_entry(t, &entry);
		if (err) {
			free_entry(&entry);
			return err;
		}
		if (comma == end)
			break;
	}
	return 0;
}

errcode_t e4l_tunables_parse(const void *text, size_t len,
			     struct e4l_tunables **ret)
{
	struct e4l_tunables *t;
	errcode_t err;

	*ret = NULL;
	if (len > E4L_TUNABLES_MAX)
		return E4L_ET_TUNABLES_LONG;
	t = e4l_tunables_new();
	if (!t)
		return ENOMEM;
	err = parse_list(text, len, t);
	if (err)
		e4l_tunables_free(t);
	else
		*ret = t;
	return err;
}

size_t e4l_tunables_count(const struct e4l_tunables *t)
{
	return t->count;
}

const struct e4l_tunable *e4l_tunables_at(const struct e4l_tunables *t,
					  size_t i)
{
	return &t->at[i];
}

const struct e4l_tunable *e4l_tunables_find(const struct e4l_tunables *t,
					    const char *name)
{
	size_t i;

	return position(t, name, &i) ? &t->at[i] : NULL;
}

/*
 * Sets a tunable as the @len bytes "name=value" at @text request.  If @force is
 * false, refuses an unknown name.
 */
static errcode_t set_text(struct e4l_tunables *t, const char *text, size_t len,
			  bool force)
{
	struct e4l_tunable entry;
	errcode_t err;

	err = make_entry(text, len, &entry);
	if (err)
		return err;
	if (!entry.info && !force)
		err = E4L_ET_TUNABLE_UNKNOWN;
	else if (entry.info && !entry.valid)
		err = E4L_ET_TUNABLE_RANGE;
	else
		err = put_entry(t, &entry);
	if (err)
		free_entry(&entry);
	return err;
}

errcode_t e4l_tunables_set(struct e4l_tunables *t, const char *name,
			   const char *value, bool force)
{
	char text[E4L_TUNABLES_MAX + 1];
	int len = snprintf(text, sizeof(text), "%s=%s", name, value);

	if (len >= sizeof(text))
		return E4L_ET_TUNABLES_LONG;
	return set_text(t, text, len, force);
}

bool e4l_tunables_remove(struct e4l_tunables *t, const char *name)
{
	size_t i;

	if (!position(t, name, &i))
		return false;
	take_out(t, i);
	return true;
}

/* Removes the tunable that the @len bytes "^name" at @text name. */
static errcode_t remove_text(struct e4l_tunables *t, const char *text,
			     size_t len)
{
	char name[E4L_TUNABLE_NAME_MAX + 1];

	if (len < 2 || len - 1 >= sizeof(name) ||
	    strspn(text + 1, NAME_CHARS) < len - 1)
		return E4L_ET_TUNABLE_SYNTAX;
	memcpy(name, text + 1, len - 1);
	name[len - 1] = '\0';
	e4l_tunables_remove(t, name);
	return 0;
}

/*
 * Whether an earlier change in @spec has the same name as the change at @word.
 */
static bool is_repeated(const char *spec, const char *word)
{
	const char *name = word + (*word == '^');
	size_t len = strcspn(name, "=,");

	for (; spec < word; spec += strcspn(spec, ",") + 1) {
		spec += *spec == '^';
		if (strcspn(spec, "=,") == len && !strncmp(spec, name, len))
			return true;
	}
	return false;
}

errcode_t e4l_tunables_change(struct e4l_tunables *t, const char *spec,
			      bool force, const char **where)
{
	const char *first = spec;
	errcode_t err;
	size_t len;

	for (;; spec += len + 1) {
		len = strcspn(spec, ",");
		err = is_repeated(first, spec) ? E4L_ET_TUNABLE_TWICE :
		      *spec == '^' ? remove_text(t, spec, len) :
				     set_text(t, spec, len, force);
		if (err)
			*where = spec;
		if (err || !spec[len])
			return err;
	}
}

size_t e4l_tunables_text(const struct e4l_tunables *t, char *buf)
{
	size_t i, n = 0;

	buf[0] = '\0';
	for (i = 0; i < t->count; i++)
		n += snprintf(buf + n, E4L_TUNABLES_MAX + 1 - n, "%s%s=%s",
			      i ? "," : "", t->at[i].name, t->at[i].value);
	return n;
}
