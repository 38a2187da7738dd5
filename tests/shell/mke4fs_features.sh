#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 70 combinations of mke2fs' features: each image and a copy of each image (without
# --full: of one in three images) is clean and, as read by the kernel, equals its
# source.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_loop

sample "$work/src"
# Inodes of 128 bytes store neither times before 1901 or after 2038, nor
# nanoseconds.
cp -a "$work/src" "$work/old"
find "$work/old" -depth -exec touch -h -d '2005-06-07 UTC' {} +
# Large attribute values need EA inodes, and the source must have space for the
# values.
check mke2fs -q -t ext4 -O ea_inode "$work/ea.img" 64M
mount_image "$work/ea.img" "$work/ea"
rmdir "$work/ea/lost+found"
cp -a "$work/src/." "$work/ea"
head -c 49200 /dev/urandom | base64 -w0 | head -c 65536 >"$work/value"
setfattr -n user.large -v "$(cat "$work/value")" "$work/ea/small" \
	"$work/ea/dir" "$work/ea/hundred"
setfattr -n user.large2 -v "$(head -c 9000 "$work/value")" "$work/ea/dir"

n=0
# try SOURCE OPTIONS...: makes an image of SOURCE, and compares the image with
# SOURCE
try() {
	source=$1
	shift
	n=$((n + 1))
	rm -f "$work/img"
	test_name="mke4fs_features: $*"
	check "$mke4fs" --quiet -d "$work/$source" "$@" "$work/img" 64M
	equals "$work/img" "$work/$source"
	listed=$work/$source		# the directory does not change any more
	in_third $n 0 || return 0
	rm -f "$work/copy"
	check "$mke4fs" --quiet -b 4096 -I 512 -O ea_inode,project,inline_data \
		--from="$work/img" "$work/copy"
	equals "$work/copy" "$work/$source"
}

# in_turn: true for all combinations or, without --full, for one in three.  The
# selection still has each set of features with one block size, and each inode
# size with one set of features.
turn=0
in_turn() {
	turn=$((turn + 1))
	in_third $turn 0
}

for block in 1024 2048 4096; do
	for features in \
		'' ^has_journal ^64bit meta_bg,^resize_inode ^flex_bg \
		^metadata_csum ^metadata_csum,^uninit_bg ^dir_index \
		inline_data bigalloc quota quota,project \
		inline_data,bigalloc,quota ^filetype,^sparse_super,^resize_inode; do
		# shellcheck disable=SC2086
		! in_turn || try src -b $block ${features:+-O $features}
	done
done
for isize in 128 256 512 1024; do
	if [ $isize = 128 ]; then source=old; else source=src; fi
	for features in ext_attr inline_data bigalloc ^metadata_csum; do
		if [ $isize$features = 128inline_data ]; then
			features=^extra_isize
		fi
		! in_turn || try "$source" -I $isize -O $features
	done
done
for features in ea_inode ea_inode,inline_data ea_inode,quota \
	ea_inode,bigalloc,quota ea_inode,^metadata_csum; do
	try ea -O $features
done
try src -b 1024 -g 1024 -O ^resize_inode
try src -b 4096 -C 65536 -O bigalloc
try src -E packed_meta_blocks=1
try src -O sparse_super2 -E num_backup_sb=1
try src -O orphan_file
try src -O metadata_csum_seed,large_dir
try src -E lazy_itable_init=0,lazy_journal_init=0
[ $n -ge "$(in_full && echo 64 || echo 30)" ] || fail "only $n combinations"
