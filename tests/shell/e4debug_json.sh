#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With --json, the output of each request agrees with doc/schema.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs /usr/bin/python3
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null ||
	skip "no python3-jsonschema"

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
printf 'content' >"$work/host"
valid() {
	/usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4debug-1.json" "$1" lines
}

# The validator detects an incomplete report.
echo '{"schema": "e4debug/1", "request": "stats"}' >"$work/bad"
! valid "$work/bad" 2>/dev/null || fail 'the schema takes anything'

cat >"$work/requests" <<-END
	stats
	frag
	frag /data
	frag /split
	frag /none
	extents /data/holey
	extents /data/old
	tree /data/deep/tree
	map
	map /split
	freespace
	locality /data
	plan
	plan <14>
	repack /data/broken
	files
	trees /split 1M
	directories /data
	free
	inodes /data
	write $work/host /host
	tunables
	tunables dir_ireserve=64
	journal
	findings
	cachestat
END
check "$e4debug" --json -w -f "$work/requests" "$img"
cp "$out" "$work/lines"
same 'a line each' "$(wc -l <"$work/lines")" "$(wc -l <"$work/requests")"
check valid "$work/lines"
