/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * work: an attempt at a plan.  Struct e4l_work has the items of the attempt,
 * the layout after the current batch, and the moves so far.
 */
#ifndef E4L_PLAN_WORK_H
#define E4L_PLAN_WORK_H

#include "e4layout/base/fit.h"
#include "model.h"

enum e4l_item_state {
	E4L_KEPT,		/* the item stays in place */
	E4L_LOOSE,		/* the item will be moved */
	E4L_MOVED,
	E4L_PINNED,		/* the item is treated as a wall */
};

enum e4l_file_state {
	E4L_AS_BEFORE,
	E4L_PACKED,		/* the surplus tree blocks are free */
	/* like E4L_PACKED, and the chosen unwritten runs are zeroed */
	E4L_IMPROVED,
	/* like E4L_IMPROVED, and the file is unfragmented */
	E4L_FINISHED,
};

/*
 * A unit of the plan: a logical run, a part of a logical run, or a tree block.
 */
struct e4l_work_item {
	uint32_t len, first, n, file;	/* as in struct e4l_item */
	uint32_t home;		/* start of the reserved slot, or E4L_NONE */
	uint32_t next;			/* next waiting item of equal length */
	/*
	 * number of the last batch that moved a single fragment of the item;
	 * E4L_NONE: no batch has moved a single fragment
	 */
	uint32_t touched;
	uint8_t state;			/* enum e4l_item_state */
	bool broken;		/* the item has several fragments to join */
};

/* Parameters of an attempt. */
struct e4l_attempt {
	/* an item with more than 1/@part of free space is long */
	uint32_t part;
	/*
	 * the attempt joins logical runs with at most @share thousandths of the
	 * clusters of all fragmented logical runs
	 */
	uint32_t share;
	bool regions;		/* consolidate free space */
	/* join a part of each logical run that cannot be joined as a whole */
	bool cut;
};
#define E4L_WHOLE_SHARE	1000u

/*
 * A slot: a target extent of @len clusters.  If the slot is reserved for one
 * item, @owner is the item, and fragments of the item can already be in the
 * slot.  If the slot is not reserved, @owner is E4L_NONE.
 */
struct e4l_slot {
	uint32_t start, len, owner;
};

/*
 * Statistics of a layout, with lengths in clusters.  @excess is the result of
 * e4l_work_excess().  @free is the total length of all free extents.  @large is
 * the total length of the free extents of at least m->large clusters.  @largest
 * is the length of the largest free extent.  @extents is the number of free
 * extents.
 */
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
	size_t n_settled;	/* number of moves in finished batches */
	/*
	 * Current fragments, linked by logical run.  A fragment that was merged
	 * into another has the length 0.
	 */
	struct e4l_frag *frag;
	uint32_t n_frags;
	size_t max_frags;
	struct e4l_work_item *item;
	size_t n_items, max_items;
	uint32_t *order; /* loose items, sorted by fragments per cluster */
	uint32_t n_order;
	uint32_t *of;			/* per logical run: its item, or E4L_NONE */
	uint32_t *broken_items;		/* per file: number of fragmented items */
	uint8_t *finished;		/* per file: enum e4l_file_state */
	/*
	 * per file: the plan has moved blocks of the file since it last packed
	 * the extent tree
	 */
	uint8_t *moved;
	uint32_t *by_place;	/* fragments, sorted by their initial @start */
	uint32_t n_by_place;
	/* @used has one bit per cluster, @unwritten has one bit per block */
	uint64_t *used, *unwritten;
	uint64_t *walls;	/* walls, clusters of regions, reserved slots */
	uint64_t *loose;	/* clusters of loose items and tree blocks */
	uint64_t *region;		/* clusters of regions */
	uint64_t *homes;	/* clusters of reserved slots (item[].home) */
	uint64_t *given; /* clusters that e4l_end_batch() marks as free */
	uint64_t *scratch;
	/*
	 * @slot is sorted by length; @head has the first waiting item of each
	 * length
	 */
	struct e4l_slot *slot;
	uint32_t n_slots;
	size_t max_slots;
	uint32_t *head;
	uint32_t n_homes;
	struct e4l_fit fit;
	uint64_t free_end; /* number of clusters that are free after the plan */
	/* an item of more than @large_item clusters is a long item */
	uint32_t large_item;
	uint64_t to_move;
	/* numbers of blocks that the moves copy and zero */
	uint64_t copied, zeroed;
	bool late;			/* enough() has ended the planning */
	bool spent;	/* a move was omitted because of the copy budget */
};

/*
 * Initializes @w with the layout before the plan.  Errors: ENOMEM.  Call
 * e4l_work_free() also after an error.
 */
errcode_t e4l_work_begin(struct e4l_work *w, struct e4l_plan *m);
/*
 * Initializes @to with the state of @from, for another attempt.  Errors:
 * ENOMEM.  Call e4l_work_free() also after an error.
 */
errcode_t e4l_work_copy(struct e4l_work *to, const struct e4l_work *from);
/*
 * If @take is true, replaces @w by @next.  Otherwise, frees @next.  In both
 * cases, sets w->late if next->late is true.
 */
void e4l_work_adopt(struct e4l_work *w, struct e4l_work *next, bool take);
void e4l_work_free(struct e4l_work *w);

/*
 * Makes items of all logical runs.  If @only is not NULL, a fragmented run is
 * joined only if the element of @only with the index of the run is not 0.
 */
errcode_t e4l_work_items(struct e4l_work *w, const uint8_t *only);

/* Returns the stripe size of the RAID in clusters, or 0 if it is unknown. */
uint32_t e4l_work_stripe(const struct e4l_work *w);
/*
 * Whether the target of item @i must begin on a stripe boundary: the item is
 * unfragmented and at least as long as a stripe, and it began on a stripe
 * boundary before the plan.
 */
bool e4l_work_is_aligned(const struct e4l_work *w, uint32_t i);
/*
 * Takes clusters for item @i from a free extent.  If e4l_work_is_aligned() is
 * true, the clusters begin on a stripe boundary.  If no free extent is long
 * enough, sets *@to to E4L_NONE; otherwise, to the first cluster.
 */
errcode_t e4l_work_take(struct e4l_work *w, uint32_t i, uint32_t *to);

/* Returns the number of fragments of logical run @i of the model. */
uint32_t e4l_work_pieces(const struct e4l_work *w, uint32_t i);
/* Returns the number of fragments minus the number of logical runs. */
uint64_t e4l_work_excess(const struct e4l_work *w);
void e4l_work_look(const struct e4l_work *w, struct e4l_look *look);

/*
 * Returns the index in w->by_place of the first fragment that ends after
 * @cluster.
 */
uint32_t e4l_work_behind(const struct e4l_work *w, uint32_t cluster);

/* Sets the bits of @map for the clusters of item @i to @value. */
void e4l_work_mark(const struct e4l_work *w, uint64_t *map, uint32_t i,
		   bool value);
void e4l_work_loosen(struct e4l_work *w, uint32_t i);
/*
 * Splits each fragmented long item without a reserved slot into one item per
 * fragment.  If w->how.cut is set, and the file may be moved in several steps,
 * an item gets several fragments, but at most w->large_item / 2 clusters.
 */
errcode_t e4l_work_scatter(struct e4l_work *w);

/* ------------------------------------------------------------- target.c */

/*
 * Makes the items with the state E4L_KEPT that overlap [start, end) loose,
 * except items that are longer than w->large_item.  If an item must not be
 * moved, makes the item a wall and returns false.
 */
bool e4l_target_lift(struct e4l_work *w, uint32_t start, uint32_t end);
/*
 * Chooses regions between walls, the longest first.  If several regions have a
 * similar length, prefers the region with the fewest clusters to copy.  Sets
 * *@first to the first region; if there is no region, the length of *@first is
 * 0.
 */
errcode_t e4l_target_regions(struct e4l_work *w, struct e4l_span *first);
/*
 * Reserves slots around the longest fragments of fragmented items, if this
 * saves copying.  The longest fragment of an item with a reserved slot stays in
 * place.  If @is_long is true, reserves slots only for items that are longer
 * than w->large_item; if false, only for items that are not longer.
 */
void e4l_target_homes(struct e4l_work *w, bool is_long);

/* -------------------------------------------------------------- slots.c */

/*
 * Chooses regions and slots.  If @homes is true, also reserves slots with
 * e4l_target_homes().
 */
errcode_t e4l_target_choose(struct e4l_work *w, bool homes);
/*
 * Reserves a slot in the current free space for each loose item.  If no free
 * extent is long enough for an item, the item gets no slot.
 */
errcode_t e4l_target_reserve(struct e4l_work *w);

/* ----------------------------------------------------------- schedule.c */

/*
 * Adds moves of the loose items to their slots, batch by batch.  If enough()
 * returns true, stops and sets w->late.  Errors: ENOMEM, errors of go_on().
 */
errcode_t e4l_schedule_run(struct e4l_work *w);
/* Adds moves that zero and pack the files that are not finished. */
errcode_t e4l_schedule_finish(struct e4l_work *w);

/* ------------------------------------------------------------- unlock.c */

/*
 * Evacuates up to about @most clusters from slots.  Begins with the slots that
 * have the lowest percentage of used clusters.  Call this function if items
 * block the slots of other items.
 */
errcode_t e4l_unlock(struct e4l_work *w, uint64_t most);

/* -------------------------------------------------------------- moves.c */

/*
 * Adds a move of item @i to cluster @to.  If @waits is true, @to is a temporary
 * position, and the item stays loose.  If the move would exceed the copy
 * budget, sets w->spent and adds no move.  Errors: ENOMEM.
 */
errcode_t e4l_move_item(struct e4l_work *w, uint32_t i, uint32_t to,
			bool waits);
/*
 * Adds moves of item @i to cluster @to.  Fragments of the item that are already
 * at their final positions are not moved.  If the item exceeds the copy budget,
 * sets w->spent and adds no move.
 */
errcode_t e4l_move_rest(struct e4l_work *w, uint32_t i, uint32_t to);
errcode_t e4l_move_fragment(struct e4l_work *w, uint32_t f, uint32_t to);
/* Packs the file without moving data, to free its surplus tree blocks. */
errcode_t e4l_move_pack(struct e4l_work *w, uint32_t file);
/*
 * Zeroes the chosen runs of a file and packs the extent tree.  If the file is
 * unfragmented, frees all tree blocks that the plan can free.  Otherwise, frees
 * only the tree blocks that a packed tree does not need for the fragments.
 */
errcode_t e4l_move_finish(struct e4l_work *w, uint32_t file);
/*
 * Adds a move that rebuilds the extent tree of a file with as few tree blocks
 * as possible, because a move of data does not shrink the tree.  Does nothing
 * if the file has no tree blocks, or was not moved after the last rebuild.  If
 * the state of the file is not E4L_FINISHED, rebuilds the tree only if all
 * extents fit into the inode.
 */
errcode_t e4l_move_repack(struct e4l_work *w, uint32_t file);
/* Ends a batch: marks the clusters that the batch frees as free. */
void e4l_end_batch(struct e4l_work *w);

#endif
