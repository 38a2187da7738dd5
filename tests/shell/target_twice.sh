#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If two devices have the same label or UUID, as after dd, every tool refuses
# the label or UUID as target and names both devices. If two devices have the
# UUID of a journal, the journal is refused as well.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs blkid dumpe2fs

cd "$work"
truncate -s 16M one
check mke2fs -q -F -t ext4 -L "twice-$$" one
cp one two
mkdir src
attach one
first=$loop
check "$e4frag" "LABEL=twice-$$"
attach two
second=$loop
uuid=$(blkid -c /dev/null -p -s UUID -o value "$first")

upper=$(echo "$uuid" | tr a-f A-F)

for tag in "LABEL=twice-$$" "UUID=$uuid" "UUID=$upper"; do
	for tool in "$e4frag" "$e4check" "$e4repack --no-undo" \
		"$e4debug -R files" "$tune4fs -l" \
		"$tune4fs --no-undo -E dir_ireserve=64" \
		"$mke4fs -q -F -d src"; do
		# shellcheck disable=SC2086
		run $tool "$tag"
		[ "$status" != 0 ] || fail "$tool takes one of two"
		says "two devices .*${tag%%=*} [(]"
		says "$first"
		says "$second"
	done
	run "$mke4fs" -q --from="$tag" img
	[ "$status" != 0 ] || fail '--from takes one of two'
	says "$second"
done
cmp "$first" "$second" || fail 'one of them was changed'
detach "$first"
check "$e4frag" "LABEL=twice-$$"
detach "$second"

truncate -s 8M journal
check mke2fs -q -F -b 4096 -O journal_dev journal
cp journal copy
attach journal
first=$loop
check mke2fs -q -F -b 4096 -t ext4 -J device="$first" one
check "$e4repack" -n one
attach copy
for options in -n ''; do
	# shellcheck disable=SC2086
	mustfail 1 "$e4repack" $options one
	one_sentence e4repack
	says 'two devices .*UUID .*journal [(]'
	says "$first"
	says "$loop"
done

# mke2fs would use one of the two devices with the label of the journal.
truncate -s 8M labelled
check mke2fs -q -F -b 4096 -O journal_dev -L "journal-$$" labelled
cp labelled relabelled
attach labelled
first=$loop
for command in "$mke4fs -q" "$mke4fs -q -d src"; do
	rm -f img
	# shellcheck disable=SC2086
	check $command -b 4096 -J "device=LABEL=journal-$$" img 16M
	check dumpe2fs -h img
	grep -q "^Journal UUID: *$(blkid -p -s UUID -o value "$first")" "$out" ||
		fail "-J device=LABEL= does not name the journal"
done
attach relabelled
for command in "$mke4fs -q" "$mke4fs -q -d src"; do
	rm -f img
	# shellcheck disable=SC2086
	run $command -b 4096 -J "device=LABEL=journal-$$" img 16M
	[ "$status" != 0 ] || fail '-J takes one of two devices'
	one_sentence mke4fs
	says "LABEL=journal-$$: two devices .*LABEL [(]"
	says "$first"
	says "$loop"
	[ ! -e img ] || fail 'an image was made without its journal'
done
