#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mkaged carries out a recipe, with the same bytes each time, without errors in
# e2fsck, and reports the line of an error in a recipe. The test writes and
# removes about ninety images, in memory if /dev/shm has enough space.
room_kib=$(df -kP /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${room_kib:-0}" -lt 1000000 ] || : "${TMPDIR:=/dev/shm}"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs tune2fs e2fsck debugfs cmp

recipes=$top_srcdir/tests/recipes
image=$work/image
make_image() {
	"$top_builddir/tests/tools/mkaged" "$@"
}

is_clean() {
	if [ ! -e "$image.journal" ]; then
		sound "$image"
		return
	fi
	check e2fsck -fn -j "$image.journal" "$image"
	# the journal is not on a device, so e4check cannot check the journal
	run "$e4check" --no-layout -q "$image"
	same "e4check's exit code" "$status" 8
}

# Every recipe of features (without --full: one in three): sound, and reproducible.
recipes_seen=0 count=0
mkdir "$work/again"
for recipe in "$recipes"/features/*.recipe; do
	recipes_seen=$((recipes_seen + 1))
	in_third $recipes_seen 2 || continue
	basename "$recipe"
	rm -f "$image.journal"
	check make_image "$recipe" "$image"
	is_clean
	check make_image "$recipe" "$work/again/image"
	check cmp "$image" "$work/again/image"
	[ ! -e "$image.journal" ] ||
		check cmp "$image.journal" "$work/again/image.journal"
	count=$((count + 1))
done
rm -rf "$work/again" "$image.journal"
[ $count -ge "$(in_full && echo 40 || echo 13)" ] || fail "only $count feature sets"

# Another seed results in other contents, and a sound image.
check make_image -s 7 "$recipes/sample.recipe" "$image"
is_clean
sum=$(cksum <"$image")
check make_image "$recipes/sample.recipe" "$image"
is_clean
[ "$sum" != "$(cksum <"$image")" ] || fail "the seed changes nothing"

# extents PATH: prints the leaf entries of PATH as LBLK+LENw@PBLK, or with u for
# unwritten extents.
extents() {
	debugfs -R "ex $1" "$image" 2>/dev/null | sed 's/[-/]/ /g' | awk '
		NR > 1 && $1 == $2 {
			printf "%s%d+%d%s@%d", sep, $5, $9,
				$10 == "Uninit" ? "u" : "w", $7
			sep = " "
		}'
}

# field PATH NAME: prints the field NAME of the inode of PATH, from debugfs.
field() {
	debugfs -R "stat $1" "$image" 2>/dev/null |
		sed -n "s/.*$2: *\([^ ]*\).*/\1/p" | head -1
}

depth_of() {
	debugfs -R "ex $1" "$image" 2>/dev/null | awk -F'[/ ]+' '
		NR == 2 { print $3 }'
}

expect() {
	[ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}

cat >"$work/recipe" <<'END'
size 64M
file /given extents 0+8w@5000 8+4u@5008 12+3w@5012 100+1w@4990
file /next extents 0+2w@6000 2+2w
file /long extents 0+1w isize 4G
file /mapped extents 0+3w@7000 70000+1w@7004 indirect
mosaic /mosaic size 1M written 8K unwritten 24K
scatter /scatter frags 5 blocks 2 gap 3 hole 1 alternate
scatter /loose frags 12 blocks 1 leaf 3
scatter /forced frags 2 blocks 1 depth 3
scatter /narrow frags 20 blocks 1 leaf 2 index 2
file /keepsize extents 0+1w 1+99u isize 1
link /given /dir/other
many /many count 30 size 5K
delete /many every 3
interleave /turns count 2 rounds 3 blocks 1
repeat 3 file /copy% size 4K
append /copy1 size 4K
END
check make_image "$work/recipe" "$image"
is_clean
expect given "$(extents /given)" \
	"0+8w@5000 8+4u@5008 12+3w@5012 100+1w@4990"
expect next "$(extents /next)" "0+2w@6000 2+2w@6002"
expect long "$(field /long Size)" 4294967296
expect keepsize "$(field /keepsize Size) $(field /keepsize Blockcount)" \
	"1 800"
expect link "$(field /dir/other Links)" 2
expect forced "$(depth_of /forced)" 3
expect narrow "$(depth_of /narrow)" 3
expect loose "$(debugfs -R 'ex /loose' "$image" 2>/dev/null |
	grep -c '^ 0/ 1')" 4
expect many "$(debugfs -R 'ls -p /many' "$image" 2>/dev/null |
	grep -c '/f[0-9]*/5120/')" 20
expect map "$(debugfs -R 'blocks /mapped' "$image" 2>/dev/null | wc -w)" 6

first_blk() {
	extents "$1" | sed 's/^[^@]*@\([0-9]*\).*/\1/'
}

start=$(first_blk /mosaic)
expect mosaic "$(extents /mosaic)" "$(awk -v p="$start" 'BEGIN {
	for (i = 0; i < 256; i += 8)
		printf "%s%d+2w@%d %d+6u@%d", i ? " " : "", i, p + i, i + 2,
			p + i + 2 }')"
start=$(first_blk /scatter)
expect scatter "$(extents /scatter)" "0+2w@$start 3+2u@$((start + 5)) \
6+2w@$((start + 10)) 9+2u@$((start + 15)) 12+2w@$((start + 20))"
start=$(first_blk /turns/f0)
expect turns "$(extents /turns/f0)" \
	"0+1w@$start 1+1w@$((start + 2)) 2+1w@$((start + 4))"
expect append "$(extents /copy1 | wc -w)" 2

# zero_words SKIP COUNT < BYTES: prints the number of aligned zero words of
# eight bytes.
zero_words() {
	od -An -v -td8 -w8 -j "$1" -N "$2" | grep -c '^ *0$' || :
}

# Written and unwritten blocks have content, but only zeroes beyond the end of a
# file.
cat >"$work/recipe" <<'END'
size 64M
file /odd extents 0+1w@5000 isize 1000
file /unwritten extents 0+1u@5001
contents off
file /off extents 0+1w@5002
END
check make_image "$work/recipe" "$image"
is_clean
at=$((5000 * 4096))
expect "a block" "$(zero_words $at 1000 <"$image")" 0
expect "a block's tail" "$(zero_words $((at + 1000)) 3096 <"$image")" 387
expect "an unwritten block" "$(zero_words $((at + 4096)) 4096 <"$image")" 0
expect "contents off" "$(zero_words $((at + 8192)) 4096 <"$image")" 512

# A wrong recipe is refused with a message and the number of the line.
check make_image "$recipes/aged.recipe" "$image"
is_clean
[ "$(du -k "$image" | cut -f1)" -lt 400000 ] || fail "aged: a large image"

# A wrong recipe: the message, and the line.
while IFS='|' read -r line sentence; do
	printf '# one line before\n%b\n' "$line" >"$work/recipe"
	mustfail 1 make_image "$work/recipe" "$image"
	one_sentence mkaged
	says "^mkaged: $work/recipe:[0-9]+: $sentence"
done <<'END'
nonsense 3|no such directive: nonsense
file|file: no path
file relative size 4K|a path begins with /
file /x size 4Q|not a number: 4Q
file /x size -1|not a number: -1
file /x size 99999999999999999999|not a number
file /x size 16777216T|too large
file /x size 4K sideways|file does not know: sideways
file /x size 4K\nfile /x size 4K|it is there already: /x
file /x size 4K\ndir /x/y|not a directory: x
file /x size 1G|the filesystem is full
file /x extents 0+4|not an extent: 0\+4
file /x extents 0+4x|not an extent: 0\+4x
file /x extents 0+0w|not an extent: 0\+0w
file /x extents 0+4w@1|blocks 1-4 are not free
file /x extents 0+4w@99999999|blocks .* are not free
file /x extents 4+4w 0+4w|logical block 0 is mapped, or out of order
file /x extents 4294967290+10w|a file ends at block 4294967295
file /x extents 0+1u indirect|without extents no block is unwritten
file /x extents 0+1w 4294967000+1w indirect|indirect blocks map .* at most
file /x extents 0+1w depth 9|the extent tree is deeper than 5
file /x size 4K inline|the filesystem has no inline data
file /x flags shiny|no such flag: shiny
mosaic /x size 4M written 4K|mosaic needs: unwritten BYTES
mosaic /x size 1G written 4K unwritten 4K|no [0-9]+ free blocks in one run
many /x size 4K|many needs: count N
many /x count 1 size 8K-4K|not a range
many /x count 99999|no inode is free
delete /x|no such file: /x
link /x /y|no such file: /x
link /lost+found /y|no such file: /lost\+found
symlink /x length 5000|the target is longer than a block
chardev /x 1 9999999|no such device number
goal 999999999|no such block: 999999999
goal group 99|no such group: 99
goal 3000\nsize 4M|size comes before everything else
mke2fs -O bad-feature\ngoal 3000|mke2fs failed: .*bad-feature
mke2fs -O bigalloc\nfile /x extents 0+4w@5001|block 5001 is not aligned
include nowhere|.*nowhere: No such file
END
mustfail 1 make_image "$work/nowhere" "$image"
one_sentence mkaged
mustfail 1 make_image "$recipes/sample.recipe" "$work/nowhere/image"
one_sentence mkaged
mustfail 2 make_image
mustfail 2 make_image "$recipes/sample.recipe"
mustfail 2 make_image -s seven "$recipes/sample.recipe" "$image"
mustfail 2 make_image --what "$recipes/sample.recipe" "$image"
