#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Kills e4repack on a mounted filesystem at many moments.  After each kill, e2fsck
# finds no errors, no space is lost, and the contents of all files are the same.
#
# E4L_KILLS: how many kills while files are moved (30)
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
kills=${E4L_KILLS:-30}

aged "$work/img0" <<'END'
size 128M
interleave /a count 60 rounds 16 blocks 8
interleave /b count 300 rounds 6 blocks 2
END
attach "$work/img0"
mkdir -p "$work/mnt"
mount "$loop" "$work/mnt"
(cd "$work/mnt" && find . -type f -exec md5sum {} +) >"$work/sums"
free=$(stat -fc %f "$work/mnt")
umount "$work/mnt"
detach "$loop"

killed=0
moving=0
delay=0
for try in $(seq $((kills * 4))); do
	[ "$moving" -lt "$kills" ] || break
	cp --sparse=always "$work/img0" "$work/img"
	mount_image "$work/img" "$work/mnt"
	"$e4repack" -q "$work/mnt" 2>"$err" &
	pid=$!
	# wait until the first move has opened a donor file, then for a time
	# that grows with each kill
	for _ in $(seq 2000); do
		donor=$(find "/proc/$pid/fd" -lname '*(deleted)' 2>/dev/null || :)
		[ ! "$donor" ] || break
		kill -0 "$pid" 2>/dev/null || break
	done
	delay=$(((delay + 7) % 120))
	sleep "0.$(printf %03d "$delay")"
	if kill -9 "$pid" 2>/dev/null; then
		killed=$((killed + 1))
		[ ! "$donor" ] || moving=$((moving + 1))
	fi
	wait "$pid" 2>/dev/null || :
	umount "$work/mnt"
	check e2fsck -fn "$loop"
	mount "$loop" "$work/mnt"
	(cd "$work/mnt" && md5sum --quiet -c "$work/sums") ||
		fail "try $try: other contents"
	[ "$(stat -fc %f "$work/mnt")" -ge "$free" ] ||
		fail "try $try: $(stat -fc %f "$work/mnt") free blocks, not $free"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	detach "$loop"
done
echo "$killed kills, $moving of them while the donor existed"
[ "$moving" -ge "$kills" ] || fail "only $moving kills while files were moved"
check "$e4check" --no-layout -q "$work/img"
