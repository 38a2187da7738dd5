#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A journal on another device is found by its UUID, and used.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_loop
require_program tune2fs

journal=$work/journal
aged "$img" <<'END'
size 64M
mke2fs -O ^has_journal
interleave /logs count 20 rounds 20 blocks 1
scatter /s frags 40 blocks 2 shuffle
END
mke2fs -qq -F -b 4096 -O journal_dev "$journal" 8M >/dev/null

attach "$journal"
journal_loop=$loop
tune2fs -J device="$journal_loop" "$img" >/dev/null 2>&1 ||
	fail "tune2fs cannot attach the journal"
digest "$img" >"$work/before"
sequence() {
	dumpe2fs "$journal_loop" 2>/dev/null |
		sed -n 's/^Journal sequence: *//p'
}
was=$(sequence)
repack --zeroout=off "$img"
reported 'files_planned 21' 'files_done 21'
sound -j "$journal_loop" "$img"
digest "$img" >"$work/after"
unchanged "$work/before" "$work/after"
[ "$was" != "$(sequence)" ] || fail "the journal was not used"
nothing_to_do "$img" --zeroout=off

# not found
uuid=01234567-89ab-cdef-0123-456789abcdef
debugfs -w -R "ssv journal_uuid $uuid" "$img" >/dev/null 2>&1
cp "$img" "$work/copy"
mustfail 1 "$e4repack" "$img"
one_sentence e4repack
says "its journal is on a device that cannot be found: .* UUID=$uuid"
cmp "$img" "$work/copy" || fail "image changed"
