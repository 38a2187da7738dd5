#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack reads the extents of the planned files again. --mem does not change
# the result, and a file that has changed in the meantime ends the run.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

# journal_blocks IMAGE: prints the journal's blocks, and block 0, which has
# times.
journal_blocks() {
	echo 0
	debugfs -R 'blocks <8>' "$1" 2>/dev/null | tr ' ' '\n'
}

# same_image IMAGE IMAGE: fails unless the images are equal except for the
# journal and for times in the superblock.
same_image() {
	cmp -l "$1" "$2" | awk '{ print int(($1 - 1) / 4096) }' | uniq |
		sort -u >"$work/differ"
	journal_blocks "$1" | sort -u >"$work/may"
	comm -23 "$work/differ" "$work/may" >"$work/wrong"
	[ ! -s "$work/wrong" ] ||
		fail "$what: blocks differ: $(head -n 4 "$work/wrong")"
	[ "$(wc -l <"$work/differ")" -le 4 ] ||
		fail "$what: $(wc -l <"$work/differ") blocks differ"
}

# plan_of: prints the last report without the members that contain times
plan_of() {
	grep -v '"seconds"' "$work/.report"
}

# plan_with SIZE OPTION...: fails unless the plan with --mem=SIZE is the same as
# with enough memory.
plan_with() {
	mem=$1
	what="--mem=$1 $2"
	shift
	repack -n --mem="$mem" "$@" "$img"
	plan_of >"$work/plan"
	if [ "$mem" = 1G ]; then
		mv "$work/plan" "$work/first_plan"
		return
	fi
	cmp "$work/plan" "$work/first_plan" || fail "$what: another plan"
}

# repack_with SIZE: fails unless the image after a repack with --mem=SIZE is the
# same as with enough memory.
repack_with() {
	what="repacked with --mem=$1"
	cp --sparse=always "$img" "$work/copy"
	repack --mem="$1" --zeroout=1M "$work/copy"
	plan_of >"$work/done"
	if [ "$1" = 1G ]; then
		mv "$work/done" "$work/first_done"
		mv "$work/copy" "$work/first"
		return
	fi
	cmp "$work/done" "$work/first_done" || fail "$what: another result"
	same_image "$work/copy" "$work/first"
}

{
	echo "size 400M"
	echo "mke2fs -N 8192 -O sparse_super2 -E packed_meta_blocks=1,num_backup_sb=0"
	echo "mosaic /db size 32M written 8K unwritten 4K"
	echo "mosaic /rand size 80M written 12K unwritten 8K random"
	echo "scatter /wide frags 5000 blocks 2 gap 2 shuffle"
	echo "scatter /holes frags 3000 blocks 1 gap 1 alternate hole 3"
	echo "interleave /many count 1000 rounds 5 blocks 2"
} | aged "$img"
digest -z "$img" >"$work/before"
for options in --zeroout=1M '--zeroout=1M --zeroout-budget=8M --max-bytes=10M' \
	'--zeroout=12K --only=trees'; do
	for mem in 1G 0 64K 512K; do
		# shellcheck disable=SC2086
		plan_with $mem $options
	done
done
for mem in 1G 0 64K; do
	repack_with $mem
done
clean "$work/copy"
digest -z "$work/copy" >"$work/after"
unchanged "$work/before" "$work/after"

# If files cannot be read again, or have changed, the run ends before any
# write.
probe=$top_builddir/tests/tools/reread_probe
for csum in metadata_csum ^metadata_csum; do
	{
		echo "size 32M"
		echo "mke2fs -O $csum"
		echo "scatter /wide frags 600 blocks 1 gap 1"
	} | aged "$work/small.$csum"
done

# spoilt CSUM OFFSET FILE PATTERN: writes FILE to OFFSET after the scan, and
# fails unless the run ends with PATTERN.
spoilt() {
	what="$1 $4"
	cp "$work/small.$1" "$work/got"
	cp "$work/small.$1" "$work/want"
	if [ -s "$3" ]; then
		dd if="$3" of="$work/want" bs=64K seek="$2" oflag=seek_bytes \
			conv=notrunc status=none
	else
		truncate -s "$2" "$work/want"
	fi
	status=0
	"$probe" "$work/got" "$2" <"$3" >"$out" 2>"$err" || status=$?
	same "$what: exit" "$status" 1
	grep -Eq -e "^$4" "$out" || { show_run; fail "$what: unexpected message"; }
	grep -qx 'transactions 0' "$out" ||
		{ show_run; fail "$what: the run was not ended"; }
	cmp "$work/got" "$work/want" || fail "$what: wrote"
}

cp "$work/small.metadata_csum" "$work/got"
check "$probe" "$work/got" $((32 << 20))
grep -qx 'transactions [1-9][0-9]*' "$out" ||
	{ show_run; fail "not repacked"; }
for csum in metadata_csum ^metadata_csum; do
	small=$work/small.$csum
	inode=$(debugfs -R 'stat /wide' "$small" 2>/dev/null |
		sed -n 's/^Inode: \([0-9]*\) .*/\1/p')
	at=$(debugfs -R "imap <$inode>" "$small" 2>/dev/null |
		sed -n 's/.*located at block \([0-9]*\), offset \(0x[0-9a-f]*\)/\1 \2/p')
	block=$(debugfs -R 'stat /wide' "$small" 2>/dev/null |
		grep -o '(ETB0):[0-9]*' | head -n 1 | cut -d: -f2)
	[ "$inode$at" ] || fail "$csum: no inode"
	[ "$block" ] || fail "$csum: no tree"
	bs=$(dumpe2fs -h "$small" 2>/dev/null | sed -n 's/^Block size: *//p')
	leaf=$((block * bs))
	head -c "$bs" /dev/zero >"$work/zeroes"
	spoilt $csum $leaf "$work/zeroes" \
		"[a-z ]* \(inode $inode, block $block\): the filesystem is damaged"
	: >"$work/nothing"
	spoilt $csum $leaf "$work/nothing" \
		"[a-z ]* \(inode $inode.*\): .* is damaged"
	# an inode without links is not in use
	itable=$((${at% *} * bs + ${at#* }))
	head -c 2 /dev/zero >"$work/links"
	spoilt $csum $((itable + 26)) "$work/links" \
		"reading a file again \(inode $inode\): a file changed after it was read"
done
# The first entry of a leaf refers to blocks of the second entry.  The entry is
# plausible: only the comparison with the first scan detects the change.
tail -c +$((leaf + 12 + 12 + 8 + 1)) "$small" | head -c 4 >"$work/place"
spoilt ^metadata_csum $((leaf + 12 + 8)) "$work/place" \
	"reading a file again \(inode $inode\): a file changed after it was read"
