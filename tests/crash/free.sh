#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts, I/O errors and kills while zones are emptied for long free runs: in
# one run, and each step in a run of its own.
. "${top_srcdir:?}/tests/crash/common.sh"

# transactions OPERATION SCENARIO: how many an undisturbed run has
transactions() {
	crash -o "$1" -c "$2" -n 1 states |
		sed -n "s/^$2: \\([0-9]*\\) transactions.*/\\1/p"
}

for scenario in crowded-1k crowded-bigalloc-4k; do
	[ "$(transactions free $scenario)" -gt \
		"$(transactions repack $scenario)" ] ||
		fail "$scenario: no zone is emptied"
	for operation in free free_steps; do
		states -o $operation -c $scenario -n "$draw"
		crash -o $operation -c $scenario -n "$faults" faults ||
			fail "$operation: faults"
		crash -o $operation -c $scenario -n "$faults" kill ||
			fail "$operation: kills"
	done
done
count_states
