#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Immutable files, whose blocks a boot loader may have recorded, and swap files,
# whose blocks hibernation may have recorded, are not moved without --move.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"


# sign PATH OFFSET TEXT: writes TEXT at byte OFFSET of the file PATH.
sign() {
	block=$(debugfs -R "bmap $1 $(($2 / bs))" "$img" 2>/dev/null)
	printf %s "$3" | dd of="$img" bs=1 conv=notrunc status=none \
		seek=$((block * bs + $2 % bs))
}

# where PATH: prints the block numbers of PATH
where() {
	debugfs -R "blocks $1" "$img" 2>/dev/null
}

# stays: fails unless the last run has moved only /other.
stays() {
	for file in /kernel $swaps; do
		same "$what: blocks of $file" "$(where "$file")" \
			"$(cat "$work$file")"
	done
	[ "$(where /other)" != "$(cat "$work/other")" ] ||
		fail "$what: /other was not moved"
}

for bs in 1024 4096; do
	what="blocks of $bs"
	n=0
	swaps=
	{
		echo "size 64M"
		echo "mke2fs -b $bs"
		for page in 4096 8192 16384 32768 65536; do
			for text in SWAPSPACE2 S1SUSPEND; do
				n=$((n + 1))
				echo "scatter /swap$n frags 700 blocks 1 gap 1"
			done
		done
		# the swap file has the fewest extents, but too many fragments
		echo "scatter /swap11 frags 12 blocks 40 gap 1 alternate"
		echo "scatter /short frags 9 blocks $((4096 / bs))"
		echo "scatter /kernel frags 9 blocks 2 flags immutable"
		echo "scatter /other frags 9 blocks 2"
	} >"$work/recipe"
	aged "$img" <"$work/recipe"
	n=0
	for page in 4096 8192 16384 32768 65536; do
		for text in SWAPSPACE2 S1SUSPEND; do
			n=$((n + 1))
			swaps="$swaps /swap$n"
			sign "/swap$n" $((page - 10)) $text
		done
	done
	swaps="$swaps /swap11"
	sign /swap11 4086 SWAPSPACE2
	# nine pages are too few for a swap file
	sign /short 4086 SWAPSPACE2
	for file in /kernel /other $swaps; do
		where "$file" >"$work$file"
	done
	cp "$img" "$work/img0"
	digest "$img" >"$work/before"

	repack "$img"
	stays
	reported 'planned.files 2'
	# skipped files are counted: the totals are e4frag's
	"$e4frag" --json "$img" >"$work/frag"
	grep -q "^    \"extents\": $(report after.extents),\$" "$work/frag" ||
		fail "$what: the extents differ from e4frag's"
	repack -n "$img"
	same "$what: swap files" "$(skipped swap)" 11
	same "$what: immutable files" "$(skipped immutable)" 1

	cp "$work/img0" "$img"
	check "$e4debug" -w -R repack "$img"
	stays

	cp "$work/img0" "$img"
	repack --move=swap "$img"
	reported 'planned.files 13'
	same "$what: an immutable file" "$(where /kernel)" "$(cat "$work/kernel")"
	repack --move=immutable "$img"
	reported 'planned.files 1'
	clean "$img"
	digest "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	same "$what: excess" "$(excess "$img")" 0
done
