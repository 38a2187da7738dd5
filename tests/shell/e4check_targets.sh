#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For a target that cannot be checked, e4check prints one sentence and nothing
# on stdout, and exits with 8.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

img=$work/img

bad() {
	mustfail 8 "$e4check" "$2"
	one_sentence e4check
	says "^e4check: $2: $1"
	mustfail 8 "$e4check" --json --layout-only "$2"
	one_sentence e4check
}

bad 'cannot open: No such file or directory' "$work/none"
bad 'not on a mounted ext4 filesystem' /proc
bad 'neither a block device nor an image file' /dev/null
: >"$img"
bad 'the file is empty' "$img"
yes 'a long text' | head -c 300000 >"$img"
bad 'contains no ext2, ext3 or ext4 filesystem' "$img"

for blocksize in 1024 4096; do
	rm -f "$img"
	mke2fs -qq -F -t ext4 -b "$blocksize" "$img" 8M >/dev/null
	for at in 1 1023 1024 1500 2047 2048 10000 100000 1000000 8388607; do
		cp "$img" "$work/short"
		truncate -s "$at" "$work/short"
		bad '(too short: |truncated: |contains no )' "$work/short"
	done
done

rm -f "$img"
mke2fs -qq -F -O journal_dev "$img" 8M >/dev/null
bad 'an external journal, not a filesystem' "$img"

# Unknown features are refused, including those that allow reading.
for feature in FEATURE_I29 FEATURE_R29 FEATURE_C29; do
	rm -f "$img"
	mke2fs -qq -F -t ext4 "$img" 8M >/dev/null
	debugfs -w -R "feature $feature" "$img" >/dev/null 2>&1
	bad "the filesystem has the feature $feature, which" "$img"
done

# If the superblock is damaged, its first backup is used.
rm -f "$img"
mke2fs -qq -F -t ext4 -b 1024 "$img" 32M >/dev/null
cp "$img" "$work/copy"
printf '\377\377' | dd of="$img" bs=1 seek=1060 conv=notrunc status=none
run "$e4check" "$img"
grep -q '^warning: super-doubtful, block 8193: ' "$out" || {
	show_run
	fail "the warning about the backup superblock is missing"
}
printf 'none' | dd of="$img" bs=1 seek=$((8193 * 1024 + 56)) conv=notrunc \
	status=none
bad 'the superblock is damaged: .*: run e2fsck' "$img"
mke2fs -qq -F -t ext4 -O 64bit "$img" 16M >/dev/null
debugfs -w -R 'ssv desc_size 31' "$img" >/dev/null 2>&1
bad 'the superblock is damaged: Block group descriptor size incorrect: run' "$img"

# e4check does not change the image, and does not need write permission.
cp "$work/copy" "$img"
chmod 400 "$img"
check "$e4check" "$img"
check cmp "$img" "$work/copy"
chmod 600 "$img"

debugfs -w -R 'feature needs_recovery' "$img" >/dev/null 2>&1
check "$e4check" "$img"
grep -q '^warning: journal-recovery: ' "$out" || fail "not reported: the journal"
grep -q "^to fix: e2fsck -p $img$" "$out" || fail "not reported: e2fsck -p"
cp "$work/copy" "$img"

can_mount || exit 0
mount_image "$img" "$work/mnt"
for name in "$img" "$loop" "$work/mnt"; do
	run "$e4check" "$name"
	says "$name: mounted on $work/mnt: .*latest changes"
	one_sentence e4check
	[ "$status" = 0 ] || [ "$status" = 4 ] || fail "exit $status mounted"
	! grep -Eq '^[a-z]*: (journal-|orphan-|mmp-)' "$out" ||
		{ show_run; fail "a mount is no finding"; }
	! grep -q '^to fix:' "$out" || fail "a repair of a mounted filesystem is recommended"
	run "$e4check" -q "$name"
	[ ! -s "$err" ] || fail "--quiet prints messages about the mount"
done
