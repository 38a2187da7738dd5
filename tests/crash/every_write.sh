#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An error of each kind at every write and flush of a repack.
#
# E4L_CRASH_EVERY: the scenarios (csum3-64bit-1k)
. "${top_srcdir:?}/tests/crash/common.sh"

for scenario in ${E4L_CRASH_EVERY:-csum3-64bit-1k}; do
	crash -o repack -c "$scenario" -n 100000 faults ||
		fail "$scenario: faults"
done
