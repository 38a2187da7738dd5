#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If a tool skips or refuses encrypted files, the tool reports encryption as the
# reason, not a consequence of encryption.  The names of these files on disk are
# cipher text.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs python3

cd "$work"
truncate -s 64M img
check mke2fs -q -F -t ext4 -O encrypt img
mount_image img mnt
mkdir mnt/private mnt/links
cat >unlock <<'P'
import fcntl, os, struct, sys
arg = bytearray(struct.pack('<II32sII', 2, 0, b'', 64, 0) + bytes(32) +
                bytes(range(64)))
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0xC0506617, arg, True)
if len(sys.argv) < 3:
    sys.exit(0)
policy = struct.pack('<BBBBB3s16s', 2, 1, 4, 0, 0, bytes(3), bytes(arg[8:24]))
for path in sys.argv[2:]:
    fcntl.ioctl(os.open(path, os.O_RDONLY), 0x800c6613, policy)
P
python3 unlock mnt mnt/private mnt/links ||
	skip 'the kernel does not encrypt'
ln -s target mnt/links/link
for _ in $(seq 20); do
	for f in a b c; do
		head -c 30000 /dev/urandom >>mnt/private/$f
	done
	command sync -f mnt
done
# Some of the encrypted names contain "/".
for i in $(seq 60); do
	: >"mnt/private/name$i"
done
command sync -f mnt
check "$e4repack" mnt
! grep 'renamed or removed' "$out" || fail 'nobody has renamed anything'
grep -qi 'encrypted' "$out" || { show_run; fail 'it does not tell that they are encrypted'; }
umount mnt
undefer "umount 'mnt'"
for options in '' '-O encrypt' --skip-damaged '-E no_copy_xattrs'; do
	# shellcheck disable=SC2086
	mustfail 1 "$mke4fs" -q $options --from="$loop" out
	one_sentence mke4fs
	says ': private: .*encrypted'
done

# Without the key, the kernel encodes names and targets of links.
check mount "$loop" mnt
defer "umount '$work/mnt'"
for dir in mnt mnt/links mnt/private; do
	mustfail 1 "$mke4fs" -q -d "$dir" out
	one_sentence mke4fs
	says 'encrypted .*key .*: unlock'
done
check python3 unlock mnt
check "$mke4fs" -q -d mnt out
sound out
check debugfs -R 'stat links/link' out
grep -q 'Fast link dest: "target"' "$out" || { show_run; fail 'another target'; }
check debugfs -R 'dump private/a a' out
cmp a mnt/private/a || fail 'other contents'
