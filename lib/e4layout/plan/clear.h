/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clear: zones are emptied, so that what is free is in few, long runs;
 * e4l_plan_make() has the promises.
 */
#ifndef E4L_CLEAR_H
#define E4L_CLEAR_H

#include "evict.h"

struct e4l_clear {
	struct e4l_movables *movables;
	uint64_t aim;		/* clusters in the longest run do */
	/* No zone is shorter, in clusters; a quarter of what is free, if less. */
	uint64_t floor;
	errcode_t (*go_on)(void *priv);		/* or NULL */
	bool (*enough)(void *priv);		/* likewise */
	void *priv;
	bool over;				/* enough() said so */
	struct e4l_plan_free made;
};

/*
 * Empties zones of what has not moved yet; pays for it from *@budget, in blocks.
 */
errcode_t e4l_clear_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget);
/* Whether what has been found must do. */
bool e4l_clear_is_over(struct e4l_clear *c);
/* Carries @ev out, whose steps empty one zone more; likewise. */
errcode_t e4l_clear_take(struct e4l_clear *c, struct e4l_evict *ev,
			 uint64_t *budget);

#endif
