#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests create names in a directory that is mapped by indirect blocks.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

img=$work/img

for type in ext2 ext3; do
	protect=
	[ $type = ext3 ] || protect=--no-undo
	rm -f "$img"
	aged "$img" <<-END
		size 16M
		mke2fs -t $type -b 1024 -N 4000
		many /m count 1500 size 0
	END
	check debugfs -R 'stat /m' "$img"
	grep -q '(IND)' "$out" || fail 'the directory has no indirect block'
	for request in 'mkdir /m/new' 'link <13> /m/new/again'; do
		check "$e4debug" -w $protect -R "$request" "$img"
		sound "$img"
	done
	check debugfs -R 'stat /m/new/again' "$img"
	grep -q 'Links: 2' "$out" || fail 'the file has no second name'
done
