#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What very large files take, beside what --mem gives, and buffers: 40 bytes for
# each fragment of one to be planned, E4L_REPACK_FRAGMENT_BYTES to be moved.
# Without a limit it is no more, and the same is done, since such a file is read
# again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
case $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") in
*-fsanitize*) skip 'sanitizers take more memory than what is looked at' ;;
esac
SOURCE_DATE_EPOCH=1700000000
E2FSPROGS_FAKE_TIME=$SOURCE_DATE_EPOCH
export SOURCE_DATE_EPOCH E2FSPROGS_FAKE_TIME

buffers_kib=$((4096 * ($(nproc) + 1)))
per_fragment=$(sed -n 's/^#define E4L_REPACK_FRAGMENT_BYTES //p' \
	"$top_srcdir/lib/e4layout/repack.h")

# two FRAGMENTS BLOCKSIZE: two files of that many that grew in turns.
two() {
	fragments=$1
	aged "$work/img" <<END
size $(($1 * 5 * $2 / 1048576 + 700))M
mke2fs -b $2 -N 8192 -O ^has_journal
contents off
interleave /turns% count 2 rounds $1 blocks 1
END
}

# within BYTES OPTION... IMAGE: takes so much for each fragment, and 8 MiB and
# buffers; fragments become few.
within() {
	max_kib=$((buffers_kib + 8 * 1024 + fragments * $1 / 1024))
	shift
	check "$top_builddir/bench/measured" 3 "$e4repack" "$@" 3>"$work/measured"
	grep -q "^Fragments  *[0-9]*,00[0-9]  *[0-9]\{1,2\}$" "$out" ||
		fail "not all is moved: $(cat "$out")"
	kib=$(sed -n 's/^rss //p' "$work/measured")
	echo "$*: $fragments fragments: $kib KiB of $max_kib"
	[ "$kib" -le "$max_kib" ] || fail "takes $kib KiB, and not $max_kib"
}

# what --mem does not bound is said
beyond="a file of 300,000 fragments takes about 17 MiB of memory"
two 300000 4096
for mem in 1M 16M 50%; do
	within 40 -n "--mem=$mem" "$work/img"
	case $mem in
	1M) grep -q "$beyond, which --mem (1 MiB) does not bound" "$err" ||
		fail "not said: $(cat "$err")" ;;
	*) [ ! -s "$err" ] || fail "said: $(cat "$err")" ;;
	esac
done

two 300000 1024
for mem in 0 50%; do
	cp --sparse=always "$work/img" "$work/$mem"
	within "$per_fragment" --no-undo "--mem=$mem" "$work/$mem"
	sound "$work/$mem"
done
cmp "$work/0" "$work/50%" || fail "another outcome with --mem=0"
