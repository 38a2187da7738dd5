#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --free is what an ordinary user can have, in bytes and in files; --grow-to
# gives what a filesystem of that size has, when it has grown.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_program resize2fs
cd "$work"
mkdir -m 777 src
echo content >src/file

# value IMAGE NAME
value() {
	dumpe2fs -h "$1" 2>/dev/null | sed -n "s/^$2: *//p"
}

# grown IMAGE: it is as large and has as much as mke2fs gives 3 GiB
truncate -s 3G theirs
check mkfs.ext4 -q -F -b 4096 theirs
grown() {
	same "the size" "$(value "$1" 'Block count')" 786432
	for name in 'Inode count' 'Total journal size'; do
		same "$name" "$(value "$1" "$name")" "$(value theirs "$name")"
	done
	sound "$1"
}
check "$mke4fs" -q --grow-to=3G -d src small
sound small
[ "$(stat -c %s small)" -lt $((192 << 20)) ] || fail "it is large already"
[ "$(value small 'Reserved GDT blocks')" -gt 0 ] || fail "no descriptors"
cp --sparse=always small img
check resize2fs img 3G
grown img

# what is said besides counts; what cannot be is refused
rm img
check "$mke4fs" -q --grow-to=3G -J size=8 -N 512 -d src img
same "the journal" "$(value img 'Total journal size')" 8M
same "inodes" "$(value img 'Inode count')" 512
rm img
mustfail 1 "$mke4fs" -q --grow-to=16M -d src img 64M
says 'resize'
[ ! -e img ] || fail "an image is left behind"
mustfail 2 "$mke4fs" --grow-to=x img

require_loop
mkdir mnt
truncate -s 3G small
attach small
check mount -t ext4 "$loop" mnt
defer "umount '$work/mnt' 2>/dev/null"
run resize2fs "$loop"
umount mnt
if [ "$status" = 0 ]; then
	grown small
else	# who has no CAP_SYS_RESOURCE
	says 'Permission denied to resize filesystem'
	echo "no right to resize what is mounted: not tried here"
fi

# available BYTES COMMAND...: on a new image with so many bytes free, as nobody
available() {
	bytes=$1
	shift
	rm -f img
	check "$mke4fs" -q --free="$bytes" -d src "$@" img
	sound img
	check mount -o loop img mnt
	avail=$(df -B1 --output=avail mnt | tail -n 1)
	[ "$avail" -ge "$bytes" ] || fail "$avail bytes of $bytes are free"
	[ "$avail" -le $((bytes + bytes / 50 + 65536)) ] ||
		fail "$avail bytes are free, not $bytes"
}
for options in -m5 '-m 20' '-b 1024' '-O ^has_journal' '-j -O bigalloc'; do
	# shellcheck disable=SC2086
	available 20971520 $options
	as_nobody sh -c 'head -c 20971520 /dev/zero >mnt/new' || fail "no room"
	umount mnt
	sound img
done
# half of what is added is free
available 67108864 -m 50
umount mnt
sound img
# a journal that what is to be free would not hold
rm -f img
check "$mke4fs" -q --free=1M -J size=32 -d src img
sound img
check dumpe2fs -h img
grep -Eq 'Total journal size: +32M' "$out" || fail "not the journal asked for"
# a file for each 4096 bytes, as mke2fs counts on in small filesystems
available 20971520 -m5
as_nobody sh -c 'mkdir mnt/many && cd mnt/many && seq 5000 | xargs touch' ||
	fail "no room for files"
umount mnt
sound img
