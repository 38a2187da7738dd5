/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* entry: what the parts of the planner know of the plan itself. */
#ifndef E4L_PLAN_ENTRY_H
#define E4L_PLAN_ENTRY_H

#include "model.h"

struct e4l_places *e4l_plan_model(const struct e4l_plan *p);

#endif
