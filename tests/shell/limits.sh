#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If a file would exceed the limit of the file size (ulimit -f), a tool reports
# an error and is not killed. An image that becomes shorter during a run is not
# made longer again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck tune2fs e2undo

cd "$work"
# limited BLOCKS COMMAND...: like run, with a limit of BLOCKS on the file size
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

# The message names the file that reached the limit, and the remedy.
aged img <<'EOF'
size 64M
interleave /data count 20 rounds 16 blocks 4
EOF
tune2fs -O ^has_journal img >/dev/null
cp img before
"$top_builddir/tests/tools/fsdigest" -z img >sums
# libext2fs keeps a map of undo_io after an error
no_leak_check
limited 100 "$e4repack" -z small img
same 'exit of e4repack' "$status" 1
one_sentence e4repack
says 'cannot write the undo file small: .*: remove the limit, and run the '
cmp img before || fail 'the image has changed'
limited 12000 "$e4repack" -z large img
same 'exit of e4repack' "$status" 1
cmp -s img before && fail 'nothing was written'
says 'flushing the device: File too large for the limit of this shell'
says 'cannot close: File too large for the limit of this shell'
sed -n 's/.*, run \(e2undo.*\), and then \(e2fsck .*\)/\1; \2/p' "$err" >commands
same 'commands' "$(wc -l <commands)" 1
run sh commands
"$top_builddir/tests/tools/fsdigest" -z img | cmp - sums ||
	fail 'the contents were not restored'
sound img

# The image is truncated during the repack.
require_strace
aged img <"$top_srcdir/tests/shell/layout.recipe"
cp img before
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
