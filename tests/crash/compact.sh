#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while directories are rebuilt.
. "${top_srcdir:?}/tests/crash/common.sh"
accidents compact
