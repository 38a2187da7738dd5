/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles the options of mke2fs.  Options that are in no table are refused,
 * because the user must not believe that an ignored option had an effect.
 */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mke4fs.h"
#include "support/locate.h"
#include "support/say.h"

enum fate {
	HAND_ON,	/* pass to mke2fs (default) */
	DEVICE_ONLY,	/* pass to mke2fs only to format the device */
	/*
	 * apply the option to the copied files; if no files are copied, pass
	 * the option to mke2fs
	 */
	CARRY_OUT,
	REFUSE,
};

/* Offset of a bool in struct config that the option sets to true; 0: none. */
#define SEEN(member) offsetof(struct config, member)

static void note_seen(struct config *c, size_t seen)
{
	if (seen)
		*(bool *)((char *)c + seen) = true;
}

/* --------------------------------------------------------- extended options */

static bool take_offset(struct config *c, const char *value)
{
	char *end;

	errno = 0;
	c->offset_bytes = strtoull(value, &end, 0);
	return (!errno && isdigit((unsigned char)*value) && !*end &&
		c->offset_bytes <= INT64_MAX) ||
	       usage("-E offset=", value, "a number of bytes");
}

/*
 * Parses the value of -E root_owner.  An empty value means the user and group
 * of the caller.  Returns false after printing an error.
 */
static bool take_root_owner(struct config *c, const char *value)
{
	unsigned long long uid = getuid(), gid = getgid();
	char *end = "";

	errno = 0;
	if (*value) {
		uid = strtoull(value, &end, 0);
		if (*end != ':')
			return usage("-E root_owner=", value, "UID:GID");
		gid = strtoull(end + 1, &end, 0);
	}
	/* UINT32_MAX is not a valid ID. */
	if (errno || *end || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return usage("-E root_owner=", value, "UID:GID, with IDs up to "
			     "4294967294");
	c->root_uid = uid;
	c->root_gid = gid;
	c->has_root_owner = true;
	return true;
}

static bool take_root_perms(struct config *c, const char *value)
{
	char *end;

	c->root_perms = strtoul(value, &end, 8);
	c->has_root_perms = true;
	return (end != value && !*end && c->root_perms <= 07777) ||
	       usage("-E root_perms=", value, "an octal number up to 7777");
}

static bool take_root_label(struct config *c, const char *value)
{
	free(c->root_label);
	c->root_label = strdup(value);
	if (!c->root_label)
		return no_memory(c);
	return *value || usage("-E root_selinux=", value, "a label");
}

static const struct extended {
	const char *name;
	enum fate fate;
	size_t seen;
	bool (*take)(struct config *c, const char *value);
	const char *why;
} extended[] = {
	{ .name = "android_sparse", .fate = REFUSE,
	  .why = "files cannot be copied into a sparse image: make a plain "
		 "image, and convert it with img2simg" },
	{ .name = "assume_storage_prezeroed" },
	{ .name = "desc-size" },
	{ .name = "desc_size" },
	{ .name = "discard" },
	{ .name = "encoding" },
	{ .name = "encoding_flags" },
	{ .name = "hash_seed" },
	{ .name = "lazy_itable_init" },
	{ .name = "lazy_journal_init" },
	{ .name = "mmp_update_interval" },
	{ .name = "no_copy_xattrs", .fate = CARRY_OUT, .seen = SEEN(no_xattrs) },
	{ .name = "nodiscard" },
	{ .name = "num_backup_sb" },
	{ .name = "offset", .seen = SEEN(has_offset), .take = take_offset },
	{ .name = "orphan_file_size" },
	{ .name = "packed_meta_blocks" },
	{ .name = "quotatype" },
	{ .name = "resize", .seen = SEEN(has_resize) },
	{ .name = "revision" },
	{ .name = "root_owner", .fate = CARRY_OUT, .take = take_root_owner },
	{ .name = "root_perms", .fate = CARRY_OUT, .take = take_root_perms },
	{ .name = "root_selinux", .fate = CARRY_OUT,
	  .take = take_root_label },
	{ .name = "stride" },
	{ .name = "stripe-width" },
	{ .name = "stripe_width" },
	{ .name = "test_fs" },
};

/*
 * Appends @word to a comma-separated list.  Returns false after printing an
 * error.
 */
static bool add_word(struct config *c, char **list, const char *word)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "",
		     word) < 0)
		return no_memory(c);
	free(*list);
	*list = longer;
	return true;
}

static bool take_word(struct config *c, char *word)
{
	size_t len = strcspn(word, "="), i;
	const struct extended *x;

	for (i = 0; i < sizeof(extended) / sizeof(*extended); i++) {
		x = &extended[i];
		if (strlen(x->name) != len || strncmp(x->name, word, len))
			continue;
		if (x->fate == REFUSE) {
			say("-E %s: %s", x->name, x->why);
			return false;
		}
		note_seen(c, x->seen);
		return (!x->take ||
			x->take(c, word + len + (word[len] == '='))) &&
		       add_word(c, x->fate == CARRY_OUT ? &c->carried :
							  &c->extended, word);
	}
	say("unknown option '-E %s'", word);
	return false;
}

bool take_name_offset(struct config *c, uint64_t offset_bytes)
{
	char word[40];

	if (c->has_offset) {
		say("%s: -E offset= and ?offset= cannot be given together",
		    c->name);
		return false;
	}
	c->offset_bytes = offset_bytes;
	snprintf(word, sizeof(word), "offset=%" PRIu64, offset_bytes);
	return add_word(c, &c->extended, word);
}

/* If the tunables are invalid, prints an error and returns false. */
static bool check_tunables(const char *list)
{
	struct e4l_tunables *t = e4l_tunables_new();
	const char *where = list;
	errcode_t err;

	err = t ? e4l_tunables_change(t, list, false, &where) : ENOMEM;
	if (err)
		say_tunable("-E tunables", where, err);
	e4l_tunables_free(t);
	return !err;
}

/*
 * Handles the list of -E.  "tunables=" must be the last option of the list:
 * everything after it is the list of tunables.  Returns false after printing an
 * error.
 */
bool take_extended(void *config, char *list)
{
	struct config *c = config;
	char *word = list, *end;

	for (; *word; word = end) {
		if (!strncmp(word, "tunables=", 9)) {
			if (c->tunables) {
				say("-E tunables= is given twice");
				return false;
			}
			c->tunables = word + 9;
			return check_tunables(c->tunables);
		}
		end = word + strcspn(word, ",");
		if (*end)
			*end++ = '\0';
		if (!*word) {
			say("-E: an empty option before '%s': remove the comma",
			    end);
			return false;
		}
		if (!take_word(c, word))
			return false;
	}
	return true;
}

/* ----------------------------------------------------------------- features */

/*
 * Features that decide whether there is a journal.  If several of these
 * features are given, the last feature decides.
 */
static const struct {
	const char *word;
	bool journal;
} journal_words[] = {
	{ "has_journal", true }, { "+has_journal", true },
	{ "^has_journal", false }, { "-has_journal", false },
	{ "none", false },
};

/*
 * Joins the arguments of all -O options.  Returns false after printing an
 * error.
 */
static bool take_features(struct config *c, char *list)
{
	const char *at;
	size_t len, i;

	for (at = list; *at; at += len + (at[len] == ',')) {
		len = strcspn(at, ",");
		for (i = 0; i < sizeof(journal_words) /
				sizeof(*journal_words); i++)
			if (strlen(journal_words[i].word) == len &&
			    !strncasecmp(journal_words[i].word, at, len))
				c->has_journal_feature =
						journal_words[i].journal;
	}
	return add_word(c, &c->features, list);
}

/* ------------------------------------------------------------------ journal */

static bool hand_on(struct config *c, int letter, char *value, bool device_only)
{
	struct passed *pass = reallocarray(c->pass, c->n_pass + 1,
					   sizeof(*pass));

	if (!pass)
		return no_memory(c);
	c->pass = pass;
	pass[c->n_pass++] = (struct passed) {
		.option = { '-', letter }, .value = value,
		.device_only = device_only,
	};
	return true;
}

/* Returns the tag in -J device=TAG,..., or NULL if there is no tag. */
static const char *journal_tag(const char *options)
{
	static const char name[] = "device=";
	const char *word;

	for (word = options; *word; word += strcspn(word, ","), word += !!*word)
		if (!strncmp(word, name, strlen(name)))
			return word + strlen(name);
	return NULL;
}

/*
 * Replaces a tag in -J device= by the name of its device.  If two devices have
 * the tag, mke4fs prints an error; mke2fs would use either device.  Returns
 * false after printing an error.
 */
static bool take_journal(struct config *c, char *options)
{
	const char *word = journal_tag(options);
	size_t len = word ? strcspn(word, ",") : 0;
	char *tag = word ? strndup(word, len) : NULL, *device;
	bool ok = true;

	if (!word)
		return hand_on(c, 'J', options, false);
	if (!tag)
		return no_memory(c);
	device = locate_tag(tag, &ok);
	free(tag);
	if (!device)
		return ok && hand_on(c, 'J', options, false);
	if (c->journal) {
		free(device);
		say("-J device= is given twice");
		return false;
	}
	if (asprintf(&c->journal, "%.*s%s%s", (int)(word - options), options,
		     device, word + len) < 0)
		c->journal = NULL;
	free(device);
	if (!c->journal)
		return no_memory(c);
	return hand_on(c, 'J', c->journal, false);
}

/* ------------------------------------------------------------------ letters */

/*
 * Options of one letter that need special handling.  All other letters are only
 * passed to mke2fs.
 */
static const struct letter {
	char letter;
	enum fate fate;
	size_t seen;
	bool (*take)(struct config *c, char *value);
	const char *why;
} letters[] = {
	{ .letter = 'b', .seen = SEEN(has_blocksize) },
	{ .letter = 'c', .fate = DEVICE_ONLY, .seen = SEEN(wants_check) },
	{ .letter = 'D', .fate = DEVICE_ONLY },
	{ .letter = 'i', .seen = SEEN(has_ratio) },
	{ .letter = 'j', .seen = SEEN(has_journal_option) },
	{ .letter = 'J', .seen = SEEN(has_journal_option),
	  .take = take_journal },
	{ .letter = 'N', .seen = SEEN(has_inodes) },
	{ .letter = 'O', .take = take_features },
	{ .letter = 'S', .fate = REFUSE,
	  .why = "not supported: run the mke2fs of e2fsprogs to rewrite "
		 "superblocks" },
	{ .letter = 'z', .fate = REFUSE,
	  .why = "not supported: an undo file would not cover the copied "
		 "files" },
};

bool take_mke2fs_option(void *config, int letter, char *value)
{
	static const struct letter passed = { .fate = HAND_ON };
	const struct letter *l = &passed;
	struct config *c = config;
	size_t i;

	for (i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (letters[i].letter == letter)
			l = &letters[i];
	note_seen(c, l->seen);
	if (l->take)
		return l->take(c, value);
	if (l->fate == REFUSE) {
		say("-%c: %s", letter, l->why);
		return false;
	}
	return hand_on(c, letter, value, l->fate == DEVICE_ONLY);
}
