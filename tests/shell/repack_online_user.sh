#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A user other than root runs e4repack on a mounted filesystem.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program setpriv
nobody_reaches "$e4repack" || exit 0

aged "$work/img" <<'END'
size 128M
interleave /own count 10 rounds 8 blocks 1
interleave /others count 10 rounds 8 blocks 1
END
mount_image "$work/img" "$work/mnt"
chown -R 65534:65534 "$work/mnt/own"
fragments() { filefrag "$@" | sed 's/.*: \([0-9]*\) ex.*/\1/' | sort -n | tail -1; }

mustfail 1 as_nobody "$e4repack" "$work/mnt/own"
one_sentence e4repack
says "device $loop: Permission denied: .*root"

# A user who may read the device can repack his or her own files, if the user
# may create files in the root directory or in the directories of the files.
mode=$(stat -c %a "$loop")
defer "chmod $mode $loop"
chmod o+r "$loop"
chmod 555 "$work/mnt/own"
check as_nobody "$e4repack" "$work/mnt"
grep -q ": no permission to reserve space in the root directory or in a file's directory\$" \
	"$out" || { show_run; fail "the missing permission is not reported"; }
grep -q '^Skipped: 10 files .*: permission denied' "$out" || {
	show_run
	fail "the skipped files are not reported"
}
chmod 755 "$work/mnt/own"
file=$(find "$work/mnt/own" -type f | head -n 1)
check as_nobody "$e4repack" "$file"
same "fragments of a file" "$(fragments "$file")" 1
check as_nobody "$e4repack" "$work"/mnt/others/*
grep -q '^Skipped: 10 files .*: permission denied' "$out" || {
	show_run
	fail "files of other users are not reported as skipped"
}
chmod 1777 "$work/mnt"
check as_nobody "$e4repack" "$work/mnt"
grep -q '^Files fragmented  *19  *10$' "$out" || {
	show_run
	fail "the user's files were not repacked"
}
same "fragments of own files" "$(fragments "$work"/mnt/own/*)" 1
same "fragments of others'" "$(fragments "$work"/mnt/others/*)" 8
chmod "$mode" "$loop"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
