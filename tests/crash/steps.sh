#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while a layout is repaired, each step in a run
# of its own.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents steps
