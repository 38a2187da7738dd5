#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while the end of the filesystem moves.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents shrink
