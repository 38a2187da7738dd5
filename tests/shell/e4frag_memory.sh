#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reading a million inodes takes what a tenth of them fills: a few buffers.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
case $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") in
*-fsanitize*) skip 'sanitizers take more memory than what is looked at' ;;
esac

max_kib=$((4096 * ($(nproc) + 1)))	# each thread has buffers
aged "$work/img" <<'END'
size 2G
mke2fs -N 1010000 -E lazy_itable_init=1 -O ^has_journal
contents off
many /inodes count 1000000 perdir 2000
interleave /grown count 1000 rounds 40 blocks 1
END
check "$top_builddir/bench/measured" 3 "$top_builddir/misc/e4frag" \
	"$work/img" 3>"$work/measured"
grep -q '^Files  *1,00[0-9],' "$out" || fail "not a million files"
peak=$(sed -n 's/^rss //p' "$work/measured")
echo "a million files: $peak KiB"
[ "$peak" -le $max_kib ] || fail "a million files take $peak KiB"
