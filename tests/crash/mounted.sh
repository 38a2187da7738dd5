#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An image is mounted by another name, and written to, in the middle of a run of
# several transactions.  The run stops before its next write, and the changes of
# both writers stay.  The image is in memory, because each run flushes 200 MiB
# about ten times.
#
# E4L_POINTS: the points at which the run is stopped, such as
#   "pwrite64:1 fsync:2"
[ ! -w /dev/shm ] || TMPDIR=/dev/shm
export TMPDIR
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_strace
require_loop

mnt=$work/mnt
mkdir "$mnt"
# The files to move are larger than a transaction of the smallest journal.
aged "$work/base" <<'END'
size 208M
mke2fs -b 1024 -O ^resize_inode,sparse_super2 -G 1024 -g 256 -J size=1
scatter /wide frags 22000 blocks 1 gap 7
interleave /logs count 4 rounds 20 blocks 1
END
head -c 30M /dev/urandom >"$work/new"

fresh() {
	rm -f "$img" "$work/other name" "$work/undo"
	cp --sparse=always "$work/base" "$img"
	ln "$img" "$work/other name"
}

# traced STRACE-OPTION...: runs e4repack, and records the system calls for the
# image and for the undo file, if any.
undo=
traced() {
	# shellcheck disable=SC2086
	strace -f -qq -o "$work/trace" -P "$img" -P "$work/undo" "$@" \
		"$e4repack" $undo "$img" >"$out" 2>"$work/said"
}

# stop_at CALL NUMBER: runs e4repack, and stops the run after system call CALL
# number NUMBER.
stop_at() {
	fresh
	: >"$work/trace"
	traced -e trace="$1" -e inject="$1:signal=SIGSTOP:when=$2" &
	tracer=$!
	until grep -q 'stopped by SIGSTOP' "$work/trace"; do
		kill -0 $tracer 2>/dev/null || fail "the run has not stopped at $1 $2"
		sleep 0.1
	done
	pid=$(sed -n 's/ .*stopped by SIGSTOP.*//p' "$work/trace" | head -n 1)
}

sums() {
	(cd "$mnt" && find . -type f -exec cksum {} +)
}

mount_it() {
	attach "$work/other name"
	mount -t ext4 -o "$1" "$loop" "$mnt" || skip "mount does not work here"
	defer "umount '$mnt'"
}

unmount_it() {
	umount "$mnt"
	undefer "umount '$mnt'"
	detach "$loop"
}

# write_there: writes to files that the stopped run would probably move next.
write_there() {
	cp "$work/new" "$mnt/new"
	head -c 200000 "$work/new" >>"$mnt/logs/f0"
	head -c 100000 "$work/new" |
		dd of="$mnt/wide" bs=1000 seek=7 conv=notrunc status=none
	sync -f "$mnt/new"
	sums >"$work/sums"
}

# go_on WHEN: continues the run before or after the filesystem is unmounted.
go_on() {
	[ "$1" = mounted ] || unmount_it
	kill -CONT "$pid"
	code=0
	wait $tracer || code=$?
	[ "$1" != mounted ] || unmount_it
	sound "$img"
	mount_it ro,noload
	sums | cmp - "$work/sums" || fail "$what: contents have changed"
	unmount_it
}

# try CALL NUMBER WHEN: stops a run after system call CALL number NUMBER, mounts
# the image and writes to it, and continues the run WHEN (see go_on).
try() {
	what="$3, stopped at $1 $2"
	stop_at "$1" "$2"
	mount_it rw,noatime
	write_there
	go_on "$3"
}

fresh
repack "$img"
[ "$(report done.transactions)" -ge 3 ] || fail "too few transactions"
fresh
traced -e trace=fsync || fail "an undisturbed run fails"
last=$(grep -c fsync "$work/trace")

# turns: prints the cases to try at a point: "mounted" and "unmounted" with
# --full.  Otherwise prints $turn, which alternates between the cases.
turn=unmounted
turns() {
	if in_full; then
		echo mounted unmounted
	else
		echo $turn
	fi
}

# stops POINT...: tries each point before the last write, or, without --full, every
# second point
points=0
stops() {
	for point; do
		points=$((points + 1))
		in_full || [ $((points % 2)) = 1 ] || continue
		[ $turn = mounted ] && turn=unmounted || turn=mounted
		for when in $(turns); do
			try "${point%:*}" "${point#*:}" "$when"
			same "$what: exit" "$code" 1
			grep -q 'another program mounted or changed' \
				"$work/said" ||
				fail "$what: $(cat "$work/said")"
		done
	done
}

# The run is stopped: after its first data; after the flushes of needs_recovery,
# of the log and of the journal's superblock in the first commit; after the data
# and the log of the second transaction; before and after the log is emptied.
# shellcheck disable=SC2086
stops ${E4L_POINTS:-pwrite64:1 fsync:3 fsync:4 fsync:5 pwrite64:16 fsync:6 \
	fsync:$((last - 2)) fsync:$((last - 1))}

# The run is stopped after its last write, and succeeds.
for when in $(turns); do
	try fsync "$last" "$when"
	same "$what: exit" "$code" 0
done

# With an undo file, writes to the image wait until the records of the undo file
# are durable.
undo="-z $work/undo"
fresh
traced -e trace=fsync || fail "an undisturbed run with -z fails"
last=$(grep -c fsync "$work/trace")
stops fsync:$((last / 4)) fsync:$((last / 2))
