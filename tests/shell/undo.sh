#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With -z, e2undo restores the filesystem after a kill at any moment, no stale
# files are left, and a full disk is reported as the cause.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check
require_program e2undo

undo=$work/undo

# fresh [FEATURES]: makes $img with files to repack, and $work/copy.
fresh() {
	aged "$img" <<-END
		size 24M
		mke2fs -b 1024 -O ${1:-has_journal}
		mosaic /db size 300K written 8K unwritten 8K random
		interleave /logs count 10 rounds 10 blocks 1
	END
	cp "$img" "$work/copy"
}

same_image() {
	cmp -s "$img" "$work/copy" || fail "$1: the image has changed"
}

no_file() {
	[ ! -e "$undo" ] || fail "$1: the undo file is left"
}

# An undo file that cannot be created is reported, and nothing else happens.
fresh
for tool in "$e4repack" "$tune4fs -E dir_ireserve=64" "$e4debug -w -R stats"; do
	# shellcheck disable=SC2086
	mustfail 1 $tool -z "$work/none/undo" "$img"
	says "$work/none/undo: .*undo file: No such file"
	: >"$undo"
	# shellcheck disable=SC2086
	mustfail 1 $tool -z "$undo" "$img"
	says "$undo: .*exists: .*undo file"
	rm "$undo"
done

# A refusal, and a run with nothing to do, leave no undo file.
debugfs -w -R 'ssv state 0' "$img" >/dev/null 2>&1
for tool in "$e4repack" "$tune4fs -E dir_ireserve=64" "$e4debug -w -R stats"; do
	# shellcheck disable=SC2086
	mustfail 1 $tool -z "$undo" "$img"
	says 'not cleanly unmounted'
	no_file "$tool"
done
fresh
block=$(debugfs -R 'bmap /db 0' "$img" 2>/dev/null)
debugfs -w -R "freeb $block" "$img" >/dev/null 2>&1
mustfail 1 "$e4repack" -z "$undo" "$img"
says "run e2fsck -f $img"
no_file 'found by the scan'
fresh
check "$e4repack" "$img"
cp "$img" "$work/copy"
check "$e4repack" -z "$undo" "$img"
grep -q 'To undo:' "$out" && fail "there is nothing to undo"
no_file 'nothing to do'
same_image 'nothing to do'
mustfail 1 "$e4debug" -w -z "$undo" -R undo "$img"
says 'undo: nothing was changed'
no_file 'nothing changed'

# The printed e2undo command works.
plain=$undo
for undo in "$plain" "$work/with a space; touch PWN"; do
	fresh
	check "$e4repack" -z "$undo" "$img"
	command=$(sed -n 's/^To undo: //p' "$out")
	[ "$command" ] || fail "no command to undo"
	check sh -c "$command"
	same_image "$command"
done
undo=$plain

# kills WRITES: fails unless plain e2undo undoes a run that was killed at any
# write, except between the writes of the superblock and of the undo file's
# copy.
kills() {
	digest "$work/copy" >"$work/before"
	refused=0
	for at in 5 $(seq $(($1 / 6)) $(($1 / 6)) "$1") $(($1 - 1)) \
		$(($1 - 3)); do
		cp "$work/copy" "$img"
		rm -f "$undo"
		run strace -f -qq -o "$work/trace" -e trace=pwrite64 -e \
			inject=pwrite64:signal=SIGKILL:when="$at" \
			"$e4repack" --zeroout=1M -z "$undo" "$img"
		[ "$status" = 137 ] || fail "not killed at write $at"
		if ! e2undo "$undo" "$img" >"$out" 2>&1; then
			cmp -s "$img" "$work/copy" && continue
			grep -q "superblock doesn't match" "$out" ||
				fail "write $at: $(cat "$out")"
			refused=$((refused + 1))
			check e2undo -f "$undo" "$img"
		fi
		run e2fsck -fy "$img"
		sound "$img"
		digest "$img" >"$work/after"
		unchanged "$work/before" "$work/after"
	done
	[ "$refused" -le 1 ] || fail "e2undo refused $refused times"
}

if can_trace; then
	for features in has_journal ^has_journal; do
		fresh $features
		rm -f "$undo"
		check strace -f -qq -o "$work/trace" -e trace=pwrite64 \
			"$e4repack" --zeroout=1M -z "$undo" "$img"
		kills "$(grep -c pwrite64 "$work/trace")"
	done
fi

[ "$(id -u)" = 0 ] || skip "not root: a full disk"
mkdir "$work/small"
# ---- with too few descriptors to open an undo file, nothing is changed
fresh
for n in 4 5 6 7; do
	run sh -c 'ulimit -n "$0" && exec "$@"' "$n" "$e4repack" -q \
		-z "$work/undo.few" "$img"
	[ "$status" = 1 ] || fail "with $n descriptors: exit $status"
	one_sentence e4repack
	same_image "$n descriptors"
done

# ---- a full disk: no change is written that could not be undone
mount -t tmpfs -o size=64K none "$work/small" || skip "no tmpfs"
defer "umount '$work/small'"
undo=$work/small/undo
fresh
mustfail 1 "$e4repack" -z "$undo" "$img"
one_sentence e4repack
says "$img: .*undo file $undo: No space left .*: "
says 'nothing was changed: .*undo file'
same_image 'a full disk'
no_file 'a full disk'
mount -o remount,size=1M "$work/small"
head -c 200K /dev/urandom >"$work/data"
for n in 1 2 3 4 5 6 7 8; do
	echo "write $work/data /file$n"
done >"$work/requests"
run "$e4debug" -w -z "$undo" -f "$work/requests" "$img"
[ "$status" = 1 ] || fail "exit $status with a full disk"
says "undo file $undo: No space left .*: "
says "run e2undo $undo $img, .*e2fsck -fy $img"
check e2undo "$undo" "$img"
run e2fsck -fy "$img"
sound "$img"
digest "$work/copy" >"$work/before"
digest "$img" >"$work/after"
unchanged "$work/before" "$work/after"
