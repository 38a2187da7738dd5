/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The crash harness: records the writes of an operation, builds the states in
 * which a power failure, a kill or an error can leave the devices, repairs each
 * state with e2fsck (or e2undo), runs e4check, and compares every file with its
 * original.
 */
#ifndef CRASH_CRASH_H
#define CRASH_CRASH_H

#include <stdbool.h>
#include <stdint.h>
#include <e4layout/e4layout.h>
#include "tap_io.h"

/* Returns @p, or ends the test with an error if @p is NULL. */
void *check_alloc(void *p);
/* Prints an error, and ends the process. */
void fatal(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* ---------------------------------------------------------------- scenarios */

enum journal_kind {
	JOURNAL_INTERNAL,
	JOURNAL_EXTERNAL,
	JOURNAL_NONE,		/* requires SCENARIO_UNDO */
};

enum {
	SCENARIO_UNDO = 1,	/* with an undo file */
	SCENARIO_MMP = 2,	/* with multiple mount protection */
	/* without files at the end of the filesystem, to test a shrink */
	SCENARIO_TAIL = 4,
};

struct scenario {
	const char *name;
	unsigned int blocksize;
	unsigned int mib;
	const char *options;		/* options of mke2fs */
	enum journal_kind journal;
	uint32_t incompat;		/* feature_incompat of the journal */
	/* recipe of mkaged for additional files; NULL: no additional files */
	const char *recipe;
	unsigned int flags;
};
extern const struct scenario scenarios[];
extern const unsigned int n_scenarios;

/* Indices of the devices in bench.path[] and tap_log.paths[]. */
enum { DEV_FS, DEV_JOURNAL, DEV_UNDO };

struct bench {
	const struct scenario *sc;
	char dir[64];
	char path[TAP_DEVICES][80];
	int n_dev;
	bool changes_content; /* the operation changes contents intentionally */
	bool renumbers;	/* files are identified by their names */
	bool resizes;	/* the operation changes the size */
	uint8_t *base[TAP_DEVICES];	/* initial contents */
	size_t size[TAP_DEVICES];
};

/*
 * Makes the scenario's filesystem with files.  If @recipe is not NULL, adds the
 * files of @recipe.
 */
void bench_make(struct bench *b, const struct scenario *sc,
		const char *recipe);
/* Restores the initial contents of the devices. */
void bench_reset(struct bench *b);
void bench_remove(struct bench *b);

/* --------------------------------------------------------------- operations */

/* A deliberate error, which the harness must find. */
enum plant {
	PLANT_NOTHING,
	/* write data to blocks whose freeing is not durable */
	PLANT_EARLY_REUSE,
};

/* The arguments that the harness passes to an operation. */
struct op_env {
	struct e4l *e;
	io_channel external;	/* journal device; NULL: no external journal */
	/*
	 * mark() records in the log of writes that a transaction is complete.
	 * An operation calls mark() after each transaction, before the next
	 * write.  If nothing was written since the last call, mark() does
	 * nothing.
	 */
	void (*mark)(void *priv);
	void *priv;
	enum plant plant;
};

/*
 * An operation that the harness records: changes the open filesystem @env->e in
 * transactions.  Each transaction changes the digest (see digest_fs()).  An
 * operation must not change file contents unless bench.changes_content is set.
 * The harness runs the operation again on the repaired states, where the
 * operation may find nothing to do.
 */
typedef errcode_t (*operation)(struct op_env *env);

/* Moves every file to other blocks, several times. */
errcode_t op_relocate(struct op_env *env);

/* Repacks all files and directories. */
errcode_t op_repack(struct op_env *env);
/* Repacks with one step per run. */
errcode_t op_steps(struct op_env *env);
/*
 * Repacks with one step per run, and moves files in small parts.  No part
 * increases the number of fragments or extents.
 */
errcode_t op_parts(struct op_env *env);

/*
 * Consolidates free space.  op_free() uses one run; op_free_steps() uses one
 * run per step.
 */
errcode_t op_free(struct op_env *env);
errcode_t op_free_steps(struct op_env *env);
/*
 * Repacks all files and directories, and consolidates free space.
 * op_together() uses one run; op_together_steps() uses one run per step.
 */
errcode_t op_together(struct op_env *env);
errcode_t op_together_steps(struct op_env *env);

/* Repacks like op_parts().  Each run discards freed blocks. */
errcode_t op_discard(struct op_env *env);

/* Creates and changes directories and files through libext2fs. */
errcode_t op_change(struct op_env *env);

/*
 * op_compact() makes sparse directories, and then compacts all directories.
 * op_compact_all() compacts directories that are already sparse.
 */
errcode_t op_compact(struct op_env *env);
errcode_t op_compact_all(struct op_env *env);

/*
 * op_inodes() moves the inodes of each directory's files together, with a few
 * moves per run.  op_exchange() also checks that the result is nearly optimal.
 */
errcode_t op_inodes(struct op_env *env);
errcode_t op_exchange(struct op_env *env);
/* Recipes for op_inodes() and op_exchange(). */
extern const char inodes_recipe[], exchange_recipe[];

/*
 * Repacks like e4repack --all.  The recipe of op_all() has files and
 * directories.
 */
errcode_t op_all(struct op_env *env);
extern const char all_recipe[];

/* Moves the end of the filesystem, and no file. */
errcode_t op_shrink(struct op_env *env);
/* Makes the filesystem with the files of @shrink_recipe as small as possible. */
errcode_t op_shrink_files(struct op_env *env);
extern const char shrink_recipe[];

/* Sets, changes and removes the tunables. */
errcode_t op_tunables(struct op_env *env);

/*
 * Runs @op on the devices of @b.  If @log is not NULL, tap_io records the
 * writes in @log; otherwise, unix_io is used directly.  If the scenario has the
 * flag SCENARIO_UNDO, writes an undo file.
 */
errcode_t run_operation(struct bench *b, struct tap_log *log, operation op,
			enum plant plant);

/* ------------------------------------------------------------------- digest */

struct digest {
	/* digest of the data and attributes that programs can read */
	uint64_t content;
	uint64_t layout;	/* digest of all extents and block counts */
	unsigned int inodes;
};

bool all_zero(const uint8_t *buf, size_t len);

/*
 * Digests all used inodes of the filesystem at @path.  If @by_name is true,
 * identifies files by their names, and counts inode numbers as part of the
 * layout.
 */
errcode_t digest_fs(const char *path, bool by_name, struct digest *d);

/* ------------------------------------------------------------------- states */

/* The devices of a state, for the programs that repair the state. */
struct world {
	char path[TAP_DEVICES][80];
	int n_dev;
	bool undo;		/* run e2undo first */
	bool mmp;		/* run tune2fs -E clear_mmp; ignored if @undo is set */
	/* let the running kernel replay the journal, instead of e2fsck */
	bool mount;
	bool by_name;		/* see digest_fs() */
	/*
	 * The operation changes the size of the filesystem.  After a crash, the
	 * log can have a transaction although needs_recovery is not set.  e2fsck
	 * may then have to correct bitmaps: see journal/switch.c.
	 */
	bool resizes;
};

/*
 * Repairs and checks the filesystem on the devices of @w, and sets *@d to its
 * digest.  Returns NULL, or an error text that is valid until the next call.
 */
const char *repair_state(const struct world *w, struct digest *d);

/* Digests of the repaired filesystem after each transaction. */
struct refs {
	struct digest *v;	/* v[0] is the initial state */
	size_t n;
};

/*
 * Makes the digests for @log.  With @undo, makes only the digest of the initial
 * state, because the undo file restores the initial state.  The caller frees
 * the result.
 */
struct refs make_refs(const struct bench *b, const struct tap_log *log,
		      bool undo);

struct verdict {
	size_t states;		/* different states that were checked */
	size_t repeated; /* states that were built again, and not checked */
	size_t lost;		/* states that failed the check */
};

/* Parameters of check_states(). */
struct sampling {
	size_t wanted;		/* number of random states */
	/*
	 * at each @each-th event of the log, also check the state that has all
	 * writes before the event
	 */
	size_t each;
	unsigned int seed;
	unsigned int jobs;	/* processes that share the work */
	bool undo, mount;	/* values of these members of struct world */
	bool first_loss;	/* stop at the first state that fails a check */
};

/*
 * Repairs states that a power failure can leave, and compares them with @refs.
 * A state has the writes of a prefix of @log or, in a random state, only some
 * of the writes after the last flush.  @how has the number of states.  Prints
 * the errors of the first state that fails the check.
 */
struct verdict check_states(const struct bench *b, const struct tap_log *log,
			    const struct refs *refs,
			    const struct sampling *how);

#endif
