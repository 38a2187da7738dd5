#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files with blocks in hundreds of groups, or with tens of thousands of extents,
# need more than one transaction of the smallest journal. A file whose tree is
# larger than the journal is skipped.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

# large WHAT MKE2FS-OPTIONS RECIPE-LINE...: makes a large image
large() {
	what=$1
	{
		echo "size 8G"
		echo "mke2fs -b 1024 -J size=1 -N 8192 -E lazy_itable_init=1 $2"
		echo "contents off"
		shift 2
		for line; do
			echo "$line"
		done
	} | aged "$img"
	clean "$img"
	digest -z "$img" >"$work/before"
	repack -n --zeroout=off "$img"
	planned=$(report planned.files)
	repack --zeroout=off "$img"
	same "$what: done" "$(report done.files)" "$planned"
	[ "$planned" -gt 0 ] || fail "$what: nothing to do"
	same "$what: skipped" "$(report skipped_inodes)" '[]'
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	same "$what: excess" "$(excess "$img")" 0
	echo "$what: $(report done.transactions) transactions"
}

# several: fails unless the last repack needed more than one transaction
several() {
	[ "$(report done.transactions)" -ge 2 ] || fail "$what: one transaction"
}

large "two in each of hundreds of groups" "" \
	"scatter /wide frags 1000 blocks 2 gap 7500"
several
large "the same in disorder, with quota" "-O quota" \
	"scatter /wide frags 1000 blocks 2 gap 7500 shuffle" \
	"scatter /second frags 400 blocks 2 gap 1000 shuffle"
large "tens of thousands of extents" "-J size=8" \
	"scatter /many frags 40000 blocks 2 gap 150 shuffle alternate"
several

large "a tree that no transaction holds, until the file is in one piece" "" \
	"scatter /many frags 30000 blocks 1 gap 1"

# If a tree is too large for a transaction, the file is skipped with the reason.
what="a tree that no transaction holds"
aged "$img" <<'END'
size 8G
mke2fs -b 1024 -J size=1 -N 8192 -E lazy_itable_init=1
contents off
scatter /mosaic frags 60000 blocks 1 gap 30 alternate
END
nothing_to_do "$img" --zeroout=off
same "$what: skipped" "$(skipped journal)" 1
