/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * trade: holes that nothing fits into are made to fit what lies beside the longest
 * free run; e4l_plan_make() has the promises.
 */
#ifndef E4L_TRADE_H
#define E4L_TRADE_H

#include "clear.h"

/*
 * After e4l_clear_make(), with the same arguments.  Nothing is done where that
 * has an aim.
 */
errcode_t e4l_trade_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget);

#endif
