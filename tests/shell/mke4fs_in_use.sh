#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mke4fs refuses a source or target that is in use.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs unshare

qemu_lock=$top_builddir/tests/tools/qemu_lock
img=$work/img
mnt=$work/mnt
mkdir "$mnt" "$work/files"
head -c 300000 /dev/urandom >"$work/files/data"
mke2fs -qq -F -t ext4 -d "$work/files" "$img" 16M >/dev/null
cksum <"$img" >"$work/sum"

# refused PATTERN [OPTION...]: fails unless mke4fs refuses with PATTERN, and
# changes no image
refused() {
	pattern=$1
	shift
	mustfail 1 "$mke4fs" -q "$@"
	says "$pattern"
	one_sentence mke4fs
	cksum <"$img" | cmp -s - "$work/sum" || fail "the image has changed"
}

attach "$img"
for force in "" "-F" "-F -F"; do
	for source in "" "-d $work/files"; do
		# shellcheck disable=SC2086
		refused "$img: attached to $loop" $force $source "$img"
	done
done
refused "attached to $loop" -E offset=1048576 -d "$work/files" "$img" 8M
refused "$img: attached to $loop" --from="$img" "$work/none"

# The filesystem is mounted in another mount namespace, or a part of the image is
# mounted.
hold unshare -m sh -c "mount -t ext4 -o ro,noload $loop $mnt && echo mounted &&
	exec cat"
refused 'in another mount namespace' -F -F -d "$work/files" "$loop"
refused 'in another mount namespace' -F -F -d "$work/files" "$img"
refused 'in another mount namespace' --from="$img" "$work/none"
refused 'in another mount namespace' --from="$loop" "$work/none"
release
detach "$loop"

{
	head -c 1M /dev/zero
	cat "$img"
} >"$work/disk"
mount -t ext4 -o "loop,ro,noload,offset=1048576" "$work/disk" "$mnt"
defer "umount '$mnt'"
mustfail 1 "$mke4fs" -q -F -d "$work/files" "$work/disk"
says "mounted on $mnt"
mustfail 1 "$mke4fs" -q --from="$work/disk?offset=1048576" "$work/none"
says "mounted on $mnt"
[ ! -e "$work/none" ] || fail "an image is left"
umount "$mnt"
undefer "umount '$mnt'"

# An image is locked as by qemu.  If qemu only reads the image, the image can be
# copied, but not overwritten.
hold "$qemu_lock" "$img" 100 201 203
refused 'locked by a virtual machine' -F -d "$work/files" "$img"
rm -f "$work/copy"
check "$mke4fs" -q --from="$img" "$work/copy"
release
hold "$qemu_lock" "$img" 100 101 201 203
refused 'locked by a virtual machine' -F -d "$work/files" "$img"
refused 'locked by a virtual machine' --from="$img" "$work/none"
release
hold "$top_builddir/tests/tools/target_probe" write "$img"
refused 'locked by another program' -F -d "$work/files" "$img"
refused 'locked by another program' --from="$img" "$work/none"
release

# The source is mounted and unmounted during the copy: mke4fs waits for the list
# of --sort after it has opened the source.
mkfifo "$work/sort"
"$mke4fs" -q --from="$img" --sort="$work/sort" "$work/none" 2>"$err" &
copying=$!
exec 9>"$work/sort"
mount -o loop "$img" "$mnt"
umount "$mnt"
exec 9>&-
wait $copying && fail "a filesystem mounted during the copy was not refused"
says "$img: .*another program "
[ ! -e "$work/none" ] || fail "a copy is left"
cksum <"$img" >"$work/sum"

# The source is the image itself.
refused 'the source is the image' -F --from="$img" "$img"
check "$mke4fs" -q -F -d "$work/files" "$img"
sound "$img"
