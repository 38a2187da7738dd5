#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A run can be stopped inside a large file: moved parts stay moved, the file has
# no more fragments than before, and another run continues with the rest.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check

probe=$top_builddir/tests/tools/stop_probe
# where PATH: prints the block numbers of PATH
where() {
	debugfs -R "blocks $1" "$img" 2>/dev/null
}

# of_path PATH KEY: prints the number that e4frag reports under KEY for PATH.
of_path() {
	check "$e4frag" --json "$img" "$1"
	sed -n "/^  \"files\"/,/^  }/s/^    \"$2\": \([0-9]*\),*\$/\1/p" "$out"
}

# of_probe KEY: prints the number KEY of the last stop_probe
of_probe() {
	sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$work/said"
}

# stopped MIB N WANT [inside]: stops a run at call N of stop(); WANT is a pattern
# for the output of stop_probe
stopped() {
	what="parts of $1 MiB, stopped at question $2 ${4-}"
	check "$probe" "$img" "$1" "$2" ${4+"$4"}
	cp "$out" "$work/said"
	grep -Eqx "$3" "$work/said" || fail "$what: $(cat "$work/said")"
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# went_on: another run, which is not stopped, completes the work.
went_on() {
	repack --only=files,trees --zeroout=4M "$img"
	same "$what: the rest" "$(report done.files)" \
		"$(report planned.files)"
	same "$what: excess" "$(excess "$img")" 0
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

again() {
	cp --sparse=always "$work/img0" "$img"
}

# made <RECIPE: makes $img, a copy, and the digests of its files
made() {
	aged "$img"
	cp --sparse=always "$img" "$work/img0"
	digest -z "$img" >"$work/before"
}

# A file of 64 MiB in 256 fragments is moved in parts of 2 MiB.
made <<'END'
size 256M
scatter /big frags 256 blocks 64 gap 32
interleave /small count 20 rounds 3 blocks 1
END
stopped 2 0 'asked .*, stopped 0, files 21 of 21, .*, fragments 319 to 24, left 0 files, 0 extents'
asked=$(of_probe asked)
whole=$(of_probe copied)
[ "$asked" -gt 40 ] || fail "asked only $asked times"
again
stopped 2 $((asked / 3)) "asked $((asked / 3)), stopped 1, files [0-9]* of 21, .*, left [1-9][0-9]* files, [1-9][0-9]* extents"
copied=$(of_probe copied)
[ "$copied" -gt 0 ] || fail "$what: nothing was copied"
[ "$(of_path /big fragments)" -lt 256 ] || fail "$what: no fragment less"
went_on
# the second run copies few of the blocks that the stopped run has moved
copied=$((copied + $(report cost.bytes_copied) / 4096))
[ $copied -le $((whole * 5 / 4)) ] ||
	fail "$what: $copied blocks are copied, and not $whole"

# Each run stops after a few parts, and the last run completes the work.
again
copied=0
for run in $(seq 100); do
	check "$probe" "$img" 2 10
	cp "$out" "$work/said"
	clean "$img"
	n=$(of_probe copied)
	copied=$((copied + n))
	grep -q 'stopped 1' "$work/said" || break
	[ "$n" -gt 0 ] || fail "run $run has done nothing"
done
[ $copied -le $((whole * 5 / 4)) ] || fail "run after run copied $copied blocks"
same 'run after run: excess' "$(excess "$img")" 0
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"

# The budget is kept.  Longer files are moved in part, and are reported.
again
repack --only=files,trees --max-bytes=20M "$img"
[ "$(report cost.bytes_copied)" -le 20971520 ] || fail 'over the budget'
same 'budget: skipped' "$(skipped max-bytes)" 1
same 'budget: fragmented files' "$(report after.fragmented_files)" 1
[ "$(of_path /big fragments)" -le 212 ] || fail 'budget: nothing is joined'
clean "$img"
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"

# All fragments of a file are longer than 16 parts.  A fragment must be moved as
# a whole, and a stop drops the transaction.
made <<'END'
size 400M
scatter /film frags 2 blocks 10000 gap 64
END
film=$(where /film)
stopped 2 3 'asked 3, stopped 1, files 0 of 1, .*, copied 0, zeroed 0, fragments 4 to 4, left 1 files, 1 extents' inside
same "$what: the large file" "$(where /film)" "$film"
went_on

# A run that only zeroes blocks can be stopped inside a transaction.
made <<'END'
size 256M
mosaic /db size 64M written 64K unwritten 1M
END
stopped 1 3 'asked 3, stopped 1, files 0 of 1, .*, zeroed 0, fragments 3 to 3, left 1 files, [1-9][0-9]* extents' inside
went_on

# --max-time stops a run again and again, on a slow disk.
skip_part "runs that stop after one step each: each plan relocates the same files \
again, so that they do not end"
