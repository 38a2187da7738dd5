#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack FILE... on a mounted filesystem repacks exactly the given files.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program filefrag mke2fs

recipe='size 128M
interleave /own count 10 rounds 8 blocks 2
interleave /dir count 10 rounds 8 blocks 2
interleave /others count 10 rounds 8 blocks 2'
echo "$recipe" | aged "$work/img"
echo 'size 32M
interleave /own count 2 rounds 8 blocks 2' | aged "$work/img2"
mnt=$work/mnt
mount_image "$work/img2" "$work/mnt2"
mount_image "$work/img" "$mnt"
(cd "$mnt" && find . -type f -exec md5sum {} +) >"$work/sums"
# fragments NAME...: prints the number of fragments of each file
fragments() { (cd "$mnt" && filefrag "$@") | sed 's/.*: \([0-9]*\) ex.*/\1/' | paste -sd' '; }

same "fragments before" "$(fragments own/f0 own/f1 own/f2)" "8 8 8"
check "$e4repack" -n --json "$mnt/own/f0"
same "planned files" "$(json "$out" 'd["planned"]["files"]')" 1
check "$e4repack" "$mnt/own/f0"
same "one file" "$(fragments own/f0 own/f1 own/f2)" "1 8 8"
check "$e4repack" "$mnt/own/f0"
grep -q 'f0: nothing to do' "$out" || { show_run; fail "the second run does something"; }

# Several files are given: by a relative path, by a symbolic link, by a
# directory, and with an excluded file.
ln -s "$mnt/own/f2" "$work/link"
# shellcheck disable=SC2016
check sh -c 'cd "$1/own" && shift && "$@"' - "$mnt" "$e4repack" f1 "$work/link" \
	../dir --exclude=../dir/f9
same "several files" "$(fragments own/f1 own/f2 own/f3)" "1 1 8"
same "a directory" "$(fragments dir/f0 dir/f8 dir/f9)" "1 1 8"
check "$e4repack" "$mnt/dir" "$mnt/own/f3"
same "a directory first" "$(fragments own/f3 own/f4 dir/f9)" "1 8 1"
same "files that were not given" "$(fragments others/f0 others/f9)" "8 8"
# shellcheck disable=SC2016
check sh -c 'cd "$1" && find "$2" -name "f[5-7]" -print0 | xargs -0 "$3"' - \
	"$mnt" own "$e4repack"
same "files from find" "$(fragments own/f4 own/f5 own/f6 own/f7 own/f8)" "8 1 1 1 8"

# Wrong arguments are refused.
mustfail 1 "$e4repack" "$mnt/own/f4" "$work/mnt2/own/f0"
says "^e4repack: $work/mnt2/own/f0: not on .*$mnt/own/f4: "
mustfail 1 "$e4repack" "$mnt/own/f4" /proc/version
says '^e4repack: /proc/version: not on .*ext4'
mustfail 1 "$e4repack" "$mnt/own/f4" "$mnt/own/none"
says "^e4repack: $mnt/own/none: cannot open: No such file"
for option in --partition=1 --verify --all --discard; do
	mustfail 1 "$e4repack" "$option" "$mnt/own/f4"
	one_sentence e4repack
done
mustfail 2 "$e4repack" --only=free "$mnt" "$mnt/own/f4"
same "after refusals" "$(fragments own/f4)" 8

# an image file on the mounted filesystem is treated as an image
mke2fs -qq -F -t ext4 "$mnt/disk.img" 4M >/dev/null
sum=$(md5sum <"$mnt/disk.img")
check "$e4repack" "$mnt/disk.img"
grep -q 'disk.img: nothing to do' "$out" || { show_run; fail "the image"; }
! grep -q 'while mounted' "$out" || fail "the image is taken for a file"
same "the image" "$(md5sum <"$mnt/disk.img")" "$sum"
rm "$mnt/disk.img"

(cd "$mnt" && md5sum --quiet -c "$work/sums") || fail "other contents"
umount "$mnt"
undefer "umount '$mnt'"
sound "$work/img"
