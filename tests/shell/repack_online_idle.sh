#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --idle on a busy machine waits, and prints the reason once.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
busy=$top_builddir/tests/tools/.libs/busy_load.so
[ -e "$busy" ] || skip "no shared libraries"
no_leak_check
ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0

aged "$work/img" <<'END'
size 64M
interleave /data count 10 rounds 8 blocks 4
END
cp "$work/img" "$work/before"
why='--idle: waiting for other processes: the load average .4096.[23]. is above the number of CPUs .[0-9]+.$'
for quiet in '' --quiet; do
	cp "$work/before" "$work/img"
	mount_image "$work/img" "$work/mnt"
	# shellcheck disable=SC2086
	check env LD_PRELOAD="$busy" "$e4repack" --idle $quiet \
		--json "$work/mnt"
	same "files" "$(json "$out" 'd["done"]["files"]')" 10
	same "sentences$quiet" "$(grep -Ec -e "$why" "$err" || :)" \
		"$([ "$quiet" ] && echo 0 || echo 1)"
	[ "$quiet" ] || one_sentence e4repack
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	detach "$loop"
done
sound "$work/img"
