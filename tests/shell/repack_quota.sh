#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The usage that quota records for users, groups and projects follows changes of
# extent trees, and e2fsck agrees. A quota file that cannot be updated is
# refused before the first write.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

# make MKE2FS-OPTION...: makes files of several owners whose trees can shrink
make() {
	{
		echo "size 96M"
		echo "mke2fs -J size=4 $*"
		for uid in 0 1 7 1000 1001 65534 70000 4294967294; do
			echo "scatter /u$uid frags 120 blocks 2 shuffle" \
				"uid $uid gid $((uid / 2))" \
				${projects:+project 5}
			echo "mosaic /m$uid size 2M written 4K unwritten 4K" \
				"uid $uid gid $((uid % 3))" \
				${projects:+project $((uid % 5))}
		done
		echo "interleave /all count 300 rounds 6 blocks 2"
	} | aged "$img"
}

# counted TYPE: prints "ID BYTES" for each entry of the quota file
counted() {
	debugfs -R "lq $1" "$img" 2>/dev/null | awk '$1 + 0 == $1 { print $1, $2 }'
}

# follows MKE2FS-OPTION...: fails unless the quota usage is correct after a
# repack
follows() {
	what="$*"
	make "$@"
	clean "$img"
	for type in $types; do
		counted "$type" >"$work/was.$type"
	done
	digest -z "$img" >"$work/before"
	repack --zeroout=1M "$img"
	[ "$(report done.files)" -ge 316 ] || fail "$what: not all was done"
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	for type in $types; do
		counted "$type" >"$work/now.$type"
		[ "$(wc -l <"$work/now.$type")" -ge 3 ] ||
			fail "$what: $type: too few owners"
		! cmp -s "$work/was.$type" "$work/now.$type" ||
			fail "$what: $type: nothing has changed"
	done
	nothing_to_do "$img" --zeroout=1M
}

types="user group"
projects=
for size in 1024 4096; do
	follows -b $size -O quota
done
follows -b 1024 -O quota,bigalloc -C 4096
types="user group project"
projects=yes
follows -b 1024 -O quota,project
follows -b 4096 -O quota,project -I 512

# refused COMMAND...: runs debugfs COMMANDs, which damage a quota entry or the
# quota file, and fails unless the repack is refused
refused() {
	what="$*"
	cp "$work/img0" "$img"
	for command; do
		debugfs -w -R "$command" "$img" >/dev/null 2>&1
	done
	cp "$img" "$work/copy"
	mustfail 1 "$e4repack" --zeroout=1M "$img"
	one_sentence e4repack
	says 'quota-(file|usage), inode 3: .*: run e2fsck -f'
	cmp -s "$img" "$work/copy" || fail "$what: image changed"
}
make -b 1024 -O quota,project
cp "$img" "$work/img0"
# block N: prints the block number of block N of the user quota file
block() {
	debugfs -R 'bmap <3> '"$1" "$work/img0" 2>/dev/null
}
refused "zap_block $(block 0)"
refused "zap_block $(block 1)"
refused "zap_block -p 255 $(block 1)"
refused "zap_block -f <3> 5"
refused "sif /u7 uid 4711"
