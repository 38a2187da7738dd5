#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The test runs the command of the service like systemd.  Tunables are applied
# to mounted filesystems, and to filesystems that are mounted later, once for
# each mount.
# shellcheck disable=SC2016
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program sed

service=$top_builddir/misc/e4layout-tunables.service
rules=$top_srcdir/misc/90-e4layout-tunables.rules
[ -e "$service" ] || skip "configured without the service"
command=$(sed -n 's/^ExecStart=[^ ]*\/tune4fs //p' "$service")
[ "$command" ] || fail "the service starts no tune4fs"
case $command in *@*) fail "not substituted: $command" ;; esac

# Programs of systemd check the units, if they are installed.
if command -v systemd-analyze >/dev/null; then
	sed "s|^ExecStart=[^ ]*|ExecStart=/bin/true|; /^Documentation/d" \
		"$service" >"$work/e4layout-tunables.service"
	check systemd-analyze verify "$work/e4layout-tunables.service"
	[ ! -s "$err" ] || { show_run; fail "systemd-analyze complains"; }
fi
wanted=$(sed -n 's/.*ENV{SYSTEMD_WANTS}+="\([^"]*\)".*/\1/p' "$rules")
[ "$wanted" = "${service##*/}" ] || fail "the rule wants '$wanted'"

require_loop
require_program mke2fs getfattr findmnt
# udevadm checks the rule, in a namespace without other rules.
if has_program udevadm && can_unshare; then
	echo 'ENV{ID_FS_TYPE}="ext4"' >"$work/00-type.rules"
	truncate -s 1M "$work/any"
	attach "$work/any"
	check unshare -m sh -c 'mount -t tmpfs none /run &&
		mkdir -p /run/udev/rules.d && cp "$1" "$2" /run/udev/rules.d &&
		udevadm test --action=add "/sys/class/block/${0##*/}"' \
		"$loop" "$work/00-type.rules" "$rules"
	grep -q 'SYSTEMD_WANTS=.*e4layout-tunables.service' "$out" ||
		{ show_run; fail "the rule does nothing"; }
fi
# The test must not change tunables of the host's filesystems.
findmnt -rno TARGET -t ext2,ext3,ext4 | while read -r dir; do
	getfattr -n trusted.ext4.tunables -- "$(printf '%b' "$dir")" \
		>/dev/null 2>&1 && exit 1
	:
done || skip "a mounted filesystem has tunables"

for name in a b; do
	mke2fs -qq -F -t ext4 "$work/$name" 16M >/dev/null
	check "$tune4fs" -E mb_min_to_scan=12,inode_readahead_blks=64 \
		"$work/$name"
done
runs() {
	now=$(cat "/sys/fs/ext4/${2##*/}/$1")
	[ "$now" = "$3" ] || fail "$1 of $2 is $now, not $3"
}
# becomes NAME LOOP VALUE: fails unless the tunable NAME gets VALUE within a
# minute.
becomes() {
	tries=600
	while [ $((tries -= 1)) -gt 0 ]; do
		[ "$(cat "/sys/fs/ext4/${2##*/}/$1" 2>/dev/null)" != "$3" ] ||
			return 0
		sleep 0.1
	done
	fail "$1 of $2 did not become $3"
}

mount_image "$work/a" "$work/mnt-a"
loop_a=$loop
# shellcheck disable=SC2086
"$tune4fs" $command >"$work/log" 2>"$work/errors" &
pid=$!
defer "kill $pid 2>/dev/null"
becomes mb_min_to_scan "$loop_a" 12
runs inode_readahead_blks "$loop_a" 64

# A filesystem is mounted later, and again after an unmount.  A mount option
# takes precedence.
mount_image "$work/b" "$work/mnt-b" inode_readahead_blks=16
loop_b=$loop
becomes mb_min_to_scan "$loop_b" 12
umount "$work/mnt-b"
runs inode_readahead_blks "$loop_a" 64
mount "$loop_b" "$work/mnt-b"
becomes mb_min_to_scan "$loop_b" 12
becomes inode_readahead_blks "$loop_b" 64

# A value that an administrator sets stays when other filesystems are mounted.
echo 99 >"/sys/fs/ext4/${loop_a##*/}/mb_min_to_scan"
mkdir "$work/bind"
mount --bind "$work/mnt-a" "$work/bind"
defer "umount '$work/bind'"
umount "$work/mnt-b"
mount -o inode_readahead_blks=16 "$loop_b" "$work/mnt-b"
becomes mb_min_to_scan "$loop_b" 12
runs mb_min_to_scan "$loop_a" 99
runs inode_readahead_blks "$loop_b" 16

# If the command is run by hand, nothing changes, so nothing is reported.
check "$tune4fs" --apply-all
grep -qx "$work/mnt-a: mb_min_to_scan: 99 -> 12" "$out" ||
	{ show_run; fail "not applied once more"; }
check "$tune4fs" --apply-all
[ ! -s "$out" ] || { show_run; fail "something changed"; }
grep -q "$work/mnt-a" "$err" && { show_run; fail "unexpected message on stderr"; }

kill -TERM $pid
wait $pid || fail "SIGTERM is a failure"
grep -qx "$work/mnt-a: mb_min_to_scan: 10 -> 12" "$work/log" || {
	cat "$work/log" >&2
	fail "not told"
}
grep -q "mnt-b: inode_readahead_blks=64: not applied: overridden by a mount option" \
	"$work/errors" || { cat "$work/errors" >&2; fail "option not told"; }
