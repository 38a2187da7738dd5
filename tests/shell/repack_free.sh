#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --only=free: free space is in few long extents afterwards, the copied
# amount equals the plan, and all contents are the same.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

free=--only=free

# free_space IMAGE KEY: prints the figure KEY of e4frag's object free_space
free_space() {
	check "$e4frag" -q --json "$1"
	json "$out" "d['free_space']['$2']"
}

# same_content: fails unless $img is sound and has the content whose digest is
# $work/before.
same_content() {
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# emptied BEFORE-EXTENTS BEFORE-FRAGMENTS: fails unless the last repack has
# copied the planned amount.
emptied() {
	same_content
	same "$what: free extents" "$(free_space "$img" extents)" \
		"$(report after.free_extents)"
	[ "$(report after.free_extents)" -le "$1" ] ||
		fail "$what: more free extents"
	check "$e4frag" -q --json "$img"
	[ "$(json "$out" 'd["files"]["fragments"]')" -le "$2" ] ||
		fail "$what: more fragments"
}

# dusty SIZE MKE2FS-OPTIONS...: makes small files, of which every third is
# deleted; other files take most of the long free extents.
dusty() {
	cat >"$work/recipe" <<END
size $1
mke2fs -N 4096 $2
many /small count 2400 size ${unit}K-$((4 * unit))K perdir 400
delete /small every 3
interleave /grow count 60 rounds 6 blocks $blocks
END
	for n in 1 2 3 4 5 6; do
		aged "$img" <"$work/recipe"
		left=$(($(free_space "$img" largest_blocks) *
			$(json "$out" 'd["filesystem"]["block_size_bytes"]') / 1024))
		[ "$left" -gt $((64 * unit)) ] || break
		echo "file /rest$n size $((left - 24 * unit))K" >>"$work/recipe"
	done
}

while read -r unit blocks size options; do
	what="$options"
	dusty "$size" "$options"
	digest -z "$img" >"$work/before"
	runs=$(free_space "$img" extents)
	all=$(free_space "$img" blocks)
	longest=$(free_space "$img" largest_blocks)
	bytes=$(json "$out" 'd["filesystem"]["block_size_bytes"]')
	fragments=$(json "$out" 'd["files"]["fragments"]')
	# a budget that is too small for the plan is kept
	cp --sparse=always "$img" "$work/copy"
	repack $free --max-bytes=64K "$work/copy"
	[ "$(report cost.bytes_copied)" -le 65536 ] || fail "$what: --max-bytes"
	clean "$work/copy"

	# regions have at most an eighth of the free space; a second run does
	# nothing
	cp --sparse=always "$img" "$work/cap"
	cap=$((all * bytes / 8 / bytes * bytes))
	repack $free --free-run="$cap" "$work/cap"
	then=$(free_space "$work/cap" largest_blocks)
	[ $((then * bytes * 100)) -ge $((cap * 95)) ] ||
		fail "$what: --free-run=$cap: $then blocks"
	less=$(report cost.bytes_copied)
	nothing_to_do "$work/cap" $free --free-run="$cap"

	repack -n $free "$img"
	copy=$(report planned.bytes_copied)
	extents=$(report after.free_extents)
	repack $free "$img"
	reported "cost.bytes_copied $copy" "after.free_extents $extents"
	emptied "$runs" "$fragments"
	then=$(free_space "$img" largest_blocks)
	echo "$what: $all blocks free, the longest $longest, then $then;" \
		"extents $runs, then $extents; $copy bytes copied," \
		"$less in extents of $cap"
	[ "$then" -gt $((4 * longest)) ] || [ $((10 * then)) -ge $((9 * all)) ] ||
		fail "$what: the longest is $then of $all"
	rm "$work/copy" "$work/cap"
done <<'END'
1 1 16M -b 1024 -J size=1 -O quota
4 1 64M -b 4096 -J size=4
16 4 256M -b 4096 -O bigalloc -C 16384 -J size=4
END

# Excluded files do not move, and PATHs are refused.
what="what stays"
unit=4 blocks=1
dusty 64M '-b 4096 -J size=4'
digest -z "$img" >"$work/before"
repack $free --exclude=/ "$img"
reported 'cost.bytes_copied 0'
same_content
mustfail 2 "$e4repack" $free "$img" /small/d1
says '--only=free requires .*without PATH'

# striped: prints the inode numbers and first blocks of files of at least two
# blocks that begin on a stripe of two blocks
striped() {
	seq 12 2600 | sed 's/.*/extents <&>/' >"$work/commands"
	debugfs -f "$work/commands" "$img" 2>/dev/null | awk '
		/^debugfs/ { ino = $NF }
		$5 == 0 && $6 ~ "-" && $8 % 2 == 0 && $11 > 1 {
			print ino, $8
		}' | sort
}

# Files that begin on a RAID stripe begin on a RAID stripe after the repack.
what="stripes"
dusty 64M '-b 4096 -J size=4 -E stride=2,stripe_width=2'
digest -z "$img" >"$work/before"
striped >"$work/were"
repack $free "$img"
same_content
striped >"$work/are"
cut -d' ' -f1 "$work/were" >"$work/who"
cut -d' ' -f1 "$work/are" | comm -23 "$work/who" - >"$work/lost"
moved=$(comm -23 "$work/were" "$work/are" | wc -l)
echo "$what: $(wc -l <"$work/who") files begin on one, $moved of them moved"
[ "$moved" -gt 20 ] || fail "$what: $moved files moved"
[ ! -s "$work/lost" ] || fail "$what: lost by $(wc -l <"$work/lost") files"

mustfail 2 "$e4repack" --free-run=1M --only=files "$img"
says "--free-run requires the word 'free'"
