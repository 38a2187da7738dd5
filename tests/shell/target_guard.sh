#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The check for other users of the device runs at each commit, and its cost must
# not grow with the number of processes: a device that is open exclusively
# cannot be mounted. An unused loop device costs one query.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs
require_strace

mke2fs -qq -F -t ext4 "$work/img" 16M >/dev/null
attach "$work/img"
check strace -f -e trace=openat,newfstatat,stat,statx -o "$work/calls" \
	"$e4debug" -w -R 'mkdir /new' "$loop"
asked=$(grep -c '"/sys/block/loop[0-9]*/loop/backing_file"' "$work/calls")
unused=$(grep '"/sys/block/loop[0-9]*/loop/backing_file"' "$work/calls" |
	grep -c ENOENT)
echo "asked $asked times what a loop device shows, $unused times of an unused one"
[ "$asked" -gt 0 ] || fail "nobody asked for loops"
same "looks for the partition that a loop device is" \
	"$(grep -c '"/sys/block/loop[0-9]*/partition"' "$work/calls")" 0
# Before each exclusive open of the device, e4debug looks at the processes once.
# e4debug opens the device again after each change.
last=$(grep -n "\"$loop\", .*O_EXCL" "$work/calls" | sed -n 's/:.*//;1p')
same "looks at processes before it is held" \
	"$(head -n "$last" "$work/calls" | grep -c '/proc/self/ns/mnt')" 1
opened=$(grep -c "\"$loop\", .*O_EXCL" "$work/calls")
same "looks at processes in all, one for each time it was opened" \
	"$(grep -c '/proc/self/ns/mnt' "$work/calls")" "$opened"
sound "$loop"
