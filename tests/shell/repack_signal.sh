#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A signal ends a run after the current transaction: completed changes stay, and
# another run continues. After a kill at any moment, e2fsck restores a clean
# state.
#
# E4L_KILLS: number of kills during a run (20)
# E4L_KILL_SEED: seed of their moments (1)
# After a kill, the page cache keeps the written data like the cache of a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

kills=${E4L_KILLS:-20}
seed=${E4L_KILL_SEED:-1}
aged "$img" <<'END'
size 160M
mke2fs -b 1024 -J size=1 -N 40000
mosaic /db size 8M written 4K unwritten 12K random
interleave /logs count 5000 rounds 5 blocks 2
scatter /big frags 1000 blocks 8 shuffle
END
# e2fsck rebuilds large directories whenever it may write.
run e2fsck -fy "$img"
cp "$img" "$work/img0"
digest -z "$img" >"$work/before"

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# A complete run shows the duration and the result.
start=$(now_ms)
repack --zeroout=1M "$img"
whole=$(($(now_ms) - start + 1))
planned=$(report planned.files)
[ "$(report done.transactions)" -ge 3 ] || fail "too few transactions to stop in"
clean "$img"

# begin: starts a run on the original image; sets $pid.
begin() {
	cp "$work/img0" "$img"
	# a shell makes background processes ignore SIGINT
	env --default-signal=INT "$e4repack" --json --zeroout=1M "$img" \
		>"$out" 2>"$err" </dev/null &
	pid=$!
}

# end SIGNAL: ends the run; sets $status.
end() {
	status=0
	kill "-$1" $pid 2>/dev/null || :
	wait $pid 2>/dev/null || status=$?
}

# writing: true if the superblock's s_feature_incompat has needs_recovery
writing() {
	[ $(($(od -An -tu1 -j1120 -N1 "$img") & 4)) != 0 ]
}

# The run may end before the signal, so each signal has 30 tries.
for signal in INT TERM; do
	for try in $(seq 30); do
		what="$signal, try $try"
		begin
		while ! writing && kill -0 $pid 2>/dev/null; do :; done
		end $signal
		take_report
		cp "$err" "$work/said"
		clean "$img"
		digest -z "$img" >"$work/after"
		unchanged "$work/before" "$work/after"
		[ "$status" = 0 ] || continue
		[ "$(report done.files)" = "$planned" ] && continue
		[ "$(report done.transactions)" = 0 ] || break
	done
	[ "$status" = 0 ] || fail "$what: exit $status"
	cp "$work/said" "$err"
	[ "$(wc -l <"$err")" = 2 ] || { show_run; fail "not two sentences"; }
	says "finishing the transaction; .*second signal"
	says "stopped after $(report done.files) of $planned files: run e4repack again"
	echo "$what: $(report done.files) of $planned files," \
		"$(report done.transactions) transactions"
	same "$what: extents" "$("$e4frag" --json "$img" |
		sed -n '/^  "files"/,/^  }/s/^    "extents": \([0-9]*\),/\1/p')" \
		"$(report after.extents)"
	repack --zeroout=1M "$img"
	same "$what: the rest" "$(report done.files)" \
		"$(report planned.files)"
	same "$what: excess" "$(excess "$img")" 0
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
done

# Kills after the end of a run are not counted.
runs=0
killed=0
replayed=0
moments=$(awk -v n=$((2 * kills)) -v seed="$seed" -v ms="$whole" 'BEGIN {
	srand(seed)
	while (n--) print int(rand() * ms)
}')
for ms in $moments; do
	[ $killed -lt "$kills" ] || break
	runs=$((runs + 1))
	what="killed after $ms ms"
	begin
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	end KILL
	[ "$status" = 0 ] || killed=$((killed + 1))
	run e2fsck -fy "$img"
	[ "$status" -le 1 ] || { show_run; fail "$what: e2fsck: $status"; }
	# e4repack, like the kernel, updates the free counts of the superblock on
	# closing
	sed '/^Free blocks count wrong (/,/^Fix? yes$/d' "$out" >"$work/fsck"
	! grep -q '? yes' "$work/fsck" ||
		{ show_run; fail "$what: e2fsck repaired"; }
	! grep -q 'recovering journal' "$out" "$err" ||
		replayed=$((replayed + 1))
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
done
echo "$runs runs, $killed killed on the way, $replayed journals replayed"
# At least one run was killed.  The number depends on the machine's speed.
[ "$killed" -gt 0 ] || fail "no run was killed on the way"

# The second signal kills the run, and the message has the command to run next.
for try in $(seq 30); do
	what="two signals, try $try"
	begin
	while ! writing && kill -0 $pid 2>/dev/null; do :; done
	kill -INT $pid 2>/dev/null || :
	while ! grep -q 'finishing the' "$err" && kill -0 $pid 2>/dev/null; do
		:
	done
	end INT
	run_status=$status
	cp "$err" "$work/said"
	run e2fsck -fy "$img"
	[ "$status" -le 1 ] || { show_run; fail "$what: e2fsck: $status"; }
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	[ "$run_status" != 130 ] || break
done
same "$what: exit" "$run_status" 130
cp "$work/said" "$err"
says "finishing the transaction"
says "ended .*transaction: run e2fsck -p $img$"
