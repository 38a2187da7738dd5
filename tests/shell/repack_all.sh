#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --all: its parts one after another; nothing is worse for it, every name
# leads to what it led to, and whatever ends a run, another completes it.
# E4L_KILLS: how many kills on the way (4).
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
. "$top_srcdir/tests/shell/repack_all_common.sh"
no_leak_check

files=merge,zeroout,move,dirs,room

# valid: the last report is what doc/schema says, and so is each part of it.
valid() {
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || return 0
	/usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4repack-all-1.json" "$work/.report" ||
		fail "$what: not valid"
	json "$work/.report" "'\n'.join(json.dumps(p) for p in d['parts'])" \
		>"$work/parts"
	/usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4repack-1.json" "$work/parts" lines ||
		fail "$what: a part is not valid"
}

# repacked: the image that the recipe on stdin makes is, by --all.
repacked() {
	aged "$img"
	begins_with "$img"
	repack --all "$img"
	repaired
}

# messy UNIT SIZE MKE2FS-OPTIONS: something for each part.
messy() {
	unit=$1
	shift
	aged "$img" <<-END
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
	END
}

while read -r unit size options; do
	what="$options"
	messy "$unit" "$size" "$options"
	begins_with "$img"
	cp --sparse=always "$img" "$work/img0"

	# each part is planned as it would be alone
	before=$(written "$img")
	repack -n --all "$img"
	same "$what: written by -n" "$(written "$img")" "$before"
	valid
	cp "$work/.report" "$work/planned"
	part=0
	for words in index inodes free $files; do
		repack -n --only="$words" "$img"
		same "$what: $words" "$(json "$work/.report" \
			"[d[k] for k in d if k not in
			('seconds', 'left_alone', 'files_skipped')]")" \
			"$(json "$work/planned" "[p[k] for p in [d['parts'][$part]]
			for k in p if k not in
			('seconds', 'left_alone', 'files_skipped')]")"
		part=$((part + 1))
	done

	# a budget is for all
	repack --all --max-bytes=$((80 * unit))K "$img"
	valid
	kept
	[ "$(all bytes_copied)" -le $((80 * unit * 1024)) ] ||
		fail "$what: --max-bytes: $(all bytes_copied)"

	cp --sparse=always "$work/img0" "$img"
	repack --all "$img"
	valid
	repaired
	[ "$(all transactions)" -ge 4 ] ||
		fail "$what: only $(all transactions) transactions"
	same "$what: excess" "$(sed -n 's/^excess //p' "$work/then")" 0
	same "$what: free runs" "$(all free_runs_before)" \
		"$(sed -n 's/^runs //p' "$work/now")"
	same "$what: free runs, then" "$(all free_runs_after)" \
		"$(sed -n 's/^runs //p' "$work/then")"
	same "$what: itables" "$(sed -n 's/^itables //p' "$work/then")" \
		"$(json "$work/.report" \
			"d['parts'][1]['inodes']['planned_itable_blocks_after']")"
done <<'END'
1 24M -b 1024 -J size=1 -N 8192 -O quota
4 96M -b 4096 -J size=4 -N 8192
16 384M -b 4096 -O bigalloc -C 16384 -J size=4 -N 8192
END

# ---- the only long free run is one that --all has made: files may have it
what=full
repacked <<END
size 256M
mke2fs -b 4096 -J size=4 -N 8192
interleave /grow count 200 rounds 8 blocks 4
many /small count 3500 size 8K-120K perdir 500
delete /small percent 4
END
same "$what: excess" "$(sed -n 's/^excess //p' "$work/then")" 0

# ---- what each turn leaves in free space is not what the next has to live on: with
# files and free space in one plan as soon as anything is held back, there are few turns
what='nearly full'
repacked <<END
size 256M
mke2fs -b 1024 -J size=4 -N 16384
interleave /grow count 400 rounds 8 blocks 4
many /small count 3700 size 8K-120K perdir 500
delete /small percent 1
END
parts=$(json "$work/.report" "len(d['parts'])")
left=$(sed -n 's/^excess //p' "$work/then")
echo "$what: $parts parts, excess $left"
# 69 with that only once nothing else is left to do, and 33 while holes that nothing
# fits into stayed, for which 37 extents were left
[ "$parts" -le 32 ] || fail "$what: $parts parts"
same "$what: excess" "$left" 0
runs=$(all free_runs_after)
[ "$runs" -le 8 ] || fail "$what: $runs free runs"

# ---- free space as a stop between free and files leaves it: few, long runs, and what is
# in pieces is put together nevertheless
what='after free'
aged "$img" <<END
size 63M
mke2fs -b 1024 -J size=1 -N 20000
many /gone count 912 name a_name_that_takes_room_
delete /gone percent 98
tree /tree dirs 20 files 13
many /small count 669 size 2K-9K perdir 300
delete /small every 5
interleave /logs count 557 rounds 5 blocks 2
mosaic /db size 2M written 4K unwritten 12K random
scatter /big frags 437 blocks 5 shuffle
file /full size 39618K holes
END
for words in index inodes free; do
	repack --only=$words "$img"
done
begins_with "$img"
repack --all "$img"
repaired
left=$(sed -n 's/^excess //p' "$work/then")
[ "$left" -le 20 ] || fail "$what: excess $left"

# ---- what is held back for what free space was at first, another run would plan for
# what it is now: one run is enough
what='held back'
"$top_builddir/tests/tools/mkaged" -s 12 - "$img" <<END
size 29M
mke2fs -b 4096 -J size=4 -G 4 -I 128 -N 3993
mke2fs -O ^64bit
interleave /x0 count 42 rounds 12 blocks 3
many /x1 count 22 size 20K-200K perdir 22
delete /x1 percent 30
interleave /x2 count 13 rounds 12 blocks 2
interleave /x3 count 37 rounds 9 blocks 1
file /full size 13717K holes
END
begins_with "$img"
repack --all "$img"
repaired
repack --all "$img"
same "$what: a second run" "$(all bytes_copied)" 0

# ---- in the middle of it: each part takes several transactions
what=large
unit=4
aged "$img" <<END
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
begins_with "$img"
cp --sparse=always "$img" "$work/img0"
start=$(date +%s%N)
repack --all "$img"
whole=$((($(date +%s%N) - start) / 1000000))
repaired
cp "$work/then" "$work/whole"

# begin: a run on the image as it was; sets $pid.
begin() {
	cp --sparse=always "$work/img0" "$img"
	# a shell has what runs in the background ignore SIGINT
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

# completed: another run ends where one alone does, or better.
completed() {
	repack --all "$img"
	repaired
	sed -n '/^excess/p; /^itables/p' "$work/whole" >"$work/wanted"
	sed -n '/^excess/p; /^itables/p' "$work/then" |
		diff "$work/wanted" - || fail "$what: it is not completed"
}

# writing: the superblock's s_feature_incompat has needs_recovery
writing() {
	[ $(($(od -An -tu1 -j1120 -N1 "$img") & 4)) != 0 ]
}

# the run may be over before the signal comes: then once more
for try in $(seq 30); do
	what="INT, try $try"
	begin
	while ! writing && kill -0 $pid 2>/dev/null; do :; done
	end INT
	cp "$out" "$work/.report"
	cp "$err" "$work/said"
	run_status=$status
	kept
	[ "$run_status" = 0 ] || fail "$what: exit $run_status"
	[ "$(all stopped)" = False ] || break
done
valid
same "$what: stopped" "$(all stopped)" True
cp "$work/said" "$err"
says 'stopped after [0-9]* parts: another run goes on$'
json "$work/.report" "[p['only'] for p in d['parts']]"
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

# --max-time is for all: what it ends, another run goes on with
what=--max-time
cp --sparse=always "$work/img0" "$img"
seconds=1
for try in $(seq 100); do
	run "$e4repack" --json --all --max-time=$seconds "$img"
	cp "$out" "$work/.report"
	kept
	# a sanitizer, or a busy machine: nothing was done yet, and it says so
	if [ "$status" != 0 ]; then
		grep -q 'stopped before there was a plan: nothing was changed' \
			"$err" || { show_run; fail "$what: exit $status"; }
		seconds=$((seconds + 1))
		continue
	fi
	[ "$(all stopped)" = True ] || break
done
completed

# ---- one undo file, which brings every byte back
what=-z
cp --sparse=always "$work/img0" "$img"
repack --all -z "$work/undo" "$img"
repaired
check e2undo "$work/undo" "$img"
cmp "$img" "$work/img0" || fail "$what: e2undo"

# what was done is told when a part fails: here, the one that moves /big
what='a part fails'
shim=$top_builddir/tests/tools/.libs/fail_io.so
if [ -e "$shim" ]; then
	cp --sparse=always "$work/img0" "$img"
	repack --all "$img"
	bad=$(debugfs -R 'bmap /big 0' "$img" 2>/dev/null)
	cp --sparse=always "$work/img0" "$img"
	run env FAIL_IO_WRITE=1 FAIL_IO_FILE="$img" FAIL_IO_BYTES=1024 \
		FAIL_IO_AT=$((bad * 1024)) LD_PRELOAD="$shim" \
		"$e4repack" --json --all "$img"
	same "$what: exit" "$status" 1
	says "block $bad"
	cp "$out" "$work/.report"
	valid
	same "$what" "$(all failed)" True
	same "$what: stopped" "$(all stopped)" False
	[ "$(all bytes_copied)" -gt 0 ] || fail "$what: nothing copied"
	e2fsck -fy "$img" >/dev/null 2>&1 || :
	kept
	completed
fi

what=--discard
cp --sparse=always "$work/img0" "$img"
repack --all --discard "$img"
repaired
[ "$(all bytes_discarded)" -gt 0 ] || fail "$what: nothing was discarded"

# ---- for people
check "$e4repack" -n --all "$img"
same headings "$(grep -c '^Part [1-4]: --only=' "$out")" 4
grep -q '^Each part is planned for the filesystem as it is now' "$out" ||
	fail "no word of what a forecast is: $(cat "$out")"
grep -q 'until none finds anything to do, 64 at most\.$' "$out" ||
	fail "no word of an end: $(cat "$out")"
check "$e4repack" --all "$work/img0"
same headings "$(grep -c '^Part [1-4]: --only=' "$out")" 4
grep -q '^Part 7: --only=free$' "$out" || fail "one turn: $(cat "$out")"
grep -q '^In all: .* copied, .* zeroed, .* saved in .* transactions' "$out" ||
	fail "no sum: $(cat "$out")"

# ---- what is not for all
mustfail 2 "$e4repack" --all --only=merge "$img"
one_sentence e4repack
mustfail 2 "$e4repack" --all "$img" /big
one_sentence e4repack
check "$e4repack" -n --all --free-run=1M "$img"
require_loop
mount_image "$img" "$work/mnt"
mustfail 1 "$e4repack" --all "$work/mnt"
one_sentence e4repack
says 'is mounted, which --all is not for'
check "$e4repack" -n --all "$work/mnt"
mustfail 1 "$e4repack" -n --all "$work/mnt/tree"
says 'is a directory, and --all is for whole filesystems'
