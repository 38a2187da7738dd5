#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2086
# What mke4fs overwrites, and what it copies, is in nobody else's hands.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs unshare python3 sha256sum

mke4fs=$top_builddir/misc/mke4fs
img=$work/img
mnt=$work/mnt
mkdir "$mnt" "$work/files"
head -c 300000 /dev/urandom >"$work/files/data"
mke2fs -qq -F -t ext4 -d "$work/files" "$img" 16M >/dev/null
sha256sum "$img" >"$work/sum"

# refused PATTERN [OPTION...]: neither overwritten nor, by any option, copied
refused() {
	pattern=$1
	shift
	mustfail 1 "$mke4fs" -q "$@"
	says "$pattern"
	one_sentence mke4fs
	sha256sum -c --quiet "$work/sum" || fail "the image has changed"
}

attach "$img"
for force in "" "-F" "-F -F"; do
	refused "$img: is attached to $loop" $force -d "$work/files" "$img"
	refused "$img: is attached to $loop" $force "$img"
done
refused "is attached to $loop" -E offset=1048576 -d "$work/files" "$img" 8M
refused "$img: is attached to $loop" --from="$img" "$work/none"

# another namespace, and a mount of it that begins elsewhere
unshare -m sh -c "mount -t ext4 -o ro,noload $loop $mnt && : >$work/up &&
	exec sleep 1000" &
sleeper=$!
defer "kill $sleeper"
while [ ! -e "$work/up" ]; do
	kill -0 $sleeper || fail "cannot mount in another namespace"
	sleep 0.1
done
refused 'in another mount namespace' -F -F -d "$work/files" "$loop"
refused 'in another mount namespace' -F -F -d "$work/files" "$img"
refused 'in another mount namespace' --from="$img" "$work/none"
refused 'in another mount namespace' --from="$loop" "$work/none"
kill $sleeper
undefer "kill $sleeper"
wait $sleeper 2>/dev/null || :
detach "$loop"

{
	head -c 1M /dev/zero
	cat "$img"
} >"$work/disk"
mount -t ext4 -o "loop,ro,noload,offset=1048576" "$work/disk" "$mnt"
defer "umount '$mnt'"
mustfail 1 "$mke4fs" -q -F -d "$work/files" "$work/disk"
says "is mounted on $mnt"
mustfail 1 "$mke4fs" -q --from="$work/disk?offset=1048576" "$work/none"
says "is mounted on $mnt"
[ ! -e "$work/none" ] || fail "an image is left"
umount "$mnt"
undefer "umount '$mnt'"

# as qemu locks: who reads and lets nobody write may be copied from
cat >"$work/lock.py" <<'EOF'
import fcntl, os, struct, sys
name, *bytes = sys.argv[1:]
f = os.open(name, os.O_RDWR)
for byte in map(int, bytes):
    lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0)
    fcntl.fcntl(f, fcntl.F_OFD_SETLK, lock)
print("locked", flush=True)
sys.stdin.read()
EOF
hold() {
	rm -f "$work/hold" "$work/held"
	mkfifo "$work/hold"
	"$@" <"$work/hold" >"$work/held" &
	exec 9>"$work/hold"
	while [ ! -s "$work/held" ]; do
		sleep 0.1
	done
}
hold python3 "$work/lock.py" "$img" 100 201 203
refused 'has locked it as qemu does' -F -d "$work/files" "$img"
rm -f "$work/copy"
check "$mke4fs" -q --from="$img" "$work/copy"
exec 9>&-
wait
hold python3 "$work/lock.py" "$img" 100 101 201 203
refused 'has locked it as qemu does' -F -d "$work/files" "$img"
refused 'has locked it as qemu does' --from="$img" "$work/none"
exec 9>&-
wait
hold "$top_builddir/tests/tools/target_probe" write "$img"
refused 'another program is at work on it' -F -d "$work/files" "$img"
refused 'another program is at work on it' --from="$img" "$work/none"
exec 9>&-
wait

# mounted and unmounted again while it is copied: from a pipe comes what is
# to be sorted, after the source was opened
mkfifo "$work/sort"
"$mke4fs" -q --from="$img" --sort="$work/sort" "$work/none" 2>"$err" &
copying=$!
exec 9>"$work/sort"
mount -o loop "$img" "$mnt"
umount "$mnt"
exec 9>&-
wait $copying && fail "a copy of what was mounted meanwhile"
says "$img: cannot go on: somebody else has mounted or changed the filesystem"
[ ! -e "$work/none" ] || fail "a copy is left"
sha256sum "$img" >"$work/sum"

# itself
refused 'another program is at work on it' -F --from="$img" "$img"
check "$mke4fs" -q -F -d "$work/files" "$img"
sound "$img"
