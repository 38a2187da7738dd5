#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills over every scenario, and the proof that the
# harness would see what it looks for.
#
# E4L_CRASH_STATES: states to draw for each scenario (150; 4500 makes more than
#	10,000 different ones in all)
# E4L_CRASH_FAULTS: faults of each kind, and kills (4)
# E4L_CRASH_SEED: for the samples (1)
set -u
states=${E4L_CRASH_STATES:-150}
faults=${E4L_CRASH_FAULTS:-4}
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

# The harness must find what is planted.
must_lose() {
	"$crash" -c csum3-64bit-1k "$@" states >"$TMPDIR/out" 2>&1 &&
		fail "nothing is lost with $*"
	grep -q '^csum3-64bit-1k: .* [1-9][0-9]* lost$' "$TMPDIR/out" ||
		fail "with $*: $(tail -n 3 "$TMPDIR/out")"
	echo "planted $*: $(tail -n 1 "$TMPDIR/out")"
}

"$crash" -s "$seed" -n "$states" states || fail "states"
"$crash" -s "$seed" -n "$faults" faults || fail "faults"
"$crash" -s "$seed" -n "$faults" kill || fail "kills"
"$crash" -o tunables -s "$seed" -n "$states" states || fail "tunables: states"
"$crash" -o tunables -s "$seed" -n "$faults" faults || fail "tunables: faults"
"$crash" -o tunables -s "$seed" -n "$faults" kill || fail "tunables: kills"
"$crash" -o repack -s "$seed" -n "$states" states || fail "repack: states"
"$crash" -o repack -s "$seed" -n "$faults" faults || fail "repack: faults"
"$crash" -o repack -s "$seed" -n "$faults" kill || fail "repack: kills"
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
# no flush between the pointer and the places of the tunables
must_lose -o tunables -n 200 -f 9
if [ "$(id -u)" = 0 ] && [ -w /dev/loop-control ]; then
	for scenario in csum3-64bit-1k external-1k; do
		"$crash" -c $scenario -s "$seed" -n "$faults" -m states ||
			fail "the kernel's replay"
		"$crash" -o tunables -c $scenario -s "$seed" -n "$faults" \
			-m states || fail "the kernel's replay of tunables"
	done
else
	echo "no root or no loop devices: no replay by the kernel"
fi
exit 0
