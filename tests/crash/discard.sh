#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills while a filesystem is repacked step by
# step, no data is lost. Each step is a separate run that discards the blocks
# that it has freed. Discarded blocks read as zeroes, or as arbitrary data.
. "${top_srcdir:?}/tests/crash/common.sh"
scenarios='csum3-64bit-1k bigalloc-4k external-1k parts-1k'
[ "$quick" ] || scenarios="$scenarios nocsum-1k csum3-4k quota-4k"
for scenario in $scenarios; do
	trial -o discard -c "$scenario"
done
count_states
