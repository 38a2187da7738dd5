#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every kind of source gives the same content: a directory, tar archives, an
# image, and a copy of the image.  IDs can be mapped, and the target can be a
# device.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program tar gzip xz

sample "$work/src"

# A directory is copied with several values of -R.
windows='low exact'
! in_full || windows='low normal high 256 off exact'
for window in $windows; do
	rm -f "$work/img"
	check "$mke4fs" -q -b 4096 -R "$window" -d "$work/src" -N 40000 \
		"$work/img" 128M
	equals "$work/img" "$work/src"
done

# Without a size, the image has the smallest size.
rm -f "$work/img"
check "$mke4fs" -d "$work/src" "$work/img"
equals "$work/img" "$work/src"
free=$(dumpe2fs -h "$work/img" 2>/dev/null | sed -n 's/^Free blocks: *//p')
[ "$free" -lt 300 ] || fail "$free blocks are free in the smallest image"
rm -f "$work/img"
check "$mke4fs" --free=10M -d "$work/src" "$work/img"
clean "$work/img"
free=$(dumpe2fs -h "$work/img" 2>/dev/null | sed -n 's/^Free blocks: *//p')
[ "$free" -ge 2560 ] || fail "$free blocks are free, not 10 MiB"
[ "$free" -lt 2900 ] || fail "$free blocks are free, more than 10 MiB"

# Archives are copied.  GNU tar supports no sockets, and libarchive misreads
# fractions of seconds before 1970.
rm "$work/src/sock"
touch -d '1960-01-02 03:04:05 UTC' "$work/src/dir"
near_times "$work/src"
tar -C "$work/src" --format=posix --xattrs --xattrs-include='*' --acls -S \
	-cf "$work/a.tar" . 2>/dev/null
gzip -k "$work/a.tar"
xz -k "$work/a.tar"
for name in a.tar a.tar.gz a.tar.xz; do
	rm -f "$work/img"
	check "$mke4fs" -q -d "$work/$name" "$work/img"
	equals "$work/img" "$work/src"
done
rm -f "$work/img"
"$mke4fs" -q -d - "$work/img" 64M -b 4096 <"$work/a.tar.gz" ||
	fail "no image from standard input"
equals "$work/img" "$work/src"

# The first file of the archive has no data.
truncate -s 100000 "$work/all-hole"
seq 50000 >"$work/data"
for format in gnu posix; do
	tar -C "$work" --format=$format -S -cf "$work/b.tar" all-hole data
	rm -f "$work/img"
	check "$mke4fs" -q -d "$work/b.tar" "$work/img"
	clean "$work/img"
	for name in all-hole data; do
		debugfs -R "cat $name" "$work/img" 2>/dev/null |
			cmp - "$work/$name" >&2 ||
			fail "$format: the content of $name has changed"
	done
done

# cpio stores the data of a file with several names once, in the format newc
# with the last name.
if has_program cpio; then
	mkdir "$work/links"
	seq 2000 >"$work/links/a"
	ln -s a "$work/links/sym"
	mknod "$work/links/null" c 1 3
	for name in a sym null; do
		ln "$work/links/$name" "$work/links/$name-2"
		ln "$work/links/$name" "$work/links/$name-3"
	done
	find "$work/links" -exec touch -h -d '2011-12-13 UTC' {} +
	for format in newc odc; do
		(cd "$work/links" && find . | cpio -o --quiet -H $format) \
			>"$work/a.cpio"
		rm -f "$work/img"
		check "$mke4fs" -q -d "$work/a.cpio" "$work/img"
		equals "$work/img" "$work/links"
	done
fi

# Another image is copied, with attributes that only ext4 has.
touch "$work/dev.img"
check mke2fs -q -t ext4 -I 512 "$work/dev.img" 100M
attach "$work/dev.img"
mkdir "$work/dev"
mount "$loop" "$work/dev" || skip "mount does not work here"
defer "umount '$work/dev' 2>/dev/null"
cp -a "$work/src/." "$work/dev"
fallocate -l 300K -n "$work/dev/small"
fallocate -o 100K -l 1M "$work/dev/holes"
fallocate -l 2M "$work/dev/prealloc"
chattr +i "$work/dev/nothing"
chattr +d "$work/dev/dir/large"
before=$(debugfs -R 'stat small' "$loop" 2>/dev/null | grep crtime:)
sync -f "$work/dev"
mustfail 1 "$mke4fs" -q --from="$loop" "$work/img2" 100M
says 'mounted'
[ ! -e "$work/img2" ] || fail "an image is left behind"
umount "$work/dev"
# A kernel without quota can set project IDs only with debugfs, while unmounted.
check tune2fs -O project "$loop"
check debugfs -w -R 'set_inode_field dir/large projid 77' "$loop"
run e2fsck -fy "$loop"	# creates the project quota
same "e2fsck" "$status" 1
check "$mke4fs" -q -O project,quota -I 512 --from="$loop" "$work/img2" 100M
clean "$work/img2"

# extents FILE IMAGE: prints the logical ranges of FILE and their states
extents() {
	debugfs -R "dump_extents -l $1" "$2" 2>/dev/null |
		sed -nE 's/^ *[0-9]+\/ *[0-9]+ +[0-9]+\/ *[0-9]+ +([0-9]+) - +([0-9]+) +[0-9]+ - +[0-9]+ +[0-9]+ *(Uninit)?.*/\1 \2 \3/p' |
		awk '{ if (NR > 1 && $1 == end + 1 && $3 == st) end = $2
		       else { if (NR > 1) print first, end, st
			      first = $1; end = $2; st = $3 } }
		     END { print first, end, st }'
}
for file in small holes prealloc all-hole dir/large; do
	same "extents of $file" "$(extents $file "$work/img2")" \
		"$(extents $file "$loop")"
done
same "creation time" \
	"$(debugfs -R 'stat small' "$work/img2" 2>/dev/null | grep crtime:)" \
	"$before"
mount -o ro,noload "$loop" "$work/dev"
equals "$work/img2" "$work/dev"
umount "$work/dev"
for file in nothing dir/large; do
	for what in Flags Project; do
		same "$what of $file" \
			"$(debugfs -R "stat $file" "$work/img2" 2>/dev/null |
			grep -o "$what: *[0-9a-fx]*")" \
			"$(debugfs -R "stat $file" "$loop" 2>/dev/null |
			grep -o "$what: *[0-9a-fx]*")"
	done
done
mustfail 1 "$mke4fs" -q --from="$loop" "$work/img3" 100M
says 'dir/large: .*feature'

# Generations, which the kernel chose at random, are copied if requested.
generation() {
	debugfs -R "stat $2" "$1" 2>/dev/null |
		sed -n 's/.*Generation: *\([0-9]*\).*/\1/p'
}
[ "$(generation "$work/img2" small)" != "$(generation "$loop" small)" ] ||
	fail "generations are kept unasked"
check "$mke4fs" -q -O project --keep-generation -I 512 --from="$loop" \
	"$work/img2" 100M
clean "$work/img2"
for file in small dir dir/large link fifo; do
	same "generation of $file" "$(generation "$work/img2" $file)" \
		"$(generation "$loop" $file)"
done

# User and group IDs are mapped.
rm -f "$work/img"
check "$mke4fs" -q -d "$work/a.tar" --uid-map=0:5000 --uid-map=1000:7:10 \
	--gid-map=0:6000:1 "$work/img"
run debugfs -R 'stat small' "$work/img"
grep -q 'User: *5000 *Group: *6000' "$out" || fail "ids are not mapped"
run debugfs -R 'stat dir/large' "$work/img"
grep -q 'User: *7 *Group: *100000' "$out" || fail "ids are not mapped"
rm -f "$work/img"
check "$mke4fs" -q -d "$work/a.tar" --all-root "$work/img"
run debugfs -R 'stat dir/large' "$work/img"
grep -q 'User: *0 *Group: *0' "$out" || fail "not root's"

# The target is a device, or an existing file.
truncate -s 96M "$work/disk"
check "$mke4fs" -q -d "$work/a.tar" "$work/disk"
equals "$work/disk" "$work/src"
dd if=/dev/urandom of="$work/disk" bs=1M count=96 status=none
attach "$work/disk"
check "$mke4fs" -q -F -d "$work/a.tar" "$loop"
equals "$loop" "$work/src"
detach "$loop"

# The target is a part of a larger file: the other bytes are unchanged.
seq 300000 >"$work/around"
cp "$work/around" "$work/disk"
truncate -s 40M "$work/disk"
tail -c 5000 "$work/around" >>"$work/disk"
check "$mke4fs" -q -F -E offset=4194304 -d "$work/a.tar" "$work/disk" 32M
check e2fsck -fn "$work/disk?offset=4194304"
tail -c +4194305 "$work/disk" >"$work/part"
clean "$work/part"
rm "$work/part"
cmp -n "$(stat -c %s "$work/around")" "$work/around" "$work/disk" >&2 ||
	fail "data before the partition was overwritten"
[ "$(tail -c 5000 "$work/disk")" = "$(tail -c 5000 "$work/around")" ] ||
	fail "data behind the partition was overwritten"
loop=$(losetup --show -f -o 4194304 --sizelimit 33554432 "$work/disk")
defer "losetup -d $loop"
equals "$loop" "$work/src"
rm -f "$work/img"
check "$mke4fs" -q -E offset=1048576 -d "$work/a.tar" "$work/img" 32M
same "the size" "$(stat -c %s "$work/img")" $((33 << 20))
check e2fsck -fn "$work/img?offset=1048576"
tail -c +1048577 "$work/img" >"$work/part"
clean "$work/part"
rm "$work/part"

# A file of more than 4 GiB has data below and above 4 GiB.
mkdir "$work/huge"
truncate -s 5G "$work/huge/file"
for at in 0 4095 4096 5119; do
	echo "at $at" | dd of="$work/huge/file" bs=1M seek=$at conv=notrunc \
		status=none
done
truncate -s 4294967301 "$work/huge/hole"
rm -f "$work/img"
check "$mke4fs" -q -d "$work/huge" "$work/img"
[ "$(stat -c %s "$work/img")" -lt $((32 << 20)) ] || fail "holes are filled"
rm -f "$work/img2"
check "$mke4fs" -q --from="$work/img" "$work/img2"
for image in img img2; do
	clean "$work/$image"
	mount -t ext4 -o loop,ro,noload "$work/$image" "$work/mnt"
	for file in file hole; do
		same "$image: size and blocks of $file" \
			"$(stat -c '%s %b' "$work/mnt/$file")" \
			"$(stat -c '%s %b' "$work/huge/$file")"
	done
	for at in 0 4095 4096 5119; do
		for dir in huge mnt; do
			dd if="$work/$dir/file" of="$work/$dir.block" bs=1M \
				skip=$at count=1 status=none
		done
		cmp "$work/huge.block" "$work/mnt.block" >&2 ||
			fail "$image: other content at $at MiB"
	done
	umount "$work/mnt"
done
