/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the parts of mke4fs share. */
#ifndef MKE4FS_H
#define MKE4FS_H

#include <e4layout/e4layout.h>
#include "support/args.h"
#include "support/target.h"
#include "support/json.h"

#define MAX_MAPS 64

/* Maps the @n IDs from @from on to the @n IDs from @to on. */
struct id_map {
	uint32_t from, to, n;
};

/*
 * Properties that mke2fs would choose for a filesystem of the size of
 * --grow-to.
 */
struct growth {
	/* number of blocks; 0: --grow-to was not given */
	uint64_t blocks;
	uint64_t block_bytes;
	uint64_t group_bytes;
	uint64_t inode_bytes;		/* bytes of the filesystem per inode */
	uint32_t group_inodes;
	/* number of inodes at the initial size; 0 if that size is not known */
	uint64_t inodes;
	/* size of the journal; 0: no internal journal */
	uint32_t journal_mib;
	bool resize_inode;
};

/* An option for mke2fs. */
struct passed {
	char option[3];
	char *value;			/* NULL: no value */
	/* pass the option to mke2fs for the device, not for a prototype */
	bool device_only;
};

struct config {
	struct args_common common;
	/* -d; files of later sources replace files of earlier sources */
	struct args_texts sources;
	struct args_texts manifests;	/* applied after all sources */
	/* --fs-config; applied after IDs have been mapped */
	struct args_texts fs_configs;
	const char *platform;		/* NULL: this machine's platform */
	/*
	 * file to which the configuration of a container image is written, or
	 * NULL
	 */
	const char *oci_config;
	/* configuration of the container image; freed by free_args() */
	char *config_text;
	size_t config_len;
	/* limit of the unpacked bytes of all archives; 0: not given */
	uint64_t max_bytes;
	const char *from;		/* argument of --from */
	const char *like;		/* argument of --like */
	/* the open old image of --like; NULL: not opened */
	struct target *like_fs;
	/* the open filesystem of --from; NULL: not opened */
	struct target *source_fs;
	const char *sort;
	struct args_texts verity;	/* patterns of --verity */
	/*
	 * hash file; "": append the tree to the filesystem; NULL: no hash tree
	 */
	const char *dm_verity;
	const char *name, *size;	/* operands DEVICE and SIZE */
	/* argv[0] of mke2fs, which selects the type of the filesystem */
	const char *called;
	/* mke4fs was run under a name of mke2fs */
	bool is_mke2fs;
	/* device or image that @name refers to; freed by free_args() */
	char *device;
	const char *tunables;		/* list of -E tunables= */
	uint32_t window;
	bool has_window;		/* -R was given */
	uint64_t free_bytes, grow_bytes;
	struct growth growth;
	uint64_t threads;
	bool all_root, generation, numeric_acls, drop_acl_names, skip_damaged;
	bool one_fs;			/* --one-file-system was given */
	struct id_map uid_map[MAX_MAPS], gid_map[MAX_MAPS];
	unsigned int n_uid_map, n_gid_map;

	/*
	 * Options for mke2fs, and the values of options that mke4fs also needs.
	 */
	struct passed *pass;
	int n_pass;
	/* all arguments of -O, and of -E, joined; NULL: none */
	char *features, *extended;
	/* -E options that mke4fs applies if it copies files */
	char *carried;
	bool has_blocksize, has_inodes, has_ratio, has_resize;
	bool has_journal_option, has_journal_feature, wants_check, has_offset;
	uint64_t offset_bytes;

	/* Values of the -E options in @carried. */
	bool has_root_owner, has_root_perms, no_xattrs;
	uint32_t root_uid, root_gid, root_perms;
	char *root_label;
	/*
	 * argument of -J, in which the path of the device replaces a tag such
	 * as UUID=; NULL: -J has no tag
	 */
	char *journal;

	bool dry_run, verify;
	int64_t now;
	bool clamp_times;
};

/*
 * In mke4fs_args.c.  Parses the command line.  Returns false with the exit
 * status in *@status, after printing an error, the help or the version.
 */
bool parse_args(struct config *c, int argc, char **argv, int *status);
void free_args(struct config *c);

/* Reports that @value is invalid for the option.  Returns false. */
bool usage(const char *option, const char *value, const char *expected);

/* Reports a lack of memory for the arguments.  Returns false. */
bool no_memory(struct config *c);

/* Returns whether mke4fs adds files or stored tunables to the filesystem. */
static inline bool fills(const struct config *c)
{
	return c->sources.n || c->manifests.n || c->from || c->tunables;
}

/* The letters of mke2fs's options that are not options of mke4fs. */
#define MKE2FS_LETTERS "b:cC:De:Fg:G:i:I:jJ:Kl:L:m:M:N:o:O:r:s:St:T:U:z:"

/*
 * In mke4fs_pass.c.  Handle one option of mke2fs; @value must stay valid.
 * Return false after printing an error.
 */
bool take_mke2fs_option(void *config, int letter, char *value);
bool take_extended(void *config, char *value);

/*
 * Stores @offset_bytes, the offset in the name of DEVICE, as -E offset= does.
 * Returns false after printing an error.
 */
bool take_name_offset(struct config *c, uint64_t offset_bytes);

/* In mke4fs_source.c. Prints the error of the source @name. Returns false. */
bool say_source(const char *name, struct e4l_tree *t, errcode_t err);

struct spool;

/*
 * In mke4fs_source.c.  Loads all sources in order.  @spool receives the
 * contents of archives.  Returns false after printing an error.
 */
bool load_sources(struct config *c, struct e4l_tree *t, struct spool *spool);

/* Returns the name of the source for messages about the contents of @t. */
const char *source_name(const struct config *c, const struct e4l_tree *t);

/*
 * In mke4fs_from.c.  Loads the filesystem of --from.  @from must stay open
 * until its files have been copied.  Files that --skip-damaged omits are
 * reported, and their paths are added to the JSON array @left_out.  Returns
 * false after printing an error.
 */
bool load_image(const struct config *c, struct e4l_tree *t,
		struct target *from, json_t *left_out);

struct archive;
struct archive_entry;
struct load;

/* In mke4fs_acl.c. Reads the ACLs of the entries of an archive. */
struct acls {
	const struct load *l;
	struct archive *names;		/* resolves names of users and groups */
	uint8_t *value[2];
};

bool acls_start(struct acls *a, const struct load *l);
void acls_end(struct acls *a);

/*
 * Sets @x to the access ACL of the entry or, if @is_default is true, to the
 * default ACL, in the form of getxattr(2).  If @x->value is not NULL, takes the
 * ACL from @x; otherwise, takes the ACL from @entry.  If there is no ACL, sets
 * @x->value to NULL.  @x is valid until the next call.  An access ACL also
 * changes the permissions in @mode.  Returns false after printing an error.
 */
bool acls_take(struct acls *a, struct archive_entry *entry, bool is_default,
	       struct e4l_tree_xattr *x, uint32_t *mode);

#endif
