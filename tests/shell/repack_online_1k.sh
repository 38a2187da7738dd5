#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack on a mounted filesystem with blocks that are smaller than a page: the
# kernel exchanges only blocks with the same offset in a page.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program filefrag setpriv

# begin: mounts a new filesystem with fragmented files
begin() {
	rm -f "$work/img"
	truncate -s 64M "$work/img"
	mke2fs -q -t ext4 -b 1024 "$work/img"
	mount_image "$work/img" "$work/mnt"
	mkdir "$work/mnt/a" "$work/mnt/b"
	write_in_turns "$work/mnt/a" 300 20 5120
	write_in_turns "$work/mnt/b" 250 20 2048
	remove_each "$work/mnt/a" 3
	remove_each "$work/mnt/b" 3
	(cd "$work/mnt" && find . -type f -exec md5sum {} +) >"$work/sums"
	before=$(in_pieces)
	[ "$before" -gt 300 ] || fail "only $before files are fragmented"
}

# end: compares the contents of the files, and checks the unmounted filesystem
end() {
	(cd "$work/mnt" && md5sum --quiet -c "$work/sums") ||
		fail "other contents"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	sound "$work/img"
}

# in_pieces: prints the number of files with several fragments
in_pieces() {
	filefrag "$work"/mnt/[ab]/f* | grep -vc ': 1 extent' || :
}

begin
check "$e4repack" --json "$work/mnt"
same "fragmented files" "$(in_pieces)" 0
same "the largest free extent" "$(json "$out" \
	'd["after"]["largest_free_blocks"] >= 0.9 * d["before"]["largest_free_blocks"]')" \
	True
check "$e4repack" --json "$work/mnt"
same "copied by the second run" "$(json "$out" 'd["done"]["bytes_copied"]')" 0
end

# A user may create files only in the directories of the files. e4repack
# reserves space there, several times.
nobody_reaches "$e4repack" || exit 0
begin
chown -R 65534:65534 "$work/mnt/a" "$work/mnt/b"
mode=$(stat -c %a "$loop")
defer "chmod $mode $loop"
chmod o+r "$loop"
check as_nobody "$e4repack" "$work/mnt"
chmod "$mode" "$loop"
same "fragmented files of a user" "$(in_pieces)" 0
end
