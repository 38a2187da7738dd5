#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Asking at each commit who else uses the device must not cost more with every
# process that runs: what is held exclusively cannot be mounted.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs
require_strace

mke2fs -qq -F -t ext4 "$work/img" 16M >/dev/null
attach "$work/img"
check strace -f -e trace=openat,newfstatat,stat -o "$work/calls" \
	"$e4debug" -w -R 'mkdir /new' "$loop"
grep -q 'loop/backing_file' "$work/calls" || fail "nobody asked for loops"
# it is opened anew after each change
last=$(grep -n "\"$loop\", .*O_EXCL" "$work/calls" | sed -n 's/:.*//;1p')
same "looks at processes before it is held" \
	"$(head -n "$last" "$work/calls" | grep -c '/proc/self/ns/mnt')" 1
opened=$(grep -c "\"$loop\", .*O_EXCL" "$work/calls")
same "looks at processes in all, one for each time it was opened" \
	"$(grep -c '/proc/self/ns/mnt' "$work/calls")" "$opened"
sound "$loop"
