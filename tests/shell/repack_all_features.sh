#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --all on a filesystem of every feature set: the changes equal the
# plan of a dry run, the reports agree with e4frag, no figure becomes worse,
# every name leads to the same content, and e2fsck and e4check find no error.
# FEATURES='RECIPE...' selects recipes.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
. "$top_srcdir/tests/shell/repack_all_common.sh"
no_leak_check

# has_journal: attaches the file of the external journal to a device.
has_journal() {
	can_mount || return 1
	attach "$img.journal"
	journal="-j $loop"
}

# clean IMAGE: fails unless IMAGE is sound, with its external journal, if any.
clean() {
	# shellcheck disable=SC2086
	sound $journal "$1"
}

# e2fsck uses cached information about devices for two seconds, so the test has
# its own cache.
BLKID_FILE=$work/blkid.tab
export BLKID_FILE
renumbered=0
work_on() {
	journal=''
	if [ "$what" = external-journal ] && ! has_journal; then
		return 0
	fi
	by_name "$img" >"$work/before"
	digest -z "$img" >"$work/numbers"
	agrees --all ${protection:+"$protection"}
	kept
	no_worse
	all_saved
	digest -z "$img" | cmp -s "$work/numbers" - ||
		renumbered=$((renumbered + 1))
	until_done --all ${protection:+"$protection"}
	kept
	[ -z "$journal" ] || detach "$loop"
	images=$((images + 1))
}

third=0
each_recipe work_on
[ $((2 * renumbered)) -gt "$images" ] ||
	fail "in $renumbered of $images inodes have other numbers"
echo "$images images, in $renumbered of them inodes have other numbers"
