#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills while files, inodes and the journal
# move below a new end of the filesystem, and while the end moves, no data is
# lost.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents shrink_files
