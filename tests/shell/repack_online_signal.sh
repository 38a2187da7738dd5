#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack on a mounted filesystem shows a progress bar, and is ended by a
# signal.  The test has its own mount namespace: a namespace that another
# program makes during the test would keep a copy of the mount, so that umount
# would not end the mount.
if [ "$(id -u)" = 0 ] && [ ! "${E4L_OWN_MOUNTS:-}" ] &&
	unshare -m true 2>/dev/null; then
	E4L_OWN_MOUNTS=1 exec unshare -m --propagation private sh "$0"
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop

aged "$work/img" <<'END'
size 256M
scatter /big frags 2048 blocks 4 gap 4
interleave /small count 50 rounds 8 blocks 1
END
mount_image "$work/img" "$work/mnt"
(cd "$work/mnt" && find . -type f -exec md5sum {} +) >"$work/sums"

# The progress bar shows progress, rate and remaining time within one file.  A
# shell makes background processes ignore SIGINT.
: >"$err"
env --default-signal=INT "$e4repack" --progress=always --rate=1M "$work/mnt" >"$out" 2>"$err" &
pid=$!
defer "kill $pid 2>/dev/null"
for _ in $(seq 600); do
	shown=$(grep -c 'repacking.* [1-9][0-9]* %.*iB/s.*[0-9]:[0-9][0-9] left' \
		"$err") || :
	[ "$shown" -lt 2 ] || break
	sleep 0.1
done
[ "$shown" -ge 2 ] || { show_run; fail "no progress is shown"; }

for signal in INT TERM; do
	kill -s "$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	undefer "kill $pid 2>/dev/null"
	same "exit status" "$status" 0
	says 'stopped after [0-9]+ of [0-9]+ files: run e4repack again to continue'
	grep -q ': partly repacked while mounted in ' "$out" || {
		show_run
		fail "no report"
	}
	grep -q '^Skipped: .*: not reached before the interrupt' "$out" || {
		show_run
		fail "the rest is not named"
	}
	[ "$signal" = INT ] || break
	(cd "$work/mnt" && md5sum --quiet -c "$work/sums") ||
		fail "other contents"
	# A signal must not reach the shell's child before the child runs
	# e4repack, so the lines of the first run are removed before the wait
	# for a line.
	: >"$err"
	"$e4repack" --progress=always --rate=500K "$work/mnt" >"$out" \
		2>"$err" &
	pid=$!
	defer "kill $pid 2>/dev/null"
	for _ in $(seq 600); do
		grep -q 'repacking.* [1-9][0-9]* %' "$err" && break
		sleep 0.05
	done
done

# Another run continues, and prints one line with 100 %, because --rate waits
# after the last move.
check "$e4repack" --json --progress=always --rate=20M "$work/mnt"
same "lines with 100 %" "$(grep -c 'repacking.* 100 %' "$err")" 1
same "fragments" "$(filefrag "$work"/mnt/small/* "$work/mnt/big" |
	grep -vc ': 1 extent found')" 0
(cd "$work/mnt" && md5sum --quiet -c "$work/sums") || fail "other contents"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"

# A signal comes during the scan of a slow device: the report shows that nothing
# was done.
require_strace
mount "$loop" "$work/mnt"
defer "umount '$work/mnt'"
slow() {
	strace -D -f -qq -o "$work/trace" -P "$loop" -e trace=pread64 \
		-e inject=pread64:delay_enter=150000 \
		env --default-signal=TERM "$e4repack" --json "$@" "$work/mnt" \
		>"$out" 2>"$err" &
	pid=$!
}
nothing() {
	status=0
	wait "$pid" || status=$?
	same "exit status" "$status" 0
	one_sentence e4repack
	says "stopped$1 during planning; nothing "
	same "what was done" "$(json "$out" '[d["online"], d["stopped"],
		d["done"]["files"], d["done"]["bytes_copied"]]')" '[True, True, 0, 0]'
}
slow --max-time=1
nothing ' by --max-time'
rm "$work/trace"
slow
until grep -qs pread64 "$work/trace"; do
	sleep 0.01
done
kill -TERM "$pid"
nothing ''
umount "$work/mnt"
undefer "umount '$work/mnt'"

# Each file is moved in one part, so every file is repacked or unchanged.
aged "$work/img" <<'EOF'
size 64M
interleave /data count 20 rounds 16 blocks 4
EOF
mount "$loop" "$work/mnt"
defer "umount '$work/mnt'"
env --default-signal=TERM "$e4repack" --json --rate=250K "$work/mnt" \
	>"$out" 2>"$err" &
pid=$!
defer "kill $pid 2>/dev/null"
until filefrag "$work"/mnt/data/* | grep -q ': 1 extent found'; do
	sleep 0.05
done
kill -TERM "$pid"
wait "$pid" || { show_run; fail "e4repack failed"; }
undefer "kill $pid 2>/dev/null"
same "files that are done or left alone" "$(json "$out" 'd["stopped"] and
	d["done"]["files"] + sum(l["count"] for l in d["skipped"])')" 20

# A second signal ends the run. Nothing has to be repaired, and e2fsck refuses a
# mounted filesystem. The run can end before the second signal, so there are 10
# tries.
for try in $(seq 10); do
	: >"$err"
	env --default-signal=INT,TERM "$e4repack" --progress=always \
		--rate=250K "$work/mnt" >"$out" 2>"$err" &
	pid=$!
	defer "kill $pid 2>/dev/null"
	until grep -q 'repacking' "$err"; do
		sleep 0.05
	done
	kill -STOP "$pid"
	kill -INT "$pid"
	kill -TERM "$pid"
	kill -CONT "$pid"
	status=0
	wait "$pid" || status=$?
	undefer "kill $pid 2>/dev/null"
	[ "$status" = 0 ] || break
done
case $status in
130 | 143) ;;
*) show_run; fail "try $try: exit status $status" ;;
esac
says 'finishing the current step; a second signal ends the run at once'
says 'mnt: the run ended at once: the mounted filesystem is consistent'
! grep -Eq 'e2fsck|transaction' "$err" || { show_run; fail 'untrue advice'; }
check "$e4repack" "$work/mnt"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
