#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --all, and the default: the changes equal the plan of a dry run, no
# figure becomes worse, every name leads to the same content, and an interrupted
# run can be completed by another run. E4L_KILLS: number of kills (4).
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
. "$top_srcdir/tests/shell/repack_all_common.sh"
no_leak_check

# valid: keeps the last report, which valid_reports compares with doc/schema.
valid() {
	tr -d '\n' <"$work/.report" >>"$work/reports"
	echo >>"$work/reports"
}

# valid_reports: fails unless the reports that valid has kept conform to
# doc/schema.
valid_reports() {
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || return 0
	check /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4repack-1.json" "$work/reports" lines
}

# repacked: fails unless the last run has reached its goals.
repacked() {
	valid
	kept
	no_worse
	all_saved
}

# messy UNIT SIZE MKE2FS-OPTIONS: makes an image with a problem for each word of
# --only.
messy() {
	unit=$1
	shift
	aged "$img" <<-RECIPE
		size $1
		mke2fs $2
		many /gone count 1200 name a_name_that_takes_room_
		delete /gone percent 95
		tree /tree dirs 12 files 20
		many /small count 900 size ${unit}K-$((4 * unit))K perdir 300
		delete /small every 3
		goal group 0
		interleave /grow count 20 rounds 6 blocks 4
		mosaic /db size $((60 * unit))K written $((4 * unit))K unwritten $((8 * unit))K
		scatter /apart frags 40 blocks 16 gap 1 hole 3 alternate
	RECIPE
	by_name "$img" >"$work/before"
	cp --sparse=always "$img" "$work/img0"
}

again() {
	cp --sparse=always "$work/img0" "$img"
}

while read -r unit size options; do
	# without --full, only the smallest filesystem is tested
	in_full || [ "$unit" = 1 ] || continue
	messy "$unit" "$size" "$options"
	n=0
	for words in '' --all --only=files \
		--only=files,free --only=free --exclude=/small \
		--only=directories --zeroout=off --only=inodes \
		--min-excess=20 --max-bytes=$((80 * unit))K; do
		# without --full, every second case is tested
		n=$((n + 1))
		in_full || [ $((n % 2)) = 1 ] || continue
		what="$options: $words"
		again
		# shellcheck disable=SC2086
		agrees $words
		valid
		kept
		no_worse
	done
	what="$options: --max-bytes"
	again
	repack --all --max-bytes=$((80 * unit))K "$img"
	[ "$(report done.bytes_copied)" -le $((80 * unit * 1024)) ] ||
		fail "$what: $(report done.bytes_copied)"
	what="$options: --no-move"
	again
	repack --no-move --zeroout=1M "$img"
	reported 'done.bytes_copied 0' 'done.directory_blocks 0' 'done.inodes 0'
	[ "$(report done.files)" -gt 0 ] || fail "$what: nothing was done"
	what="$options: a path"
	again
	repack "$img" /grow
	reported 'done.files 20'
	what="$options"
	again
	repack --all "$img"
	repacked
	reported 'after.excess_fragments 0'
	[ "$(report done.inodes)" -gt 0 ] || fail "$what: no inodes"
	[ "$(report done.directories)" -gt 0 ] || fail "$what: no directories"
	until_done --all
	kept
done <<'END_OF_TABLE'
1 24M -b 1024 -J size=1 -N 8192 -O quota
4 96M -b 4096 -J size=4 -N 8192
16 384M -b 4096 -O bigalloc -C 16384 -J size=4 -N 8192
END_OF_TABLE

# ---- a run that ends early has done several transactions of each kind
what=large
aged "$img" <<'END'
size 192M
mke2fs -b 1024 -J size=1 -N 40000
many /gone count 6000 name a_name_that_takes_room_
delete /gone percent 98
tree /tree dirs 60 files 60
many /small count 3000 size 2K-9K perdir 300
delete /small every 3
interleave /logs count 2000 rounds 5 blocks 2
mosaic /db size 4M written 4K unwritten 12K random
scatter /big frags 1000 blocks 8 shuffle
END
by_name "$img" >"$work/before"
cp --sparse=always "$img" "$work/img0"
start=$(date +%s%N)
repack --all "$img"
whole=$((($(date +%s%N) - start) / 1000000))
repacked
whole_figures=$(grep '^after\.' "$work/.figures")

# begin: starts a run on the original image; sets $pid.
begin() {
	again
	# a shell makes background processes ignore SIGINT
	env --default-signal=INT "$e4repack" --json --all "$img" \
		>"$out" 2>"$err" </dev/null &
	pid=$!
}

# end SIGNAL: ends the run; sets $status.
end() {
	status=0
	kill "-$1" $pid 2>/dev/null || :
	wait $pid 2>/dev/null || status=$?
}

# completed: fails unless another run reaches the result of a single complete
# run.
completed() {
	repack --all "$img"
	repacked
	for key in after.excess_fragments after.fragmented_files; do
		same "$what: $key" "$(report $key)" \
			"$(echo "$whole_figures" | sed -n "s/^$key //p")"
	done
}

# writing: true if the superblock's s_feature_incompat has needs_recovery
writing() {
	[ $(($(od -An -tu1 -j1120 -N1 "$img") & 4)) != 0 ]
}

# The run may end before the signal, so the signal has 30 tries.
for try in $(seq 30); do
	what="INT, try $try"
	begin
	while ! writing && kill -0 $pid 2>/dev/null; do :; done
	end INT
	take_report
	run_status=$status
	kept
	[ "$run_status" = 0 ] || fail "$what: exit $run_status"
	[ "$(report stopped)" = false ] || break
done
valid
reported 'stopped true'
is_measured after
completed

killed=0
for part in $(seq "${E4L_KILLS:-4}"); do
	ms=$((whole * part / (${E4L_KILLS:-4} + 1)))
	what="killed after $ms ms"
	begin
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	end KILL
	[ "$status" = 0 ] || killed=$((killed + 1))
	run e2fsck -fy "$img"
	[ "$status" -le 1 ] || { show_run; fail "$what: e2fsck: $status"; }
	kept
	completed
done
[ "$killed" -gt 0 ] || fail 'no run was killed on the way'

what=--max-time
again
seconds=1
for try in $(seq 100); do
	run "$e4repack" --json --all --max-time=$seconds "$img"
	take_report
	kept
	# With a sanitizer, or on a busy machine, the time can end during
	# planning.  The message then reports that nothing was changed.
	if [ "$status" != 0 ]; then
		says 'during planning; nothing '
		seconds=$((seconds + 1))
		continue
	fi
	[ "$(report stopped)" = true ] || break
done
completed

# ---- with -z, one undo file restores every byte
what=-z
again
repack --all -z "$work/undo" "$img"
repacked
check e2undo "$work/undo" "$img"
cmp "$img" "$work/img0" || fail "$what: e2undo"

# A write error while /big is moved: the completed work is reported.
what='a write fails'
shim=$top_builddir/tests/tools/.libs/fail_io.so
if [ -e "$shim" ]; then
	again
	repack --all "$img"
	bad=$(debugfs -R 'bmap /big 0' "$img" 2>/dev/null)
	again
	run env FAIL_IO_WRITE=1 FAIL_IO_FILE="$img" FAIL_IO_BYTES=1024 \
		FAIL_IO_AT=$((bad * 1024)) LD_PRELOAD="$shim" \
		"$e4repack" --json --all "$img"
	same "$what: exit" "$status" 1
	says "block $bad"
	take_report
	valid
	reported 'failed true' 'stopped false'
	[ "$(report done.transactions)" -gt 0 ] || fail "$what: nothing done"
	e2fsck -fy "$img" >/dev/null 2>&1 || :
	kept
	completed
fi

what=--discard
again
repack --all --discard "$img"
repacked
[ "$(report done.bytes_discarded)" -gt 0 ] ||
	fail "$what: nothing was discarded"

# ---- the text report: the cost first, then one table
again
check "$e4repack" -n --all "$img"
grep -q ': planned; nothing was changed$' "$out" || fail "$(cat "$out")"
same 'tables of -n' "$(grep -c '^  *now  *planned$' "$out")" 1
check "$e4repack" --all "$img"
grep -q ': will copy .* and zero .*, renumber [0-9,]* inodes$' "$out" ||
	fail "no cost: $(cat "$out")"
same tables "$(grep -c '^  *before  *after$' "$out")" 1

valid_reports

# ---- options that exclude each other
mustfail 2 "$e4repack" --all --only=trees "$img"
one_sentence e4repack
mustfail 2 "$e4repack" --no-move --inodes "$img"
one_sentence e4repack
mustfail 2 "$e4repack" --no-move --only=files "$img"
one_sentence e4repack
mustfail 2 "$e4repack" --only=free "$img" /big
one_sentence e4repack
check "$e4repack" -n --all --free-run=1M "$img"
require_loop
mount_image "$img" "$work/mnt"
mustfail 1 "$e4repack" --all "$work/mnt"
one_sentence e4repack
check "$e4repack" -n --all "$work/mnt"
check "$e4repack" -n --all "$work/mnt/tree"
