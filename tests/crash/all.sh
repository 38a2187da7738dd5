#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills during a repack of all parts, no data
# is lost.
. "${top_srcdir:?}/tests/crash/common.sh"
for scenario in csum3-64bit-1k external-1k undo-1k crowded-bigalloc-4k; do
	trial -o all -c $scenario
done
count_states
