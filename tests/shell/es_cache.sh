#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The extent status cache is compared with an LRU: entries that a scan visits,
# and hits, as counted by bench/es_cache.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"

check "$top_builddir/bench/es_cache" 10

# value CASE POLICY COLUMN: prints a figure of the output of bench/es_cache
value() {
	awk -v FS='  +' -v part="($1)" -v policy="$2" -v column="$3" '
		/^\(/ { in_part = index($0, part) == 1 }
		in_part && $2 == policy { print $column }' "$out"
}

# shorter FACTOR COLUMN CASE: fails unless the LRU's figure is at least FACTOR
# times the library's.
shorter() {
	awk -v a="$(value "$3" LRU "$2")" -v b="$(value "$3" "lists, ages" "$2")" \
		-v factor="$1" 'BEGIN { exit !(b > 0 && a >= factor * b) }' ||
		{ show_run; fail "case $3: column $2 is not $1 times less"; }
}

# Column 6 is visits per scan, column 7 is the maximum of one scan, and column
# 10 is hits in percent.
shorter 10 6 a
shorter 10 7 a
shorter 10 7 b
awk -v a="$(value c "lists, ages" 10)" -v b="$(value c lists 10)" \
	'BEGIN { exit !(a > 2 * b && b > 0) }' ||
	{ show_run; fail "case c: no more hits with ages"; }
