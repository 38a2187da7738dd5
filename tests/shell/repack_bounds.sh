#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack keeps its guarantees on small images of each kind: no file shorter
# than half of the free space stays fragmented, free space is in a few large
# extents, and files that are written next have few fragments.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check

# walls IMAGE [FILE]: prints the first and last block of each range that cannot
# move: metadata, the journal, and FILE, which has no extents.
walls() {
	dumpe2fs "$1" 2>/dev/null | /usr/bin/python3 -c '
import re, sys
for line in sys.stdin:
    if re.match(r"(First block|Blocks per group)", line):
        continue
    for first, last in re.findall(
            r"(?:superblock|descriptors|GDT blocks|bitmap|table) at (\d+)"
            r"(?:-(\d+))?", line):
        print(first, last or first)'
	for file in '<8>' ${2:-}; do
		debugfs -R "stat $file" "$1" 2>/dev/null |
			sed -n '/^EXTENTS:/,$p;/^BLOCKS:/,$p' | tr ',' '\n' |
			sed -n 's/.*):\([0-9]*\)-*\([0-9]*\)$/\1 \2/p' |
			awk '{ print $1, (NF > 1 ? $2 : $1) }'
	done
}

# within_bounds IMAGE [FILE]: fails unless the last report shows that each
# guarantee is kept.
within_bounds() {
	walls "$@" >"$work/walls"
	cluster=$(dumpe2fs -h "$1" 2>/dev/null |
		sed -n 's/^Cluster size: *//p')
	blocks=$(dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Block count: *//p')
	/usr/bin/python3 - "$work/.report" "$work/walls" "$blocks" \
		"${cluster:-0}" <<-'PYTHON' || fail "$what: out of bounds"
	import json, sys
	d = json.load(open(sys.argv[1]))
	was, now = d['before'], d['after']
	per = max(1, int(sys.argv[4]) // d['block_size_bytes'])
	stretch, end = 0, 0
	walls = sorted(tuple(map(int, line.split())) for line in open(sys.argv[2]))
	if len(walls) < 4:
	    sys.exit('no metadata?')
	for first, last in walls + [(int(sys.argv[3]), int(sys.argv[3]))]:
	    stretch = max(stretch, first // per * per - end)
	    end = max(end, (last // per + 1) * per)
	free, largest = now['free_blocks'], now['largest_free_blocks']
	share = now['large_free_blocks'] / max(free, 1)
	before = was['large_free_blocks'] / max(was['free_blocks'], 1)
	bad = []
	def must(true, what):
	    if not true:
	        bad.append(what)
	mapped = [s for s in d['skipped'] if s['reason'] == 'block-mapped']
	must(now['excess_fragments'] == sum(s['saved'] for s in mapped),
	     f"{now['excess_fragments']} excess fragments")
	must(now['fragmented_files'] == sum(s['count'] for s in mapped),
	     f"{now['fragmented_files']} fragmented")
	must(largest >= .95 * min(free, stretch),
	     f'largest {largest}, free {free}, stretch {stretch}')
	must(share >= .95, f'{share:.1%} in large extents')
	must(largest >= .9 * was['largest_free_blocks'],
	     f"largest {was['largest_free_blocks']} > {largest}")
	must(share >= before, f'in large extents {before:.1%} > {share:.1%}')
	print(f"excess {was['excess_fragments']} > {now['excess_fragments']}, "
	      f"free extents {was['free_extents']} > {now['free_extents']}, "
	      f"largest {was['largest_free_blocks']} > {largest} "
	      f"({largest / min(free, stretch):.1%} of what can be), "
	      f"large {before:.1%} > {share:.1%}, "
	      f"copied {d['done']['bytes_copied'] >> 20} MiB")
	if bad:
	    sys.exit('\n'.join(bad))
	PYTHON
}

# next_files IMAGE: fails unless six further files of 4 MiB, written by the
# kernel, have few fragments.  Reading mb_groups loads all block bitmaps:
# otherwise the kernel places the first file in the only group that it has
# loaded.
next_files() {
	mkdir -p "$work/mnt"
	mount -t ext4 -o loop "$1" "$work/mnt" ||
		{ skip_part 'mount does not work here'; return; }
	disk=$(findmnt -nfo SOURCE -M "$work/mnt")
	cat "/proc/fs/ext4/${disk#/dev/}/mb_groups" >/dev/null || :
	for n in 1 2 3 4 5 6; do
		dd if=/dev/zero of="$work/mnt/new$n" bs=4M count=1 conv=fsync \
			status=none || fail "$what: no free space"
	done
	umount "$work/mnt"
	check "$e4frag" -q --json "$1" /new1 /new2 /new3 /new4 /new5 /new6
	n=$(json "$out" 'd["files"]["fragments"]')
	echo "$what: six files of 4 MiB: $n fragments"
	[ "$n" -le 12 ] || fail "$what: six files of 4 MiB: $n fragments"
}

# bounds [FILE]: repacks $img, which is $what; FILE has no extents.
bounds() {
	digest -z "$img" >"$work/before"
	repack "$img"
	printf '%s: ' "$what"
	within_bounds "$img" "$@"
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	nothing_to_do "$img"
	if [ "$mounts" ]; then next_files "$img"; fi
}

mounts=
for recipe in recipes/sample shell/layout; do
	what=$recipe
	mapped=
	[ $recipe != shell/layout ] || mapped=/data/old
	check "$top_builddir/tests/tools/mkaged" \
		"$top_srcdir/tests/$recipe.recipe" "$img"
	bounds $mapped
done

if can_mount; then mounts=yes; fi
while read -r full size files least most options; do
	what="$full % full, $options"
	aged "$img" <<-RECIPE
		size $size
		mke2fs $options -m 0 -N 32768
		contents off
		interleave /grow count 80 rounds 8 blocks 4
		many /small count $files size $least-$most perdir 500
		delete /small percent $((100 - full))
	RECIPE
	bounds
done <<'END_OF_TABLE'
50 512M 7400 8K 120K -b 4096 -J size=16
95 1G 15150 8K 120K -b 4096 -J size=16
50 256M 7000 4K 60K -b 1024 -J size=8
95 512M 15200 4K 60K -b 1024 -J size=8
50 512M 6500 8K 120K -b 4096 -O bigalloc -C 16384 -J size=16
95 1G 13600 8K 120K -b 4096 -O bigalloc -C 16384 -J size=16
END_OF_TABLE
