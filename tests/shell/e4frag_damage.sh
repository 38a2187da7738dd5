#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each damaged structure is counted, named and skipped; the rest is reported.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs dumpe2fs /usr/bin/python3

img=$work/img
bad=$work/bad

# flip OFFSET: copies the image and changes a byte of the copy.
flip() {
	cp "$img" "$bad"
	/usr/bin/python3 - "$bad" "$1" <<-'END'
	import sys
	with open(sys.argv[1], "r+b") as f:
	    f.seek(int(sys.argv[2]))
	    byte = f.read(1)[0]
	    f.seek(-1, 1)
	    f.write(bytes([byte ^ 0x40]))
	END
}

# named WHAT INODE BLOCK WHY: fails unless the report has exactly one damage,
# with the given inode, block and reason.
named() {
	check "$e4frag" --json "$bad"
	one_sentence e4frag
	says 'damaged .*: run e2fsck -fn'
	same "$features: $1" "$(json "$out" \
		'[[x["inode"], x["block"]] for x in d["damaged"]]')" \
		"[[$2, $3]]"
	same "$features: $1: counted" "$(json "$out" 'd["damaged_count"]')" 1
	case $(json "$out" 'd["damaged"][0]["why"]') in
	*"$4"*) ;;
	*) fail "$features: $1: $(json "$out" 'd["damaged"]')" ;;
	esac
}

# left KEY NUMBER: fails unless the figure KEY is lower by NUMBER than for the
# sound image.
left() {
	same "$features: $1" "$(json "$out" "d['files']['$1']")" \
		$(($(json "$work/sound" "d['files']['$1']") - $2))
}

# blocks_at LEVEL: prints the blocks of one level of the deep tree, from
# debugfs.
blocks_at() {
	debugfs -R 'ex /deep' "$img" 2>/dev/null | awk -v level="$1" '
		{ gsub("/", " ") }
		$1 == level && $2 > level { print $(NF - 1) }'
}

for features in metadata_csum metadata_csum_seed; do
	aged "$img" <<-END
		size 32M
		mke2fs -O $features -N 2000
		scatter /deep frags 40 blocks 1 gap 1 leaf 4 index 4
		file /plain size 100K
		many /dir count 20 size 5K
	END
	check "$e4frag" --json "$img"
	cp "$out" "$work/sound"

	ino=$(debugfs -R 'stat /plain' "$img" 2>/dev/null |
		sed -n 's/^Inode: \([0-9]*\) .*/\1/p')
	# debugfs prints "located at block N, offset 0xN"
	imap=$(debugfs -R 'imap /plain' "$img" 2>/dev/null |
		sed -n 's/.*at block \([0-9]*\), offset \(0x.*\)/\1*4096+\2/p')
	# shellcheck disable=SC2004	# $imap is an expression
	at=$(($imap))
	flip $((at + 8))
	named "an inode" "$ino" $((at / 4096)) "the inode's checksum"
	left count 1
	left extents 1

	ino=$(debugfs -R 'stat /deep' "$img" 2>/dev/null |
		sed -n 's/^Inode: \([0-9]*\) .*/\1/p')
	leaf=$(blocks_at 1 | sed -n 2p)
	flip $((leaf * 4096 + 30))
	named "a leaf" "$ino" "$leaf" "checksum"
	left count 0
	left extents 4
	index=$(blocks_at 0 | sed -n 1p)
	flip $((index * 4096 + 30))
	named "an index block" "$ino" "$index" "checksum"
	left extents 16

	ino=$(debugfs -R 'stat /dir' "$img" 2>/dev/null |
		sed -n 's/^Inode: \([0-9]*\) .*/\1/p')
	dir=$(debugfs -R 'blocks /dir' "$img" 2>/dev/null | tr -d ' ')
	flip $((dir * 4096 + 40))
	named "a directory block" "$ino" "$dir" "checksum"
	left count 0
	left extents 0

	flip $((4096 + 4))
	named "a group descriptor" None 1 "the group descriptor's checksum"
	left count 0

	bitmap=$(dumpe2fs "$img" 2>/dev/null |
		sed -n 's/^ *Block bitmap at \([0-9]*\).*/\1/p')
	flip $((bitmap * 4096 + 900))
	named "a block bitmap" None "$bitmap" "bitmap"
	left count 0
	same "$features: free blocks" "$(json "$out" \
		'd["free_space"]["blocks"]')" 0
done

# Directories contain each other, but are not connected to the root.  The
# entries of these directories have no path, and all other files have a path.
mkdir -p "$work/src/A/d/e"
touch "$work/src/A/f" "$work/src/A/d/g" "$work/src/A/d/e/h" "$work/src/z"
rm -f "$img"
check mke2fs -q -t ext4 -d "$work/src" "$img" 8M
ino=$(debugfs -R 'stat /A' "$img" 2>/dev/null |
	sed -n 's/^Inode: \([0-9]*\) .*/\1/p')
check debugfs -w -R "ln <$ino> /A/d/loop" "$img"
check debugfs -w -R 'unlink /A' "$img"
run "$e4frag" --files --json "$img"
same 'files without a path' "$(grep -c '"path":null' "$out")" 6
same 'paths' "$(sed -n 's/.*"path":"\([^"]*\)".*/\1/p' "$out" | paste -sd' ')" \
	'/ /lost+found /z'
