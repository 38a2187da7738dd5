#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while files, inodes and the journal move below
# a new end of the filesystem, and while the end moves.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents shrink_files
