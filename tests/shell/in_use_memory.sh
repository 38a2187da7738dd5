#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every tool that writes refuses an image that is mounted through a loop device
# or attached to a loop device, even if any allocation fails, and for any small
# number of descriptors.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
require_loop

shim=$top_builddir/tests/tools/.libs/fail_malloc.so
[ -e "$shim" ] || skip 'built without shared libraries'

# refused WHAT COMMAND...: fails unless the last run failed and wrote nothing.
refused() {
	what=$1
	shift
	case $status in
	0|1??) fail "$what: exit $status: $*" ;;
	esac
	cmp -s "$img" "$work/as_it_was" || fail "$what: the image was changed: $*"
}

# in_use COMMAND...: fails unless COMMAND is refused, whichever allocation
# fails, and for any small number of descriptors.
in_use() {
	cp "$img" "$work/as_it_was"
	run env FAIL_MALLOC_COUNT="$work/count" LD_PRELOAD="$shim" "$@"
	refused 'with memory' "$@"
	grep -qE 'attached|mounted' "$out" "$err" ||
		fail "the reason is missing: $*"
	for n in $(seq 1 "$step" "$(cat "$work/count")"); do
		run env FAIL_MALLOC="$n" LD_PRELOAD="$shim" "$@"
		refused "allocation $n fails" "$@"
	done
	for n in 4 5 6 7 8 9 10 12 16; do
		run sh -c 'ulimit -n "$0" && exec "$@"' "$n" "$@"
		refused "with $n descriptors" "$@"
	done
}

# Without --full, one allocation in three fails.
step=$(in_full && echo 1 || echo 3)
img=$work/img
mke2fs -q -t ext4 "$img" 8M || fail 'no image'
attach "$img"
in_use "$e4repack" -z "$work/undo" "$img"
in_use "$tune4fs" --set dir_ireserve=64 "$img"
in_use "$mke4fs" -F "$img"
in_use "$e4debug" -w -R repack "$img"
mkdir "$work/mnt"
mount -o ro "$loop" "$work/mnt"
defer "umount $work/mnt"
in_use "$e4repack" -z "$work/undo" "$img"
in_use "$mke4fs" -F "$img"
in_use "$mke4fs" -F "$loop"

# A tool that lacks memory or descriptors to find the users of a device refuses
# the device.
# unseen PATH CALL ERROR COMMAND...: COMMAND is refused if the first, second or
# third call of CALL for PATH fails with ERROR.
unseen() {
	path=$1 call=$2 error=$3
	shift 3
	cp "$img" "$work/as_it_was"
	for n in 1 2 3; do
		run strace -f -qq -o /dev/null -P "$path" \
			-e inject="$call:error=$error:when=$n" "$@"
		refused "$call of $path, the ${n}th" "$@"
	done
}
if can_trace; then
	second=$(losetup --show -f "$img")
	defer "losetup -d $second"
	sysfs=/sys/dev/block/$(lsblk -dno MAJ:MIN "$second" | tr -d ' ')
	for command in "$e4repack --all" "$mke4fs -F"; do
		# shellcheck disable=SC2086
		for path in "$sysfs/loop/backing_file" "$sysfs/dev" "$second" \
			/sys/block /proc /proc/self/mountinfo; do
			unseen "$path" openat ENFILE $command "$second"
		done
		# shellcheck disable=SC2086
		unseen /sys/block getdents64 ENOMEM $command "$second"
	done
	detach "$second"
fi

# The kernel's device of a partition has a page cache of its own: after a change
# of the filesystem, this device and the disk must have the same content.
require_program sfdisk addpart
umount "$work/mnt"
undefer "umount $work/mnt"
disk=$work/disk
truncate -s 12M "$disk"
printf 'label: dos\n2048,16384\n' | sfdisk -q "$disk"
attach "$disk"
addpart "$loop" 1 2048 16384 2>/dev/null || skip "no partitions of loop devices"
part=${loop}p1
[ -b "$part" ] || skip "no device of a partition: no udev"
defer "delpart $loop 1"
mke2fs -q -F -t ext4 "$part" || fail 'no filesystem'
exec 9<"$part"

# partition N KIB: sets a tunable to KIB in the partition while allocation
# number N fails, and checks that the partition's device and the disk have the
# same content.
partition() {
	run env FAIL_MALLOC="$1" FAIL_MALLOC_COUNT="$work/count" \
		LD_PRELOAD="$shim" "$tune4fs" \
		--set extent_max_zeroout_kb="$2" --partition=1 "$loop"
	sync "$part"
	[ "$status" -lt 100 ] && cmp -n 8388608 "$part" "$disk" 0 1048576 >&2
}

partition 0 1 || bad=0
for n in $(seq "$(cat "$work/count")"); do
	[ ! "${bad-}" ] || break
	partition "$n" $((n + 1)) || bad=$n
done
exec 9<&-	# otherwise the partition cannot be deleted
[ ! "${bad-}" ] || fail "allocation $bad fails: the disk was changed"
