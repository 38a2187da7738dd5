#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A repack reads adjacent blocks together, even if their destinations differ:
# blocks of files that grew alternately are adjacent on disk.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_strace

# 400 files of 4 blocks that grew alternately, and 1000 holes of 4 blocks, each
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
check "$e4repack" -v --no-undo --only=files,directories "$img"
reads=$(sed -n 's/.* in \([0-9,]*\) requests .*/\1/p' "$err" | tr -d ,)
same "excess" "$(excess "$img")" 0
clean "$img"
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"
# one read per fragment would be 1,627 reads
[ "${reads:-9999}" -le 200 ] || fail "$reads reads for 400 files"

# A block to change is read once per batch of moves, to verify the places of
# its files, and once to change it.  The superblock, at 0, is read before each
# write, because another program may use the device.
aged "$img" <<'END'
size 64M
mke2fs -N 8192 -m 0 -O ^has_journal
interleave /turns% count 400 rounds 4 blocks 1
END
check strace -f -qq -e trace=pread64 -o "$work/trace" \
	"$e4repack" --json --no-undo "$img"
batches=$(json "$out" "d['done']['transactions']")
grep -oE ', 4096, [1-9][0-9]*\)' "$work/trace" >"$work/blocks"
[ "$(wc -l <"$work/blocks")" -ge 20 ] || fail "no blocks read one by one"
again=$(uniq -d "$work/blocks" | wc -l)
[ "$again" -le "$batches" ] || fail "$again blocks are read twice in a row"
sound "$img"

# The first blocks of a file show whether the file is a swap file. e4repack
# reads the first blocks of many files together, in disk order.
aged "$img" <<'END'
size 512M
mke2fs -N 8192 -m 0 -O ^has_journal
contents off
interleave /turns% count 2000 rounds 20 blocks 1
END
check strace -f -qq -e trace=pread64 -o "$work/trace" \
	"$e4repack" -n -q --no-undo "$img"
reads=$(grep -c pread64 "$work/trace")
# one read per file would be 2,000 reads
[ "$reads" -le 500 ] || fail "$reads reads to plan for 2000 files"
