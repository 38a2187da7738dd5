/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cut: holes that nothing lies beside which could fill them take the end of a file
 * that has lost many fragments, in slices.
 */
#ifndef E4L_CUT_H
#define E4L_CUT_H

#include "clear.h"

/*
 * Until free space is in @runs runs, or no file has more fragments to give: each
 * has at most as many then as before the plan, and as many tree blocks.  Pays for
 * it from *@budget, in blocks.
 */
errcode_t e4l_cut_make(struct e4l_clear *c, struct e4l_draft *d, uint64_t runs,
		       uint64_t *budget);

#endif
