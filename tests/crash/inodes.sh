#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills while inodes get other numbers, every
# name leads to the same content.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents inodes ${quick:+-x split-1k}
