#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills during a plan that moves files and
# consolidates free space, no data is lost.  The plan is carried out in one run,
# or in one run for each step.
. "${top_srcdir:?}/tests/crash/common.sh"

[ ! "$quick" ] || steps=		# free.sh tests steps in separate runs
crowded together
