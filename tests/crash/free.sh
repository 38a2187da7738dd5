#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while zones are emptied for long free runs: in
# one run, and each step in a run of its own.
. "${top_srcdir:?}/tests/crash/common.sh"

crowded free sparse-1k
