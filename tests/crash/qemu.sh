#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The locks of qemu keep the tools from using an image that qemu uses, and qemu
# from using an image that the tools use.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_strace
require_program qemu-io

aged "$img" <<'END'
size 24M
mke2fs -b 4096
interleave /logs count 10 rounds 10 blocks 1
scatter /s frags 40 blocks 2 shuffle
END
digest "$img" >"$work/before"
: >"$out"

# qemu opens the image, for writing or read-only.
for mode in '' -r; do
	rm -f "$work/requests"
	mkfifo "$work/requests"
	# shellcheck disable=SC2086
	qemu-io $mode -f raw "$img" <"$work/requests" >"$work/answers" 2>&1 &
	qemu=$!
	exec 9>"$work/requests"
	echo 'read 0 512' >&9
	until grep -q '^512 bytes' "$work/answers"; do
		kill -0 $qemu 2>/dev/null || fail "$(cat "$work/answers")"
		sleep 0.1
	done
	sum=$(cksum <"$img")
	for tool in "$e4repack" "$e4repack -z $work/undo" \
		"$tune4fs -E dir_ireserve=64" \
		"$e4debug -w -R stats"; do
		# shellcheck disable=SC2086
		mustfail 1 $tool "$img"
		says 'locked by a virtual machine .qemu. or another program'
	done
	[ ! -e "$work/undo" ] || fail "an undo file is left"
	[ "$sum" = "$(cksum <"$img")" ] || fail "image changed"
	exec 9>&-
	wait $qemu || fail "qemu-io fails: $(cat "$work/answers")"
done

# e4repack is stopped after its first write.
strace -f -qq -o "$work/trace" -P "$img" -e trace=pwrite64 \
	-e inject=pwrite64:signal=SIGSTOP:when=1 "$e4repack" "$img" \
	>"$out" 2>"$err" &
tracer=$!
until grep -q 'stopped by SIGSTOP' "$work/trace" 2>/dev/null; do
	kill -0 $tracer 2>/dev/null || fail "the run has not stopped"
	sleep 0.1
done
sum=$(cksum <"$img")
for options in '' -r '-r -U'; do
	# shellcheck disable=SC2086
	qemu-io $options -f raw -c 'read 0 512' "$img" >"$work/answers" 2>&1 &&
		fail "qemu-io $options opens the image"
	grep -q 'Failed to get ".*" lock' "$work/answers" ||
		fail "$(cat "$work/answers")"
done
qemu-io -f raw -c 'write 0 4k' "$img" >"$work/answers" 2>&1 &&
	fail "qemu-io writes to the image"
[ "$sum" = "$(cksum <"$img")" ] || fail "qemu-io has changed the image"
kill -CONT "$(sed -n 's/ .*stopped by SIGSTOP.*//p' "$work/trace" | head -n 1)"
wait $tracer || fail "e4repack fails: $(cat "$err")"
sound "$img"
digest "$img" >"$work/after"
unchanged "$work/before" "$work/after"

# qemu closes the image.
qemu-io -f raw -c 'read 0 512' "$img" >"$work/answers" 2>&1 ||
	fail "$(cat "$work/answers")"
