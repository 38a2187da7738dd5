#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If the filesystem is unmounted or remounted read-only during a run of
# e4repack, or if the device fails, e4repack reports the event and exits with 1.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop

aged "$work/img0" <<'END'
size 128M
interleave /data count 30 rounds 16 blocks 4
END

# begin WHAT [OPTION...]: starts a run, and waits until a file is repacked
begin() {
	what=$1
	shift
	cp --sparse=always "$work/img0" "$work/img"
	mount_image "$work/img" "$work/mnt" "$@"
	"$e4repack" --rate=500K "$work/mnt" >"$out" 2>"$err" &
	pid=$!
	defer "kill $pid 2>/dev/null"
	for _ in $(seq 600); do
		filefrag "$work"/mnt/data/* | grep -q ': 1 extent found' && return
		sleep 0.05
	done
	show_run
	fail "$what: no file was repacked"
}

# finished ERROR REASON: fails unless the run ends with ERROR and REASON
finished() {
	status=0
	wait "$pid" || status=$?
	undefer "kill $pid 2>/dev/null"
	same "$what: exit status" "$status" 1
	one_sentence e4repack
	says "$1: [0-9]+ of 30 .*e2fsck -f $loop"
	grep -q "^Skipped: .*: $2\$" "$out" || {
		show_run
		fail "$what: the report does not say why"
	}
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	losetup -d "$loop"
	undefer "losetup -d $loop"
}

begin "shut down"
/usr/bin/python3 - "$work/mnt" <<'END'
import fcntl, os, struct, sys
EXT4_IOC_SHUTDOWN, NOLOGFLUSH = 0x8004587d, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), EXT4_IOC_SHUTDOWN,
            struct.pack("I", NOLOGFLUSH))
END
finished 'Input/output error' 'I/O error'

trigger() {
	echo 1 >"/sys/fs/ext4/$(basename "$loop")/trigger_fs_error"
}
begin "an error" errors=remount-ro
if trigger 2>/dev/null; then
	finished 'Read-only file system' 'the filesystem became read-only'
else
	kill "$pid"
	wait "$pid" || :
	undefer "kill $pid 2>/dev/null"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
fi

# fails INJECTION STATUS [FILE]: one system call for FILE fails; the other files
# are repacked and counted
require_strace
more=			# options of strace

fails() {
	cp --sparse=always "$work/img0" "$work/img"
	mount_image "$work/img" "$work/mnt"
	# shellcheck disable=SC2086
	run strace -f -qq $more -o /dev/null ${3:+-P "$work/mnt/data/$3"} \
		-e "trace=${1%%:*}" -e "inject=$1" "$e4repack" --json "$work/mnt"
	same "$1: exit status" "$status" "$2"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	e2fsck -fn "$work/img" >/dev/null 2>&1 || fail "$1: damage"
	losetup -d "$loop"
	undefer "losetup -d $loop"
}
reasons() {
	json "$out" '[[d[k]["files"] for k in ("done", "planned")],
		[(l["count"], l["reason"]) for l in d["skipped"]]]'
}
for error in EIO EROFS; do
	# the first calls of openat2 reserve free space
	fails openat2:error=$error:when=4 1
	says ': 1 of 30 files'
	same "files, after $error" "$(json "$out" 'd["done"]["files"]')" 29
done
fails openat2:error=ENFILE 1
says ': 30 of 30 .*open files'
# The number of open files is limited.
cp --sparse=always "$work/img0" "$work/img"
mount_image "$work/img" "$work/mnt"
check sh -c 'ulimit -n 16 && exec "$@"' - "$e4repack" --json "$work/mnt"
same "few open files" "$(reasons)" "[[30, 30], []]"
umount "$work/mnt"
undefer "umount '$work/mnt'"
losetup -d "$loop"
undefer "losetup -d $loop"
# a file that e4repack cannot identify is an error
for call in fstat,newfstatat,statx ioctl; do
	fails "$call:error=ENOTTY:when=1" 1 f3
	says ': Inappropriate ioctl .*: 1 of 30 files'
	same "files, without $call" "$(reasons)" \
		"[[29, 30], [(1, 'not-opened')]]"
done
# Unreadable data must not be locked in memory, because Linux would retry
# forever.
shim=$top_builddir/tests/tools/.libs/fail_write_out.so
if [ -e "$shim" ]; then
	more="-E FAIL_POPULATE=1 -E LD_PRELOAD=$shim"
	fails pread64:error=EIO:when=1 1 f3
	same "files, one of which cannot be read" "$(reasons)" \
		"[[29, 30], [(1, 'io-error')]]"
	more=
else
	skip_part 'built without shared libraries'
fi
fails fallocate:error=EDQUOT 0
same "files, without quota" "$(reasons)" \
	"[[0, 30], [(30, 'quota')]]"
fails fallocate:error=EOPNOTSUPP 0
same "files, without donors" "$(reasons)" \
	"[[0, 30], [(30, 'donor')]]"
