#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --discard: exactly the blocks that the run has freed are discarded.
# Except for the journal, an image takes no more space on its disk than before.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
shim=$top_builddir/tests/tools/.libs/fail_io.so

# taken FILE: prints the bytes that FILE occupies on its disk.
taken() {
	sync -f "$1"
	echo $(($(stat -c '%b * %B' "$1")))
}

# holes FILE: true if the filesystem of FILE supports making holes in written
# ranges.
holes() {
	truncate -s 1M "$1"
	head -c 1M /dev/urandom >"$1"
	before=$(taken "$1")
	fallocate -p -o 0 -l 512K "$1" 2>/dev/null &&
		[ "$(taken "$1")" -lt "$before" ]
}
holes "$work/holes" || skip 'files do not get holes here'

# The image may grow by 512 KiB, because the run writes to unused blocks of the
# journal.
metadata=524288
how=-z			# option of digest()

# discards OPTION...: repacks $img with and without --discard, and compares both
# images.
discards() {
	cp --sparse=always "$img" "$work/plain"
	cp --sparse=always "$img" "$work/given"
	was=$(taken "$work/given")
	digest $how "$img" >"$work/before"
	repack -n --discard "$@" "$work/plain"
	planned=$(json "$work/.report" "d['planned']['bytes_discarded']")
	repack "$@" "$work/plain"
	same "$what: not asked for" "$(report done.bytes_discarded)" 0
	repack --discard "$@" "$work/given"
	clean "$work/given"
	digest $how "$work/given" >"$work/after"
	unchanged "$work/before" "$work/after"
	gone=$(report done.bytes_discarded)
	is=$(taken "$work/given")
	[ "$gone" -gt 0 ] || fail "$what: nothing was discarded"
	[ "$gone" -le "$planned" ] || fail "$what: $gone, not $planned"
	[ "$is" -le $((was + metadata)) ] ||
		fail "$what: $was, now $is bytes taken"
	echo "$what: $gone discarded of $planned planned, $was taken before and $is after," \
		"$(taken "$work/plain") without"
	repack --discard "$@" "$work/given"
	same "$what: a second run" "$(report done.bytes_discarded)" 0
}

what=sample
check "$top_builddir/tests/tools/mkaged" \
	"$top_srcdir/tests/recipes/sample.recipe" "$img"
discards

for features in '-b 4096' '-b 1024' '-b 4096 -O bigalloc -C 16384' \
	'-b 4096 -O quota'; do
	what=$features
	aged "$img" <<-END
		size 64M
		mke2fs $features
		mosaic /db size 2M written 8K unwritten 8K random
		interleave /logs count 20 rounds 20 blocks 4
		scatter /s frags 60 blocks 12 shuffle
	END
	discards
done

# After a directory is rebuilt, its old blocks are discarded, and its new blocks
# are not.
what='a directory'
aged "$img" <<END
size 64M
mke2fs -b 4096
many /d count 3000 name a-name-that-takes-room-
delete /d percent 98
END
how=-e
discards --only=directories
how=-z

scattered() {
	aged "$img" <<-END
		size 32M
		mke2fs -b 4096
		scatter /s frags 60 blocks 12 shuffle
	END
}

# ---- a filesystem at an offset, with data before and after it
head -c 3M /dev/urandom >"$work/noise"
surrounded() {
	scattered
	digest -z "$img" >"$work/before"
	cat "$work/noise" "$img" "$work/noise" >"$work/disk"
}

# The data around the filesystem, and its contents, are unchanged.
all_there() {
	cmp -n 3145728 "$work/noise" "$work/disk" ||
		fail "$what: what is before"
	tail -c 3M "$work/disk" | cmp - "$work/noise" ||
		fail "$what: what is behind"
	tail -c +3145729 "$work/disk" | head -c 32M >"$work/part"
	digest -z "$work/part" >"$work/after"
	unchanged "$work/before" "$work/after"
	clean "$work/part"
}

what='at an offset'
surrounded
repack --discard "$work/disk?offset=3145728"
[ "$(report done.bytes_discarded)" -gt 0 ] || fail "$what: nothing was discarded"
all_there

# ---- if a device refuses to discard, the repack is done anyway
refused() {
	what="refused by $1"
	cp "$img" "$work/copy"
	run env LD_PRELOAD="$shim" FAIL_IO_FILE="$work/copy" \
		FAIL_IO_DISCARD="$1" "$e4repack" --json --discard "$work/copy"
	take_report
	same "$what: exit status" "$status" "$2"
	one_sentence e4repack
	says "$3"
	reported 'done.bytes_discarded 0'
	same "$what: done" "$(report done.files)" "$(report planned.files)"
	clean "$work/copy"
}
if [ -e "$shim" ]; then
	refused 95 0 'the device does not support discard$'
	refused 5 1 'cannot discard: Input/output error: the repack itself is complete$'
else
	skip_part 'devices that refuse: built without shared libraries'
fi

# ---- options that exclude each other
what=-z
mustfail 2 "$e4repack" --discard -z "$work/undo" "$img"
one_sentence e4repack
says 'discarded .*restored$'
[ ! -e "$work/undo" ] || fail "$what: an undo file was made"
before=$(written "$img")
repack -n --discard "$img"
same '-n: written' "$(written "$img")" "$before"
reported 'done.bytes_discarded 0'
check "$e4repack" --discard "$img"
grep -q '^Discarded  *[0-9.]* [KM]iB$' "$out" ||
	fail "text: $(cat "$out")"

# ---- a device that discards
require_loop
what='a device'
scattered
was=$(taken "$img")
attach "$img"
repack --discard "$loop"
[ "$(report done.bytes_discarded)" -gt 0 ] || fail "$what: nothing was discarded"
detach "$loop"
is=$(taken "$img")
[ "$is" -le $((was + metadata)) ] ||
	fail "$what: $was, now $is bytes taken"
clean "$img"

# libext2fs adds the offset in different code for devices and files
what='a device, at an offset'
surrounded
attach "$work/disk"
repack --discard "$loop?offset=3145728"
[ "$(report done.bytes_discarded)" -gt 0 ] || fail "$what: nothing was discarded"
detach "$loop"
all_there
