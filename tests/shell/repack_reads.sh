#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a repair copies is read for many destinations together: blocks of files
# that grew in turns lie side by side, wherever each of the files goes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

# 400 files of 4 blocks that grew in turns, and 1000 holes of 4 blocks, each
# between two files
aged "$img" <<'END'
size 64M
mke2fs -N 8192 -m 0 -O ^has_journal
many /small count 2000 size 16K perdir 500
delete /small every 2
interleave /turns% count 400 rounds 4 blocks 1
file /full size 20M
END
digest -z "$img" >"$work/before"
check "$e4repack" -v --no-undo "$img"
reads=$(sed -n 's/.* in \([0-9,]*\) reads, .*/\1/p' "$err" | tr -d ,)
same "excess" "$(excess "$img")" 0
clean "$img"
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"
# once it was one for each fragment, 1,627 in all
[ "${reads:-9999}" -le 200 ] || fail "$reads reads for 400 files"
