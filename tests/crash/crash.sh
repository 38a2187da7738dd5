#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills over every scenario, and the proof that the
# harness would see what it looks for.
#
# E4L_CRASH_STATES: states to draw for each scenario (400; 4000 makes more than
#	10,000 different ones in all)
# E4L_CRASH_FAULTS: faults of each kind, and kills (8)
# E4L_CRASH_SEED: for the samples (1)
set -u
states=${E4L_CRASH_STATES:-400}
faults=${E4L_CRASH_FAULTS:-8}
seed=${E4L_CRASH_SEED:-1}
crash=$top_builddir/tests/crash/crash
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$shm/e4l-crash-XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAIL: $*"
	exit 1
}

# The harness must find what is planted.
must_lose() {
	"$crash" -c csum3-64bit-1k -n 1500 "$@" states >"$TMPDIR/out" 2>&1 &&
		fail "nothing is lost with $*"
	grep -q '^csum3-64bit-1k: .* [1-9][0-9]* lost$' "$TMPDIR/out" ||
		fail "with $*: $(tail -n 3 "$TMPDIR/out")"
	echo "planted $*: $(tail -n 1 "$TMPDIR/out")"
}

"$crash" -s "$seed" -n "$states" states || fail "states"
"$crash" -s "$seed" -n "$faults" faults || fail "faults"
"$crash" -s "$seed" -n "$faults" kill || fail "kills"
must_lose -r		# blocks are reused before their freeing is durable
must_lose -f 8		# no flush between a transaction's log and the pointer
must_lose -f 9		# no flush between the pointer and the places
must_lose -f 34		# no flush between the last places and "empty"
if [ "$(id -u)" = 0 ] && [ -w /dev/loop-control ]; then
	"$crash" -c csum3-64bit-1k -s "$seed" -n "$faults" -m states ||
		fail "the kernel's replay"
fi
exit 0
