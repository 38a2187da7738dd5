#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while large files are moved in parts.  Each
# part is moved by a separate run.
. "${top_srcdir:?}/tests/crash/common.sh"
faults=$((5 * faults))
trial -o parts -c parts-1k
count_states
