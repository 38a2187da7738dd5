#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --only=room: where no free run holds what a file needs, others are moved
# out of its way, within the budget and but for those that stay; all that is read
# is the same afterwards, and free space in no more runs.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

all=--only=merge,zeroout,move,dirs
room=$all,room

# crowded UNIT SIZE MKE2FS-OPTIONS: files in the holes between others, whose
# sizes are units of 1 KiB; others take what is free in long runs but a little.
crowded() {
	cat >"$work/recipe" <<END
size $2
mke2fs $3
many /small count 700 size $((2 * $1))K-$((9 * $1))K perdir 140
delete /small every 3
goal group 0
file /big1 size $((260 * $1))K holes uid 1
mosaic /m size $((60 * $1))K written $((4 * $1))K unwritten $((8 * $1))K
file /big2 size $((300 * $1))K holes gid 9
scatter /apart frags 12 blocks 4 gap 1 hole 3 alternate
END
	for n in 1 2 3 4 5 6; do
		aged "$img" <"$work/recipe"
		check "$e4frag" -q --json "$img"
		rest=$(json "$out" 'd["free_space"]["largest_blocks"] *
			d["filesystem"]["block_size_bytes"] // 1024')
		[ "$rest" -gt $((64 * $1)) ] || break
		echo "file /rest$n size $((rest - 24 * $1))K" >>"$work/recipe"
	done
}

# free_runs IMAGE
free_runs() {
	check "$e4frag" -q --json "$1"
	json "$out" 'd["free_space"]["extents"]'
}

# prints REGEX: the last program's report has it.
prints() {
	grep -q "$1" "$out" || fail "$what: no $1: $(cat "$out")"
}

# planned KEY: of what the last report says of room
planned() {
	json "$work/.report" "d['planned']['room']['$1']"
}

# repaired: what is in $img, and in $work/before, is repaired with room.
repaired() {
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

for how in "1 12M -b 1024 -J size=1 -O quota" "4 48M -b 4096 -J size=4" \
	"16 240M -b 4096 -O bigalloc -C 16384 -J size=4"; do
	what=$how
	unit=${how%% *}
	options=${how#* * }
	size=${how#* }
	crowded "$unit" "${size%% *}" "$options"
	digest -z "$img" >"$work/before"
	repack $all "$img"
	[ "$(planned runs)" = 0 ] || fail "$what: room that nobody asked for"
	left=$(excess "$img")
	[ "$left" -gt 10 ] || fail "$what: there is nothing to make room for"
	runs=$(free_runs "$img")
	check "$e4frag" "$img"
	prints 'with room for *[0-9]* *extents more at most: --only=move,room'

	# the default says what could be done, and does not do it
	check "$e4repack" -n "$img"
	prints 'Moving others out of the way could save .*: --only=move,room'
	repack -n "$room" "$img"
	gain=$(planned fragments_saved)
	away=$(planned bytes_to_copy_away)
	copy=$(json "$work/.report" 'd["planned"]["bytes_to_copy"]')
	[ "$gain" -gt 0 ] || fail "$what: the plan saves nothing"
	[ "$copy" -gt "$away" ] || fail "$what: $away of $copy for room"

	# a budget that is not enough copies no more than that
	cp --sparse=always "$img" "$work/copy"
	repack $room --max-bytes=$((copy / 2)) "$work/copy"
	[ "$(report bytes_copied)" -le $((copy / 2)) ] ||
		fail "$what: copied $(report bytes_copied) of $((copy / 2))"
	clean "$work/copy"

	# memory for little: what it does not hold stays
	cp --sparse=always "$img" "$work/copy"
	repack $room --mem=1K "$work/copy"
	clean "$work/copy"
	digest -z "$work/copy" >"$work/after"
	unchanged "$work/before" "$work/after"
	rm "$work/copy"

	repack $room "$img"
	reported "bytes_copied $copy"
	repaired
	same "$what: excess" "$(excess "$img")" $((left - gain))
	[ "$(free_runs "$img")" -le "$runs" ] ||
		fail "$what: $runs free runs, $(free_runs "$img") then"
	nothing_to_do "$img" $room
	echo "$what: excess $left, $((left - gain)) with room;" \
		"$copy bytes copied, $away of them to make it"
done

# Who may not move stays: what is excluded, immutable, or a swap file.
what="who stays"
crowded 16 192M "-b 4096 -J size=4"
repack $all "$img"
settled=$work/settled
cp --sparse=always "$img" "$settled"
check "$e4repack" -n $room --exclude=/small "$img"
prints 'no room can be made'
repack -n $room "$img"
saves=$(planned fragments_saved)
[ "$saves" -gt 0 ] || fail "$what: no room can be made"
for d in 0 1 2 3 4; do
	for n in $(seq 0 139); do
		echo "sif /small/d$d/f$n flags 0x80010"
	done
done | debugfs -wf - "$img" >/dev/null 2>&1
repack -n $room "$img"
same "$what: room among immutable files" "$(planned runs)" 0
repack -n $room --move=immutable "$img"
same "$what: room where they move" "$(planned fragments_saved)" "$saves"

cp --sparse=always "$settled" "$img"
for d in 0 1; do
	for n in $(seq 0 139); do
		echo "bmap /small/d$d/f$n 0"
	done
done | debugfs -f - "$img" 2>/dev/null | grep -x '[1-9][0-9]*' |
	while read -r block; do
		printf SWAPSPACE2 | dd of="$img" bs=1 conv=notrunc status=none \
			seek=$((block * 4096 + 4086))
	done
digest -z "$img" >"$work/before"
repack $room "$img"
repaired
[ "$(planned runs)" -gt 0 ] || fail "$what: nothing else moves"
for d in 0 1; do
	for n in $(seq 0 139); do
		echo "stat /small/d$d/f$n"
	done
done >"$work/stats"
# files of 40 KiB and more
# shellcheck disable=SC2016	# awk's
sizes='/^Inode:/ { size = 0 } /^User:/ { size = $NF } /^\(0/ && size >= 40960'
debugfs -f "$work/stats" "$settled" 2>/dev/null | awk "$sizes" >"$work/where"
debugfs -f "$work/stats" "$img" 2>/dev/null | awk "$sizes" >"$work/then"
[ "$(wc -l <"$work/where")" -gt 100 ] || fail "$what: no swap files"
unchanged "$work/where" "$work/then"
repack -n $room --move=swap "$settled"
same "$what: room where they move" "$(planned fragments_saved)" "$saves"

# With a path, what is elsewhere makes room for that, and is not repaired.
what="a path"
cp --sparse=always "$settled" "$img"
digest -z "$img" >"$work/before"
file=
for name in /big1 /big2; do
	[ "$(excess "$img" $name)" = 0 ] || file=$name
done
[ "$file" ] || fail "$what: both are in one piece"
others=$(excess "$img")
left=$(excess "$img" $file)
repack --only=room "$img" $file
repaired
now=$(excess "$img" $file)
[ "$now" -lt "$left" ] || fail "$what: $file is not repaired"
same "$what: others" "$(excess "$img")" $((others - left + now))

# With nothing free, no room can be made, and that is said.
what="nothing is free"
cp --sparse=always "$settled" "$img"
free=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^Free blocks: *//p')
head -c $((free * 4096)) /dev/zero | tr '\0' x >"$work/data"
debugfs -wR "write $work/data /fill" "$img" >/dev/null 2>&1 || :
e2fsck -fy "$img" >/dev/null 2>&1 || :
repack $all "$img"
repack -n $room "$img"
same "$what: room" "$(planned runs)" 0
grep -q 'no room can be made' "$work/.report" || fail "$what: it is not said"
reported 'longest_free_bytes 0'
[ "$(report least_lacking_bytes)" -ge 8192 ] ||
	fail "$what: it is not said what is needed"

# Where the last long run is kept, room is not named as though nobody had asked.
what="the last long run"
# with_fill KIB: a file in pieces, and another
with_fill() {
	aged "$img" <<END
size 24M
mke2fs -b 1024 -J size=1
scatter /big frags 225 blocks 4 gap 1
file /fill size $1K
END
}
with_fill 100
free=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^Free blocks: *//p')
with_fill $((free + 100 - 225 - 100))
repack -n "$img"
reported "least_lacking_bytes $((900 * 1024))"
check "$e4repack" -n "$img"
prints '; what fits into none needs 900 KiB to [0-9]* MiB in one run$'
with_fill $((free + 100 - 225 - 1300))
check "$e4repack" -n "$img"
prints 'Moving others out of the way could save'
check "$e4repack" -n $room "$img"
prints 'the last long free runs are kept'
! grep 'Moving others' "$out" || fail "$what: room is named"

# Trees of several new blocks, each of which has a cluster to itself: a file that stays
# in hundreds of pieces has one.
what="trees in clusters"
aged "$img" <<'EOT'
size 64M
mke2fs -b 1024 -N 6144 -J size=1
mke2fs -O bigalloc
mke2fs -C 4096
interleave /p0 count 388 rounds 2 blocks 2
interleave /i0 count 23 rounds 30 blocks 16
scatter /s0 frags 244 blocks 2 gap 3 alternate
interleave /p1 count 570 rounds 2 blocks 2
interleave /i1 count 19 rounds 6 blocks 16
scatter /s1 frags 165 blocks 2 gap 7
interleave /p2 count 430 rounds 2 blocks 3
interleave /i2 count 42 rounds 3 blocks 4
scatter /s2 frags 827 blocks 1 gap 3
interleave /p3 count 591 rounds 2 blocks 1
interleave /i3 count 10 rounds 13 blocks 1
scatter /s3 frags 441 blocks 1 gap 1
delete /i0 every 2
file /late0 size 587K holes
file /late1 size 469K holes
many /fm count 50 size 709K
EOT
digest -z "$img" >"$work/before"
repack --only=move,room "$img"
repaired
check "$e4frag" --files --json "$img"
grep -q '"tree_blocks":[2-9]' "$out" || fail "$what: there is none"
