/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* limits: what a transaction allows to do with a file.  Pure. */
#ifndef E4L_APPLY_LIMITS_H
#define E4L_APPLY_LIMITS_H

#include "e4layout/plan/plan.h"

/*
 * Takes from file->allowed what no transaction of geo->txn_blocks holds: a file
 * whose tree is too large may at most be moved at once (E4L_PLAN_AT_ONCE).
 * Error: ENOMEM.
 */
errcode_t e4l_limit_to_txn(const struct e4l_geometry *geo,
			   struct e4l_plan_file *file);

#endif
