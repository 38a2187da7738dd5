#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Checking and planning a large, nearly empty filesystem takes little memory: at
# most twice the memory of e2fsck, and two bits per block for a plan.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck
case $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") in
*-fsanitize*) skip 'sanitizers take more memory than what is looked at' ;;
esac

img=$work/img
truncate -s 8T "$img" 2>/dev/null || skip 'no sparse file of 8 TiB here'
check mke2fs -q -t ext4 -N 800000 -E lazy_itable_init=1,lazy_journal_init=1 \
	"$img"

# peak COMMAND...: sets $kib to the peak memory of COMMAND.
peak() {
	check "$top_builddir/bench/measured" 3 "$@" "$img" 3>"$work/measured"
	kib=$(sed -n 's/^rss //p' "$work/measured")
	echo "8 TiB: $1 $kib KiB"
}
peak e2fsck -fn
most=$((2 * kib + 4096 * ($(nproc) + 1)))	# 4 MiB of buffers for each thread
for tool in "$e4check" "$e4frag" "$e4repack -n"; do
	[ "$tool" != "$e4repack -n" ] || most=$((most + (2 << 31) / 8 / 1024))
	# shellcheck disable=SC2086
	peak $tool
	[ "$kib" -le $most ] || fail "$tool takes $kib KiB, and not $most"
done
