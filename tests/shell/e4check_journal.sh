#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A journal on another device is checked if the device is present; otherwise
# e4check reports that the journal was not checked.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs e2fsck debugfs
img=$work/img
journal=$work/journal

for blocksize in 1024 4096; do
	mke2fs -qq -F -b $blocksize -O journal_dev "$journal" 8M >/dev/null
	attach "$journal"
	rm -f "$img"
	check mke2fs -q -F -t ext4 -b $blocksize -J device="$loop" "$img" 16M
	cp "$img" "$work/fs"
	cp "$journal" "$work/log"

	# start: restores the initial images of the filesystem and the journal
	start() {
		cp "$work/fs" "$img"
		dd if="$work/log" of="$loop" bs=1M conv=fsync status=none
	}

	# both EXIT CODE WHAT: fails unless e2fsck finds errors, and e4check
	# exits with EXIT and finds CODE
	both() {
		run e2fsck -fn "$img"
		[ "$status" != 0 ] || fail "$3: e2fsck finds the image clean"
		run "$e4check" --no-layout "$img"
		[ "$status" = "$1" ] || { show_run; fail "$3: exit $status"; }
		grep -q "^[a-z]*: $2: " "$out" ||
			{ show_run; fail "$3: no $2"; }
	}

	start
	check e2fsck -fn "$img"
	check "$e4check" "$img"
	[ ! -s "$err" ] || fail 'a sound journal is reported'
	check debugfs -w -R 'feature needs_recovery' "$img"
	check "$e4check" "$img"
	grep -q '^warning: journal-recovery: ' "$out" || fail 'the journal is not reported'

	# The magic number, the type or the length in the journal's superblock
	# is wrong.
	[ $blocksize = 1024 ] && at=2048 || at=4096
	for field in 0 4 16; do
		start
		printf '\377\377\377\377' | dd of="$loop" bs=1 conv=fsync \
			seek=$((at + field)) status=none
		both 4 journal-super "byte $field of the journal"
	done

	# The device has no journal any more, although blkid's cache has the
	# journal.
	start
	printf '\0' | dd of="$loop" bs=1 conv=fsync seek=$((1024 + 96)) \
		status=none
	run "$e4check" --no-layout "$img"
	[ "$status" != 0 ] || fail 'a device that is not a journal'

	# blkid uses cached information for two seconds
	detach "$loop"
	cp "$work/fs" "$img"
	cp "$work/log" "$journal"
	mke2fs -qq -F -b $blocksize -O journal_dev "$work/other" 8M >/dev/null
	attach "$work/other"
	run blkid -c "$work/remembered" "$loop"
	detach "$loop"
	attach "$journal"
	check env BLKID_FILE="$work/remembered" "$e4check" --no-layout "$img"
	[ ! -s "$err" ] || { show_run; fail 'a journal that was not found'; }
	rm "$work/remembered"
	start
	run blkid -c "$work/remembered" "$loop"
	detach "$loop"
	run env BLKID_FILE="$work/remembered" "$e4check" --no-layout "$img"
	same 'exit code where another journal was remembered' "$status" 8
	grep -q '^warning: journal-absent: ' "$out" || fail 'the journal is not reported'
	mustfail 1 env BLKID_FILE="$work/remembered" \
		"$e4frag" "UUID=$(blkid -p -s UUID -o value \
			"$journal")"
	says 'no device .*UUID'

	run e2fsck -fn "$img"
	same 'e2fsck' "$status" 12
	run "$e4check" --no-layout "$img"
	same 'exit code without the journal' "$status" 8
	grep -q '^warning: journal-absent: ' "$out" || fail 'the journal is not reported'
	one_sentence e4check
	says "^e4check: $img: .*journal device"
	run "$e4check" -q "$img"
	same 'exit code of --quiet' "$status" 8
	[ ! -s "$err" ] || fail '--quiet prints messages'
	check debugfs -w -R 'feature needs_recovery' "$img"
	run "$e4check" "$img"
	grep -q '^warning: journal-recovery: ' "$out" ||
		fail 'not reported: recovery without the journal'
	check debugfs -w -R 'sif <2> links_count 7' "$img"
	run "$e4check" "$img"
	same 'exit code of an error, without the journal' "$status" 12
done
