/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * work: one attempt at a plan: the items of this attempt, where everything is as
 * of the batch at hand, and the moves so far.
 */
#ifndef E4L_PLAN_WORK_H
#define E4L_PLAN_WORK_H

#include "fit.h"
#include "model.h"

enum e4l_item_state {
	E4L_KEPT,		/* stays where it is */
	E4L_LOOSE,		/* is to move */
	E4L_MOVED,
	E4L_PINNED,		/* cannot move: a wall */
};

enum e4l_file_state {
	E4L_AS_BEFORE,
	E4L_PACKED,		/* its surplus tree blocks are free */
	E4L_IMPROVED,		/* what could be zeroed while in fragments, is */
	E4L_FINISHED,		/* it is as it should be */
};

/* How an attempt differs from others. */
struct e4l_attempt {
	uint32_t part;		/* longer than free space / @part comes last */
	uint32_t share;		/* of all there is to do, in thousandths */
	bool regions;		/* consolidate free space */
	bool cut;		/* join what is too long in parts */
};
#define E4L_WHOLE_SHARE	1000u

/* A target.  @owner: the only item for it, parts of which may be there. */
struct e4l_slot {
	uint32_t start, len, owner;
};

/* What a layout is worth, in clusters. */
struct e4l_look {
	uint64_t excess, free, large, largest, extents;
};

struct e4l_work {
	struct e4l_places *m;
	struct e4l_attempt how;
	uint64_t start_excess, excess;
	uint32_t batch;
	struct e4l_plan_move *move;
	size_t n_moves, max_moves;
	size_t n_settled;		/* of batches that have ended */
	/*
	 * Fragments as they are now, linked by logical run; of no length once
	 * they are part of another.
	 */
	struct e4l_frag *frag;
	uint32_t n_frags;
	size_t max_frags;
	/* what moves as one: logical runs, or each fragment of those */
	struct e4l_item *item;
	uint32_t n_items;
	size_t max_items;
	uint8_t *state;			/* of items: enum e4l_item_state */
	uint8_t *broken;		/* it is a logical run in fragments */
	uint32_t *home;			/* where part of it stays, or E4L_NONE */
	uint32_t *next;			/* of its length, among those waiting */
	uint32_t *touched;		/* the last batch in which a part moved */
	uint32_t *order;		/* items to move, the densest first */
	uint32_t n_order;
	uint32_t *of;			/* of each logical run: its item */
	uint32_t *broken_items;		/* of each file */
	uint32_t *cuts;			/* of each file: extents that are more */
	uint8_t *finished;		/* of each file: enum e4l_file_state */
	uint8_t *moved;			/* of each file: after it was packed last */
	uint32_t *by_place;		/* fragments, as the attempt began */
	uint32_t n_by_place;
	/* maps */
	uint64_t *used, *unwritten;
	uint64_t *walls;		/* in use by what cannot move; regions */
	uint64_t *loose;		/* in use by what is to move */
	uint64_t *region;		/* free at the end */
	uint64_t *homes;		/* slots of owners */
	uint64_t *given;		/* free when the batch ends */
	uint64_t *scratch;
	/* slots by length, then by place; @head: who waits for that length */
	struct e4l_slot *slot;
	uint32_t n_slots;
	size_t max_slots;
	uint32_t *head;
	uint32_t n_homes;
	struct e4l_fit fit;
	uint64_t free_end;		/* clusters that are free at the end */
	uint32_t large_item;		/* no longer item moves in one piece */
	uint64_t to_move;
	uint64_t copied, zeroed;	/* blocks */
	bool late;			/* enough() has ended it */
};

/* How everything is before the plan.  ENOMEM; e4l_work_free() in any case. */
errcode_t e4l_work_begin(struct e4l_work *w, struct e4l_places *m);
/*
 * Begins an attempt in the state of @from.  Errors: ENOMEM.  Call e4l_work_free() also
 * after an error.
 */
errcode_t e4l_work_copy(struct e4l_work *to, const struct e4l_work *from);
/* Frees one of the two: @w becomes @next, if that is to be taken. */
void e4l_work_adopt(struct e4l_work *w, struct e4l_work *next, bool take);
void e4l_work_free(struct e4l_work *w);

/* Splits logical runs into items; of long ones in fragments only @only. */
errcode_t e4l_work_items(struct e4l_work *w, const uint8_t *only);

/* A RAID's stripe, in clusters; 0: none. */
uint32_t e4l_work_stripe(const struct e4l_work *w);
/* Item @i began on a stripe, and is as long, so that it has to where it goes. */
bool e4l_work_is_aligned(const struct e4l_work *w, uint32_t i);
/* Takes a place for item @i, on a stripe if it has to be; *@to: E4L_NONE. */
errcode_t e4l_work_take(struct e4l_work *w, uint32_t i, uint32_t *to);

/* How many fragments logical run @i of the model is in. */
uint32_t e4l_work_pieces(const struct e4l_work *w, uint32_t i);
/* Fragments beyond one for each logical run, counted anew. */
uint64_t e4l_work_excess(const struct e4l_work *w);
void e4l_work_look(const struct e4l_work *w, struct e4l_look *look);

/* The first fragment by place that ends behind @cluster. */
uint32_t e4l_work_behind(const struct e4l_work *w, uint32_t cluster);

/* Sets the bits of item @i in @map. */
void e4l_work_mark(const struct e4l_work *w, uint64_t *map, uint32_t i,
		   bool value);
void e4l_work_loosen(struct e4l_work *w, uint32_t i);
/* Makes the fragments of a long item that has no home items of their own. */
errcode_t e4l_work_scatter(struct e4l_work *w);

/* ------------------------------------------------------------- target.c */

/* Chooses regions and slots.  @homes: fragments may stay where they are. */
errcode_t e4l_target_choose(struct e4l_work *w, bool homes);
/* Gives each loose item a slot of its own in what is free now. */
errcode_t e4l_target_reserve(struct e4l_work *w);

/* ----------------------------------------------------------- schedule.c */

/* Moves what is loose, batch by batch. */
errcode_t e4l_schedule_run(struct e4l_work *w);
/* At last: files are packed that are not finished yet. */
errcode_t e4l_schedule_finish(struct e4l_work *w);

/* ------------------------------------------------------------- unlock.c */

/*
 * Items wait for each other: what lies in the slots that are nearest to being
 * free, up to about @most clusters, waits elsewhere.
 */
errcode_t e4l_unlock(struct e4l_work *w, uint64_t most);

/* -------------------------------------------------------------- moves.c */

errcode_t e4l_move_item(struct e4l_work *w, uint32_t i, uint32_t to,
			bool waits);
/* Those of its fragments that are not yet where it is to begin at @to. */
errcode_t e4l_move_rest(struct e4l_work *w, uint32_t i, uint32_t to);
errcode_t e4l_move_fragment(struct e4l_work *w, uint32_t f, uint32_t to);
/* Packs the file where it is, for its surplus tree blocks. */
errcode_t e4l_move_pack(struct e4l_work *w, uint32_t file);
/* The file is as it should be: its spare tree blocks go. */
errcode_t e4l_move_finish(struct e4l_work *w, uint32_t file);
/* Whether a fragment may be cut: see e4l_work_split(). */
bool e4l_work_may_split(const struct e4l_work *w, uint32_t f);
/*
 * Packs the file if it was moved, because moves keep its tree from shrinking.  A
 * file that is still in fragments is packed if it needs no tree at all.
 */
errcode_t e4l_move_repack(struct e4l_work *w, uint32_t file);
/* Cuts @f behind @keep clusters; *@rest is the new fragment. */
errcode_t e4l_work_split(struct e4l_work *w, uint32_t f, uint32_t keep,
			 uint32_t *rest);
/* What the moves of the batch leave is free then. */
void e4l_end_batch(struct e4l_work *w);

#endif
