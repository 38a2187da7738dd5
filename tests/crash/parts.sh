#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills while large files are moved in parts,
# no data is lost.  Each part is moved by a separate run.
. "${top_srcdir:?}/tests/crash/common.sh"
faults=$((5 * faults))
trial -o parts -c parts-1k
count_states
