#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What tools that write refuse: one sentence that says what to run, exit 1, and
# not a byte changed.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs dumpe2fs

probe=$top_builddir/tests/tools/target_probe
img=$work/img

fresh() {
	rm -f "$img"
	mke2fs -qq -F -t ext4 -b 4096 "$@" "$img" 16M >/dev/null
}

# refuse PATTERN: opening $img for writing fails so and changes nothing.
refuse() {
	before=$(sha256sum <"$img")
	mustfail 1 "$probe" write "$img"
	says "$1"
	one_sentence '.*target_probe'
	[ "$before" = "$(sha256sum <"$img")" ] || fail "image changed: $1"
}

# poke PATTERN COMMAND...: debugfs commands on a fresh image, then refuse.
poke() {
	pattern=$1
	shift
	fresh
	for command; do
		debugfs -w -R "$command" "$img" 2>/dev/null >/dev/null
	done
	refuse "$pattern"
}

fresh
check "$probe" write "$img"

poke 'needs recovery: run e2fsck -p ' 'feature needs_recovery'
poke 'recorded errors: run e2fsck -f ' 'ssv state 3'
poke 'recorded errors: run e2fsck -f ' 'ssv error_count 1'
poke 'not cleanly unmounted: run e2fsck -f ' 'ssv state 0'
poke 'orphaned inodes: run e2fsck -f ' 'ssv last_orphan 12'
poke 'read-only: run tune2fs ' 'feature read-only'
poke 'share blocks: run e2fsck ' 'feature shared_blocks'
poke 'feature FEATURE_C30, which.* use a newer' 'feature FEATURE_C30'
poke 'feature FEATURE_R30, which.* use a newer' 'feature FEATURE_R30'
poke 'feature FEATURE_I30, which.* use a newer' 'feature FEATURE_I30'

# another host's e2fsck holds it: the sequence number that says so
fresh -O mmp,^metadata_csum
mmp=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^MMP block number: *//p')
printf 'PMM\342' | dd of="$img" bs=1 seek=$((mmp * 4096 + 4)) conv=notrunc \
	status=none
refuse 'multiple mount protection: .* tune2fs -f -E clear_mmp '

fresh -O journal_dev
refuse 'is an external journal: '
fresh
truncate -s 8M "$img"
refuse 'is truncated: the filesystem has 4096 blocks, the device 2048'

# two at a time
fresh
mkfifo "$work/hold"
"$probe" write "$img" <"$work/hold" >"$work/held" &
exec 9>"$work/hold"
while [ ! -s "$work/held" ]; do
	sleep 0.1
done
refuse 'another program is at work on it'
exec 9>&-
wait
check "$probe" write "$img"

if [ "$(id -u)" != 0 ] || ! losetup -f >/dev/null 2>&1; then
	echo "not tried, for want of root and loop devices: mounted, attached"
	exit 0
fi
chmod 644 "$img"
as_nobody test -x "$probe" && {
	mustfail 1 as_nobody "$probe" write "$img"
	says 'cannot open for writing: Permission denied'
}
attach "$img"
refuse "is attached to $loop: name that instead, or run losetup -d $loop"
check "$probe" write "$loop"
mkdir "$work/mnt"
mount -t ext4 "$loop" "$work/mnt" || skip "mount does not work here"
defer "umount '$work/mnt'"
refuse "is mounted on $work/mnt: unmount it first: umount $work/mnt"
mustfail 1 "$probe" write "$loop"
says "is mounted on $work/mnt: "
mustfail 1 "$probe" write "$work/mnt"
says "is mounted on $work/mnt: "
