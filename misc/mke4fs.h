/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of mke4fs share. */
#ifndef MKE4FS_H
#define MKE4FS_H

#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/target.h"
#include "support/json.h"

#define MAX_MAPS 64

/* Ids from @from on, @n of them, become those from @to on. */
struct id_map {
	uint32_t from, to, n;
};

/* What mke2fs would give a filesystem of the size that --grow-to says. */
struct growth {
	uint64_t blocks;		/* 0: not asked for */
	uint64_t block_bytes;
	uint64_t group_bytes;
	uint64_t inode_bytes;		/* for each inode */
	uint32_t group_inodes;
	uint64_t inodes;		/* of a size that was given; else 0 */
	uint32_t journal_mib;		/* 0: it has none inside */
	bool resize_inode;
};

/* An option for mke2fs. */
struct passed {
	char option[3];
	char *value;			/* NULL: none */
	bool device_only;		/* not for a prototype */
};

struct config {
	struct args_common common;
	struct args_texts sources;	/* -d, each over those before */
	struct args_texts manifests;	/* over all of them */
	const char *platform;		/* NULL: this machine's */
	const char *oci_config;		/* where an image's goes; NULL: nowhere */
	char *config_text;		/* what goes there; to be freed */
	size_t config_len;
	uint64_t max_bytes;		/* of archives, unpacked; 0: not said */
	const char *from;		/* --from */
	struct target *source_fs;	/* the same, open; else NULL */
	const char *sort;
	const char *name, *size;	/* the operands */
	const char *called;		/* the name by which mke2fs is run */
	char *device;			/* what the name means; to be freed */
	const char *tunables;		/* -E tunables=; changes to make */
	uint32_t window;
	bool has_window;		/* -R */
	uint64_t free_bytes, grow_bytes;
	struct growth growth;
	uint64_t threads;
	bool all_root, generation, numeric_acls, drop_acl_names, skip_damaged;
	bool one_fs;			/* --one-file-system */
	struct id_map uid_map[MAX_MAPS], gid_map[MAX_MAPS];
	unsigned int n_uid_map, n_gid_map;

	/* For mke2fs, and what is known of it. */
	struct passed *pass;
	int n_pass;
	char *features, *extended;	/* -O, -E: all of them; may be NULL */
	char *carried;			/* of -E: what is carried out here */
	bool has_blocksize, has_inodes, has_ratio, has_resize;
	bool has_journal_option, has_journal_feature, wants_check, has_offset;
	uint64_t offset_bytes;

	/* What is carried out. */
	bool has_root_owner, has_root_perms, no_xattrs;
	uint32_t root_uid, root_gid, root_perms;
	char *root_label;
	char *journal;			/* -J, with the device of a tag; or NULL */

	bool dry_run, verify;
	int64_t now;
	bool clamp_times;
	bool no_memory;			/* for the arguments */
};

/* mke4fs_args.c: false after saying what is wrong; *status: the exit code. */
bool parse_args(struct config *c, int argc, char **argv, int *status);
void free_args(struct config *c);

/* Says that @arg is wrong, and @what.  False. */
bool usage(const char *what, const char *arg);

/* Says that there is no memory for the arguments.  False. */
bool no_memory(struct config *c);

/* Something goes into the filesystem. */
static inline bool fills(const struct config *c)
{
	return c->sources.n || c->manifests.n || c->from || c->tunables;
}

/* mke4fs_pass.c: mke2fs' letters for getopt(3), then @more; to be freed. */
char *mke2fs_letters(const char *more);

/* One of them; false after saying what is wrong.  @value is borrowed. */
bool take_mke2fs_option(struct config *c, int letter, char *value);

/* The offset that is part of the name; false after saying what is wrong. */
bool take_name_offset(struct config *c, uint64_t offset_bytes);

/* mke4fs_source.c: says what failed of the source @name.  False. */
bool say_source(const char *name, struct e4l_tree *t, errcode_t err);

struct spool;

/*
 * mke4fs_source.c: loads all sources, in their order.  @spool is where archives
 * have their content from then on.  False after saying why not.
 */
bool load_sources(struct config *c, struct e4l_tree *t, struct spool *spool);

/* What to name in messages about the content. */
const char *source_name(const struct config *c, const struct e4l_tree *t);

/*
 * mke4fs_from.c: loads the filesystem @from, which stays open until it has
 * been copied; what --skip-damaged leaves out is said, and its path added to
 * @left_out, an array in JSON.
 */
bool load_image(const struct config *c, struct e4l_tree *t,
		struct target *from, json_t *left_out);

struct archive;
struct archive_entry;
struct load;

/* mke4fs_acl.c: the ACLs of an archive's entries. */
struct acls {
	const struct load *l;
	struct archive *names;		/* looks them up */
	uint8_t *value[2];
};

bool acls_start(struct acls *a, const struct load *l);
void acls_end(struct acls *a);

/*
 * Sets @x, whose value is what the entry has as an attribute or NULL, to its
 * ACL in getxattr(2)'s form: until the next call, and NULL for none.  @mode
 * becomes what the ACL says.  False after saying why not.
 */
bool acls_take(struct acls *a, struct archive_entry *entry, bool is_default,
	       struct e4l_tree_xattr *x, uint32_t *mode);

#endif
