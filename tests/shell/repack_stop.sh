#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A run can be stopped inside a large file: what it has copied of that is
# dropped, what it did before stays, and another run goes on.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

probe=$top_builddir/tests/tools/stop_probe
# where PATH: its blocks
where() {
	debugfs -R "blocks $1" "$img" 2>/dev/null
}

# stopped N WANT: by the Nth question; how it ends
stopped() {
	what="stopped at question $1"
	cp --sparse=always "$work/img0" "$img"
	check "$probe" "$img" "$1"
	same "$what" "$(cat "$out")" "$2"
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# went_on: another run, with nobody to stop it, finishes.
went_on() {
	repack --zeroout=4M "$img"
	same "$what: the rest" "$(report files_done)" \
		"$(report files_planned)"
	same "$what: excess" "$(excess "$img")" 0
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

aged "$img" <<'END'
size 256M
scatter /big frags 256 blocks 64 gap 32
interleave /small count 20 rounds 3 blocks 1
END
cp --sparse=always "$img" "$work/img0"
digest -z "$img" >"$work/before"
big=$(where /big)
stopped 0 'asked 32, stopped 0, files 21 of 21, transactions 2, copied 16444, zeroed 0, left 0 files, 0 extents'
for n in 1 7 31; do
	stopped $n "asked $n, stopped 1, files 20 of 21, transactions 1, copied 60, zeroed 0, left 1 files, 255 extents"
	same "$what: the large file" "$(where /big)" "$big"
done
went_on

# what is copied in earlier transactions stays
aged "$img" <<'END'
size 512M
scatter /big frags 640 blocks 32 gap 16
scatter /second frags 320 blocks 16 gap 16
END
cp --sparse=always "$img" "$work/img0"
digest -z "$img" >"$work/before"
stopped 20 'asked 20, stopped 1, files 1 of 2, transactions 1, copied 5120, zeroed 0, left 1 files, 639 extents'
went_on

# the same for zeroes
aged "$img" <<'END'
size 256M
mosaic /db size 64M written 64K unwritten 1M
END
cp --sparse=always "$img" "$work/img0"
digest -z "$img" >"$work/before"
stopped 1 'asked 1, stopped 1, files 0 of 1, transactions 0, copied 0, zeroed 0, left 1 files, 121 extents'
went_on
