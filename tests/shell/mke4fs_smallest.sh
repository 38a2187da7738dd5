#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Without SIZE, an image has the minimum size: the source fits, and does not fit
# in a slightly smaller image. Includes cases in which mke2fs makes fewer inodes
# than requested, or as many as fit; omits the journal of small filesystems; or
# refuses sizes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

# tree NAME FILES BYTES: makes the directory NAME with FILES files of BYTES
# random bytes
tree() {
	mkdir "$work/$1"
	for i in $(seq "$2"); do
		head -c "$3" /dev/urandom >"$work/$1/$i"
	done
}

# smallest BLOCKSIZE TREE OPTION...: fails if TREE fits in an image with 31/32
# of the blocks
smallest() {
	blocksize=$1 tree=$2
	shift 2
	check "$mke4fs" -q "$@" -d "$work/$tree" "$work/img"
	clean "$work/img"
	bytes=$(stat -c %s "$work/img")
	inodes=$(dumpe2fs -h "$work/img" 2>/dev/null |
		sed -n 's/^Inode count: *//p')
	rm "$work/img"
	less=$((bytes * 31 / 32 / blocksize))
	mustfail 1 "$mke4fs" -q -n "$@" -b "$blocksize" -N "$inodes" \
		-d "$work/$tree" "$work/img" $((less * blocksize / 1024))k
	says "not enough blocks|mke2fs failed|too small"
}

tree few 30 20000
tree many 100 10
tree one 1 6000000

smallest 4096 few
smallest 1024 few -b 1024
smallest 4096 few -I 512
smallest 4096 few -I 512 -O fast_commit
smallest 4096 one
[ "$bytes" -lt 6200000 ] || fail "6,000,000 bytes take $bytes"
smallest 1024 few -b 1024 -j

# A requested journal is not omitted, although the image is small.
check "$mke4fs" -q -b 1024 -j -d "$work/few" "$work/img"
dumpe2fs -h "$work/img" 2>/dev/null | grep -q has_journal ||
	fail "no journal, which was asked for"
rm "$work/img"

# A smaller image would have enough blocks, but not enough inodes.
for ratio in 16384 65536; do
	check "$mke4fs" -q -i $ratio -d "$work/many" "$work/img"
	clean "$work/img"
	bytes=$(stat -c %s "$work/img")
	mustfail 1 "$mke4fs" -q -n -i $ratio -b 4096 -d "$work/many" \
		"$work/img.less" $((bytes * 31 / 32 / 1024))k
	says 'not enough inodes'
	rm "$work/img"
done
mustfail 1 "$mke4fs" -q -N 50 -d "$work/many" "$work/img"
says 'not enough inodes: 102 are needed'

# mke2fs rounds the number of inodes per group to a multiple of 8
mkdir "$work/groups"
for i in $(seq 250); do
	fallocate -l 960000 "$work/groups/$i"
done
check "$mke4fs" -q -b 1024 -d "$work/groups" "$work/img"
clean "$work/img"
rm "$work/img"
mkdir -p "$work/deep$(printf '/%0300d' 0 | sed 's,0,/d,g')"
check "$mke4fs" -q -b 1024 -g 256 -G 2 -m 1 -d "$work/deep" "$work/img"
clean "$work/img"
rm "$work/img"

# with bigalloc, mke2fs -m 50 reserves more than half of the blocks
check "$mke4fs" -q -m 50 -O bigalloc -d "$work/one" "$work/img" 46000k
clean "$work/img"
rm "$work/img"

# mke2fs refuses sizes that are slightly below the minimum
check "$mke4fs" -q -I 4096 --free=10M -d "$work/few" "$work/img"
clean "$work/img"
rm "$work/img"
check "$mke4fs" -q -n -E desc_size=64 --grow-to=1T -d "$work/few" "$work/img"

# If mke2fs prints the reason of a failure on stdout, mke4fs prints the reason
# as well.
mustfail 1 "$mke4fs" -b 4096 -O ^metadata_csum,metadata_csum_seed \
	-d "$work/few" "$work/img"
says 'feature requires'
