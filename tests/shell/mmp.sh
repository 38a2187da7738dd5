#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Multiple mount protection is released at every end of a run except a kill.
# After a kill, the command that the next run recommends works.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_strace
require_program tune2fs e2undo
undo=$work/undo

aged "$work/image" <<'END'
size 24M
mke2fs -b 4096 -O mmp
interleave /logs count 10 rounds 10 blocks 1
scatter /s frags 40 blocks 2 shuffle
END
digest "$work/image" >"$work/before"

# nowait COMMAND...: runs COMMAND without the wait of eleven seconds before
# taking MMP.
nowait() {
	run strace -f -qq -o "$work/trace" \
		-e trace=clock_nanosleep,pwrite64 \
		-e inject=clock_nanosleep:retval=0 "$@"
}

fresh() {
	cp "$work/image" "$img"
	rm -f "$undo"
}

# sequence: prints the MMP sequence number. ff4d4d50 means free, and e24d4d50
# means that a program like e2fsck uses the filesystem.
sequence() {
	debugfs -R dump_mmp "$img" 2>/dev/null | sed -n 's/^sequence: *//p'
}

free_again() {
	same "MMP after $1" "$(sequence)" ff4d4d50
}

ends() {
	wanted=$1
	shift
	nowait "$@"
	[ "$status" = "$wanted" ] || { show_run; fail "exit $status: $*"; }
	free_again "$*"
}

fresh
ends 0 "$e4repack" -z "$undo" "$img"
ends 0 e2undo "$undo" "$img"
rm "$undo"
ends 0 "$tune4fs" -E dir_ireserve=64 "$img"
ends 0 "$e4debug" -w -R 'mkdir /new' "$img"
ends 1 "$e4debug" -w -R 'mkdir /new' "$img"
ends 1 "$e4repack" "$img" /none
ends 0 "$e4repack" "$img"
ends 0 "$e4repack" -z "$undo" "$img"
[ ! -e "$undo" ] || fail "nothing to do, and an undo file is left"

# After an error in the middle of a run, MMP is released at the end.
fresh
run strace -f -qq -o "$work/trace" -e trace=clock_nanosleep,fsync \
	-e inject=clock_nanosleep:retval=0 -e inject=fsync:error=EIO:when=7 \
	"$e4repack" "$img"
[ "$status" = 1 ] || fail "exit $status with an error in the middle"
free_again "an error"
mkdir "$work/small"
if is_root && mount -t tmpfs -o size=64K none "$work/small"; then
	defer "umount '$work/small'"
	fresh
	ends 1 "$e4repack" -z "$work/small/undo" "$img"
	says "undo file $work/small/undo: No space left"
	grep -q "the run was stopped" "$err" ||
		[ ! -e "$work/small/undo" ] ||
		fail "nothing changed, a file left"
fi

# e4repack is killed at several writes.
fresh
nowait "$e4repack" "$img"
n=$(grep -c pwrite64 "$work/trace")
killed() {
	# shellcheck disable=SC2145	# the first word, and then others
	run strace -f -qq -o "$work/trace" -e trace=clock_nanosleep,pwrite64 \
		-e inject=clock_nanosleep:retval=0 \
		-e inject=pwrite64:signal=SIGKILL:when="$@"
	[ "$status" = 137 ] || fail "not killed at write $1"
	same "MMP after a kill at write $1" "$(sequence)" e24d4d50
	run e2fsck -p "$img"
	[ "$status" -ge 4 ] || fail "e2fsck does not mind MMP"
}
for at in 4 $((n / 2)) $((n - 3)) $((n - 1)); do
	fresh
	killed "$at" "$e4repack" "$img"
	for tool in "$e4repack" "$e4repack -n" "$tune4fs -E dir_ireserve=64"; do
		# shellcheck disable=SC2086
		mustfail 1 $tool "$img"
		says 'multiple mount protection: .* after a crash'
	done
	fix=$(sed -n 's/.*run \(tune2fs [^,]*\), and then .*/\1/p' "$err")
	check_mmp=$(sed -n 's/.*, and then \(e2fsck .*\)/\1/p' "$err")
	# shellcheck disable=SC2086
	check $fix
	# shellcheck disable=SC2086
	nowait $check_mmp
	[ "$status" -le 1 ] || fail "$check_mmp fails"
	free_again "$check_mmp"
	sound "$img"
	digest "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
done

# After a power failure during the write of the MMP block, the recommended
# command works.
fresh
block=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^MMP block number: *//p')
for at in 0 8; do	# the first case overwrites the magic number
	fresh
	head -c $((512 - at)) /dev/urandom | dd of="$img" bs=1 conv=notrunc \
		seek=$((block * 4096 + at)) 2>/dev/null
	for tool in "$e4repack" "$e4repack -n" "$tune4fs -E dir_ireserve=64"; do
		# shellcheck disable=SC2086
		nowait $tool "$img"
		same "$tool" "$status" 1
		says ': .*mount protection block'
	done
	fix=$(sed -n 's/.*run \(tune2fs [^,]*\), and then .*/\1/p' "$err")
	# shellcheck disable=SC2086
	check $fix
	sound "$img"
	free_again "$fix"
done

# e2undo restores the MMP block as well
fresh
nowait "$e4repack" -z "$undo" "$img"
n=$(grep -c pwrite64 "$work/trace")
fresh
killed $((n / 2)) "$e4repack" -z "$undo" "$img"
nowait e2undo "$undo" "$img"
[ "$status" = 0 ] || { show_run; fail "e2undo"; }
free_again e2undo
nowait e2fsck -fy "$img"
sound "$img"
digest "$img" >"$work/after"
unchanged "$work/before" "$work/after"

# A device is lost in the middle of a run: the recommended command works.
# libext2fs tries write(2) after a failed pwrite(2).
fresh
run strace -f -qq -o "$work/trace" -P "$img" -e trace=pwrite64,write \
	-e inject=pwrite64:error=EIO:when=5+ -e inject=write:error=EIO \
	"$e4repack" "$img"
same 'exit with a lost device' "$status" 1
says "released: .* run tune2fs -f -E clear_mmp $img, .*e2fsck -p"
run strace -qq -o "$work/trace" -e trace=clock_nanosleep \
	-e inject=clock_nanosleep:retval=0 tune2fs -f -E clear_mmp "$img"
run e2fsck -p "$img"
[ "$status" -le 1 ] || { show_run; fail 'e2fsck -p after that'; }
clean "$img"
