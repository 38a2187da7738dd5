#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With --mem, files whose plan needs more memory are skipped, and another run
# continues with these files. Each fragment in a plan takes at most 120 bytes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
case $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") in
*-fsanitize*) skip 'sanitizers take more memory than what is looked at' ;;
esac
SOURCE_DATE_EPOCH=1700000000
E2FSPROGS_FAKE_TIME=$SOURCE_DATE_EPOCH
export SOURCE_DATE_EPOCH E2FSPROGS_FAKE_TIME

buffers_kib=$((4096 * ($(nproc) + 1)))
per_fragment=120

# two FRAGMENTS BLOCKSIZE: makes two files of FRAGMENTS fragments that grew
# alternately.
two() {
	fragments=$((2 * $1))
	aged "$work/img" <<END
size $(($1 * 5 * $2 / 1048576 + 700))M
mke2fs -b $2 -N 8192 -G 512 -O ^has_journal,^resize_inode,sparse_super2
mke2fs -E num_backup_sb=0
contents off
interleave /turns% count 2 rounds $1 blocks 1
END
}

# within OPTION... IMAGE: fails unless a repack uses at most a number of bytes
# per fragment, plus 8 MiB and buffers, and leaves no excess fragments.
within() {
	max_kib=$((buffers_kib + 8 * 1024 + fragments * per_fragment / 1024))
	check "$top_builddir/bench/measured" 3 "$e4repack" "$@" 3>"$work/measured"
	grep -q "^Excess fragments  *[0-9]*,[0-9]*  *0$" "$out" ||
		fail "not all is moved: $(cat "$out")"
	kib=$(sed -n 's/^rss //p' "$work/measured")
	echo "$*: $fragments fragments: $kib KiB of $max_kib"
	[ "$kib" -le "$max_kib" ] || fail "takes $kib KiB, and not $max_kib"
}

# left WHY: prints how many files the last run skipped for WHY.
left() {
	json "$out" "sum(s['count'] for s in d['skipped'] if s['reason'] == '$1')"
}

if in_full; then
	two 300000 4096
	for mem in 96M 50%; do
		within -n --no-undo "--mem=$mem" "$work/img"
	done
fi
rounds=$(in_full && echo 300000 || echo 200000)
two "$rounds" 1024
for mem in 96M 50%; do
	cp --sparse=always "$work/img" "$work/$mem"
	within --no-undo "--mem=$mem" "$work/$mem"
	sound "$work/$mem"
done
for file in '<13>' '<14>'; do
	for mem in 96M 50%; do
		debugfs -R "blocks $file" "$work/$mem" 2>/dev/null >"$work/$mem.at"
	done
	[ "$(wc -w <"$work/96M.at")" -ge "$rounds" ] || fail "$file: too short"
	cmp "$work/96M.at" "$work/50%.at" ||
		fail "$file: another outcome with --mem=96M"
done

check "$e4repack" -n --json --no-undo --mem=1M "$work/img"
same 'too large' "$(left memory)" 2
same 'planned of what is too large' "$(json "$out" "d['planned']['files']")" 0
check "$top_builddir/bench/measured" 3 "$e4repack" -n --no-undo --mem=1M "$work/img" \
	3>"$work/measured"
kib=$(sed -n 's/^rss //p' "$work/measured")
[ "$kib" -le $((buffers_kib + 20 * 1024)) ] ||
	fail "a file that is too large to plan takes $kib KiB"

# The files do not fit in memory together.  Each run continues, until everything
# is done.
aged "$work/img" <<END
size 1500M
mke2fs -b 1024 -N 60000 -O ^has_journal
contents off
interleave /many% count 40000 rounds 8 blocks 1
END
runs=0
while :; do
	check "$top_builddir/bench/measured" 3 "$e4repack" --json --no-undo \
		--mem=0 "$work/img" 3>"$work/measured"
	runs=$((runs + 1))
	kib=$(sed -n 's/^rss //p' "$work/measured")
	some=$(json "$out" "d['done']['files']")
	waiting=$(left memory)
	echo "run $runs: $some files, $waiting wait, $kib KiB"
	[ "$kib" -le $((buffers_kib + 40 * 1024)) ] || fail "takes $kib KiB"
	[ "$waiting" != 0 ] || break
	[ "$some" -gt 0 ] || fail 'nothing was done'
done
[ "$runs" -gt 1 ] || fail 'all fits in one plan'
sound "$work/img"
check "$e4frag" -q --json "$work/img"
same 'excess at last' "$(json "$out" "d['files']['excess_extents']")" 0
