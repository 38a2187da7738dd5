#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --all on an aged filesystem: every file is at its ideal, directories need
# hardly more blocks of inode tables than they must, free space is in two runs at
# most for each gap between what cannot move, and the longest is nine tenths of what
# is free or of the longest of these gaps.  No more is copied than is in use.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check

# gaps IMAGE BLOCKS: how many there are between the filesystem's own blocks, and how many
# blocks are in the longest.
gaps() {
	{
		dumpe2fs "$1"
		debugfs -R 'stat <8>' "$1"
	} 2>/dev/null >"$work/places"
	/usr/bin/python3 - "$work/places" "$2" <<-'END'
	import re, sys
	text = open(sys.argv[1]).read()
	own = re.findall(r'(?:superblock|descriptors|blocks|bitmap|table) at '
	                 r'(\d+)(?:-(\d+))?', text)
	own += re.findall(r'\): *(\d+)(?:-(\d+))?', text.split('EXTENTS:')[1])
	own = sorted((int(first), int(last or first)) for first, last in own)
	at, gaps = 0, []
	for first, last in own + [(int(sys.argv[2]), 0)]:
	    if first > at:
	        gaps.append(first - at)
	    at = max(at, last + 1)
	print(len(gaps), max(gaps))
	END
}

aged "$img" <<'END'
size 1G
contents off
repeat 3 mosaic /prealloc/alternate% size 32M written 4K unwritten 4K
repeat 3 mosaic /prealloc/random% size 32M written 8K unwritten 8K random
many /small count 50000 size 1K-16K perdir 100
delete /small percent 40
repeat 3 interleave /log% count 1020 rounds 7 blocks 1
repeat 8 interleave /pair% count 500 rounds 2 blocks 2
goal group 0
repeat 2 file /big% size 60M holes
file /rest size 40M
END
digest -enz "$img" | sort >"$work/before"
check "$e4frag" -q --json "$img"
used=$(json "$out" "d['filesystem']['blocks'] - d['free_space']['blocks']")
repack --all "$img"
clean "$img"
digest -enz "$img" | sort >"$work/after"
unchanged "$work/before" "$work/after"
copied=$(json "$work/.report" "d['bytes_copied'] // 4096")
check "$e4frag" -q --json "$img"
# of 4 KiB
read -r gaps longest <<END
$(gaps "$img" 262144)
END
read -r excess fragmented tables fewest runs free largest <<END
$(json "$out" "f'''{d['files']['excess_extents']} {d['files']['fragmented']}
	{d['directories']['itable_blocks']}
	{d['directories']['itable_blocks_ideal']} {d['free_space']['extents']}
	{d['free_space']['blocks']} {d['free_space']['largest_blocks']}'''" |
	paste -sd' ')
END
echo "$gaps gaps, the longest of $longest blocks; $free free, in $runs runs, the" \
	"longest of $largest; $tables of $fewest table blocks; $copied blocks of" \
	"$used copied"
same excess "$excess" 0
same 'fragmented files' "$fragmented" 0
[ $((100 * tables)) -le $((105 * fewest)) ] || fail "$tables table blocks, not $fewest"
[ "$runs" -le $((2 * gaps)) ] || fail "$runs free runs in $gaps gaps"
bound=$((longest < free ? longest : free))
[ $((10 * largest)) -ge $((9 * bound)) ] ||
	fail "the longest free run is $largest of $bound"
[ "$copied" -le "$used" ] || fail "$copied blocks copied, $used in use"
