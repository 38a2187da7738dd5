# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# What the steps of scripts/lane share, inside the chroot.
set -eu

# make_tests TEST...: one line for each that failed or was skipped, the end of
# what a failed one printed, and the sum.
make_tests() {
	status=0
	make -s -k -C /build --output-sync -j"$(nproc)" check TESTS="$*" \
		>/build/check.log 2>&1 || status=$?
	for test; do
		trs=/build/${test%.*}.trs
		if [ ! -e "$trs" ]; then
			echo "FAIL: $test: did not run: see /build/check.log"
		elif grep -qE '^:test-result: *(FAIL|ERROR|XPASS)' "$trs"; then
			echo "FAIL: $test"
			grep -vE '^(ok|PASS:) ' "${trs%.trs}.log" | tail -n 30
		elif grep -q '^:test-result: *SKIP' "$trs"; then
			echo "SKIP: $test: $(tail -n 1 "${trs%.trs}.log")"
		fi
	done
	cat /build/tests/*/*.trs | awk '/^:test-result: *PASS/ { n++ }
		END { print n + 0, "passed" }'
	return $status
}

# listed VARIABLE: the tests in a variable of the Makefile.
listed() {
	make -s -C /build --eval "listed: ; @echo \$($1)" listed
}
