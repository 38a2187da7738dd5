#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A run can be stopped inside a large file: the parts that it has moved stay
# moved, the file is no worse than it was, and another run goes on with the rest.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check

probe=$top_builddir/tests/tools/stop_probe
# where PATH: its blocks
where() {
	debugfs -R "blocks $1" "$img" 2>/dev/null
}

# of_path PATH KEY: a file's number from e4frag.
of_path() {
	check "$e4frag" --json "$img" "$1"
	sed -n "/^  \"files\"/,/^  }/s/^    \"$2\": \([0-9]*\),*\$/\1/p" "$out"
}

# stopped MIB N WANT [inside]: stopped at question N; how it ends
stopped() {
	what="parts of $1 MiB, stopped at question $2 ${4-}"
	check "$probe" "$img" "$1" "$2" ${4+"$4"}
	# how many transactions depends on the time they take
	same "$what" "$(sed 's/, transactions [0-9]*//' "$out")" "$3"
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# went_on: another run, with nobody to stop it, finishes.
went_on() {
	repack --zeroout=4M "$img"
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

# made <RECIPE
made() {
	aged "$img"
	cp --sparse=always "$img" "$work/img0"
	digest -z "$img" >"$work/before"
}

# a file of 64 MiB in 256 fragments, by 2 MiB
made <<'END'
size 256M
scatter /big frags 256 blocks 64 gap 32
interleave /small count 20 rounds 3 blocks 1
END
stopped 2 0 'asked 52, stopped 0, files 21 of 21, copied 16444, zeroed 0, fragments 319 to 24, left 0 files, 0 extents'
whole=$(where /big)
again
stopped 2 31 'asked 31, stopped 1, files 20 of 21, copied 5180, zeroed 0, fragments 319 to 200, left 1 files, 176 extents'
same "$what: fragments" "$(of_path /big fragments)" 177
went_on
# what was copied stays where it is, and is not copied again
same "$what: copied then" "$(report cost.bytes_copied)" $(((16444 - 5180) * 4096))
same "$what: the large file" "$(where /big)" "$whole"

# stopped after each part, it ends there, too, with nothing copied twice
again
copied=0
for run in $(seq 100); do
	check "$probe" "$img" 2 2
	cp "$out" "$work/said"
	clean "$img"
	n=$(sed 's/.*copied \([0-9]*\),.*/\1/' "$work/said")
	copied=$((copied + n))
	grep -q 'stopped 1' "$work/said" || break
	[ "$n" -gt 0 ] || fail "run $run has done nothing"
done
[ $copied -le 16444 ] || fail "run after run copied $copied blocks"
same 'run after run: excess' "$(excess "$img")" 0
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"

# a budget ends in it as well
again
copied=0
for run in $(seq 100); do
	repack --max-bytes=20M "$img"
	[ "$(report planned.files)" -gt 0 ] || break
	[ "$(report cost.bytes_copied)" -le 20971520 ] || fail 'over the budget'
	copied=$((copied + $(report cost.bytes_copied)))
done
[ $copied -le $((16444 * 4096)) ] ||
	fail "budget after budget copied $copied bytes"
same 'budget after budget: excess' "$(excess "$img")" 0
clean "$img"

# A file whose fragments are all longer than 16 parts: one of them must be moved
# at once, and is dropped when that is stopped.
made <<'END'
size 400M
scatter /film frags 2 blocks 10000 gap 64
END
film=$(where /film)
stopped 2 3 'asked 3, stopped 1, files 0 of 1, copied 0, zeroed 0, fragments 4 to 4, left 1 files, 1 extents' inside
same "$what: the large file" "$(where /film)" "$film"
went_on

# zeroes, by 1 MiB
made <<'END'
size 256M
mosaic /db size 64M written 64K unwritten 1M
END
stopped 1 20 'asked 20, stopped 1, files 0 of 1, copied 0, zeroed 4864, fragments 3 to 3, left 1 files, 83 extents'
went_on

# stopped by --max-time again and again, on a slow disk
can_trace || exit 0
made <<'END'
size 256M
scatter /big frags 256 blocks 64 gap 32
END
repack "$img"
after=$(report after.fragments)
copied=$(report cost.bytes_copied)
again
runs=0
done=0
until [ "$(excess "$img")" = 0 ]; do
	runs=$((runs + 1))
	[ $runs -lt 60 ] || fail 'run after run leaves something to do'
	run strace -f -qq -o /dev/null -e trace=pwrite64 \
		-e inject=pwrite64:delay_enter=150000 \
		"$e4repack" --json --max-time=2 "$img"
	# a busy machine has no plan by then
	[ "$status" = 0 ] || { says 'interrupted during planning'; continue; }
	cp "$out" "$work/.report"
	done=$((done + $(report cost.bytes_copied)))
	clean "$img"
	check "$e4frag" -q --json "$img"
	same 'the longest free run' "$(report after.largest_free_bytes)" \
		"$(json "$out" "d['free_space']['largest_blocks'] *
			d['filesystem']['block_size_bytes']")"
done
[ $runs -gt 1 ] || fail 'not stopped'
same 'slow: fragments' "$(report after.fragments)" "$after"
same 'slow: copied' $done "$copied"
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"
echo "$runs runs of 2 s"
