#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The report of mke4fs as JSON and as text, a dry run, and the order of files on
# disk.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
schema=$top_srcdir/doc/schema/mke4fs-1.json

mkdir -p "$work/src/one" "$work/src/two"
for i in one/a one/b two/c two/d; do
	head -c 1M /dev/urandom >"$work/src/$i"
done

# valid DOCUMENT: fails unless DOCUMENT conforms to the schema
valid() {
	run /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" "$schema" "$1"
	[ "$status" = 77 ] || [ "$status" = 0 ] || {
		show_run
		fail "$1 does not match the schema"
	}
}

check "$mke4fs" -n --json -d "$work/src" "$work/img" 32M
cp "$out" "$work/plan.json"
valid "$work/plan.json"
[ ! -e "$work/img" ] || fail "-n made an image"
same "planned only" "$(json "$work/plan.json" 'd["planned_only"]')" True
same "writes" "$(json "$work/plan.json" 'd["writes"]')" 0

check "$mke4fs" --json -d "$work/src" "$work/img" 32M
cp "$out" "$work/made.json"
valid "$work/made.json"
same "planned only" "$(json "$work/made.json" 'd["planned_only"]')" False
same "entries" "$(json "$work/made.json" 'd["entries"]')" 8
for key in needed_blocks needed_inodes free_blocks; do
	same $key "$(json "$work/made.json" "d['$key']")" \
		"$(json "$work/plan.json" "d['$key']")"
done
same "free blocks" "$(json "$work/made.json" 'd["free_blocks"]')" \
	"$(dumpe2fs -h "$work/img" 2>/dev/null |
	sed -n 's/^Free blocks: *//p')"
# mke4fs writes 4 MiB of files and less than 1 MiB of metadata, in few large
# writes.
[ "$(json "$work/made.json" '4 << 20 <= d["written_bytes"] < 5 << 20')" = \
	True ] || fail "bytes written"
[ "$(json "$work/made.json" 'd["writes"] <= 6')" = True ] || fail "writes"

rm "$work/img"
check "$mke4fs" -d "$work/src" "$work/img" 32M
grep -Eq ': 8 entries, .* in [0-9]+ writes$' "$out" || fail "the report"
rm "$work/img"
check "$mke4fs" --quiet -d "$work/src" "$work/img" 32M
[ ! -s "$out" ] || fail "--quiet reports"
rm "$work/img"

# --sort: files with higher priorities come first on the disk
printf '# first\n5 two/d\n\n-1 one\n2\t./one/b\n' >"$work/sort"
check "$mke4fs" --quiet --sort="$work/sort" -d "$work/src" "$work/img" 32M
at() {
	debugfs -R "bmap $1 0" "$work/img" 2>/dev/null
}
for pair in 'two/d one/b' 'one/b two/c' 'two/c one/a'; do
	first=$(at "${pair% *}")
	second=$(at "${pair#* }")
	[ "$first" -lt "$second" ] || fail "the order of $pair: $first $second"
done
clean "$work/img"
