#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while inodes change places: every name leads to
# what it led to.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents exchange ${quick:+-x split-1k}
