#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After power cuts, I/O errors and kills while the end of the filesystem moves,
# no data is lost.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents shrink
