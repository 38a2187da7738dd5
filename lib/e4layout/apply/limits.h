/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * limits: limits the changes of a file to changes that fit into a transaction.
 * Does no I/O.
 */
#ifndef E4L_APPLY_LIMITS_H
#define E4L_APPLY_LIMITS_H

#include "e4layout/plan/plan.h"

/*
 * Removes the changes from file->allowed that do not fit into a transaction of
 * geo->txn_blocks blocks.  If the tree of the file is too large for small
 * steps, allows only a move of the whole file (E4L_PLAN_AT_ONCE).  If a move of
 * the whole file does not fit either, file->allowed becomes 0.  Errors: ENOMEM.
 */
errcode_t e4l_limit_to_txn(const struct e4l_geometry *geo,
			   struct e4l_plan_file *file);

#endif
