#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while files and free space are put together in
# one plan: in one run, and each step in a run of its own.
. "${top_srcdir:?}/tests/crash/common.sh"

[ ! "$quick" ] || steps=		# free.sh has these scenarios
crowded together
