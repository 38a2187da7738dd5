# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034
# What the tests that call the crash harness start with.
#
# E4L_CRASH_STATES: states to draw for each scenario (50)
# E4L_CRASH_EACH: a power cut, all writes so far done, at each so-many-th (1);
#	from 2 on flushes are left out likewise, three times less
# E4L_CRASH_FAULTS: faults of each kind, and kills (2)
# E4L_CRASH_SEED: for the samples (1)
# E4L_QUICK: if set, leave out scenarios with which another operation makes nearly
#	the same transactions
set -u
draw=${E4L_CRASH_STATES:-50}
each=${E4L_CRASH_EACH:-1}
faults=${E4L_CRASH_FAULTS:-2}
seed=${E4L_CRASH_SEED:-1}
quick=${E4L_QUICK:-}
# make runs other tests beside this one
crash() {
	"${top_builddir:?}/tests/crash/crash" -j 1 -s "$seed" -e "$each" "$@"
}
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$shm/e4l-crash-XXXXXX") || exit 1
export TMPDIR
# libext2fs' undo manager does not free all that it allocates
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
# e2fsck finds an external journal by its UUID, and believes for two seconds what
# another test's e2fsck has seen in a loop device
BLKID_FILE=$TMPDIR/blkid.tab
export BLKID_FILE
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAIL: $*"
	exit 1
}

# states OPTION...: draws states, none of which may be lost, and counts them.
total=0
states() {
	counted "$@" states
}

# trial OPTION...: states, I/O errors and kills.
trial() {
	counted "$@" -n "$draw" -a "$faults" states faults kill
}

# counted ARGUMENT...: calls crash, and counts the states.
counted() {
	crash "$@" >"$TMPDIR/out" 2>&1 ||
		{ cat "$TMPDIR/out"; fail "$*"; }
	cat "$TMPDIR/out"
	total=$((total + $(sed -n 's/.*: \([0-9]*\) states (.*/\1/p' \
		"$TMPDIR/out" | paste -sd+)))
}

# How many writes there were in the last scenario of the last states.
writes() {
	sed -n 's/.*: [0-9]* transactions, \([0-9]*\) writes, .*/\1/p' \
		"$TMPDIR/out" | tail -n 1
}

# Their sum, which scripts/check adds up.
count_states() {
	echo "$total states in all, none lost"
}

# accidents OPERATION [OPTION...]: power cuts, I/O errors and kills in every scenario.
accidents() {
	trial -o "$@"
	count_states
}

# crowded OPERATION [SCENARIO]: the same where files must move out of the way, which
# takes writes; and, unless $steps is empty, step by step.
steps=yes
crowded() {
	for scenario in crowded-1k crowded-bigalloc-4k ${2:-}; do
		[ ! "$quick" ] || [ "$scenario" != "${2:-}" ] || steps=
		for operation in "$1" ${steps:+"$1_steps"}; do
			trial -o "$operation" -c "$scenario"
			[ "$(writes)" -gt 0 ] ||
				fail "$operation: nothing moves away"
		done
	done
	count_states
}
