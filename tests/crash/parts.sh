#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while large files move in parts, each part in
# a run of its own.
. "${top_srcdir:?}/tests/crash/common.sh"
states -o parts -c parts-1k -n "$draw"
crash -o parts -c parts-1k -n $((5 * faults)) faults || fail 'parts: faults'
crash -o parts -c parts-1k -n $((5 * faults)) kill || fail 'parts: kills'
count_states
