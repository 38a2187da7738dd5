#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tune4fs stores the same bytes in mounted and unmounted filesystems, and
# changes the values of the running kernel.
# shellcheck disable=SC2016
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs setfattr getfattr

img=$work/img
mnt=$work/mnt
attr=trusted.ext4.tunables
mke2fs -qq -F -t ext4 "$img" 64M >/dev/null
chmod 755 "$work"

out_is() {
	[ "$(cat "$out")" = "$1" ] || { show_run; fail "stdout is not: $1"; }
}
kept_is() {
	[ "$(getfattr --only-values --absolute-names -n $attr "$mnt")" = "$1" ] ||
		fail "the attribute is not $1"
}
runs() {
	now=$(cat "/sys/fs/ext4/${loop##*/}/$1")
	[ "$now" = "$2" ] || fail "$1 is $now, not $2"
}

# A tunable that was set while the filesystem was unmounted is read by the
# kernel.
value='dir_ireserve=16,extent_max_zeroout_kb=1024,inode_readahead_blks=128'
check "$tune4fs" -E inode_readahead_blks=128,extent_max_zeroout_kb=1024 "$img"
check "$tune4fs" -E dir_ireserve=low "$img"
mount_image "$img" "$mnt"
kept_is "$value"
runs extent_max_zeroout_kb 32
check "$tune4fs" -n --apply "$mnt"
runs extent_max_zeroout_kb 32
check "$tune4fs" --apply "$mnt"
out_is 'extent_max_zeroout_kb: 32 -> 1024
inode_readahead_blks: 32 -> 128'
[ -e "/sys/fs/ext4/${loop##*/}/dir_ireserve" ] ||
	says "dir_ireserve=16: .*patches"
runs extent_max_zeroout_kb 1024
runs inode_readahead_blks 128
check "$tune4fs" --apply "$loop"
out_is 'nothing to change'
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	check "$tune4fs" --json --apply "$mnt"
	cp "$out" "$work/doc"
	check /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/tune4fs-1.json" "$work/doc"
	grep -q '"why": "needs-patched-kernel"' "$work/doc" ||
		[ -e "/sys/fs/ext4/${loop##*/}/dir_ireserve" ] ||
		fail "nothing of the patched kernel in JSON"
fi
check "$tune4fs" -l "$img"
grep -Eq '^ +extent_max_zeroout_kb +1024 +1024 +32 ' "$out" ||
	{ show_run; fail "the list has not both values"; }

# The kernel accepts every value in the range.  Values that the kernel refuses
# are reported.
for pair in mb_max_to_scan=300 mb_min_to_scan=20 mb_order2_req=3 \
	mb_stream_req=32 mb_group_prealloc=256; do
	name=${pair%=*}
	check "$tune4fs" -E "$pair" "$mnt"
	check "$tune4fs" --apply "$mnt"
	runs "$name" "${pair#*=}"
	check "$tune4fs" -E "^$name" "$mnt"
done
check "$tune4fs" -E mb_group_prealloc=524288 "$mnt"
run "$tune4fs" --apply "$mnt"
[ "$status" = 1 ] || fail "a group cannot have so many clusters"
says 'mb_group_prealloc=524288: .*kernel .*: Invalid argument'
check "$tune4fs" -E ^mb_group_prealloc "$mnt"
kept_is "$value"

# Another program has stored values without a check.
setfattr -n $attr -v 'mb_order2_req=33,future=1,mb_min_to_scan=11' "$mnt"
run "$tune4fs" --apply "$mnt"
[ "$status" = 1 ] || fail "mb_order2_req=33 is no failure"
out_is 'mb_min_to_scan: 20 -> 11'
says 'mb_order2_req=33: .*not applied: .*0 to 32'
says 'future=1: stored, but unknown'
runs mb_order2_req 3
setfattr -n $attr -v ../../../etc/passwd=1 "$mnt"
mustfail 1 "$tune4fs" --apply "$mnt"
says 'tunables are damaged'
check "$tune4fs" --clear "$mnt"
for dry in '' -n; do
	# shellcheck disable=SC2086
	mustfail 1 "$tune4fs" $dry -z "$work/undo" -E mb_stream_req=4 "$mnt"
	says 'mounted: --undo-file requires .*unmounted'
done
getfattr -n $attr "$mnt" >/dev/null 2>&1 && fail "the attribute is there"

# Tunables that are set while the filesystem is mounted have the same bytes as
# tunables that are set while it is unmounted.
setfattr -n $attr -v mb_order2_req=1,dir_ireserve=64 "$mnt"
check "$tune4fs" -E mb_order2_req=1,dir_ireserve=high "$mnt"
kept_is dir_ireserve=128,mb_order2_req=1
if nobody_reaches "$tune4fs"; then
	mustfail 1 as_nobody "$tune4fs" "$mnt" # only root can read the attribute
	says 'Operation not permitted'
fi
umount "$mnt"
check "$tune4fs" -E ^dir_ireserve,^mb_order2_req "$loop"
check "$tune4fs" -E mb_order2_req=1,dir_ireserve=high "$loop"
mount -t ext4 "$loop" "$mnt"
kept_is dir_ireserve=128,mb_order2_req=1
runs mb_order2_req 2
check "$tune4fs" --apply "$mnt"
runs mb_order2_req 1

# An attribute of 64 KiB, whose value is in an EA inode, is damaged.
mke2fs -qq -F -t ext4 -O ea_inode "$work/large" 64M >/dev/null
attach "$work/large"
mkdir "$work/mnt-large"
mount -t ext4 "$loop" "$work/mnt-large"
setfattr -n $attr -v "$(head -c 65536 /dev/zero | tr '\0' ,)" \
	"$work/mnt-large"
mustfail 1 "$tune4fs" --apply "$work/mnt-large"
says 'damaged: .* longer than 1024'
umount "$work/mnt-large"
mustfail 1 "$tune4fs" -l "$loop"
says 'damaged: .* longer than 1024'
check "$tune4fs" --clear "$loop"
sound "$loop"
check "$tune4fs" -E mb_order2_req=1 "$loop"

# The directory is not the root of the filesystem.
mkdir "$mnt/sub"
mustfail 1 "$tune4fs" -l "$mnt/sub"
says 'not the root '

# The directory /sys/fs/ext4 is empty.
can_unshare || exit 0
check unshare -m sh -c 'mount -t tmpfs none /sys/fs/ext4 && '\
'"$0" --apply-all && "$0" -l "$1" && ! "$0" --apply "$1"' "$tune4fs" "$mnt"
says '/sys/fs/ext4'
check unshare -m sh -c 'mount -t tmpfs none /sys/fs && "$0" --apply-all' \
	"$tune4fs"
[ ! -s "$err" ] || { show_run; fail "not harmless"; }
