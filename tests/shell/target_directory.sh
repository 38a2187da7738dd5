#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A directory as target means its filesystem, or for e4frag the subtree of the
# directory. A file as target is always an image.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs

mnt=$work/mnt
mke2fs -qq -F -t ext4 "$work/img" 32M >/dev/null
mount_image "$work/img" "$mnt"
mkdir -p "$mnt/mail/new" "$mnt$mnt/twice"
head -c 90000 /dev/urandom >"$mnt/mail/new/letter"
head -c 90000 /dev/urandom >"$mnt/outside"
head -c 90000 /dev/urandom >"$mnt$mnt/twice/file"
sync -f "$mnt"

# paths NAME...: prints the paths that e4frag lists
paths() {
	check "$e4frag" -q --files "$@"
	sed -n 's/.*"path": *"\([^"]*\)".*/\1/p' "$out" | sort | tr '\n' ' '
}

same "below a directory" "$(paths "$mnt/mail")" "$(paths "$mnt" "$mnt/mail")"
paths "$mnt/mail" | grep -q 'letter' || fail "files below the directory are missing"
! paths "$mnt/mail" | grep -q 'outside' || fail "files outside the directory are listed"
same "a name that is in it twice" "$(paths "$mnt$mnt/twice")" \
	"$mnt/twice $mnt/twice/file "
if can_trace; then
	# statx(2) fails: before Linux 5.8, statx(2) reports no mount IDs
	check env ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$work/trace" \
		-e inject=statx:error=ENOSYS "$e4frag" "$mnt/mail"
fi
ln -s "$mnt/mail" "$work/link"
same "a link to it" "$(paths "$work/link/new")" "$(paths "$mnt/mail/new")"
same "paths of its filesystem" "$(paths "$mnt/mail" /outside)" "/outside "
check "$e4frag" "$mnt/mail"
says "subtree .*give $mnt"
says "mounted on $mnt: .*the report"
run "$e4check" "$mnt/mail"
says "$mnt/mail: .*whole filesystem"
check "$e4debug" -R stats "$mnt/mail"

# A subtree is also bind-mounted at another place.
mkdir "$work/bind"
mount --bind "$mnt/mail" "$work/bind"
defer "umount '$work/bind'"
same "a bind mount" "$(paths "$work/bind")" "$(paths "$mnt/mail")"
same "below it" "$(paths "$work/bind/new")" "$(paths "$mnt/mail/new")"

# tune4fs refuses a directory that is not a root. e4frag refuses a partition
# number and an offset for a directory.
mustfail 1 "$tune4fs" --clear "$mnt/mail"
says "$mnt/mail: .*(mounted on |not the root )"
one_sentence tune4fs
mustfail 1 "$e4frag" --partition=1 "$mnt/mail"
says '--partition requires .*disk'
mustfail 1 "$e4frag" "$mnt/mail?offset=0"
says 'neither .* image'

# A file is treated as a filesystem image, whatever filesystem contains the
# file.
head -c 300000 /dev/urandom >"$mnt/broken.img"
mustfail 1 "$e4frag" "$mnt/broken.img"
says "contains no ext2.*; .*run e4frag $mnt $mnt/broken.img"
for tool in "8 $e4check" "1 $tune4fs -l"; do
	# shellcheck disable=SC2086
	mustfail $tool "$mnt/broken.img"
	says 'contains no ext2, ext3 or ext4 filesystem$'
done
mustfail 1 "$mke4fs" -q --from="$mnt/broken.img" "$work/none"
says 'contains no ext2.*; to read an archive, use -d instead of --from$'
gzip -n "$mnt/broken.img"
mustfail 1 "$mke4fs" -q --from="$mnt/broken.img.gz" "$work/none"
says 'is compressed: run gunzip .*; to read an archive, use -d instead'
gunzip "$mnt/broken.img.gz"
sync -f "$mnt"
same "what is advised" "$(paths "$mnt" "$mnt/broken.img")" "/broken.img "
mke2fs -qq -F -t ext4 "$mnt/broken.img" 4M >/dev/null
printf '\377' | dd of="$mnt/broken.img" bs=1 seek=1060 conv=notrunc status=none
mustfail 8 "$e4check" "$mnt/broken.img"
says 'superblock .*damaged'

# Several targets are given.
mke2fs -qq -F -t ext4 "$work/good" 4M >/dev/null
mustfail 8 "$e4check" -q "$mnt/broken.img" "$work/good"
cp "$work/good" "$work/bad"
debugfs -w -R 'set_inode_field / links_count 9' "$work/bad" 2>/dev/null
run "$e4check" --no-layout "$work/good" "$work/bad"
same "exit status" "$status" 4
grep -q "^$work/good: 0 errors" "$out" || fail "the first is not checked"
run "$e4check" "$work/bad" "$work/none" "$work/good"
same "exit status" "$status" 12
grep -q "^$work/good: 0 errors" "$out" || fail "the last is not checked"
