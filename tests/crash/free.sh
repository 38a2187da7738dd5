#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills while regions are evacuated for large
# free extents, no data is lost.  The evacuation is one run, or has one run for
# each step.
. "${top_srcdir:?}/tests/crash/common.sh"

crowded free sparse-1k
