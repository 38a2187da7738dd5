#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills over every scenario, and the proof that the
# harness would see what it looks for.
#
# E4L_CRASH_STATES: states to draw for each scenario (150; 400 makes more than
#	10,000 different ones in all, which scripts/check wants)
# E4L_CRASH_TOTAL: how many there have to be in all (0)
# E4L_CRASH_FAULTS: faults of each kind, and kills (4)
# E4L_CRASH_EVERY: scenarios in which every write and flush of a repair fails
# E4L_CRASH_SEED: for the samples (1)
set -u
draw=${E4L_CRASH_STATES:-150}
faults=${E4L_CRASH_FAULTS:-4}
every=${E4L_CRASH_EVERY:-csum3-64bit-1k}
seed=${E4L_CRASH_SEED:-1}
crash=${top_builddir:?}/tests/crash/crash
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$shm/e4l-crash-XXXXXX") || exit 1
export TMPDIR
# libext2fs' undo manager does not free all that it allocates
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAIL: $*"
	exit 1
}

# states OPTION...: draws states, none of which may be lost, and counts them.
total=0
states() {
	"$crash" -s "$seed" "$@" states >"$TMPDIR/out" 2>&1 ||
		{ cat "$TMPDIR/out"; fail "states $*"; }
	cat "$TMPDIR/out"
	total=$((total + $(sed -n 's/.*: \([0-9]*\) states (.*/\1/p' \
		"$TMPDIR/out" | paste -sd+)))
}

# The harness must find what is planted.
must_lose() {
	"$crash" -c csum3-64bit-1k "$@" states >"$TMPDIR/out" 2>&1 &&
		fail "nothing is lost with $*"
	grep -q '^csum3-64bit-1k: .* [1-9][0-9]* lost$' "$TMPDIR/out" ||
		fail "with $*: $(tail -n 3 "$TMPDIR/out")"
	echo "planted $*: $(tail -n 1 "$TMPDIR/out")"
}

for op in relocate repack steps tunables change; do
	states -o $op -n "$draw"
	"$crash" -o $op -s "$seed" -n "$faults" faults || fail "$op: faults"
	"$crash" -o $op -s "$seed" -n "$faults" kill || fail "$op: kills"
done
for scenario in $every; do
	"$crash" -o repack -c "$scenario" -n 100000 faults ||
		fail "$scenario: faults"
done
# blocks are reused before their freeing is durable
must_lose -n 1 -r
# no flush between a transaction's log and the pointer
must_lose -n 1500 -f 8
# no flush between the pointer and the places
must_lose -n 1500 -f 9
# no flush between the last places and "empty"
must_lose -n 1500 -f 34
# no flush between the pointer of a repair and the places
must_lose -o repack -n 1500 -f 3
must_lose -o steps -n 1500 -f 3
# no flush between the pointer and the places of the tunables
must_lose -o tunables -n 200 -f 9
# no flush between the pointer and the places of a change
must_lose -o change -n 200 -f 9
if [ "$(id -u)" = 0 ] && [ -w /dev/loop-control ]; then
	for scenario in csum3-64bit-1k external-1k; do
		for op in relocate repack tunables; do
			states -o $op -c $scenario -n "$faults" -m
		done
	done
	states -o repack -c split-1k -n "$faults" -m
else
	echo "no root or no loop devices: no replay by the kernel"
fi
echo "$total states in all, none lost"
[ "$total" -ge "${E4L_CRASH_TOTAL:-0}" ] ||
	fail "fewer than $E4L_CRASH_TOTAL states"
