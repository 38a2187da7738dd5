/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evict: what lies in the way moves, whole fragment by whole fragment, into free
 * runs that hold it.  All steps exist before any is in the draft, so that what
 * is no good leaves no trace.
 */
#ifndef E4L_EVICT_H
#define E4L_EVICT_H

#include "move.h"
#include "window.h"

#define E4L_NEW_FILE	SIZE_MAX

/* A fragment that lies in the way, or partly, and where it goes. */
struct e4l_lodger {
	struct e4l_movable *at;
	struct e4l_run run;
	uint64_t to;
};

/* A file that moves, and how. */
struct e4l_leaving {
	struct e4l_file fresh;		/* if it is not yet one of the draft */
	size_t file;			/* of the draft, or E4L_NEW_FILE */
	struct e4l_extent *ex;
	size_t n_ex;
	struct e4l_fragments old, new;
	struct e4l_steps steps;
};

struct e4l_evict {
	struct e4l_movables *movables;
	struct e4l_draft *d;
	struct e4l_run *gap;		/* free, where all is to be free */
	size_t n_gaps;
	struct e4l_lodger *lodger;
	size_t n_lodgers, placed;
	uint64_t cost;			/* clusters of the lodgers */
	struct e4l_leaving *leaving;
	size_t n_leaving;
};

/* How far a list went: what came since can be taken back. */
struct e4l_evict_mark {
	size_t lodgers, gaps;
	uint64_t cost;
};

/* How far a look went. */
enum e4l_found { E4L_FOUND_FREE, E4L_FOUND_LODGER, E4L_FOUND_OTHER };

/*
 * Begins a list of what is in the way, and lists what cluster @at is in, if that
 * is free, up to @end, or can move and is not listed yet; *@next is behind it, or
 * @at.  The movables stay in order as long as anything is listed.
 */
void e4l_evict_begin(struct e4l_evict *ev);
errcode_t e4l_evict_look(struct e4l_evict *ev, const struct e4l_crowd *c,
			 uint64_t at, uint64_t end, uint64_t *next,
			 enum e4l_found *found);
/* Only the first @n lodgers are listed then; the cost is the caller's to mend. */
void e4l_evict_unlist(struct e4l_evict *ev, size_t n);
/*
 * Adds all that is in @window to the list; if something in it stays, @window
 * ends there.
 */
errcode_t e4l_evict_look_through(struct e4l_evict *ev,
				 const struct e4l_crowd *c,
				 struct e4l_run *window);
/* Whether @run is one stripe at least, and begins on one: it must again. */
bool e4l_evict_is_striped(const struct e4l_evict *ev, const struct e4l_run *run);
/* Whether there is memory to move all that is listed. */
bool e4l_evict_is_small(const struct e4l_evict *ev);

/*
 * Takes what was listed as free, and a free run for each lodger, the longest
 * first: in its group if there is any and @near, or else the tightest.  *@done
 * is false if one has none.
 */
errcode_t e4l_evict_place(struct e4l_evict *ev, bool near, bool *done);
/*
 * One after the other instead: takes the tightest hole for the last lodger,
 * shorter than @below clusters, unless it must begin on a stripe.  *@filled: all of
 * the hole.
 */
errcode_t e4l_evict_place_last(struct e4l_evict *ev, uint64_t below,
			       bool *placed, bool *filled);
/* The list as it is, each on it placed, and each gap taken. */
struct e4l_evict_mark e4l_evict_mark(const struct e4l_evict *ev);
/* What was listed since @to is so no longer, and its places and gaps are free. */
errcode_t e4l_evict_go_back(struct e4l_evict *ev,
			    const struct e4l_evict_mark *to);
/*
 * Makes their steps.  *@done is false if a file stays, which is not asked
 * again; then the others are asked only if @all.
 */
errcode_t e4l_evict_leave(struct e4l_evict *ev, bool all, bool *done);
/*
 * Gives all that is going to be free, for questions alone, by e4l_space_try_give(),
 * or takes that back, by the other.
 */
errcode_t e4l_evict_try(const struct e4l_evict *ev,
			errcode_t (*change)(struct e4l_space *s, uint64_t start,
					    uint64_t len));
/* What free space will be once the steps are durable. */
errcode_t e4l_evict_outcome(const struct e4l_evict *ev,
			    struct e4l_outlook *ret);
/* All is as it was before e4l_evict_place(), and nothing is listed. */
errcode_t e4l_evict_undo(struct e4l_evict *ev);
/*
 * The steps are the draft's; once they are durable, all is free.  Nothing is
 * listed then.
 */
errcode_t e4l_evict_carry_out(struct e4l_evict *ev);
/* Blocks that the steps copy. */
uint64_t e4l_evict_copied(const struct e4l_evict *ev);
/* Frees what it holds. */
void e4l_evict_free(struct e4l_evict *ev);

/* One file of the draft, as it is now; the steps from l->old to l->new. */
errcode_t e4l_leaving_read(struct e4l_draft *d, size_t file,
			   struct e4l_leaving *l);
errcode_t e4l_leaving_steps(struct e4l_draft *d, struct e4l_leaving *l,
			    bool *done);
errcode_t e4l_leaving_add(struct e4l_draft *d, struct e4l_leaving *l);
errcode_t e4l_leaving_drop(struct e4l_draft *d, struct e4l_leaving *l);
uint64_t e4l_leaving_copied(const struct e4l_draft *d,
			    const struct e4l_leaving *l);
void e4l_leaving_free(struct e4l_leaving *l);

#endif
