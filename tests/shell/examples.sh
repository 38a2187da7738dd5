#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs of doc/examples do what their comments describe, and report
# errors. (library.sh tests repack.)
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

report=$top_builddir/doc/examples/report
image=$top_builddir/doc/examples/image
img=$work/img

# refuse STATUS PATTERN COMMAND...: COMMAND fails with one message, and $img is
# unchanged.
refuse() {
	status=$1 pattern=$2
	shift 2
	before=$(cksum <"$img")
	mustfail "$status" "$@"
	says "$pattern"
	same "lines of $*" "$(wc -l <"$err")" 1
	same "bytes after $*" "$(cksum <"$img")" "$before"
}

# The example report prints e4frag's figures.
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
check "$e4frag" --json --sort=extents --top=10 "$img"
# shellcheck disable=SC2016
json "$out" '"%d files, %d of them fragmented\n%d extents in %d fragments; "
	"minimum %d extents\n" % (*[d["files"][k] for k in ("count", "fragmented",
	"extents", "fragments", "ideal_extents")],) + "\n".join(
	"%10d extents  inode %d  %s" % (w["extents"], w["inode"], w["path"])
	for w in d["worst"])' >"$work/want"
check "$report" "$img"
diff "$work/want" "$out" || fail 'report (>) and e4frag (<) differ'
refuse 2 '^Usage: report DEVICE$' "$report"
refuse 1 "^$work/none: cannot open: " "$report" "$work/none"
if [ -c /dev/full ]; then
	"$report" "$img" >/dev/full 2>"$err" && fail 'a full disk is no failure'
	says '^report: standard output: No space left'
fi
worst=$(sed -n '3s/.*inode \([0-9]*\) .*/<\1>/p' "$work/want")
debugfs -w -R "sif $worst block[0] 0" "$img" >/dev/null 2>&1
run "$report" "$img"
same 'exit of report' "$status" 1
says "^$img: [0-9]* places are damaged .*: run e2fsck$"

# The example image copies a directory without fragments.
mkdir -p "$work/from/sub/empty"
seq 200000 >"$work/from/sub/numbers"
ln "$work/from/sub/numbers" "$work/from/again"
ln -s sub/numbers "$work/from/link"
truncate -s 3M "$work/from/hole"
echo end >>"$work/from/hole"
new() {
	rm -f "$img"
	check mke2fs -q -F -t ext4 "$img" "$1"
}
new 16M
check "$image" "$work/from" "$img"
sound "$img"
check "$report" "$img"
grep -q ' 0 of them fragmented$' "$out" || fail 'a file is in pieces'
mkdir "$work/to"
check debugfs -R "rdump / $work/to" "$img"
rmdir "$work/to/lost+found"
diff -r --no-dereference "$work/from" "$work/to" ||
	fail 'the image holds something else'

refuse 2 '^Usage: image DIRECTORY DEVICE$' "$image" "$work/from"
refuse 1 "^$img: the filesystem is not empty" "$image" "$work/from" "$img"
new 16M
refuse 1 "^$work/none/*: No such file" "$image" "$work/none" "$img"
seq 2000000 >"$work/from/large"
refuse 1 "^$img: not enough free blocks" "$image" "$work/from" "$img"
