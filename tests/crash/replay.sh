#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, the running kernel replays the journal instead of e2fsck,
# and no data is lost.
. "${top_srcdir:?}/tests/crash/common.sh"

if [ "$(id -u)" != 0 ] || [ ! -w /dev/loop-control ]; then
	echo "skipped: no root or no loop devices"
	exit 77
fi
for scenario in csum3-64bit-1k external-1k; do
	for op in relocate repack tunables; do
		states -o $op -c $scenario -n "$faults" -m
	done
done
states -o repack -c split-1k -n "$faults" -m
count_states
