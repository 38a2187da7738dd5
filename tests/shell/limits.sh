#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A limit of the file size (ulimit -f) is a reported error and does not kill a
# tool. An image that becomes shorter during a run is not made longer again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck

cd "$work"
# limited BLOCKS COMMAND...: like run, with a limit on the file size
limited() {
	limit=$1
	shift
	status=0
	# shellcheck disable=SC3045
	(ulimit -f "$limit" && exec "$@") >"$out" 2>"$err" </dev/null ||
		status=$?
}
mkdir src
head -c 3000000 /dev/urandom >src/data
truncate -s 32M existing
for target in new existing; do
	limited 2000 "$mke4fs" -q -d src $target
	same "exit of mke4fs on a file that is $target" "$status" 1
	says 'File too large'
done
limited 2000 "$mke4fs" -q -d src new 32M
same 'exit of mke4fs with a size' "$status" 1
says 'File too large'
[ ! -e new ] || fail 'an image was left'

aged img <"$top_srcdir/tests/shell/layout.recipe"
cp img before
limited 100 "$e4repack" -z undo img
same 'exit of e4repack' "$status" 1
says 'File too large'
run e2fsck -fp img
sound img

# the image is truncated during the repack
require_strace
bytes=$(stat -c %s before)
for only in '' --only=inodes; do
	cp before img
	run true
	# shellcheck disable=SC2086
	strace -f -qq -o /dev/null \
		-e inject=fsync,fdatasync,sync_file_range:delay_exit=300000 \
		"$e4repack" $only img >"$out" 2>"$err" &
	pid=$!
	for _ in $(seq 300); do
		cmp -s img before || break
		sleep 0.02
	done
	truncate -s $((bytes / 2)) img
	status=0
	wait $pid || status=$?
	same "exit of e4repack $only" "$status" 1
	says 'truncated|ends before|Attempt to read|short'
	[ "$(stat -c %s img)" -lt "$bytes" ] ||
		fail "e4repack $only: the image is as long as before"
done
