#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a plan for very large files takes: 45 bytes for each of their extents,
# beside what --mem gives, and buffers.  Without a limit it is no more, since
# such a file is read again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
case $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") in
*-fsanitize*) skip 'sanitizers take more memory than what is looked at' ;;
esac

extents=600000
max_kib=$((4096 * ($(nproc) + 1) + 16 * 1024 + extents * 45 / 1024))
aged "$work/img" <<END
size 6000M
contents off
interleave /turns% count 2 rounds $((extents / 2)) blocks 1
END
for mem in 16M 50%; do
	check "$top_builddir/bench/measured" 3 "$e4repack" \
		-n "--mem=$mem" "$work/img" 3>"$work/measured"
	grep -q '^Fragments  *600,00[0-9]  *[0-9]$' "$out" ||
		fail "no plan to move all: $(cat "$out")"
	kib=$(sed -n 's/^rss //p' "$work/measured")
	echo "$extents extents, --mem=$mem: $kib KiB"
	[ "$kib" -le "$max_kib" ] || fail "takes $kib KiB, and not $max_kib"
done
