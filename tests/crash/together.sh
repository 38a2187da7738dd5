#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills during a plan that moves files and
# consolidates free space: in one run, and with each step in a separate run.
. "${top_srcdir:?}/tests/crash/common.sh"

[ ! "$quick" ] || steps=		# free.sh tests steps in separate runs
crowded together
