#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Many entries: indexes have several levels, a directory has more subdirectories
# than the link count can hold, and the inodes of many small directories are
# placed. Large files: block numbers have more than 32 bits.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives

# names FORMAT COUNT TYPE [MORE]: prints an archive of COUNT entries with names
# by FORMAT
names() {
	python3 -c '
import sys
fmt, count, kind, per = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
out = sys.stdout.buffer
def template(kind, size):
    h = bytearray(512)
    def put(at, text):
        h[at:at + len(text)] = text
    put(100, b"0000644\0"); put(108, b"0000000\0"); put(116, b"0000000\0")
    put(124, b"%011o\0" % size); put(136, b"14000000000\0")
    put(148, b" " * 8); put(156, kind.encode()); put(257, b"ustar\00000")
    return bytes(h[100:148]), bytes(h[156:]), sum(h)
def header(name, fixed):
    name = name.encode()
    return b"%s%s%06o\0 %s" % (name.ljust(100, b"\0"), fixed[0],
                              fixed[2] + sum(name), fixed[1])
entry, file = template(kind, 0), template("0", 1024)
for i in range(count):
    out.write(header(fmt % i, entry))
    for f in range(int(per[0]) if per else 0):
        out.write(header(fmt % i + "/file%d" % f, file) + bytes(1024))
out.write(bytes(1024))' "$@"
}

# counted IMAGE DIRECTORY: prints the number of entries; index blocks appear as
# entries of inode 0
counted() {
	debugfs -R "ls -p $2" "$1" 2>/dev/null | grep -c '^/[1-9]'
}

# unwritten IMAGE FILE: prints the numbers of unwritten and written blocks of
# FILE
unwritten() {
	debugfs -R "dump_extents -l $2" "$1" 2>/dev/null | awk '
		$1 ~ /^[0-9]+\/$/ { n[$NF == "Uninit"] += \
			$NF == "Uninit" ? $(NF - 1) : $NF }
		END { printf "%.0f %.0f\n", n[1], n[0] }'
}

# With blocks of 1 KiB, the index has an intermediate level.
entries=$(in_full && echo 120000 || echo 20000)
names 'some-file-name-%d' "$entries" 0 >"$work/tar"
"$mke4fs" -q -b 1024 -d "$work/tar" "$work/img" || fail "no image"
clean "$work/img"
same "the entries" "$(counted "$work/img" /)" $((entries + 3))
run debugfs -R 'htree_dump /' "$work/img"
grep -q 'Indirect levels: 1' "$out" || fail "no level between"
for i in 0 $((entries * 2 / 3)) $((entries - 1)); do
	check debugfs -R "stat /some-file-name-$i" "$work/img"
done
rm -f "$work/img"

# An index of two levels cannot hold all entries.  With large_dir, the index has
# three levels.
names '%099d' 150000 0 >"$work/tar"
mustfail 1 "$mke4fs" -q -b 1024 -d "$work/tar" "$work/img"
says 'large_dir'
if in_full; then
	check "$mke4fs" -q -b 1024 -O large_dir -d "$work/tar" "$work/img"
	clean "$work/img"
	rm -f "$work/img"
fi

# The directory has more blocks than any group has free blocks, so that it is
# split.
names '%099d' 100000 0 >"$work/tar"
check "$mke4fs" -q -b 1024 -O ^flex_bg -d "$work/tar" "$work/img"
clean "$work/img"
same "the entries" "$(counted "$work/img" /)" 100003
check debugfs -R 'ex /' "$work/img"
[ "$(grep -c '^ *1/' "$out")" -gt 4 ] || fail "the directory is not cut"
rm -f "$work/img"

# With groups of few inodes, the image is many times larger than its content.
check "$mke4fs" -q -b 1024 -O bigalloc,^flex_bg -C 2048 -d "$work/tar" \
	"$work/img"
clean "$work/img"
rm -f "$work/img"

# peak: Python script that runs its arguments, and prints the peak memory in KiB
peak='
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)'

# million: makes a directory with a million entries and an index. mke4fs uses at
# most 128 MiB, and 128 bytes per entry.  The kernel finds the entries.
million() {
	names 'entry%d' 1000000 0 >"$work/tar"
	check python3 -c "$peak" "$mke4fs" -q -b 4096 -d "$work/tar" "$work/img"
	grep -q -e '^CFLAGS.*-fsanitize=' "$top_builddir/Makefile" ||
		[ "$(cat "$out")" -le $((131072 + 125000)) ] ||
		fail "$(cat "$out") KiB of memory"
	clean "$work/img"
	run debugfs -R 'htree_dump /' "$work/img"
	grep -q 'Indirect levels: 1' "$out" || fail "no index"
	# The root of the index has one level below it, and full leaves: the
	# index needs at most 24 bytes per entry.
	leaves=$(debugfs -R 'stat /' "$work/img" 2>/dev/null |
		sed -n '/^User:/s/.*Size: \([0-9]*\).*/\1/p')
	[ $((leaves / 4096)) -le 6100 ] || fail "$leaves bytes for a million entries"
	if is_root && mkdir "$work/mnt" &&
		mount -t ext4 -o loop,ro "$work/img" "$work/mnt" 2>/dev/null; then
		defer "umount '$work/mnt' 2>/dev/null"
		for i in 0 1 31337 500000 999999; do
			[ -f "$work/mnt/entry$i" ] || fail "the kernel finds no entry$i"
		done
		[ ! -e "$work/mnt/entry1000000" ] || fail "an entry too many"
		same "entries that the kernel lists" \
			"$(find "$work/mnt" -mindepth 1 -name 'entry*' -printf x |
			wc -c)" 1000000
		umount "$work/mnt"
	fi
	rm -f "$work/img"
}
! in_full || million

# The link count cannot represent the number of subdirectories.
names 'dir%d' 66000 5 >"$work/tar"
check "$mke4fs" -q -d "$work/tar" "$work/img"
clean "$work/img"
run debugfs -R 'stat /' "$work/img"
grep -q 'Links: 1 ' "$out" || fail "the links of many subdirectories"
rm -f "$work/img"
mustfail 1 "$mke4fs" -q -O ^dir_nlink -d "$work/tar" "$work/img"
says 'too many links'

# Two files of 9 TiB, mostly unwritten, are in a filesystem of 20 TiB.
for dir in "$work" /dev/shm; do
	huge=$(mktemp -d "$dir/e4l-huge-XXXXXX") || continue
	defer "rm -rf '$huge'"
	truncate -s 20T "$huge/from" 2>/dev/null && break
done
if [ -s "$huge/from" ]; then
	size=9895604649984
	options="-b 4096 -O bigalloc,^has_journal -C 1M -N 20000"
	# shellcheck disable=SC2086
	check mke2fs -q -F -t ext4 $options "$huge/from"
	echo "far away" | dd of="$huge/one" bs=1M seek=5000000 status=none
	truncate -s $size "$huge/one"
	: >"$huge/two"
	for file in one two; do
		cat <<-END
			write $huge/$file $file
			fallocate $file 0 $((size / 4096 - 1))
			sif $file size $size
		END
	done >"$work/commands"
	check debugfs -w -f "$work/commands" "$huge/from"
	clean "$huge/from"
	echo '1 two' >"$work/sort"
	# shellcheck disable=SC2086
	check "$mke4fs" -q $options --sort="$work/sort" --from="$huge/from" \
		"$huge/img" 20T
	clean "$huge/img"
	for file in one two; do
		check debugfs -R "stat $file" "$huge/img"
		grep -q "Size: $size" "$out" || fail "the size of $file"
		same "blocks of $file" "$(unwritten "$huge/img" $file)" \
			"$(unwritten "$huge/from" $file)"
	done
	at=$(debugfs -R "bmap one 1280000000" "$huge/img" 2>/dev/null)
	[ "$at" -gt 4294967296 ] || fail "block $at needs no more than 32 bits"
	same "the data" "$(dd if="$huge/img" bs=4096 skip="$at" count=1 \
		status=none | tr -d '\0')" "far away"
else
	echo "no file of 20 TiB can be made here"
fi
rm -rf "$huge"

# together: fails unless e4frag reports no fragmented files, and the inodes of
# each directory are in the fewest inode-table blocks
together() {
	check "$e4frag" --json "$work/img"
	same "what e4frag says of files" "$(json "$out" \
		'd["files"]["fragmented"], d["files"]["excess_extents"]')" \
		'(0, 0)'
	# the root may need one more block, because its inode number is fixed
	# and its files are in a window
	[ "$(json "$out" 'd["directories"]["itable_blocks"] -
		d["directories"]["itable_blocks_ideal"]')" -le 1 ] ||
		fail "wrong directory figures of e4frag: $(cat "$out")"
}

# Without a size, the image has enough inodes for the subdirectories.
names 'd%d' 500 5 11 >"$work/tar"
for window in exact low 64; do
	rm -f "$work/img"
	check "$mke4fs" -q -R $window -d "$work/tar" "$work/img"
	clean "$work/img"
	together
done

# Each of 4000 directories has 15 files, and needs one inode-table block.
names 'd%d' 4000 5 15 >"$work/tar"
for window in exact $(! in_full || echo low); do
	rm -f "$work/img"
	check "$mke4fs" -q -b 4096 -R "$window" -d "$work/tar" -N 80000 \
		"$work/img" 400M
	clean "$work/img"
	together
	run debugfs -R 'ls -p /' "$work/img"
	sed -n 's,^/\([0-9]*\)/04.*/d[0-9]*//$,\1,p' "$out" >"$work/dirs"
	same "directories" "$(wc -l <"$work/dirs")" 4000
	# A directory's files are in the inode-table block of the directory.
	sed 's/.*/ls -p <&>/' "$work/dirs" >"$work/commands"
	debugfs -f "$work/commands" "$work/img" 2>/dev/null | awk -F/ '
		/^debugfs:/ { dirs++; delete seen }
		/^\// && $6 != ".." { b = int(($2 - 1) / 16)
				      if (!(b in seen)) blocks++
				      seen[b] = 1 }
		END { exit !(dirs == 4000 && blocks * 100 <= dirs * 105) }' ||
		fail "-R $window: directories are spread over the inode tables"
done
