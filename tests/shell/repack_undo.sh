#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With -z, e2undo restores every byte. A filesystem without a journal is
# repacked only with -z or --no-undo.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check
require_program e2undo

for features in ^has_journal ^has_journal,^metadata_csum has_journal; do
	for size in 1024 4096; do
		what="$features, $size"
		aged "$img" <<-END
			size 48M
			mke2fs -b $size -O $features
			mosaic /db size 2M written 8K unwritten 8K random
			interleave /logs count 20 rounds 20 blocks 1
			scatter /s frags 40 blocks 2 shuffle
		END
		cp "$img" "$work/copy"
		digest -z "$img" >"$work/before"
		rm -f "$work/undo"
		repack --zeroout=1M -z "$work/undo" "$img"
		clean "$img"
		same "$what: excess" "$(excess "$img")" 0
		digest -z "$img" >"$work/after"
		unchanged "$work/before" "$work/after"
		cmp -s "$img" "$work/copy" && fail "$what: nothing was done"
		check e2undo "$work/undo" "$img"
		cmp "$img" "$work/copy" || fail "$what: not what it was"
		repack --zeroout=1M --no-undo "$img"
		clean "$img"
		digest -z "$img" >"$work/after"
		unchanged "$work/before" "$work/after"
	done
done
same 'excess at last' "$(excess "$img")" 0
