#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a plan for a very large file takes: 215 bytes for each of its extents,
# beside what --mem gives, and buffers.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
case $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") in
*-fsanitize*) skip 'sanitizers take more memory than what is looked at' ;;
esac

extents=600000
max_kib=$((4096 * ($(nproc) + 1) + 16 * 1024 + extents * 215 / 1024))
aged "$work/img" <<END
size 6000M
contents off
interleave /turns% count 2 rounds $((extents / 2)) blocks 1
END
check "$top_builddir/bench/measured" 3 "$top_builddir/misc/e4repack" -n \
	--mem=16M "$work/img" 3>"$work/measured"
grep -q '^Fragments  *600,00[0-9]  *[0-9]$' "$out" ||
	fail "no plan to move all: $(cat "$out")"
kib=$(sed -n 's/^rss //p' "$work/measured")
echo "$extents extents: $kib KiB"
[ "$kib" -le "$max_kib" ] || fail "takes $kib KiB, and not $max_kib"
