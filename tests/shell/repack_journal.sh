#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A journal on another device is found by its UUID and used.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check
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
repack -n --zeroout=off "$img"
reported 'planned.files 21'
same 'a plan' "$(sequence)" "$was"
repack --zeroout=off "$img"
reported 'planned.files 21' 'done.files 21'
sound -j "$journal_loop" "$img"
digest "$img" >"$work/after"
unchanged "$work/before" "$work/after"
[ "$was" != "$(sequence)" ] || fail "the journal was not used"
nothing_to_do "$img" --zeroout=off

# tunables use the external journal as well
check "$tune4fs" -E dir_ireserve=64 "$img"
sound -j "$journal_loop" "$img"
check "$tune4fs" -l --json "$img"
same 'tunable' "$(json "$out" '[t["stored"] for t in d["tunables"]
	if t["name"] == "dir_ireserve"]')" "['64']"

# An undo file is refused, because it would restore the filesystem but not the
# journal.  Nothing is written.
cp "$img" "$work/copy"
cp "$journal" "$work/journal_copy"
calls=write,writev,pwrite64,pwritev,pwritev2,fallocate,ftruncate
spy=
can_trace &&
	spy="strace -f -qq -e signal=none -o $work/trace -e trace=$calls
		-P $img -P $journal -P $journal_loop -P $work/undo"
for tool in "$e4repack" "$tune4fs -E dir_ireserve=128" "$e4debug -w -R stats"; do
	# shellcheck disable=SC2086
	mustfail 1 $spy $tool -z "$work/undo" "$img"
	[ ! -s "$work/trace" ] || fail "written: $(cat "$work/trace")"
	says "$img: .*journal .*undo file"
	says 'without -z: '
	[ ! -e "$work/undo" ] || fail "the undo file is left"
	cmp "$img" "$work/copy" || fail "image changed"
	cmp "$journal" "$work/journal_copy" || fail "journal changed"
done

# both PATTERN: fails unless a run and a plan are refused with the same message.
both() {
	mustfail 1 "$e4repack" "$img"
	one_sentence e4repack
	says "$1"
	cp "$err" "$work/sentence"
	mustfail 1 "$e4repack" -n "$img"
	cmp "$err" "$work/sentence" || fail "a plan: $(cat "$err")"
	cmp "$img" "$work/copy" || fail "image changed"
}

# The journal device is read-only.
check blockdev --setro "$journal_loop"
both "cannot open the journal device $journal_loop: "
check blockdev --setrw "$journal_loop"

# The journal device is missing.
uuid=01234567-89ab-cdef-0123-456789abcdef
debugfs -w -R "ssv journal_uuid $uuid" "$img" >/dev/null 2>&1
cp "$img" "$work/copy"
both "the journal device was not found: .* UUID=$uuid"
