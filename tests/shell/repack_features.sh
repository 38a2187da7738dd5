#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On a filesystem of every feature set, the changes equal the plan, all files
# have the same content, e2fsck finds no error, and a second run finds no work.
# FEATURES='RECIPE...' selects recipes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

# costs: prints the figures that are equal for a plan and its execution.
costs() {
	read_report && grep -v '^planned\.\|^done\.\|^cost\.\|^dry_run \|^seconds ' \
		"$work/.figures"
}
cost_of() {
	read_report && sed -n "s/^$1\.//p" "$work/.figures" | grep -v '^seconds '
}

# planned_and_done DIGEST-OPTION OPTION...: makes a plan and a repack, and
# compares the plan with the repack.
planned_and_done() {
	flag=$1
	shift
	# shellcheck disable=SC2086
	digest $flag "$img" >"$work/before"
	before=$(written "$img")
	# shellcheck disable=SC2086
	repack -n "$@" $protection "$img"
	reported 'done.files 0' 'done.transactions 0'
	same "$what: written by -n" "$(written "$img")" "$before"
	planned=$(costs) cost=$(cost_of planned)
	files=$(report planned.files)
	# shellcheck disable=SC2086
	repack "$@" $protection "$img"
	reported "done.files $files"
	same "$what: the plan" "$(costs)" "$planned"
	same "$what: its cost" "$(cost_of planned)" "$cost"
	same "$what: what was done" "$(cost_of "done")" "$cost"
	[ "$files" = 0 ] || [ "$(report done.transactions)" -gt 0 ] ||
		fail "$what: no transaction"
	clean "$img"
	# shellcheck disable=SC2086
	digest $flag "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	# shellcheck disable=SC2086
	nothing_to_do "$img" "$@" $protection
}

# leaves_excess: true if excess extents remain: with bigalloc, where only whole
# clusters move, and in filesystems that have only indirect maps.
leaves_excess() {
	case $what in
	bigalloc* | ext2 | ext3 | indirect) ;;
	*) return 1 ;;
	esac
}

work_on() {
	# repack_journal.sh tests an external journal
	[ "$what" != external-journal ] || return 0
	was=$(excess "$img")
	planned_and_done '' --zeroout=off
	echo "$what: $was excess extents, $(excess "$img") left"
	images=$((images + 1))
	leaves_excess || same "$what: excess" "$(excess "$img")" 0
	# Opening an image with MMP takes seconds.  Without --full, every second
	# image is repacked with -z.
	[ "$what" = mmp ] || { ! in_full && [ $((images % 2)) = 0 ]; } ||
		planned_and_done -z --zeroout=1M
}

each_recipe work_on
echo "$images images"
