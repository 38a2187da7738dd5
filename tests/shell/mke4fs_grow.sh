#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --free is the space that an ordinary user can use, in bytes and in files.
# --grow-to gives a filesystem the features that it needs at the larger size.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_program resize2fs
cd "$work"
mkdir -m 777 src
echo content >src/file

need_theirs
check "$mke4fs" -q --grow-to=3G -d src small
sound small
[ "$(stat -c %s small)" -lt $((192 << 20)) ] || fail "the image is too large before it grows"
[ "$(value small 'Reserved GDT blocks')" -gt 0 ] || fail "no descriptors"
cp --sparse=always small img
check resize2fs img 3G
grown img

# For an image of this size, mke2fs would choose smaller blocks.
rm img
check "$mke4fs" -q --grow-to=3G -d src img 192M
check resize2fs img 3G
grown img
[ "$(value img 'Reserved GDT blocks')" -gt 0 ] || fail "no descriptors"

# Other options are passed to mke2fs.
rm img
check "$mke4fs" -q --grow-to=3G -J size=8 -N 512 -d src img
same "the journal" "$(value img 'Total journal size')" 8M
same "inodes" "$(value img 'Inode count')" 512
rm img
# refuse SOURCE IMAGE [SIZE]: fails unless --grow-to=16M is refused because 16
# MiB is not larger than the image
refuse() {
	mustfail 1 "$mke4fs" -q --grow-to=16M -d "$@"
	one_sentence mke4fs
	says 'img: --grow-to: 16 MiB .*size, [0-9.]* MiB'
	[ ! -s img ] || fail "an image is left behind"
}
refuse src img 64M
refuse src img 16M
truncate -s 20M disk
mustfail 1 "$mke4fs" -q -F --grow-to=16M -d src disk
says 'disk: --grow-to: 16 MiB .*size, 20 MiB'
mkdir large
head -c 20M /dev/zero >large/file
refuse large img
mustfail 2 "$mke4fs" --grow-to=x img

require_loop
mkdir mnt
# available BYTES OPTION...: makes an image with --free=BYTES, mounts it, and
# checks that about BYTES are free
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
# filled BYTES: fails unless an ordinary user can write a file of BYTES,
# including its extent tree, less one cluster.
filled() {
	run as_nobody dd if=/dev/zero of=mnt/new bs=4096 conv=fsync
	says 'No space left'
	taken=$(($(stat -c '%b * 512' mnt/new)))
	[ $((taken + 65536)) -gt "$1" ] || fail "only $taken of $1 bytes"
	umount mnt
	sound img
}
for options in -m5 '-m 20' '-b 1024' '-O ^has_journal' '-j -O bigalloc'; do
	# shellcheck disable=SC2086
	available 20971520 $options
	filled 20971520
done
# Half of the blocks are reserved for root.
available 67108864 -m 50
filled 67108864
# The journal is larger than the requested free space.
rm -f img
check "$mke4fs" -q --free=1M -J size=32 -d src img
sound img
check dumpe2fs -h img
grep -Eq 'Total journal size: +32M' "$out" || fail "not the journal asked for"
# Small filesystems have one inode for each 4096 bytes by default.
available 20971520 -m5
as_nobody sh -c 'mkdir mnt/many && cd mnt/many && seq 5000 | xargs touch' ||
	fail "no space for files"
umount mnt
sound img
