#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every writing tool refuses these targets with one sentence, a command to run
# and exit status 1, and changes no byte. A dry run refuses the same targets.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs dumpe2fs

probe=$top_builddir/tests/tools/target_probe
qemu_lock=$top_builddir/tests/tools/qemu_lock
img=$work/img

fresh() {
	rm -f "$img"
	mke2fs -qq -F -t ext4 -b 4096 "$@" "$img" 16M >/dev/null
}

# refused COMMAND...: fails unless COMMAND refuses to open $target for writing
# and for a plan, with the same message.
refused() {
	mustfail 1 "$@" write "$target"
	cp "$err" "$work/sentence"
	mustfail 1 "$@" plan "$target"
	cmp "$err" "$work/sentence" || fail "a plan: $(cat "$err")"
}

# refuse PATTERN: fails unless opening $img for writing fails with PATTERN and
# changes nothing.
refuse() {
	before=$(cksum <"$img")
	target=$img
	refused "$probe"
	says "$1"
	one_sentence '.*target_probe'
	[ "$before" = "$(cksum <"$img")" ] || fail "image changed: $1"
}

# planned NAME: fails unless a plan can be made and nothing is written.
planned() {
	before=$(cksum <"$1")
	check "$probe" plan "$1"
	[ "$before" = "$(cksum <"$1")" ] || fail "a plan has changed $1"
}

# poke PATTERN COMMAND...: runs debugfs COMMANDs on a new image, and calls
# refuse.
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
planned "$img"
check "$probe" write "$img"

poke 'needs recovery: run e2fsck -p ' 'feature needs_recovery'
poke 'recorded errors: run e2fsck -f ' 'ssv state 3'
poke 'recorded errors: run e2fsck -f ' 'ssv error_count 1'
poke 'not cleanly unmounted: run e2fsck -f ' 'ssv state 0'
poke 'orphaned inodes: run e2fsck -f ' 'ssv last_orphan 12'
poke 'read-only: run tune2fs ' 'feature read-only'
poke 'share blocks: run e2fsck ' 'feature shared_blocks'
poke 'feature FEATURE_C30, which.* does not support' 'feature FEATURE_C30'
poke 'feature FEATURE_R30, which.* does not support' 'feature FEATURE_R30'
poke 'feature FEATURE_I30, which.* does not support' 'feature FEATURE_I30'

# The whole name is a file name, although libext2fs supports options after a
# "?".
plain=$img
fresh
img="$plain?cache=off"
cp "$plain" "$img"
before=$(cksum <"$plain")
check "$probe" write "$img"
check "$tune4fs" -q -E dir_ireserve=64 "$img"
[ "$before" = "$(cksum <"$plain")" ] || fail 'another image changed'
[ "$before" != "$(cksum <"$img")" ] || fail 'the image did not change'
debugfs -w -R 'feature read-only' "$plain" 2>/dev/null >/dev/null
mv "$plain" "$img"
img=$plain
fresh
img="$plain?cache=off"
refuse 'read-only: run tune2fs '
rm "$img"
img=$plain

# The MMP sequence number shows that e2fsck uses the filesystem on another host.
fresh -O mmp,^metadata_csum
mmp=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^MMP block number: *//p')
printf 'PMM\342' | dd of="$img" bs=1 seek=$((mmp * 4096 + 4)) conv=notrunc \
	status=none
refuse 'multiple mount protection: .* tune2fs -f -E clear_mmp '

fresh -O journal_dev
refuse 'an external journal, not a filesystem'
fresh
truncate -s 8M "$img"
refuse 'truncated: the filesystem has 4096 blocks, but the device has only 2048'

# Another program has the image open for writing or for a plan.
fresh
for how in write plan; do
	hold "$probe" $how "$img"
	refuse 'locked by another program'
	release
done
check "$probe" write "$img"

can_mount || exit 0
chmod 644 "$img"
as_nobody test -x "$probe" && {
	target=$img
	refused as_nobody "$probe"
	says 'writing: Permission denied'
}
attach "$img"
refuse "attached to $loop: detach the loop device first: losetup -d $loop"
planned "$loop"
check "$probe" write "$loop"
mkdir "$work/mnt"
mount -t ext4 "$loop" "$work/mnt" || skip "mount does not work here"
defer "umount '$work/mnt'"
refuse "mounted on $work/mnt: first run umount $work/mnt"
target=$loop
refused "$probe"
says "mounted on $work/mnt: "
mustfail 1 "$probe" write "$work/mnt"
says "mounted on $work/mnt: "
umount "$work/mnt"

# The device is read-only.
detach "$loop"
loop=$(losetup -r --show -f "$img") || skip "losetup does not work here"
defer "losetup -d $loop"
target=$loop
refused "$probe"
says "$loop: .*read-only"
detach "$loop"
attach "$img"

# The image is attached under another name, or has no name.  The image is
# mounted in another namespace, through a loop device over a loop device, or
# read-only.
ln "$img" "$work/link"
target=$work/link
refused "$probe"
says "attached to $loop: "
detach "$loop"
attach "$work/link"
rm "$work/link"
refuse "attached to $loop: "
detach "$loop"

attach "$img"
hold unshare -m sh -c "mount -t ext4 -o ro $loop $work/mnt && echo mounted &&
	exec cat"
refuse "mounted on $work/mnt in another mount namespace: .* -t $held "
target=$loop
refused "$probe"
says "another mount namespace"
release
detach "$loop"

attach "$img"
below=$loop
attach "$img"
target=$below
refused "$probe"
says "attached to $loop: "
detach "$loop"
attach "$below"
target=$below
refused "$probe"
says "attached to $loop: "
mount -t ext4 -o ro "$loop" "$work/mnt"
for target in "$img" "$below" "$loop"; do
	refused "$probe"
	says "mounted on $work/mnt: "
done
umount "$work/mnt"
check "$probe" write "$loop"
detach "$loop"
detach "$below"

# If sysfs is hidden, the loop devices are found in /dev.
attach "$img"
mount -t ext4 -o ro,noload "$loop" "$work/mnt"
mustfail 1 unshare -m sh -c "umount /sys 2>/dev/null ||
	mount -t tmpfs none /sys; exec $probe write $img"
says "mounted on $work/mnt"
umount "$work/mnt"
detach "$loop"

# An image is locked as by qemu for reading, for writing, or to deny operations.
# The locked bytes begin at 100 and 200.  The open file owns the locks, not the
# process.
attach "$img"
for bytes in 100 '100 101 201 203' '100 201'; do
	# shellcheck disable=SC2086
	hold "$qemu_lock" "$img" $bytes
	target=$loop
	refused "$probe"
	says 'locked by .*qemu'
	release
done
detach "$loop"
hold "$qemu_lock" "$img" 100 101 201 203
refuse 'locked by a virtual machine .qemu. or another program'
release
hold "$probe" write "$img"
for bytes in 100 '100 101'; do
	# shellcheck disable=SC2086
	mustfail 1 "$qemu_lock" "$img" $bytes
	says 'Failed .*lock'
done
release
