#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while a layout is repaired step by step, each
# in a run of its own that discards what it has used: that reads as zeroes then,
# or as anything.
. "${top_srcdir:?}/tests/crash/common.sh"
for scenario in nocsum-1k csum3-64bit-1k csum3-4k bigalloc-4k external-1k \
	quota-4k parts-1k; do
	trial -o discard -c $scenario
done
count_states
