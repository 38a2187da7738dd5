#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A source filesystem with badly fragmented files is copied with few reads, in
# disk order, and few writes. Preallocated blocks are preallocated in the copy,
# and read as zeroes from a device that had other content.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_strace

aged "$work/from" <<'END'
size 128M
mosaic /alternate size 16M written 4K unwritten 4K
mosaic /random size 8M written 12K unwritten 8K random
mosaic /far size 8M written 64K unwritten 64K
interleave /turn% count 200 rounds 8 blocks 1
END

# files IMAGE: prints the content and the mapped ranges of each file
files() {
	"$top_builddir/tests/tools/fsdigest" -n "$1" >"$work/digest" ||
		fail "fsdigest $1"
	sed -nE 's,^(/\S+) .*( size=\S+).*( content=.*),\1\2\3,p' \
		"$work/digest" | grep -v '^/lost+found ' | sort
}

# calls NAME FILE: prints the number of calls of NAME on FILE
calls() {
	grep -cF " $1($2" "$work/log"
}

# count TARGET: copies the source to TARGET, and checks the numbers of reads and
# writes.
count() {
	strace -f -y -s 0 -e trace=pwrite64,pread64,preadv -o "$work/log" \
		"$mke4fs" -q -b 4096 --from="$work/from" "$1" 128M \
		>"$out" 2>"$err" || { show_run; fail "copying to $1"; }
	clean "$1"
	files "$1" | diff "$work/want" - >&2 || fail "files are others in $1"
	# the descriptor's number has one digit
	sed -i -E 's/\([0-9]+</(</' "$work/log"
	writes=$(calls pwrite64 "<$1>")
	ranges=$(calls preadv "<$work/from>")
	reads=$((ranges + $(calls pread64 "<$work/from>")))
	echo "$1: $reads reads, $ranges of them of several ranges; $writes" \
		"writes"
	[ "$reads" -le 1000 ] || fail "$1: $reads reads"
	[ "$writes" -le 250 ] || fail "$1: $writes writes"
}

files "$work/from" >"$work/want"
[ "$(wc -l <"$work/want")" -gt 200 ] || fail 'files are missing'
count "$work/new"
tr '\0' x </dev/zero | head -c 128M >"$work/there"
count "$work/there"
