#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The journal has a fast commit and then a full commit, as after a power
# failure.  No tool loses committed data, or recommends an e2fsck that would
# lose committed data.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs /usr/bin/python3
img=$work/img
cut=$work/cut

mke2fs -qq -F -t ext4 -b 4096 -O fast_commit -E lazy_itable_init=0 "$img" 32M
mount_image "$img" "$work/mnt"
/usr/bin/python3 - "$work/mnt" <<'END'
import os, sys
os.chdir(sys.argv[1])
for d in 'a', 'b', 'a/d':
    os.mkdir(d)
f = os.open('f', os.O_RDWR | os.O_CREAT)
os.write(f, b'one')
os.fsync(f)
os.system('sync -f .')
os.pwrite(f, b'two', 0)
os.fsync(f)				# a fast commit
os.rename('a/d', 'b/d')			# requires a full commit
g = os.open('g', os.O_RDWR | os.O_CREAT)
os.write(g, b'three')
os.fsync(g)
END
fast=$(awk '$2 == "commits" { print $1 }' \
	"/proc/fs/ext4/$(basename "$loop")/fc_info")
cp "$img" "$cut"
umount "$work/mnt"
undefer "umount '$work/mnt'"
losetup -d "$loop"
undefer "losetup -d $loop"
[ "${fast:-0}" -gt 0 ] || skip "the kernel makes no fast commits here"

cp "$cut" "$work/copy"
for tool in "$e4repack" "$tune4fs -E dir_ireserve=64" "$e4debug -w -R stats" \
	"$mke4fs --from=$cut $work/new 32M"; do
	target=$cut
	[ "${tool%% *}" != "$mke4fs" ] || target=
	# shellcheck disable=SC2086
	mustfail 1 $tool $target
	says "fast commits.* e2fsck can lose.*mount and unmount"
	cmp "$cut" "$work/copy" || fail "image changed"
done
run "$e4check" "$cut"
grep -q '^warning: journal-fast: ' "$out" || { show_run; fail 'the journal is not reported'; }
! grep -q 'to fix: e2fsck' "$out" || { show_run; fail 'sends to e2fsck'; }

mount_image "$cut" "$work/mnt"
same 'what was committed' "$(cat "$work/mnt/f" "$work/mnt/g" &&
	ls "$work/mnt/b")" 'twothreed'
umount "$work/mnt"
undefer "umount '$work/mnt'"
losetup -d "$loop"
undefer "losetup -d $loop"
check "$e4repack" "$cut"
sound "$cut"
