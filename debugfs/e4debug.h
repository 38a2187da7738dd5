/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * e4debug:
 *
 *  e4debug.c   options, what is open, requests from a line, a file or a prompt
 *  commands.ct what libss knows of the requests
 *  request.c   the table of requests: how they are called, what they need
 *  output.c    what a request found, for people and as JSON
 *  file.c      one inode with its extents, and the cache of them
 *  look.c      requests that read
 *  draw.c      one that draws
 *  journal.c   one that lists transactions
 *  settings.c  tunables, and what a check finds
 *  repack.c    requests that plan or improve the layout
 *  change.c    requests that change names and maps; what writing ones share
 *  write.c     one that copies a file of the host
 *  pass.c      other requests, by the system's debugfs
 *  prompt.c    readline, and what it completes
 */
#ifndef E4DEBUG_H
#define E4DEBUG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <ss/ss.h>
#include <e4layout/e4layout.h>
#include "e4layout/format/format.h"
#include "es_cache.h"
#include "support/args.h"
#include "support/interrupt.h"
#include "support/json.h"
#include "support/progress.h"
#include "support/target.h"

struct shell {
	/* what was asked for */
	struct args_common args;	/* must be first: see support/args.h */
	bool write;
	const char *line, *file;
	struct target_undo undo;
	/* what is open */
	bool open;
	bool checked;			/* sound before it was changed here */
	char *name;			/* as it was given */
	uint64_t partition;
	struct target target;
	struct e4l *e;
	struct e4l_es_cache *cache;
	/* the request at hand */
	const char *request;
	struct interrupt interrupt;
	struct progress progress;
	bool failed, quit;
	int ss;				/* libss' number of us */
};

/* ---------------------------------------------------------------- e4debug.c */

/*
 * Opens @name, or a partition of it (0: it is no disk), as s->write says; false
 * after saying why not.
 */
bool shell_open(struct shell *s, const char *name, uint64_t partition);
/* Closes what is open, if anything is. */
bool shell_close(struct shell *s);
/* Opens what is open anew, after @work had the device for itself. */
bool shell_around(struct shell *s, bool (*work)(struct shell *s, void *priv),
		  void *priv);

/* Carries out one line; false when it failed, which has been said. */
bool shell_do(struct shell *s, const char *line);

/* ---------------------------------------------------------------- request.c */

/* Every request of commands.ct. */
void e4debug_request(int argc, const char *const *argv, int ss, void *priv);

/*
 * Before the first change of what is open: false after saying that it is open
 * for reading, or has errors.
 */
bool shell_may_change(struct shell *s);

/* What follows the name of a request. */
const char *shell_usage(const char *name);

/* The table that mk_cmds makes of commands.ct. */
extern ss_request_table e4debug_commands;

/* "REQUEST: WHAT: why"; false, for `return`. */
bool shell_fails(const struct shell *s, const char *what, errcode_t err);
/* The same for a failure of the library, with where it happened. */
bool shell_fails_e4l(const struct shell *s, const char *what, errcode_t err);

/* @done of @total; between progress_start() and _end() on s->progress. */
void shell_progress(struct shell *s, uint64_t done, uint64_t total);

/* ----------------------------------------------------------------- output.c */

/*
 * Prints what a request found, an object that is freed; NULL: no memory.
 * As JSON, "schema" and "request" are put before its members.  For people,
 * each number and text is a line, and each array of objects a table.
 */
bool shell_show(const struct shell *s, json_t *object);
/* The same for a request that changes something: --quiet hides it. */
bool shell_report(const struct shell *s, json_t *object);

/* Bytes from the disk as text that can be printed. */
json_t *shell_text(const struct shell *s, const char *bytes, size_t max);

/* ------------------------------------------------------------------- file.c */

struct file {
	ext2_ino_t ino;
	struct ext2_inode_large inode;
	enum e4l_map map;
	unsigned int depth;
	bool damaged;
	struct e4l_extent *extents;
	size_t n_extents, max_extents;
	struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
	struct e4l_file_score score;
};

/* The inode of a path from the root, or of "<N>"; false after saying why. */
bool file_find(const struct shell *s, const char *path, ext2_ino_t *ino);

/* A bitmap of a file, or of a directory and all below; "<N>" is one inode. */
bool file_subtree(const struct shell *s, const char *path,
		  ext2fs_inode_bitmap *ret);

/* Calls @piece for the pieces of one inode. */
errcode_t file_scan(const struct shell *s, ext2_ino_t ino,
		    errcode_t (*piece)(const struct e4l_piece *, void *),
		    void *priv);

/* Reads an inode with all its extents; file_free() after an error too. */
bool file_load(const struct shell *s, ext2_ino_t ino, struct file *f);
bool file_open(const struct shell *s, const char *path, struct file *f);
void file_free(struct file *f);

/* What is known of a block: from the cache, or read into it. */
errcode_t file_block(const struct shell *s, ext2_ino_t ino, uint32_t lblk,
		     struct e4l_es *es);

/* Blocks up to the end of the file. */
uint64_t file_blocks(const struct shell *s, const struct file *f);

/* ----------------------------------------------------------------- requests */

typedef bool request_fn(struct shell *s, int argc, const char *const *argv);

/* e4debug.c */
request_fn do_open, do_close, do_help, do_quit;
/* look.c */
request_fn do_stats, do_frag, do_extents, do_freespace, do_locality, do_tree,
	   do_cachestat;
/* draw.c */
request_fn do_map;
/* journal.c */
request_fn do_journal;
/* settings.c */
request_fn do_tunables, do_findings;
/* repack.c */
request_fn do_plan, do_repack, do_files, do_trees, do_directories, do_free,
	   do_inodes, do_undo;
/* change.c */
request_fn do_mkdir, do_link, do_fallocate, do_punch;
/* write.c */
request_fn do_write;

/* ------------------------------------------------------------------- pass.c */

/*
 * What posix_spawnp(3) is to start: @built_in, which configure found, or where
 * that does not exist the same name in PATH.
 */
char *program_path(char *built_in);

/* Has the system's debugfs carry out @line. */
bool shell_pass(struct shell *s, const char *line);

/* ----------------------------------------------------------------- prompt.c */

/* Carries out lines from the terminal until the end. */
void shell_listen(struct shell *s);

#endif
