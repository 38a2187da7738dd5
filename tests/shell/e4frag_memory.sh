#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reading a million inodes takes a few buffers, less than a tenth of the size of
# the inodes, with and without the report.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
! is_sanitized || skip 'sanitizers take more memory than what is looked at'

max_kib=$((4096 * ($(nproc) + 1)))	# 4 MiB of buffers for each thread
aged "$work/img" <<'END'
size 2G
mke2fs -N 1010000 -E lazy_itable_init=1 -O ^has_journal
contents off
many /inodes count 1000000 perdir 2000
interleave /grown count 1000 rounds 40 blocks 1
END
# peak KIB [OPTION...]: fails unless the peak memory of e4frag is at most KIB.
peak() {
	most=$1
	shift
	check "$top_builddir/bench/measured" 3 "$e4frag" \
		"$@" "$work/img" 3>"$work/measured"
	kib=$(sed -n 's/^rss //p' "$work/measured")
	echo "a million files: $* $kib KiB"
	[ "$kib" -le "$most" ] || fail "$* takes $kib KiB, and not $most"
}
peak $max_kib --quiet
# The report needs no more memory, because it contains no plan.
peak $max_kib
grep -q '^Files  *1,00[0-9],' "$out" || fail "not a million files"
grep -q '^A repack would save at most ' "$out" || fail "no bounds: $(cat "$out")"
