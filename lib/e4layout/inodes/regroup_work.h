/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup_work: types and functions that the files regroup*.c share. */
#ifndef E4L_REGROUP_WORK_H
#define E4L_REGROUP_WORK_H

#include "regroup.h"
#include "e4layout/format/dirent.h"
#include "e4layout/read/dirs.h"
#include "e4layout/read/tally.h"
#include "numbers.h"
#include "renumber.h"

/* The planned result for a directory. */
struct fate {
	/*
	 * numbers of inode-table blocks: after the moves planned so far
	 * (@blocks), and the fewest possible (@ideal)
	 */
	uint32_t blocks, ideal;
	enum e4l_skip why;	/* reason to skip the directory */
	bool wanted, planned;
};

/*
 * A slot of the hash table of planned moves: the old and the new number of an
 * inode.  In an empty slot, @from is 0.
 */
struct renamed {
	ext2_ino_t from, to;
};

/*
 * A group of moves in the plan.  A run may be stopped after a group.  @saved
 * and @dirs are sums over this group and all earlier groups.
 */
struct group {
	size_t end; /* index in r->moves after the last move of the group */
	int64_t saved;		/* number of inode-table blocks saved */
	uint64_t dirs; /* number of directories that need fewer blocks */
};

struct e4l_exchange;

/* An inode that should be close to the other inodes of its directory. */
struct member {
	ext2_ino_t ino;		/* must be first, for e4l_u32_cmp() */
	/*
	 * order of the inodes: hash of the name, then number of the entry in
	 * the directory
	 */
	uint32_t hash, nth;
	uint32_t lblk;
	enum e4l_skip why;	/* reason not to move the inode */
	ext2_ino_t to;
};

/* A block of the inode tables that contains inodes of the current directory. */
struct tblock {
	uint32_t nr;		/* number of the inode-table block */
	/*
	 * numbers of inodes in the block: inodes of the directory (@own),
	 * inodes of the directory that must not move (@fixed), and free inodes
	 * (@free)
	 */
	uint32_t own, fixed, free;
	bool good; /* the directory should keep the block; see is_good() */
	/* the directory's inodes in the block do not move */
	bool keep;
};

struct regroup {
	struct e4l *e;		/* must be first, for e4l_refuse_damage() */
	struct e4l_repack_run *run;
	bool quiet;
	struct e4l_regroup_result *result;
	struct e4l_numbers *numbers;
	struct e4l_name_graph g;
	struct fate *fates; /* per directory, in the order of g.dirs */
	ext2_ino_t lost_found;
	uint32_t per_block;
	uint64_t room;	/* number of blocks that a transaction can change */
	uint64_t tree_blocks; /* number of tree blocks of the scanned inode */
	ext2_ino_t *linked;		/* files with several names */
	size_t n_linked;
	/* some names of files are not in @g, because of the memory limit */
	bool names_cut;
	char *buf;			/* buffer of READ_BYTES bytes */
	struct ext2_inode_large *inode;
	ext2fs_inode_bitmap map; /* inode bitmap after the planned moves */
	/*
	 * A window is a range of free inodes.  narrow[0][group]: the group has
	 * no window of this length or longer.  narrow[1][group]: the group has
	 * no such window whose inode-table blocks Linux can read with the
	 * fewest requests.
	 */
	uint32_t *narrow[2];
	/*
	 * no group has a window (range of free inodes) of this length or longer
	 */
	uint32_t narrowest;
	struct renamed *renamed;
	size_t n_renamed, renamed_mask;
	struct e4l_inode_move *moves;
	size_t n_moves;
	struct group *groups;
	size_t n_groups;
	bool over; /* the callback enough() has returned true */
	/*
	 * @asked: number of calls of enough() so far; @end_at: number of the
	 * call after which the planning ends, see e4l_regroup_inodes()
	 */
	uint64_t asked, end_at;
	ext2_ino_t evict_limit;	/* limit of e4l_regroup_evict() */
	/* the exchange of inodes that is being planned */
	struct e4l_exchange *exchange;
	/* the members below describe the directory that is being planned */
	uint32_t dir;
	/*
	 * thrifty mode: prefer free inodes in blocks that already hold inodes
	 * of the directory
	 */
	bool thrifty;
	struct member *m;
	size_t n_m;
	struct tblock *tb;
	size_t n_tb;
	ext2_ino_t *targets;
	size_t n_targets;
	ext2_ino_t *inos;	/* inode numbers of a directory's entries */
	size_t n_inos;
};

static inline const struct e4l_dir_map *map_of(const struct regroup *r,
					       uint32_t dir)
{
	return &r->g.dirs[dir].map;
}

static inline bool should_stop(const struct regroup *r)
{
	return e4l_run_stop(r->run, false);
}

/*
 * Returns the memory limit in bytes.  The plan may use one half of the memory,
 * and the names of files with hard links may use the other half.
 */
static inline uint64_t e4l_regroup_mem(const struct regroup *r)
{
	uint64_t bytes = r->run->limits.mem_bytes;

	return bytes ? bytes : UINT64_MAX;
}

/* Returns the number of the inode-table block that contains @ino. */
static inline uint32_t block_of(const struct regroup *r, ext2_ino_t ino)
{
	return (ino - 1) / r->per_block;
}

/* ------------------------------------------------------- regroup_names.c */

/* Called for each entry of directory @dir; @lblk is the block of the entry. */
typedef errcode_t (*e4l_regroup_entry)(struct regroup *r, uint32_t dir,
			      const struct e4l_dirent *entry, uint32_t lblk);

/* Calls @fn for each entry of directory @dir except "." and "..". */
errcode_t e4l_regroup_read(struct regroup *r, uint32_t dir,
			   e4l_regroup_entry fn);
/*
 * Returns the index of directory @ino in r->g.dirs.  If inode @ino is not a
 * directory, returns E4L_NO_DIR.
 */
uint32_t e4l_regroup_find(const struct regroup *r, ext2_ino_t ino);
/* Returns whether file @ino has several names. */
bool e4l_regroup_is_linked(const struct regroup *r, ext2_ino_t ino);
/* Returns whether the user has selected inode @ino and has not excluded it. */
bool e4l_regroup_is_asked(const struct regroup *r, ext2_ino_t ino);
/* Appends inode number @ino to r->inos. */
errcode_t e4l_regroup_add_ino(struct regroup *r, ext2_ino_t ino);
/*
 * Reads all directories.  If stop() returns true, returns E4L_ET_INTERRUPTED.
 */
errcode_t e4l_regroup_learn_names(struct regroup *r);

/* -------------------------------------------------------- regroup_plan.c */

/*
 * Bytes of memory per planned move: the move, and up to four slots of @renamed.
 */
#define E4L_MOVE_BYTES	(sizeof(struct e4l_inode_move) + \
			 4 * sizeof(struct renamed))

/*
 * Plans the moves of inodes, in groups, and reports the skipped directories.
 * Errors: as e4l_regroup_learn_names().
 */
errcode_t e4l_regroup_plan(struct regroup *r);
/* Returns the number that inode @ino has after the planned moves. */
ext2_ino_t e4l_regroup_number_of(const struct regroup *r, ext2_ino_t ino);
/*
 * Returns the number of free inodes in inode-table block @nr after the planned
 * moves.
 */
uint16_t e4l_regroup_count_free(const struct regroup *r, uint32_t nr);
/*
 * Returns the reason why a directory's own inode must not move.  If the inode
 * may move, returns E4L_SKIP_NONE.
 */
enum e4l_skip e4l_regroup_dir_fixed(const struct regroup *r, uint32_t dir);
/*
 * Returns whether the inodes of directory @dir could need fewer inode-table
 * blocks if more inodes were free.
 */
bool e4l_regroup_lacks_room(const struct regroup *r, uint32_t dir);
/*
 * Returns the last group of the plan.  If the plan has no group, all members of
 * the result are 0.
 */
struct group e4l_regroup_last_group(const struct regroup *r);

/* Copies the inode bitmap to @r->map, and prepares the search for windows. */
errcode_t e4l_regroup_start_plan(struct regroup *r);

/* ------------------------------------------------------- regroup_evict.c */

/* Sets *@any to whether inodes above @limit are in use. */
errcode_t e4l_regroup_has_above(struct e4l *e, ext2_ino_t limit, bool *any);
/* Plans the moves of all inodes above @limit.  Errors: as e4l_evict_inodes(). */
errcode_t e4l_regroup_evict(struct regroup *r, ext2_ino_t limit);
/*
 * Before inodes move into a part of an inode table that was never used, zeroes
 * the part, in the session @j.
 */
errcode_t e4l_regroup_zero_tables(struct regroup *r, struct e4l_journal *j);

/* ---------------------------------------------------- regroup_exchange.c */

/*
 * If directories lack free inodes, plans exchanges of inodes that save blocks.
 * Call this function after all other moves are planned.  Errors: as
 * e4l_regroup_learn_names().
 */
errcode_t e4l_regroup_exchange(struct regroup *r);

#endif
