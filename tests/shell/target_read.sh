#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each tool accepts all ways to name a target.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs blkid

probe=$top_builddir/tests/tools/target_probe
img=$work/img
mke2fs -qq -F -t ext4 -L "e4l-$$" "$img" 16M

check "$probe" read "$img"
grep -qx "device $img" "$out" || fail "an image is not its own device"
[ ! -s "$err" ] || fail "an unused image causes a note"

mount_image "$img" "$work/a b"
for name in "$loop" "$work/a b" "$work/../$(basename "$work")/a b"; do
	check "$probe" read "$name"
	grep -qx "device $loop" "$out" || fail "$name is not $loop"
	grep -qx "mounted $work/a b" "$out" || fail "$name is not mounted"
	says 'mounted on .*: .*latest changes'
	one_sentence '.*target_probe'
done
check "$probe" read "$img"
says 'latest changes'

uuid=$(blkid -p -s UUID -o value "$loop")
upper=$(echo "$uuid" | tr a-f A-F)
for name in "LABEL=e4l-$$" "UUID=$uuid" "UUID=$upper"; do
	check "$probe" read "$name"
	grep -qx "mounted $work/a b" "$out" || fail "$name is not found"
done
for name in "LABEL=e4l-no-such-$$" "LABEL=E4L-$$"; do
	mustfail 1 "$probe" read "$name"
done
says 'no device .*LABEL'
mustfail 1 "$probe" read /proc
says 'not on .*ext4'

# For a disk without a filesystem, the message contains the remedy.
disk=$work/disk
truncate -s 4M "$disk"
mustfail 1 "$probe" read "$disk"
says 'contains no ext2'
while read -r magic says; do
	# shellcheck disable=SC2059
	printf "$magic        " | dd of="$disk" conv=notrunc status=none
	mustfail 1 "$probe" read "$disk"
	says "$says"
	one_sentence '.*target_probe'
done <<EOF
QFI\\373 is a qcow2 image: run qemu-nbd -c /dev/nbd0 $disk, and use /dev/nbd0
KDMV is a VMDK image: run qemu-nbd
COWD is a VMDK image: run qemu-nbd
#\\040Disk\\040DescriptorFile is the description of a VMDK image: run qemu-nbd
vhdxfile is a VHDX image: run qemu-nbd
conectix is a VHD image: run qemu-nbd
<<<\\040Oracle is a VDI image: run qemu-nbd
\\072\\377\\046\\355 is an Android sparse image: run simg2img $disk $disk.img, and use $disk.img
\\037\\213 is compressed: run gunzip <$disk >$disk.img, and use $disk.img
BZh is compressed: run bunzip2 <$disk >$disk.img, and use $disk.img
\\3757zXZ is compressed: run unxz <$disk >$disk.img, and use $disk.img
\\050\\265\\057\\375 is compressed: run unzstd <$disk >$disk.img, and use $disk.img
\\004\\042\\115\\030 is compressed: run unlz4 <$disk >$disk.img, and use $disk.img
LUKS\\272\\276 is encrypted with LUKS: run cryptsetup open $disk NAME,
EOF
# The disk has a DOS label with one partition, which begins at 1 MiB.
truncate -s 0 "$disk"
truncate -s 4M "$disk"
printf '\0\0\0\0\203\0\0\0\0\010\0\0\0\020\0\0' |
	dd of="$disk" bs=1 seek=446 conv=notrunc status=none
printf '\125\252' | dd of="$disk" bs=1 seek=510 conv=notrunc status=none
mustfail 1 "$probe" read "$disk"
says 'partitions: .*\(1\) with --partition=N'
one_sentence '.*target_probe'
