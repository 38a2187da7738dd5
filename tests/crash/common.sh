# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034
# Common part of the tests that call the crash harness.
#
# E4L_CRASH_PART: if N, each operation is tested in one of N scenarios (1)
# E4L_CRASH_STATES: number of states per scenario (50)
# E4L_CRASH_EACH: if N, a power cut after every N-th event (write or flush), with
# 	all earlier writes on disk, and at every (N/3)th flush, rounded up (1)
# E4L_CRASH_FAULTS: number of faults of each kind, and of kills (2)
# E4L_CRASH_SEED: seed of the samples (1)
# E4L_QUICK: if set, skip scenarios whose transactions are nearly the same as
# 	in another scenario
set -u
part=${E4L_CRASH_PART:-1}
draw=${E4L_CRASH_STATES:-50}
each=${E4L_CRASH_EACH:-1}
faults=${E4L_CRASH_FAULTS:-2}
seed=${E4L_CRASH_SEED:-1}
quick=${E4L_QUICK:-}
# The harness uses one job, because make runs other tests in parallel.
crash() {
	"${top_builddir:?}/tests/crash/crash" -j 1 -p "$part" -s "$seed" \
		-e "$each" "$@"
}
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$shm/e4l-crash-XXXXXX") || exit 1
export TMPDIR
# libext2fs' undo manager leaks memory
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
# e2fsck finds an external journal by its UUID, and would use a cached loop
# device for two seconds, so each test has its own cache.
BLKID_FILE=$TMPDIR/blkid.tab
export BLKID_FILE
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAIL: $*"
	exit 1
}

# states OPTION...: checks and counts random states, none of which may be lost.
total=0
states() {
	counted "$@" states
}

# trial OPTION...: checks states, I/O errors and kills.
trial() {
	counted "$@" -n "$draw" -a "$faults" states faults kill
}

# counted ARGUMENT...: runs crash, and counts the states.
counted() {
	crash "$@" >"$TMPDIR/out" 2>&1 ||
		{ cat "$TMPDIR/out"; fail "$*"; }
	cat "$TMPDIR/out"
	total=$((total + $(sed -n 's/.*: \([0-9]*\) states (.*/\1/p' \
		"$TMPDIR/out" | paste -sd+)))
}

# writes: the number of writes in the last scenario.
writes() {
	sed -n 's/.*: [0-9]* transactions, \([0-9]*\) writes, .*/\1/p' \
		"$TMPDIR/out" | tail -n 1
}

# count_states: prints the sum of the states, which scripts/check adds up.
count_states() {
	echo "$total states in all, none lost"
}

# accidents OPERATION [OPTION...]: power failures, I/O errors and kills in
# every scenario.
accidents() {
	trial -o "$@"
	count_states
}

# crowded OPERATION [SCENARIO]: power failures, I/O errors and kills in scenarios
# without free space, where OPERATION has to relocate files first.  Unless $steps
# is empty, also runs OPERATION_steps.
steps=yes
crowded() {
	for scenario in crowded-bigalloc-4k crowded-1k ${2:-}; do
		[ ! "$quick" ] || [ "$scenario" = crowded-bigalloc-4k ] || steps=
		for operation in "$1" ${steps:+"$1_steps"}; do
			trial -o "$operation" -c "$scenario"
			[ "$(writes)" -gt 0 ] ||
				fail "$operation: the operation moves nothing"
		done
	done
	count_states
}
