#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If no thread can be started, the reason is reported and nothing is written.
# Fewer threads than requested are enough to read.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_strace
require_program mke2fs

img=$work/img
mkdir "$work/src"
seq 20000 >"$work/src/file"
tar -C "$work/src" -cf "$work/src.tar" .
check mke2fs -q -t ext4 -d "$work/src" "$img" 16M
before=$(cksum <"$img")

# from N COMMAND...: runs COMMAND; starting thread number N and all later
# threads fails.
from() {
	n=$1
	shift
	run strace -f -qq -o /dev/null -e inject="clone3:error=EAGAIN:when=$n+" \
		"$@"
}

for command in "$e4frag" "$e4check" "$e4repack -n --all" "$e4repack --all" \
	"$e4debug -R scan" "$e4debug -w -R repack"; do
	# shellcheck disable=SC2086
	from 1 $command "$img"
	[ "$status" -ne 0 ] || fail "done without threads: $command"
	says 'cannot start .*thread.*ulimit -u'
	[ "$(cksum <"$img")" = "$before" ] || fail "wrote: $command"
done
set -- "$work/src"
! built_with ARCHIVE || set -- "$@" "$work/src.tar"
for source; do
	from 2 "$mke4fs" -F -d "$source" "$work/new" 16M	# mke2fs is the first process
	[ "$status" -ne 0 ] || fail "filled without threads: $source"
	says 'cannot start .*thread'
done

for command in "$e4frag" "$e4check" "$e4repack -n --all"; do
	# shellcheck disable=SC2086
	from 2 $command "$img"
	[ "$status" -eq 0 ] || fail "with one thread: exit $status: $command"
done
