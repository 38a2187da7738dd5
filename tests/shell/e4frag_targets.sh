#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For a bad target, e4frag prints one sentence and nothing on stdout, and exits
# with 1.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs dumpe2fs

img=$work/img

bad() {
	mustfail 1 "$e4frag" "$2"
	one_sentence e4frag
	says "^e4frag: $2: $1"
	mustfail 1 "$e4frag" --json --files "$2"
	one_sentence e4frag
}

bad 'cannot open: No such file or directory' "$work/none"
bad 'cannot open: Not a directory' "$top_srcdir/README.md/x"
bad 'not on a mounted ext4 filesystem' /proc
bad 'neither a block device nor an image file' /dev/null
bad 'no device has this UUID' UUID=00000000-1111-2222-3333-444444444444
: >"$img"
bad 'the file is empty' "$img"
echo 'Just a text.' >"$img"
bad 'too short: the device or image is truncated, or contains no ext4 filesystem' "$img"
truncate -s 100K "$img"
bad 'contains no ext2, ext3 or ext4 filesystem' "$img"
yes 'a long text' | head -c 300000 >"$img"
bad 'contains no ext2, ext3 or ext4 filesystem' "$img"

# Images of several geometries are truncated inside a structure.
bytes_of() {
	dumpe2fs "$img" 2>/dev/null | sed -n "s/.*$1 at \([0-9]*\).*/\1/p" |
		head -n 1
}
truncated() {
	for at in 1023 1024 1500 2047 2048 \
		$(($(bytes_of 'Group descriptors*') * $1 + 7)) \
		$(($(bytes_of 'Block bitmap') * $1)) \
		$(($(bytes_of 'Inode bitmap') * $1 + 1)) \
		$(($(bytes_of 'Inode table') * $1 + 513)) \
		4000000 $((8 * 1024 * 1024 - 1)); do
		cp "$img" "$work/short"
		truncate -s "$at" "$work/short"
		bad '(too short: |truncated: )' "$work/short"
	done
}
for geometry in '-b 1024' '-b 4096' '-b 4096 -O meta_bg,^resize_inode' \
	'-b 4096 -O ^metadata_csum,^64bit'; do
	rm -f "$img"
	# shellcheck disable=SC2086
	mke2fs -qq -F -t ext4 $geometry "$img" 8M >/dev/null
	case $geometry in *1024*) truncated 1024 ;; *) truncated 4096 ;; esac
done

rm -f "$img"
mke2fs -qq -F -O journal_dev "$img" 8M >/dev/null
bad 'an external journal, not a filesystem' "$img"
rm -f "$img"
mke2fs -qq -F -t ext4 "$img" 8M >/dev/null
debugfs -w -R 'feature FEATURE_I29' "$img" >/dev/null 2>&1
bad 'the filesystem has the feature FEATURE_I29, which' "$img"
# The filesystem has an unknown feature that only writers must know.
rm -f "$img"
mke2fs -qq -F -t ext4 "$img" 8M >/dev/null
debugfs -w -R 'feature FEATURE_R29' "$img" >/dev/null 2>&1
check "$e4frag" "$img"
printf '\377\377' | dd of="$img" bs=1 seek=1060 conv=notrunc status=none
bad 'the superblock is damaged: .*: run e2fsck' "$img"

rm -f "$img"
mke2fs -qq -F -t ext4 "$img" 8M >/dev/null
debugfs -w -R 'feature needs_recovery' "$img" >/dev/null 2>&1
check "$e4frag" "$img"
says 'the journal was not replayed: the report may lack'
debugfs -w -R 'feature -needs_recovery' "$img" >/dev/null 2>&1
mustfail 1 "$e4frag" "$img" /no/such/path
says "^e4frag: $img: /no/such/path: no such file"
one_sentence e4frag
cp "$img" "$work/clean"
check cmp "$img" "$work/clean"

chmod 0 "$img"
if [ "$(id -u)" != 0 ]; then
	bad 'cannot open: Permission denied' "$img"
	skip "mounted and attached: not root"
fi
require_program setpriv
if nobody_reaches "$e4frag"; then
	mustfail 1 as_nobody "$e4frag" "$img"
	says "^e4frag: $img: cannot open: Permission denied"
	one_sentence e4frag
fi
chmod 600 "$img"
can_mount || exit 0
mount_image "$img" "$work/mnt"
for name in "$img" "$loop" "$work/mnt"; do
	check "$e4frag" "$name"
	says "$name: mounted on $work/mnt: .*latest changes"
	one_sentence e4frag
	check "$e4frag" -q "$name"
	[ ! -s "$err" ] || fail "--quiet prints messages about the mount"
done
check "$e4frag" -q "$work/mnt" "$work/mnt/lost+found"

# If damage may be a concurrent change of a mounted filesystem, e2fsck is not
# recommended.
aged "$work/damaged" <"$top_srcdir/tests/shell/layout.recipe"
blk=$(debugfs -R 'ex /data/deep/tree' "$work/damaged" 2>/dev/null |
	awk '$1 == "0/" { print $8; exit }')
dd if=/dev/zero of="$work/damaged" bs=4096 seek="$blk" count=1 conv=notrunc \
	status=none
mount_image "$work/damaged" "$work/mnt2"
check "$e4frag" "$work/mnt2"
says 'changed .*or is damaged$'
grep -q '^Damaged  *1 ' "$out" ||
	fail "mounted and damaged: $(cat "$out")"
if grep -q e2fsck\ -f "$out" "$err"; then
	fail "e2fsck is recommended for a mounted filesystem"
fi
