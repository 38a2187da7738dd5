#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The rows of --groups add up to the totals and agree with dumpe2fs.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs dumpe2fs /usr/bin/python3

img=$work/img
aged "$img" <<'END'
size 80M
mke2fs -b 1024 -N 20000
many /m count 3000 size 1K-9K perdir 100
delete /m percent 30
goal group 5
scatter /s frags 100 blocks 3 gap 2
END
check "$e4frag" --json --groups "$img"
cp "$out" "$work/doc"
for key in extents fragments ideal_extents fragmented; do
	same "$key" "$(json "$work/doc" "sum(g['$key'] for g in d['groups'])")" \
		"$(json "$work/doc" "d['files']['$key']")"
done
same files "$(json "$work/doc" 'sum(g["files"] for g in d["groups"])')" \
	"$(json "$work/doc" 'd["files"]["count"]')"
same directories "$(json "$work/doc" \
	'sum(g["directories"] for g in d["groups"])')" \
	"$(json "$work/doc" 'd["files"]["directories"]')"
same "unused inodes" "$(json "$work/doc" \
	'sum(g["unused_inodes_read_by_fsck"] for g in d["groups"])')" \
	"$(json "$work/doc" 'd["directories"]["unused_inodes_read_by_fsck"]')"
same "inodes used" "$(json "$work/doc" \
	'sum(g["inodes_used"] for g in d["groups"])')" \
	"$(json "$work/doc" \
	'd["filesystem"]["inodes"] - d["filesystem"]["free_inodes"]')"
same "free blocks" "$(json "$work/doc" \
	'" ".join(str(g["free_blocks"]) for g in d["groups"])')" \
	"$(dumpe2fs "$img" 2>/dev/null |
		sed -n 's/^  \([0-9]*\) free blocks, .*/\1/p' |
		tr '\n' ' ' | sed 's/ $//')"

check "$e4frag" --groups "$img"
same "rows of text" "$(sed -n '/^Block groups/,/^$/p' "$out" |
	grep -c '^ *[0-9]')" "$(json "$work/doc" 'len(d["groups"])')"
[ "$(wc -L <"$out")" -le 80 ] || fail "the rows are wider than 80 columns"
