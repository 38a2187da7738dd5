/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The crash harness: records what an operation writes, builds the states in
 * which a power cut, a kill or an error can leave the devices, lets e2fsck (or
 * e2undo) repair each, asks e4check, and compares every file with what it was.
 */
#ifndef CRASH_CRASH_H
#define CRASH_CRASH_H

#include <stdbool.h>
#include <stdint.h>
#include <e4layout/e4layout.h>
#include "tap_io.h"

/* Ends the process when memory is short: this is a test. */
void *check_alloc(void *p);
/* Prints why, and ends the process. */
void fatal(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* ---------------------------------------------------------------- scenarios */

enum journal_kind {
	JOURNAL_INTERNAL,
	JOURNAL_EXTERNAL,
	JOURNAL_NONE,		/* has SCENARIO_UNDO */
};

enum {
	SCENARIO_UNDO = 1,	/* works with an undo file */
	SCENARIO_MMP = 2,	/* multiple mount protection */
};

struct scenario {
	const char *name;
	unsigned int blocksize;
	unsigned int mib;
	const char *options;		/* for mke2fs */
	enum journal_kind journal;
	uint32_t incompat;		/* of the journal */
	const char *recipe;		/* for mkaged, or NULL; for repairs */
	unsigned int flags;
};
extern const struct scenario scenarios[];
extern const unsigned int n_scenarios;

/* Paths of the devices, in the order in which struct tap_log has them. */
enum { DEV_FS, DEV_JOURNAL, DEV_UNDO };

struct bench {
	const struct scenario *sc;
	char dir[64];
	char path[TAP_DEVICES][80];
	int n_dev;
	bool changes_content;		/* the operation does, on purpose */
	bool renumbers;			/* files are told by their names */
	uint8_t *base[TAP_DEVICES];	/* what they hold at the start */
	size_t size[TAP_DEVICES];
};

/*
 * Makes the scenario's filesystem with files to work on; with those of @recipe
 * beside them, if that is not NULL.
 */
void bench_make(struct bench *b, const struct scenario *sc,
		const char *recipe);
/* Puts the devices back as they were at the start. */
void bench_reset(struct bench *b);
void bench_remove(struct bench *b);

/* --------------------------------------------------------------- operations */

/* What is left out on purpose, to see that the harness finds it. */
enum plant {
	PLANT_NOTHING,
	PLANT_EARLY_REUSE,	/* data to blocks whose freeing is not durable */
};

/* What an operation is given. */
struct op_env {
	struct e4l *e;
	io_channel external;		/* the journal device, or NULL */
	/* to be called before the first write after a transaction; does
	 * nothing if there was none since the last time */
	void (*mark)(void *priv);
	void *priv;
	enum plant plant;
};

/*
 * Changes the filesystem in transactions; the harness opens and closes it.
 * Each transaction changes some file's extents and no file's content, unless
 * changes_content says so.  It is run again on its own result, which may leave
 * it nothing to do.
 */
typedef errcode_t (*operation)(struct op_env *env);

/* Moves every file to other blocks, several times over. */
errcode_t op_relocate(struct op_env *env);

/* Repairs the layout of all files and directories. */
errcode_t op_repack(struct op_env *env);
/* The same, each step in a run of its own. */
errcode_t op_steps(struct op_env *env);
/* The same, and moves in small parts: none leaves more fragments or extents. */
errcode_t op_parts(struct op_env *env);

/* Others are moved out of the way: all in one run; each step in its own. */
errcode_t op_free(struct op_env *env);
errcode_t op_free_steps(struct op_env *env);
/* Both, and the ends of files go where that leaves fewer free runs. */
errcode_t op_together(struct op_env *env);
errcode_t op_together_steps(struct op_env *env);

/* As op_parts(), and each run discards what it has used. */
errcode_t op_discard(struct op_env *env);

/* Makes and changes directories and files by libext2fs. */
errcode_t op_change(struct op_env *env);

/* Makes sparse directories, and compacts them; or those that there are. */
errcode_t op_compact(struct op_env *env);
errcode_t op_compact_all(struct op_env *env);

/*
 * Gives inodes other numbers, few in each run; or has them change places, nearly as
 * well as can be.
 */
errcode_t op_inodes(struct op_env *env);
errcode_t op_exchange(struct op_env *env);
/* What it works on. */
extern const char inodes_recipe[], exchange_recipe[];

/* Does what e4repack --all does, of files and directories that it works on. */
errcode_t op_all(struct op_env *env);
extern const char all_recipe[];

/* Sets, changes and removes the tunables. */
errcode_t op_tunables(struct op_env *env);

/*
 * Runs @op on the bench's devices through tap_io (@log) or, when @log is NULL,
 * straight through unix_io; the undo file as the scenario has it.
 */
errcode_t run_operation(struct bench *b, struct tap_log *log, operation op,
			enum plant plant);

/* ------------------------------------------------------------------- digest */

struct digest {
	uint64_t content;	/* what a reader and stat(2) see */
	uint64_t layout;	/* every extent, and the block counts */
	unsigned int inodes;
};

bool all_zero(const uint8_t *buf, size_t len);

/*
 * Digests all inodes in use of the filesystem in @path.  @by_name: files are
 * told by their names, and their numbers are a part of the layout.
 */
errcode_t digest_fs(const char *path, bool by_name, struct digest *d);

/* ------------------------------------------------------------------- states */

/* Where the devices of a state are for the programs that repair it. */
struct world {
	char path[TAP_DEVICES][80];
	int n_dev;
	bool undo;		/* e2undo puts everything back first */
	bool mmp;		/* has to be freed, unless @undo does it */
	bool mount;		/* the running kernel replays, not e2fsck */
	bool by_name;		/* see digest_fs() */
};

/*
 * Repairs and digests a state.  Returns NULL or what is wrong, which stays
 * valid until the next call.
 */
const char *repair_state(const struct world *w, struct digest *d);

/* What the filesystem is after each transaction, repaired. */
struct refs {
	struct digest *v;	/* the first is before all of them */
	size_t n;
};

/*
 * Those of @log.  Where an undo file takes all back (@undo), there is only the
 * first.  To be freed.
 */
struct refs make_refs(const struct bench *b, const struct tap_log *log,
		      bool undo);

struct verdict {
	size_t states;		/* different ones that were checked */
	size_t repeated;	/* built once more, and not checked again */
	size_t lost;		/* not as they should be */
};

/* How check_states() goes about it. */
struct sampling {
	size_t wanted;		/* states to build beside the prefixes */
	size_t each;		/* a prefix at each so-many-th write or flush */
	unsigned int seed;
	unsigned int jobs;	/* processes that share the work */
	bool undo, mount;	/* see struct world */
	bool first_loss;	/* go no further than there */
};

/*
 * Checks prefixes of @log and states drawn at random against @refs.  Prints
 * what is wrong with the first of the lost states.
 */
struct verdict check_states(const struct bench *b, const struct tap_log *log,
			    const struct refs *refs,
			    const struct sampling *how);

#endif
