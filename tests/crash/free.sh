#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while regions are evacuated for large free
# extents: in one run, and with each step in a separate run.
. "${top_srcdir:?}/tests/crash/common.sh"

crowded free sparse-1k
