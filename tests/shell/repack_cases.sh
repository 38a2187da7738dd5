#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Repacks of small versions of cases that other tools do not improve reach the
# expected counts.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

aged "$img" <<'END'
size 256M
mosaic /db size 64M written 4K unwritten 28K random
interleave /grown count 300 rounds 5 blocks 2
many /small count 3000 size 4K perdir 500
delete /small every 2
goal group 0
file /film size 6M holes
file /prealloc extents 0+2w 2+6u 8+1w 9+100u isize 36864
END

# figures PATH...: prints "EXTENTS FRAGMENTS IDEAL TREE-BLOCKS FEWEST" for the
# PATHs.
figures() {
	"$e4frag" -q --json "$img" "$@" >"$work/.frag" || fail "e4frag $*"
	for key in extents fragments ideal_extents tree_blocks \
		ideal_tree_blocks; do
		sed -n "/^  \"files\"/,/^  }/s/^    \"$key\": \\([0-9]*\\),*\$/\\1/p" \
			"$work/.frag"
	done | paste -sd' '
}

# at_least WHAT NUMBER MINIMUM: fails unless NUMBER is at least MINIMUM
at_least() {
	[ "$2" -ge "$3" ] || fail "$1: $2, less than $3"
}

# zero WANT OPTION...: repacks /db in a new copy of the image.  /db then has fewer
# than WANT extents or, if WANT is "=N", N extents.
cp "$img" "$work/img0"
zero() {
	want=$1
	shift
	cp "$work/img0" "$img"
	repack --only=trees "$@" "$img" /db
	same "$what: copied" "$(report cost.bytes_copied)" 0
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	# shellcheck disable=SC2046
	set -- $(figures /db)
	case $want in
	=*) same "$what: extents" "$1" "${want#=}" ;;
	*) [ "$1" -lt "$want" ] || fail "$what: $1 extents, not below $want" ;;
	esac
	same "$what: tree blocks" "$4" "$5"
}

digest -z "$img" >"$work/before"
# shellcheck disable=SC2046
set -- $(figures /db)
splits=$1
at_least "extents of /db" "$splits" 3000
what="all zeroed"
zero "=1" --zeroout=1M
what="--zeroout=off"
zero "=$splits" --zeroout=off
same "$what: planned" "$(report planned.files)" 0
what="a budget"
zero "$splits" --zeroout=1M --zeroout-budget=4M
[ "$(report cost.bytes_zeroed)" -le 4194304 ] || fail "$what: it was exceeded"
at_least "$what: zeroed" "$(report cost.bytes_zeroed)" 4180000
what="short runs only"
zero "$splits" --zeroout=16K

cp "$work/img0" "$img"
# shellcheck disable=SC2046
set -- $(figures /grown)
at_least "fragments of /grown" "$2" 1500
# shellcheck disable=SC2046
set -- $(figures /film)
at_least "fragments of /film" "$2" 500
what="moving"
digest "$img" >"$work/before"
check "$e4repack" --json --zeroout=off --only=files "$img"
same "$what: directories" "$(excess "$img")" 6
repack --zeroout=off --only=directories "$img"
reported 'planned.directories 6' 'planned.files 0'
cp "$work/img0" "$img"
repack --zeroout=off --only=files,directories "$img"
digest "$img" >"$work/after"
unchanged "$work/before" "$work/after"
clean "$img"
same "$what: a file in holes" "$(figures /film)" "1 1 1 0 0"
same "$what: files that grew in turns" "$(figures /grown)" "301 301 301 0 0"
same "$what: excess" "$(excess "$img")" 0
# The run may copy a file of 6 MiB, 300 files of 40 KiB, up to six directories
# of 8 KiB, and 5 % more for relocated files.
copied=$(report cost.bytes_copied)
[ "$copied" -le $(((6 * 1048576 + 300 * 40960 + 6 * 8192) * 21 / 20)) ] ||
	fail "$what: $copied bytes were copied"

# blocks at or beyond the end of the file stay unwritten
what="beyond the end"
digest -z "$img" >"$work/before"
repack --zeroout=1M "$img" /prealloc
reported "before.extents 4" "after.extents 2" "cost.bytes_zeroed 24576" \
	"cost.bytes_copied 0"
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"
clean "$img"

# With a copy budget, files that lose most fragments per copied byte come first.
what="--max-bytes"
cp "$work/img0" "$img"
repack --only=files --max-bytes=1M "$img"
[ "$(report cost.bytes_copied)" -le 1048576 ] || fail "$what: it was exceeded"
[ "$(report after.fragments)" -lt "$(report before.fragments)" ] ||
	fail "$what: nothing was done"
first=$(report after.fragments)
repack --only=files --max-bytes=1M "$img"
[ "$(report after.fragments)" -lt "$first" ] ||
	fail "$what: another run did not go on"
clean "$img"
what="--max-bytes=0"
nothing_to_do "$img" --only=files --max-bytes=0

what="--min-excess"
cp "$work/img0" "$img"
repack --only=files --min-excess=100 "$img"
reported "planned.files 1"
same "$what: the film" "$(figures /film)" "1 1 1 0 0"

# Encrypted files are not zeroed, because zeroes on disk do not decrypt to
# zeroes.  The hash tree of a verity file, after the end of the file, is not
# changed.
what="encrypted"
aged "$img" <<'END'
size 64M
mke2fs -O encrypt,verity
file /mosaic flags encrypt extents 0+4w@9000 4+4u@9004 8+4w@9008 12+4u@9012
file /pieces flags encrypt extents 0+4w@9100 4+4w@9200
file /verity flags verity extents 0+3w@9300 16+1w@9400 17+1w@9500 isize 9000
END
for blk in 9400 9500; do
	printf 'tree %d' $blk | dd of="$img" bs=4096 seek=$blk conv=notrunc \
		status=none
done
repack --zeroout=1M "$img"
reported "cost.bytes_zeroed 0"
clean "$img"
same "$what: the mosaic" "$(figures /mosaic)" "4 1 4 0 0"
same "$what: pieces" "$(figures /pieces)" "1 1 1 0 0"

# tree_at LBLK: prints the block number of logical block LBLK of /verity, and
# its first bytes
tree_at() {
	blk=$(debugfs -R "bmap /verity $1" "$img" 2>/dev/null)
	echo "$blk $(dd if="$img" bs=4096 skip="$blk" count=1 status=none |
		head -c 9)"
}
first=$(tree_at 16)
same "$what: the tree" "$first" "${first%% *} tree 9400"
same "$what: the tree" "$(tree_at 17)" "$((${first%% *} + 1)) tree 9500"

what='one file'
aged "$img" <<END
size 64M
file /f extents 0+4w@9000 4+4w@9100
END
repack "$img"
reported 'done.files 1' 'done.transactions 1'

what='a directory'
aged "$img" <<END
size 64M
many /d count 900 size 4K
END
before=$(cksum <"$img")
repack --only=files,trees "$img"
same "$what: skipped" "$(skipped not-directories)" 1
same "$what: as it was" "$(cksum <"$img")" "$before"
check "$e4repack" --only=directories "$img"
nothing_to_do "$img" --only=directories
