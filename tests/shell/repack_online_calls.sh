#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack moves a small file of a mounted filesystem with at most 26 system
# calls.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_strace

files=400
aged "$work/img" <<END
size 128M
interleave /data count $files rounds 4 blocks 1
END
mount_image "$work/img" "$work/mnt"
check strace -f -qq -c -U calls,name -o "$work/calls" "$e4repack" --json \
	"$work/mnt"
same "files" "$(json "$out" 'd["done"]["files"]')" "$files"
calls() { awk -v name="$1" '$2 == name { print $1 }' "$work/calls"; }
# Each move locks pages once.  A file can be moved twice.
each=$(($(calls total) / $(calls mlock)))
[ "$each" -le 26 ] || { cat "$work/calls"; fail "$each calls for each move"; }
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
