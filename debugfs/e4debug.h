/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source files of e4debug:
 *
 *  e4debug.c    options, the open filesystem, requests from a line, file or
 *               prompt
 *  commands.ct  libss' table of requests
 *  request.c    the table of requests: arguments and requirements
 *  output.c     results as text and as JSON
 *  file.c       an inode with its extents, and the extent status cache
 *  look.c       requests that read
 *  draw.c       the request map
 *  journal.c    the request journal
 *  settings.c   the requests tunables and findings
 *  repack.c     requests that plan or improve the layout
 *  change.c     requests that change names and maps; functions for all
 *               requests that write
 *  write.c      the request write
 *  pass.c       other requests, run by the system's debugfs
 *  prompt.c     readline and completion
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
	/* Values of the options. */
	struct args_common args;	/* must be first: see support/args.h */
	bool write;
	const char *line, *file;
	struct target_undo undo;
	/* State of the open filesystem. */
	bool open;			/* a filesystem is open */
	/* a check before the first change of this session found no errors */
	bool checked;
	/* name of the target, as given by the user */
	char *name;
	uint64_t partition;
	struct target target;
	struct e4l *e;
	struct e4l_es_cache *cache;
	/* State of the current request. */
	const char *request;		/* name of the request */
	struct interrupt interrupt;
	struct progress progress;
	bool failed, quit;
	int ss;				/* libss' number of this shell */
};

/* ---------------------------------------------------------------- e4debug.c */

/*
 * Opens @name or, if @partition is not 0, this partition of @name.  If s->write
 * is set, opens the filesystem for writing.  Returns false after printing an
 * error.
 */
bool shell_open(struct shell *s, const char *name, uint64_t partition);
/*
 * If a filesystem is open, closes the filesystem.  Returns false after printing
 * an error.
 */
bool shell_close(struct shell *s);
/*
 * Closes the filesystem, calls @work, and opens the filesystem again.  @work
 * may run programs that open the device.  Returns false if a step fails.
 */
bool shell_around(struct shell *s, bool (*work)(struct shell *s, void *priv),
		  void *priv);

/* Runs one line of input. Returns false after printing an error. */
bool shell_do(struct shell *s, const char *line);

/* ---------------------------------------------------------------- request.c */

/* libss calls this function for every request in commands.ct. */
void e4debug_request(int argc, const char *const *argv, int ss, void *priv);

/*
 * Checks the filesystem before its first change.  If the filesystem is open
 * read-only or has errors, prints the reason and returns false.
 */
bool shell_may_change(struct shell *s);

/* Returns the arguments of the request @name, for usage messages. */
const char *shell_usage(const char *name);

/* The table that mk_cmds generates from commands.ct. */
extern ss_request_table e4debug_commands;

/*
 * Prints "REQUEST: WHAT: MESSAGE" with the error message of @err.  Always
 * returns false.
 */
bool shell_fails(const struct shell *s, const char *what, errcode_t err);
/*
 * Prints an error of the library like shell_fails(), with the detail of s->e.
 * If writing the undo file failed, prints nothing, because target_close() has
 * printed the error.  Always returns false.
 */
bool shell_fails_e4l(const struct shell *s, const char *what, errcode_t err);

/*
 * Shows that @done of @total units are done.  Call this function between
 * progress_start() and progress_end() for s->progress.
 */
void shell_progress(struct shell *s, uint64_t done, uint64_t total);

/* ----------------------------------------------------------------- output.c */

/*
 * Prints and frees @object, the result of a request.  If @object is NULL,
 * reports a lack of memory.  JSON output begins with the members "schema" and
 * "request".  Text output has one line for each number and string, and a table
 * for each array of objects.  Returns false after printing an error.
 */
bool shell_show(const struct shell *s, json_t *object);
/*
 * Prints and frees @object like shell_show(), after a request that changes
 * something.  If --quiet is given without --json, only frees @object.  Returns
 * false after printing an error.
 */
bool shell_report(const struct shell *s, json_t *object);

/*
 * Converts the string at @bytes, which ends at a NUL or after @max bytes, to
 * printable text.
 */
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

/*
 * Finds the inode of @path: a path from the root directory, or "<N>".  Returns
 * false after printing an error.
 */
bool file_find(const struct shell *s, const char *path, ext2_ino_t *ino);

/*
 * Makes a bitmap of the inodes of a file, or of a directory and everything
 * below the directory.  For "<N>", the bitmap contains only inode N.  Returns
 * false after printing an error.
 */
bool file_subtree(const struct shell *s, const char *path,
		  ext2fs_inode_bitmap *ret);

/* Calls the callback @piece for each struct e4l_piece of inode @ino. */
errcode_t file_scan(const struct shell *s, ext2_ino_t ino,
		    errcode_t (*piece)(const struct e4l_piece *, void *),
		    void *priv);

/*
 * Reads an inode with all its extents.  Call file_free() even after an error.
 * Returns false after printing an error.
 */
bool file_load(const struct shell *s, ext2_ino_t ino, struct file *f);
bool file_open(const struct shell *s, const char *path, struct file *f);
void file_free(struct file *f);

/*
 * Sets *@es to the state of logical block @lblk of inode @ino.  If the extent
 * status cache does not contain the block, reads the inode's extents into the
 * cache.
 */
errcode_t file_block(const struct shell *s, ext2_ino_t ino, uint32_t lblk,
		     struct e4l_es *es);

/* Returns the number of blocks up to the end of the file. */
uint64_t file_blocks(const struct shell *s, const struct file *f);

/* ----------------------------------------------------------------- requests */

typedef bool request_fn(struct shell *s, int argc, const char *const *argv);

/* Defined in e4debug.c. */
request_fn do_open, do_close, do_help, do_quit;
/* Defined in look.c. */
request_fn do_stats, do_frag, do_extents, do_freespace, do_locality, do_tree,
	   do_cachestat;
/* Defined in draw.c. */
request_fn do_map;
/* Defined in journal.c. */
request_fn do_journal;
/* Defined in settings.c. */
request_fn do_tunables, do_findings;
/* Defined in repack.c. */
request_fn do_plan, do_repack, do_files, do_trees, do_directories, do_free,
	   do_inodes, do_undo;
/* Defined in change.c. */
request_fn do_mkdir, do_link, do_fallocate, do_punch;
/* Defined in write.c. */
request_fn do_write;

/* ------------------------------------------------------------------- pass.c */

/*
 * Returns the program for posix_spawnp(3): @built_in, the path that configure
 * found.  If @built_in does not exist, returns its last component, so that PATH
 * is searched.
 */
char *program_path(char *built_in);

/*
 * Runs the request @line with the system's debugfs.  Returns false after
 * printing an error.
 */
bool shell_pass(struct shell *s, const char *line);

/* ----------------------------------------------------------------- prompt.c */

/* Runs lines from the terminal until end of file or quit. */
void shell_listen(struct shell *s);

#endif
