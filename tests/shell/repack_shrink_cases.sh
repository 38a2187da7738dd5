#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --shrink is tested with refused sizes and files, --free, images that
# must not be truncated, partitions, devices, undo files, and its report.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_program resize2fs tune2fs
no_leak_check

by_name() {
	digest -mnz "$1" | grep -v '^[78] ' | sort
}

kept() {
	clean "$img"
	by_name "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# make: makes a filesystem with a file at its end.
make() {
	aged "$img" <<-'END'
	mke2fs -J size=8
	size 64M
	file /immutable extents 0+3w@15000 flags immutable
	file /swap extents 0+80w@15010
	file /last extents 0+9w@15100
	tree /t dirs 5 files 8 size 1K-9K
	scatter /apart frags 30 blocks 2
	END
	by_name "$img" >"$work/before"
}

what=usage
mustfail 2 "$e4repack" --free=1M "$img"
says '^e4repack: --free requires --shrink$'
mustfail 2 "$e4repack" --shrink=20M --free=1M "$img"
mustfail 2 "$e4repack" --shrink --no-move "$img"
mustfail 2 "$e4repack" --shrink "$img" /t
mustfail 2 "$e4repack" --shrink=0 "$img"

what='pinned files'
make
mustfail 1 "$e4repack" --shrink=32M "$img"
says 'inode [0-9]+ must not be moved, but has blocks beyond the new end'
block=15010
printf SWAPSPACE2 | dd of="$img" bs=1 conv=notrunc status=none \
	seek=$((block * 4096 + 4086))
by_name "$img" >"$work/before"
mustfail 1 "$e4repack" --shrink=32M --move=immutable "$img"
says 'must not be moved'
kept

what='too small'
mustfail 1 "$e4repack" --move=immutable,swap --shrink=2M "$img"
says 'the smallest possible size is [0-9]+ bytes, [0-9]+ more than requested'
least=$(sed 's/.*possible size is \([0-9]*\) bytes.*/\1/' "$err")
kept

# 100 bytes must not be rounded to 0 blocks, which would mean the smallest size.
mustfail 1 "$e4repack" --move=immutable,swap --shrink=100 "$img"
says "the smallest possible size is $least bytes"
mustfail 2 "$e4repack" --move=immutable,swap --shrink=100 --free=1 "$img"
run "$e4repack" --json --move=immutable,swap --shrink=100 "$img"
same "$what: exit" "$status" 1
take_report
same "$what: smallest" "$(report shrink.smallest_blocks)" $((least / 4096))
same "$what: new size" "$(report shrink.new_blocks)" 16384
kept

what='not smaller'
for size in 64M 65M 1T; do
	check "$e4repack" --shrink=$size "$img"
	grep -q ': not larger than the requested size; nothing was changed$' \
		"$out" || fail "$size: no reason in the report"
	repack --shrink=$size "$img"
	reported 'shrink.new_blocks 16384' 'done.transactions 0'
done
same "$what: size" "$(stat -c %s "$img")" 67108864
kept

what='smallest'
repack --move=immutable,swap --shrink "$img"
same "$what: size" "$(stat -c %s "$img")" "$least"
same "$what: truncated" "$(report shrink.truncated)" true
kept
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	/usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4repack-1.json" "$work/.report" ||
		fail "the report is not valid"
fi
check "$e4repack" --move=immutable,swap --shrink "$img"
grep -q ': already as small as possible$' "$out" || fail "$what: not small"
! grep -q truncate "$out" || fail "$what: truncated again"
# The image is as long as if the first run had been killed before it truncated
# the image.
truncate -s 64M "$img"
check "$e4repack" --move=immutable,swap --shrink "$img"
grep -q "run: truncate -s $least $img\$" "$out" || fail "$what: no command"
same "$what: size" "$(stat -c %s "$img")" 67108864
check resize2fs "$img" 64M
kept

what='--free'
make
repack --move=immutable --shrink --free=3M "$img"
kept
free=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^Free blocks: *//p')
same "$what: free blocks" "$free" "$(report shrink.free_blocks)"
if [ "$free" -lt 768 ] || [ "$free" -gt 900 ]; then
	fail "$free blocks are free"
fi

what='a limit'
make
repack -n --shrink "$img"
says 'the size is limited by inode [0-9]+, which must not be moved: see --move'
size=$(report shrink.new_blocks)
repack --shrink "$img"
kept
reported "shrink.new_blocks $size"
same "$what: inode" "$(report shrink.limit_inode)" \
	"$(debugfs -R 'stat /immutable' "$img" 2>/dev/null |
	sed -n 's/^Inode: \([0-9]*\) .*/\1/p')"
if [ "$size" -lt 15003 ] || [ "$size" -gt 15100 ]; then
	fail "$size blocks"
fi

what='an inode number in a signature'
aged "$img" <<'END'
size 96M
mke2fs -g 1024 -N 6144 -J size=4
many /gone count 2500
file /big extents 0+1w
xattr /big security.evm hello
delete /gone percent 100
END
by_name "$img" >"$work/before"
repack --shrink "$img"
says 'the size is limited by inode [0-9]+, which must keep its number'
kept

what='a project quota file'
aged "$img" <<'END'
size 64M
mke2fs -O quota,project -E quotatype=prjquota
file /last extents 0+9w@15100
END
by_name "$img" >"$work/before"
repack --shrink "$img"
kept

what='a journal with a block map'
check mke2fs -q -F -t ext4 -b 1024 -O ^extent,^64bit,^has_journal "$img" 64M
head -c 30M /dev/urandom >"$work/first"
check debugfs -w -R "write $work/first first" "$img"
check tune2fs -J size=4 "$img"
check debugfs -w -R 'rm first' "$img"
by_name "$img" >"$work/before"
mustfail 1 "$e4repack" --shrink=20M "$img"
says 'the journal cannot be moved below the new end'
repack --shrink "$img"
says 'the size is limited by the journal \(inode 8\), which cannot be moved'
kept

# journal FILE: prints the blocks of the journal.
journal() {
	dumpe2fs -h "$1" 2>/dev/null |
		sed -n 's/^Total journal blocks: *//p'
}

what='--journal'
mustfail 2 "$e4repack" --journal=4M "$img"
says '^e4repack: --journal requires --shrink$'
make
repack -n --move=immutable,swap --shrink --journal=4M "$img"
least=$(report shrink.new_blocks)
repack --move=immutable,swap --shrink "$img"
same "$what: saved" $(($(report shrink.new_blocks) - least)) \
	$(($(journal "$img") - 1024))
kept
make
mustfail 1 "$e4repack" --move=immutable,swap --shrink --journal=1M "$img"
says 'cutting the journal \(inode 8\): the journal must have at least 1,024 blocks'
kept
repack --move=immutable,swap --shrink --journal=4M "$img"
reported "shrink.new_blocks $least"
same "$what: blocks" "$(journal "$img")" 1024
kept
check resize2fs "$img" 64M
repack --shrink=48M --journal=64M "$img"
same "$what: a longer journal" "$(journal "$img")" 1024
kept
check tune2fs -O ^has_journal "$img"
mustfail 1 "$e4repack" --no-undo --shrink --journal=4M "$img"
says '--journal requires a journal inside the filesystem$'

what='a journal of many extents'
aged "$img" <<-'END'
	mke2fs -b 1024 -O ^has_journal
	size 16M
	scatter /apart frags 100 blocks 60 gap 60
END
check tune2fs -J size=3 "$img"
check debugfs -R 'stat <8>' "$img"
grep -q '(ETB0)' "$out" || fail "$what: no tree block"
by_name "$img" >"$work/before"
repack --shrink --journal=2M --only=trees "$img"
same "$what: blocks" "$(journal "$img")" 2048
kept

what='bad blocks'
check mke2fs -q -F -t ext4 -b 1024 "$img" 64M
echo 50000 >"$work/bad"
run e2fsck -fy -L "$work/bad" "$img"
mustfail 1 "$e4repack" --shrink=32M "$img"
says 'list of bad blocks'

what='data after the filesystem'
make
echo 'more data' >>"$img"
size=$(stat -c %s "$img")
check "$e4repack" --move=immutable --shrink "$img"
grep -q 'not truncated, because it has data after the filesystem' "$out" ||
	fail "no reason in the report"
! grep -q 'truncate -s' "$out" || fail "a command destroys the data"
same "$what: size" "$(stat -c %s "$img")" "$size"
tail -n 1 "$img" | grep -q 'more data$' || fail "the data were changed"
kept

what='undo file'
make
cp "$img" "$work/original"
check "$e4repack" --move=immutable --shrink -z "$work/undo" "$img"
grep -q 'no longer needed, run: truncate -s [0-9]* ' "$out" ||
	fail "no command in the report"
same "$what: size" "$(stat -c %s "$img")" "$(stat -c %s "$work/original")"
kept
check e2undo "$work/undo" "$img"
same "$what: blocks" "$(dumpe2fs -h "$img" 2>/dev/null |
	sed -n 's/^Block count: *//p')" 16384
kept

what='another file'
make
mkfifo "$work/fifo"
"$e4repack" --move=immutable --shrink "$img" >"$work/fifo" &
{
	read -r _
	mv "$img" "$work/moved"
	head -c 65M /dev/zero >"$img"
	cat >/dev/null
} <"$work/fifo"
wait $! || :
same "$what: size" "$(stat -c %s "$img")" 68157440
mv "$work/moved" "$img"
kept

what='an offset'
make
{ head -c 1M /dev/zero; cat "$img"; head -c 1M /dev/zero; } >"$work/disk"
size=$(stat -c %s "$work/disk")
check "$e4repack" --move=immutable --shrink "$work/disk?offset=1048576"
grep -q '^  logical volume: lvreduce -L [0-9]*b ' "$out" || fail "no commands"
grep -q "^  partition:      echo ', [0-9]*KiB' | sfdisk " "$out" ||
	fail "no size with a unit"
same "$what: size" "$(stat -c %s "$work/disk")" "$size"
tail -c +1048577 "$work/disk" | head -c 64M >"$img"
kept

what='a partition'
make
{ head -c 1M /dev/zero; cat "$img"; head -c 1M /dev/zero; } >"$work/disk"
if has_program sfdisk; then
	printf 'start=2048, size=131072\nsize=2048\n' |
		sfdisk -q --no-reread "$work/disk" >/dev/null 2>&1
	check "$e4repack" --move=immutable --shrink --partition=1 "$work/disk"
	! grep -q 'truncate\|lvreduce' "$out" || fail "a wrong command"
	size=$(sed -n 's/^New size of the filesystem: \([0-9]*\) .*/\1/p' "$out")
	sed -n 's/^  partition:  *//p' "$out" >"$work/command"
	check sh "$work/command"
	same "$what: size" "$(sfdisk -d "$work/disk" |
		sed -n 's/.*disk1 : start= *2048, size= *\([0-9]*\),.*/\1/p')" \
		$((size / 512))
	sound "$work/disk?offset=1048576"
fi

what='a device'
if can_mount; then
	make
	attach "$img"
	check "$e4repack" --move=immutable --shrink "$loop"
	grep -q 'New size of the filesystem: [0-9]* bytes ([0-9]* sectors' \
		"$out" || fail "no size"
	kept
	check "$e4repack" --move=immutable --shrink "$loop"
	grep -q '^  loop device:    truncate -s [0-9]* FILE && losetup -c ' \
		"$out" || fail "no commands after a second run"
	mkdir "$work/mnt"
	check mount -t ext4 "$loop" "$work/mnt"
	defer "umount $work/mnt"
	mustfail 1 "$e4repack" --shrink "$loop"
	umount "$work/mnt"
	undefer "umount $work/mnt"
	detach "$loop"
fi

what='a write error'
shim=$top_builddir/tests/tools/.libs/fail_io.so
if [ -e "$shim" ]; then
	aged "$img" <<-'END'
	size 64M
	mke2fs -b 1024
	file /last extents 0+9w@60100
	END
	by_name "$img" >"$work/before"
	# writing the backup of the superblock in group 1 fails
	run env FAIL_IO_WRITE=1 FAIL_IO_FILE="$img" FAIL_IO_AT=$((8193 * 1024)) \
		FAIL_IO_BYTES=1024 LD_PRELOAD="$shim" \
		"$e4repack" --json --shrink=30M "$img"
	same "$what: exit" "$status" 1
	take_report
	reported 'shrink.new_blocks 65536' 'shrink.truncated false'
	says 'run e2fsck -f '
	run e2fsck -fy "$img"
	kept
fi

what='inode numbers'
aged "$img" <<'END'
size 96M
mke2fs -g 1024 -N 6144 -J size=4
many /gone count 2500
tree /t dirs 20 files 20 size 1K-2K
link /t/d19/f0 /t/d0/linked
delete /gone percent 100
END
by_name "$img" >"$work/before"
repack -n --shrink "$img"
renumbered=$(report shrink.renumbered_inodes)
[ "$renumbered" -gt 400 ] || fail "only $renumbered inodes are renumbered"
repack --shrink "$img"
same "$what: renumbered" "$(report shrink.renumbered_inodes)" "$renumbered"
kept
