#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For each code of e4check, codes.tsv has an input that causes the finding, the
# class of the same error in e2fsck, and advice that repairs the input.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs dumpe2fs tune2fs losetup /usr/bin/python3

table=$top_srcdir/tests/corrupt/codes.tsv
codes() {
	run /usr/bin/python3 "$top_srcdir/tests/corrupt/codes" "$@" \
		"$top_builddir"
}

codes
cat "$out"
[ "$status" = 0 ] || fail "a row of codes.tsv is wrong"
if grep -q '^skipped: ' "$out"; then
	skip_part "$(sed -n 's/^skipped: //p' "$out")"
fi

# wrong SED-SCRIPT SENTENCE: a changed row of inode-links is detected.
wrong() {
	grep -P '^inode-links\t' "$table" | sed "$1" >"$work/table"
	codes --table "$work/table"
	[ "$status" = 1 ] && grep -q "^inode-links: $2" "$out" && return
	show_run
	fail "not noticed: $1"
}
wrong 's/links_count=14/links_count=7/' 'not found'
wrong 's/error/warning/' 'the class: error, not warning'
wrong 's/BAD_REF_COUNT/UNATTACHED_INODE/' 'the problem: '
wrong 's/0x040003/0x040002/' 'e2fsck does not report '
wrong 's/e2fsck -fy/e2fsck -fn/' 'the advice: '
wrong 's/links_count=14/& inode-root-extents0.i_dtime=1/' 'the codes beside it: '
grep -P '^ea-inode-type\t' "$table" | sed 's/\t[^\t]*$/\t-/' >"$work/table"
codes --table "$work/table"
grep -q '^ea-inode-type: e2fsck -fn ends with 0, ' "$out" ||
	{ show_run; fail "another class needs no reason"; }
grep -vP '^inode-links\t' "$table" >"$work/table"
codes --table "$work/table" --complete
grep -q '^inode-links: no row in ' "$out" ||
	{ show_run; fail "a missing row is not noticed"; }
