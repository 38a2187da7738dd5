# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Common functions of the steps of scripts/lane, inside the chroot.
set -eu
top=/src
. "$top/scripts/setup.sh"
build=/build			# directory of the build that make_tests and listed use
# The factor extends the time limit of unit tests for emulators and busy
# machines.
CK_TIMEOUT_MULTIPLIER=20
export CK_TIMEOUT_MULTIPLIER

# lane_build DIR OPTION...: builds the tree and the test programs.
lane_build() {
	dir=$1
	shift
	[ ! "${LANE_QUICK:-}" ] || set -- CFLAGS=-O1 "$@"
	build "$dir" --enable-werror "$@"
	make -s -C "$dir" -j"$(nproc)" check TESTS=
}

# cross_setup: sets $sysroot, $triplet and $emulator for the processor in the
# name of the lane.
# shellcheck disable=SC2034
cross_setup() {
	sysroot=/sysroot-$LANE
	QEMU_LD_PREFIX=$sysroot
	export QEMU_LD_PREFIX
	case $LANE in
	arm64) triplet=aarch64-linux-gnu emulator=qemu-aarch64 ;;
	*) triplet=$LANE-linux-gnu emulator=qemu-$LANE ;;
	esac
}

# wrap_programs DIR: replaces the programs of a build directory by scripts that
# run them in the emulator.
wrap_programs() {
	for program in misc/e4frag misc/e4repack misc/mke4fs misc/tune4fs \
		e2fsck/e4check debugfs/e4debug tests/tools/mkaged; do
		mkdir -p "$1/${program%/*}"
		printf '#!/bin/sh\nexec %s /build-%s/%s "$@"\n' "$emulator" \
			"$LANE" "$program" >"$1/$program"
		chmod +x "$1/$program"
	done
}

# before_the_end COMMAND...: runs COMMAND, and ends COMMAND 15 seconds before
# DEADLINE, if set.
before_the_end() {
	if [ "${DEADLINE:-}" ]; then
		seconds=$((DEADLINE - 15 - $(date +%s)))
		[ "$seconds" -gt 0 ] || seconds=1
		set -- timeout -k 5 "$seconds" "$@"
	fi
	"$@"
}

# make_tests TEST...: prints a line for each failed or skipped test, the end of
# a failed test's output, and the sum.  Returns 124 if DEADLINE ended make.
make_tests() {
	status=0 unseen=FAIL why="did not run: see $build/check.log" failed=
	before_the_end make -s -k -C "$build" --output-sync -j"$(nproc)" check \
		TESTS="$*" >"$build/check.log" 2>&1 || status=$?
	case $status in
	124 | 137) status=124 unseen=SKIP why="not done in time" ;;
	esac
	for test; do
		trs=$build/${test%.*}.trs
		if [ ! -e "$trs" ]; then
			echo "$unseen: $test: $why"
		elif grep -qE '^:test-result: *(FAIL|ERROR|XPASS)' "$trs"; then
			echo "FAIL: $test"
			failed=yes
			grep -vE '^(ok|PASS:) ' "${trs%.trs}.log" |
				tail -n 30 | sed 's/^/    /'
		elif grep -q '^:test-result: *SKIP' "$trs"; then
			echo "SKIP: $test: $(tail -n 1 "${trs%.trs}.log")"
		fi
	done
	for test; do
		cat "$build/${test%.*}.trs" 2>/dev/null || :
	done | awk '/^:test-result: *PASS/ { n++ } END { print n + 0, "passed" }'
	[ ! "$failed" ] || return 1
	return $status
}

# listed VARIABLE: prints the tests in VARIABLE of the Makefile.
listed() {
	make -s -C "$build" --eval "listed: ; @echo \$($1)" listed
}
