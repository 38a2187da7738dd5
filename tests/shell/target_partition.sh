#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A filesystem inside a disk image is read and written by the number of its
# partition, and by its offset.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs sfdisk cmp

disk=$work/disk
start=$((20480 * 512))		# start of the logical partition 5
mkdir "$work/files"
head -c 300000 /dev/urandom >"$work/files/data"

# label TABLE: makes an empty disk with the partition table of standard input
# and the type TABLE
label() {
	rm -f "$disk"
	truncate -s 40M "$disk"
	sfdisk -q "$disk" >/dev/null
}

# around FILE: prints the bytes before and after the filesystem
around() {
	head -c "$start" "$1"
	tail -c +$((start + 16777217)) "$1"
}

# noise SIZE: prints SIZE bytes of different sectors.  Random bytes might
# contain the magic number of a superblock.
noise() {
	seq 1 2000000 | head -c "$1"
}

# fill: writes a filesystem with fragmented files to partition 5, and noise to the
# rest of the disk
fill() {
	aged "$work/part" <<-'EOF'
	size 16M
	scatter /bad frags 60 blocks 2 gap 1
	scatter /keep frags 4 blocks 5 gap 3
	EOF
	noise 9M | dd of="$disk" bs=1M seek=1 conv=notrunc status=none
	label_again
	dd if="$work/part" of="$disk" bs=512 seek=20480 conv=notrunc status=none
	noise 6M | dd of="$disk" bs=1M seek=30 conv=notrunc status=none
}

# shellcheck disable=SC2317	# label calls it
label_again() { :; }
label <<EOF
label: dos
start=2048, size=16384, type=83
start=18432, size=36864, type=5
start=20480, size=32768, type=83
EOF
# the tables are in the first sector and in the sector at 9 MiB
cp "$disk" "$work/empty"
label_again() {
	dd if="$work/empty" of="$disk" bs=1M count=1 conv=notrunc status=none
	dd if="$work/empty" of="$disk" bs=1M skip=9 seek=9 count=1 \
		conv=notrunc status=none
}
fill
around "$disk" >"$work/around"
at="$disk?offset=$start"

mustfail 1 "$e4frag" "$disk"
says "$disk: .*partitions: .*\(1, 5\) with --partition=N"
mustfail 1 "$e4frag" --partition=3 "$disk"
says "$disk: partition 3 does not exist .*1, 5"
mustfail 1 "$e4frag" --partition=2 "$disk"
says 'partition 2 does not exist '
mustfail 1 "$e4frag" --partition=1 "$work/part"
says 'no partition table'
mustfail 1 "$e4frag" "$disk?offset=1048576"
says "no ext2.* byte 1048576 of $disk"
for wrong in offset=1M offset=-1 offset= offset=99999999999999999999 \
	partition=1; do
	mustfail 1 "$e4frag" "$disk?$wrong"
	says 'invalid offset .expected FILE\?offset='
	one_sentence e4frag
done
mustfail 1 "$e4frag" --partition=5 "$at"
says 'together'
mustfail 2 "$e4frag" --partition=0 "$disk"

# the report about a partition equals the report about a copy of the filesystem
# shellcheck disable=SC2086
for tool in "$e4frag" "$e4check --no-layout"; do
	check $tool --json "$work/part"
	sed "s,$work/part,X," "$out" >"$work/want"
	check $tool --json --partition=5 "$disk"
	sed "s,$disk,X," "$out" | cmp - "$work/want"
	check $tool --json "$at"
	sed "s,${disk}[^\"]*,X," "$out" | cmp - "$work/want"
done

# Each tool that writes changes the partition, and no bytes around the
# filesystem.
check "$e4repack" --verify --partition=5 "$disk"
check e2fsck -fn "$at"
check "$tune4fs" --set dir_ireserve=64 "$at"
check "$tune4fs" --partition=5 "$disk"
grep -q 'dir_ireserve  *64 ' "$out" || fail "the tunable is not kept"
check "$e4debug" -w -R 'mkdir /new' --partition=5 "$disk"
echo "open $disk 5
stat /new" | check "$e4debug" -f -
check "$e4debug" -R 'stat /new' "$at"
grep -q 'Type: directory' "$out" || fail "debugfs has another filesystem"
check e2fsck -fn "$at"
check "$e4check" --no-layout --partition=5 "$disk"
around "$disk" | cmp - "$work/around" || fail "wrote beside the filesystem"
dd if="$disk" of="$work/now" bs=512 skip=20480 count=32768 status=none
for file in bad keep; do
	debugfs -R "cat /$file" "$work/now" 2>/dev/null >"$work/a"
	debugfs -R "cat /$file" "$work/part" 2>/dev/null | cmp - "$work/a"
done

# mke4fs copies the filesystem in the partition.
for from in "$disk --partition=5" "$at"; do
	rm -f "$work/copy"
	# shellcheck disable=SC2086
	check "$mke4fs" -q --from=$from "$work/copy"
	sound "$work/copy"
	debugfs -R "cat /keep" "$work/copy" 2>/dev/null >"$work/a"
	debugfs -R "cat /keep" "$work/part" 2>/dev/null | cmp - "$work/a"
done
mustfail 2 "$mke4fs" --partition=5 -d "$work/files" "$work/none"
says '--partition requires --from'

# The printed commands can be run.
debugfs -w -R 'ssv error_count 1' "$at" >/dev/null 2>&1
mustfail 1 "$e4repack" --partition=5 "$disk"
says "run e2fsck -f '$disk\\?offset=$start'\$"
eval "$(sed -n 's/.*: run \(e2fsck.*\)$/\1 -y/p' "$err")" >/dev/null 2>&1 || :
check "$e4repack" --partition=5 "$disk"

# e2fsprogs does not support these operations at an offset.
before=$(cksum <"$disk")
mustfail 1 "$e4repack" -z "$work/undo" --partition=5 "$disk"
says "e2undo .*offset: .* losetup -f --show -o $start $disk,"
[ ! -e "$work/undo" ] || fail "an undo file is left"
[ "$before" = "$(cksum <"$disk")" ] || fail "the disk has changed"
mke2fs -qq -F -t ext4 -O mmp -E offset=$start "$disk" 16M >/dev/null
before=$(cksum <"$disk")
check "$e4check" "$at"
mustfail 1 "$tune4fs" --set dir_ireserve=64 "$at"
says 'mount protection .*offset'
[ "$before" = "$(cksum <"$disk")" ] || fail "the disk has changed"

# The filesystem extends beyond its partition.
dd if="$work/part" of="$disk" bs=512 seek=20480 conv=notrunc status=none
sfdisk -q --no-reread "$disk" 2>/dev/null >/dev/null <<EOF
label: dos
start=2048, size=16384, type=83
start=18432, size=36864, type=5
start=20480, size=16384, type=83
EOF
mustfail 1 "$e4repack" --partition=5 "$disk"
says 'truncated: .*4096 .*2048'

label <<EOF
label: gpt
start=2048, size=16384
start=20480, size=32768
EOF
dd if="$work/part" of="$disk" bs=512 seek=20480 conv=notrunc status=none
check "$e4repack" --partition=2 "$disk"
check e2fsck -fn "$at"
mustfail 1 "$e4repack" --partition=1 "$disk"
says 'no ext2.* byte 1048576 of'

# The message does not list all partitions.
mv "$disk" "$work/kept"
label <<EOF
label: gpt
$(seq 1 60 | sed 's/.*/size=64/')
EOF
mustfail 1 "$e4frag" "$disk"
says 'choose one \(1, 2, .*, [0-9]+, \.\.\.\) with --partition=N'

# One partition was removed, and one partition begins with the disk.
label <<EOF
label: dos
start=20480, size=32768, type=83
EOF
cp "$disk" "$work/cut"
truncate -s 10M "$work/cut"
mustfail 1 "$e4repack" --partition=1 "$work/cut"
says "cut: truncated .*partition 1 .*20480"
printf '\0\0\0\0' | dd of="$disk" bs=1 seek=454 conv=notrunc status=none
mustfail 1 "$e4frag" --partition=1 "$disk"
says "no ext2.* byte 0 of $disk"

mv "$work/kept" "$disk"

# A file name looks like an offset.
cp "$work/part" "$work/a?offset=4"
check "$e4frag" "$work/a?offset=4"
cp "$work/part" "$work/a?b"
check "$e4repack" "$work/a?b"

can_mount || exit 0
# The disk has other users, and the kernel has devices of its partitions.
mkdir "$work/mnt"
# The sectors of the disk have 4096 bytes.
truncate -s 40M "$work/large"
large=$(losetup -b 4096 -f --show "$work/large") || skip "losetup has no -b"
defer "losetup -d $large"
sfdisk -q --no-reread "$large" >/dev/null 2>&1 <<EOF
label: gpt
start=256, size=256
start=2560, size=4096
EOF
dd if="$work/part" of="$large" bs=4096 seek=2560 conv=notrunc,fsync status=none
check "$e4repack" --partition=2 "$large"
detach "$large"
mustfail 1 "$e4frag" "$work/large"
says 'partitions: .*\(1, 2\)'
check "$tune4fs" --partition=2 -E dir_ireserve=64 "$work/large"
check "$e4repack" --partition=2 "$work/large"
check e2fsck -fn "$work/large?offset=10485760"

mount -o "loop,offset=$start" "$disk" "$work/mnt" ||
	skip "mount does not work here"
defer "umount '$work/mnt'"
mustfail 1 "$e4repack" --partition=2 "$disk"
says "mounted on $work/mnt"
check "$e4frag" "$at"
says "mounted on $work/mnt: .*latest changes"
mustfail 1 "$mke4fs" -q --from="$disk" --partition=2 "$work/none"
says "mounted on $work/mnt"
umount "$work/mnt"
undefer "umount '$work/mnt'"
loop=$(losetup -fP --show "$disk")
defer "losetup -d $loop"
check "$e4repack" --partition=2 "$loop"
check e2fsck -fn "$at"
