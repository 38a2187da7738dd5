/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup_work: what the parts of regroup share. */
#ifndef E4L_REGROUP_WORK_H
#define E4L_REGROUP_WORK_H

#include "regroup.h"
#include "e4layout/format/dirent.h"
#include "e4layout/read/dirs.h"
#include "e4layout/read/tally.h"
#include "numbers.h"
#include "renumber.h"

/* What the plan knows of a directory. */
struct fate {
	uint32_t blocks, ideal;	/* of the tables: as planned so far, fewest */
	enum e4l_skip why;	/* it stays as it is */
	bool wanted, planned;
};

struct renamed {
	ext2_ino_t from, to;	/* 0: this slot is empty */
};

/* Moves after which a run can be stopped, and what all until there come to. */
struct group {
	size_t end;		/* behind the last one */
	int64_t saved;		/* blocks */
	uint64_t dirs;		/* that need fewer */
};

struct e4l_exchange;

struct member {
	ext2_ino_t ino;		/* first: see e4l_u32_cmp() */
	uint32_t hash, nth;	/* in the order of the directory */
	uint32_t lblk;
	enum e4l_skip why;	/* it must not move */
	ext2_ino_t to;
};

/* A block of the inode tables with some of them. */
struct tblock {
	uint32_t nr;
	uint32_t own, fixed, free;
	bool good;		/* it is to be kept if what it holds is needed */
	bool keep;
};

struct regroup {
	struct e4l *e;			/* first: see e4l_refuse_damage() */
	struct e4l_repack_run *run;
	bool quiet;
	struct e4l_regroup_result *result;
	struct e4l_numbers *numbers;
	struct e4l_name_graph g;
	struct fate *fates;		/* of g.dirs */
	ext2_ino_t lost_found;
	uint32_t per_block;
	uint64_t room;			/* blocks in a transaction */
	uint64_t tree_blocks;		/* of the inode at hand */
	ext2_ino_t *linked;		/* files with several names */
	size_t n_linked;
	bool names_cut;			/* not all of their names are known */
	char *buf;			/* READ_BYTES */
	struct ext2_inode_large *inode;
	/* the plan */
	ext2fs_inode_bitmap map;	/* as planned so far */
	/* [group]: no window so long; [1]: none for which few reads do */
	uint32_t *narrow[2];
	uint32_t narrowest;		/* as [0], of all groups */
	struct renamed *renamed;
	size_t n_renamed, renamed_mask;
	struct e4l_inode_move *moves;
	size_t n_moves;
	struct group *groups;
	size_t n_groups;
	bool over;			/* enough() said so */
	uint64_t asked, end_at;		/* see struct e4l_regroup_result */
	struct e4l_exchange *exchange;	/* that is being planned */
	/* of the directory at hand */
	uint32_t dir;
	bool thrifty;			/* it is to take few free inodes */
	struct member *m;
	size_t n_m;
	struct tblock *tb;
	size_t n_tb;
	ext2_ino_t *targets;
	size_t n_targets;
	ext2_ino_t *inos;		/* of any directory */
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

/* Memory for the plan, and as much for where hard links are. */
static inline uint64_t e4l_regroup_mem(const struct regroup *r)
{
	uint64_t bytes = r->run->limits.mem_bytes;

	return bytes ? bytes : UINT64_MAX;
}

/* The block of the tables that has an inode. */
static inline uint32_t block_of(const struct regroup *r, ext2_ino_t ino)
{
	return (ino - 1) / r->per_block;
}

/* Why an inode stays. */

/* ------------------------------------------------------- regroup_names.c */

typedef errcode_t (*e4l_regroup_entry)(struct regroup *r, uint32_t dir,
			      const struct e4l_dirent *entry, uint32_t lblk);

/* Calls @fn for each entry of a directory but the dots. */
errcode_t e4l_regroup_read(struct regroup *r, uint32_t dir,
			   e4l_regroup_entry fn);
/* The index of directory @ino, or E4L_NO_DIR. */
uint32_t e4l_regroup_find(const struct regroup *r, ext2_ino_t ino);
/* Whether a file has several names. */
bool e4l_regroup_is_linked(const struct regroup *r, ext2_ino_t ino);
bool e4l_regroup_is_asked(const struct regroup *r, ext2_ino_t ino);
/* Appends to r->inos. */
errcode_t e4l_regroup_add_ino(struct regroup *r, ext2_ino_t ino);
/* Reads all directories.  E4L_ET_INTERRUPTED: stop() said so. */
errcode_t e4l_regroup_learn_names(struct regroup *r);

/* -------------------------------------------------------- regroup_plan.c */

/* Memory for a move: in the plan, and twice in the map of numbers. */
#define E4L_MOVE_BYTES	(sizeof(struct e4l_inode_move) + \
			 4 * sizeof(struct renamed))

/* Makes the moves, in groups, and tells what stays.  Errors as above. */
errcode_t e4l_regroup_plan(struct regroup *r);
/* The number that @ino has, as planned so far. */
ext2_ino_t e4l_regroup_number_of(const struct regroup *r, ext2_ino_t ino);
/* How many inodes of block @nr of the tables are free, as planned so far. */
uint16_t e4l_regroup_count_free(const struct regroup *r, uint32_t nr);
/* Why a directory's own inode must stay, or NULL. */
enum e4l_skip e4l_regroup_dir_fixed(const struct regroup *r, uint32_t dir);
/* Whether a directory could need fewer blocks if more inodes were free. */
bool e4l_regroup_lacks_room(const struct regroup *r, uint32_t dir);
/* What all that is planned comes to. */
struct group e4l_regroup_last_group(const struct regroup *r);

/* ---------------------------------------------------- regroup_exchange.c */

/*
 * Then: has inodes change places, if that helps directories that lack room.  No
 * other moves may be planned after it.  Errors as above.
 */
errcode_t e4l_regroup_exchange(struct regroup *r);

#endif
