#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while a filesystem is repacked, each step in
# a separate run.
. "${top_srcdir:?}/tests/crash/common.sh"
if [ "$quick" ]; then
	# In most other scenarios, the first step is the whole repack, which
	# repack.sh tests.
	for scenario in quota-1k external-quota-1k inline-4k \
		crowded-bigalloc-4k; do
		trial -o steps -c $scenario
	done
	count_states
else
	accidents steps
fi
