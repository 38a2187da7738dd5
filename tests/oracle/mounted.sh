#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the library's model with the figures of other programs, for a mounted
# filesystem that the kernel has written.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/oracle/model_common.sh"
require_loop
require_program filefrag fallocate

# age: makes files that grow alternately in directories that fill alternately,
# preallocated files that are partly written, holes, links, and deleted files.
age() {
	for dir in $(seq 12); do
		mkdir -p "$mnt/d$dir/sub"
	done
	for round in $(seq 12); do
		for dir in $(seq 12); do
			printf %5000d "$round" >>"$mnt/d$dir/grown"
			printf %3000d "$round" >"$mnt/d$dir/f$round"
			sync -f "$mnt/d$dir/grown"
		done
	done
	# without extents, preallocation is impossible
	fallocate -l 4M "$mnt/prealloc" 2>/dev/null ||
		truncate -s 4M "$mnt/prealloc"
	truncate -s 3M "$mnt/holes"
	for i in $(seq 0 3 90); do
		printf %4096d "$i" | dd of="$mnt/prealloc" bs=4096 seek="$i" \
			conv=notrunc status=none
		printf %4096d "$i" | dd of="$mnt/holes" bs=4096 \
			seek=$((7 * i)) conv=notrunc status=none
	done
	: >"$mnt/d1/beyond"
	fallocate -n -l 1M "$mnt/d1/beyond" 2>/dev/null || :
	ln "$mnt/prealloc" "$mnt/d2/link"
	ln -s "$mnt/a/long/target/$(printf %100d 0)" "$mnt/d3/symlink"
	mkfifo "$mnt/d4/fifo"
	rm -r "$mnt"/d[57]
	rm "$mnt"/d*/f3
	cat /bin/sh /bin/sh >"$mnt/after"
}

for options in '-b 4096' '-b 1024' '-b 4096 -O bigalloc -C 8192' \
	'-b 1024 -O ^extents,^64bit' '-b 4096 -O inline_data,^has_journal'; do
	subject="mounted, $options"
	images=$((images + 1))
	image=$work/image$images
	mnt=$work/mnt$images
	truncate -s 128M "$image"
	# shellcheck disable=SC2086
	check mke2fs -q -F -t ext4 $options "$image"
	mount_image "$image" "$mnt" noatime
	age
	# A remount drops the preallocations that are in memory.
	umount "$mnt"
	mount -t ext4 -o ro "$loop" "$mnt"
	build_model "$loop"
	check_itself
	check_fsck "$loop"
	check_extents "$loop"
	check_locality "$loop"
	check_free "$loop"
	check_filefrag "$mnt"
	check_e4defrag "$mnt"
	[ "$(value files.fragmented)" -gt 0 ] || fail "$subject: not aged"
done
