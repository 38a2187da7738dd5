/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * work: an attempt at a plan: its items, the layout after the current batch,
 * and the moves so far.
 */
#ifndef E4L_PLAN_WORK_H
#define E4L_PLAN_WORK_H

#include "e4layout/base/fit.h"
#include "model.h"

enum e4l_item_state {
	E4L_KEPT,		/* the item stays in place */
	E4L_LOOSE,		/* the item will be moved */
	E4L_MOVED,
	E4L_PINNED,		/* the item cannot be moved: a wall */
};

enum e4l_file_state {
	E4L_AS_BEFORE,
	E4L_PACKED,		/* the surplus tree blocks are free */
	E4L_IMPROVED,		/* zeroed as far as possible while fragmented */
	E4L_FINISHED,		/* unfragmented, zeroed and packed */
};

/* A unit of the plan: a logical run, or one fragment of a logical run. */
struct e4l_work_item {
	uint32_t len, first, n, file;	/* see struct e4l_item */
	uint32_t home;			/* place where a part stays, or E4L_NONE */
	uint32_t next;			/* next waiting item of this length */
	uint32_t touched;		/* the last batch in which a part moved */
	uint8_t state;			/* enum e4l_item_state */
	bool broken;			/* the item is a fragmented logical run */
};

/* Parameters of an attempt. */
struct e4l_attempt {
	uint32_t part;		/* items longer than free space / @part are moved last */
	uint32_t share;		/* share of the work, in thousandths */
	bool regions;		/* consolidate free space */
	bool cut;		/* join runs that are too long in parts */
};
#define E4L_WHOLE_SHARE	1000u

/*
 * A target.  @owner: the item that the slot is reserved for, parts of which may
 * be in the slot; or E4L_NONE.
 */
struct e4l_slot {
	uint32_t start, len, owner;
};

/* Figures of a layout, in clusters. */
struct e4l_look {
	uint64_t excess, free, large, largest, extents;
};

struct e4l_work {
	struct e4l_plan *m;
	struct e4l_attempt how;
	uint64_t excess;
	uint32_t batch;
	struct e4l_plan_move *move;
	size_t n_moves, max_moves;
	size_t n_settled;		/* moves of finished batches */
	/*
	 * Current fragments, linked by logical run.  A fragment that was merged
	 * into another has the length 0.
	 */
	struct e4l_frag *frag;
	uint32_t n_frags;
	size_t max_frags;
	struct e4l_work_item *item;
	size_t n_items, max_items;
	uint32_t *order;		/* items to move, by fragments per cluster */
	uint32_t n_order;
	uint32_t *of;			/* per logical run: its item, or E4L_NONE */
	uint32_t *broken_items;		/* per file: number of fragmented items */
	uint8_t *finished;		/* per file: enum e4l_file_state */
	uint8_t *moved;			/* per file: moved after it was packed */
	uint32_t *by_place;		/* fragments, sorted by place at the start */
	uint32_t n_by_place;
	/* maps of clusters (@unwritten: of blocks) */
	uint64_t *used, *unwritten;
	uint64_t *walls;		/* clusters of walls, regions and homes */
	uint64_t *loose;		/* clusters of loose items */
	uint64_t *region;		/* clusters that the target leaves free */
	uint64_t *homes;		/* clusters of slots with an owner */
	uint64_t *given;		/* clusters that the batch frees */
	uint64_t *scratch;
	/*
	 * slots by length and place; @head: the first waiting item per length
	 */
	struct e4l_slot *slot;
	uint32_t n_slots;
	size_t max_slots;
	uint32_t *head;
	uint32_t n_homes;
	struct e4l_fit fit;
	uint64_t free_end;		/* clusters that are free at the end */
	uint32_t large_item;		/* longer items are not moved in one piece */
	uint64_t to_move;
	uint64_t copied, zeroed;	/* in blocks */
	bool late;			/* enough() has ended the planning */
	bool spent;			/* a move would exceed the budget */
};

/*
 * Begins with the layout before the plan.  Errors: ENOMEM.  Call
 * e4l_work_free() also after an error.
 */
errcode_t e4l_work_begin(struct e4l_work *w, struct e4l_plan *m);
/*
 * Begins an attempt in the state of @from.  Errors: ENOMEM.  Call e4l_work_free() also
 * after an error.
 */
errcode_t e4l_work_copy(struct e4l_work *to, const struct e4l_work *from);
/* Replaces @w by @next if @take is true; frees the other one. */
void e4l_work_adopt(struct e4l_work *w, struct e4l_work *next, bool take);
void e4l_work_free(struct e4l_work *w);

/*
 * Splits logical runs into items.  @only: if not NULL, the fragmented runs to
 * join.
 */
errcode_t e4l_work_items(struct e4l_work *w, const uint8_t *only);

/* Returns the stripe of a RAID, in clusters; 0: none. */
uint32_t e4l_work_stripe(const struct e4l_work *w);
/*
 * Whether item @i began on a stripe boundary and is at least as long as a
 * stripe; the target must also begin on a stripe boundary.
 */
bool e4l_work_is_aligned(const struct e4l_work *w, uint32_t i);
/*
 * Takes a free extent for item @i, on a stripe boundary if required.  *@to:
 * E4L_NONE if there is none.
 */
errcode_t e4l_work_take(struct e4l_work *w, uint32_t i, uint32_t *to);

/* Returns the number of fragments of logical run @i of the model. */
uint32_t e4l_work_pieces(const struct e4l_work *w, uint32_t i);
/* Returns the number of fragments beyond one per logical run. */
uint64_t e4l_work_excess(const struct e4l_work *w);
void e4l_work_look(const struct e4l_work *w, struct e4l_look *look);

/* Returns the first fragment, by place, that ends after @cluster. */
uint32_t e4l_work_behind(const struct e4l_work *w, uint32_t cluster);

/* Sets the bits of item @i in @map. */
void e4l_work_mark(const struct e4l_work *w, uint64_t *map, uint32_t i,
		   bool value);
void e4l_work_loosen(struct e4l_work *w, uint32_t i);
/* Splits long items without a home into one item per fragment. */
errcode_t e4l_work_scatter(struct e4l_work *w);

/* ------------------------------------------------------------- target.c */

/*
 * Marks items that overlap [start, end) as loose.  Returns whether all of them
 * can be moved.
 */
bool e4l_target_lift(struct e4l_work *w, uint32_t start, uint32_t end);
/*
 * Chooses regions: the longest that walls allow, at the places with the least
 * to copy.  *@first is the first region.
 */
errcode_t e4l_target_regions(struct e4l_work *w, struct e4l_span *first);
/* Fragments of long or of short items stay where they are if that is worth it. */
void e4l_target_homes(struct e4l_work *w, bool is_long);

/* -------------------------------------------------------------- slots.c */

/* Chooses regions and slots.  @homes: fragments may stay at their places. */
errcode_t e4l_target_choose(struct e4l_work *w, bool homes);
/* Gives each loose item its own slot in the current free space. */
errcode_t e4l_target_reserve(struct e4l_work *w);

/* ----------------------------------------------------------- schedule.c */

/* Moves loose items, batch by batch. */
errcode_t e4l_schedule_run(struct e4l_work *w);
/* Packs the files that are not finished. */
errcode_t e4l_schedule_finish(struct e4l_work *w);

/* ------------------------------------------------------------- unlock.c */

/*
 * Called if items wait for each other: evacuates the slots that need the least
 * evacuation, up to about @most clusters.
 */
errcode_t e4l_unlock(struct e4l_work *w, uint64_t most);

/* -------------------------------------------------------------- moves.c */

errcode_t e4l_move_item(struct e4l_work *w, uint32_t i, uint32_t to,
			bool waits);
/*
 * Moves the fragments of the item that are not at their final places if the
 * item begins at @to.
 */
errcode_t e4l_move_rest(struct e4l_work *w, uint32_t i, uint32_t to);
errcode_t e4l_move_fragment(struct e4l_work *w, uint32_t f, uint32_t to);
/* Packs the file at its place, to free its surplus tree blocks. */
errcode_t e4l_move_pack(struct e4l_work *w, uint32_t file);
/* Finishes a file: frees its spare tree blocks. */
errcode_t e4l_move_finish(struct e4l_work *w, uint32_t file);
/*
 * Packs the file if it was moved and packing frees tree blocks: a move does not
 * shrink the tree.  A file that is not finished is packed only if its extents
 * fit into its inode.
 */
errcode_t e4l_move_repack(struct e4l_work *w, uint32_t file);
/* Ends a batch: frees the clusters that its moves have left. */
void e4l_end_batch(struct e4l_work *w);

#endif
