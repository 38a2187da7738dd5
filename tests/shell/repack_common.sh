# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154
# Common part of the tests of e4repack; sourced after common.sh.
require_program mke2fs e2fsck debugfs dumpe2fs

img=$work/img
what=repack			# the current case, in messages

# digest [-z] IMAGE: digests every inode except the quota files, which e2fsck
# checks.  Directories are compared by their entries, because a repack compacts
# them.
digest() {
	"$top_builddir/tests/tools/fsdigest" -e "$@" >"$work/.digest" ||
		fail "fsdigest $*"
	while [ $# -gt 1 ]; do shift; done
	dumpe2fs -h "$1" 2>/dev/null | awk '
		FILENAME == "-" {
			if (/^[A-Z][a-z]* quota inode: *[0-9]+$/)
				quota[$NF]
			next
		}
		!($1 in quota)' - "$work/.digest"
}

clean() {
	sound "$1"
}

# repack OPTION... IMAGE [PATH...]: runs e4repack, which must succeed, and keeps
# its report.
repack() {
	check "$e4repack" --json "$@"
	take_report
}

# take_report: keeps the output of the last command as the report that report,
# skipped and reported read.
take_report() {
	cp "$out" "$work/.report"
	: >"$work/.figures"
}

# read_report: makes a table of all figures of the last report, unless there is one: a
# start of python3 for each figure would take most of the time of some tests.
read_report() {
	[ ! -s "$work/.figures" ] || return 0
	/usr/bin/python3 -c '
import collections, json, sys
d = json.load(open(sys.argv[1]))
d["cost"] = d["planned"] if d["dry_run"] else d["done"]
for l in d["before"], d["after"]:
    l["largest_free_bytes"] = l["largest_free_blocks"] * d["block_size_bytes"]
skipped_for = collections.Counter()
for s in d["skipped"]:
    skipped_for[s["reason"]] += s["count"]
d["skipped_saved"] = sum(s["saved"] for s in d["skipped"] if s["kind"] == "file")
def show(value, *keys):
    if isinstance(value, dict):
        for key in value:
            show(value[key], *keys, key)
    else:
        print(".".join(keys), json.dumps(value))
show(d)
show(skipped_for, "skipped_for")' "$work/.report" >"$work/.figures"
}

# report_line KEY: prints the figure KEY of the last report, or fails.
report_line() {
	read_report || return
	got_line=$(grep "^$1 " "$work/.figures") && echo "${got_line#* }"
}

# report KEY: prints a figure of the last repack, such as planned.files.
# cost.KEY is the planned cost after a dry run, and the actual cost after a
# repack.
report() {
	report_line "$1" || { echo "the report has no $1" >&2; return 1; }
}

# skipped REASON: prints how many files and directories the last repack skipped
# for REASON.
skipped() {
	read_report && { report_line "skipped_for.$1" || echo 0; }
}

# reported "KEY VALUE"...: fails unless the last repack reported these values.
reported() {
	read_report
	# compare all pairs at once, because nearly always no pair is missing
	! printf '%s\n' "$@" | grep -vxF -f "$work/.figures" >"$work/.missing" &&
		[ -s "$work/.figures" ] && return
	for pair; do
		same "$what: ${pair% *}" "$(report "${pair% *}")" "${pair#* }"
	done
}

# written IMAGE: prints the modification time of IMAGE.
written() {
	stat -c %y "$1"
}

# unchanged BEFORE AFTER: fails unless the two files of digests are equal.
unchanged() {
	cmp -s "$1" "$2" && return
	diff "$1" "$2" | head -n 6 >&2
	fail "$what: files have changed"
}

# nothing_to_do IMAGE OPTION...: fails unless a run has an empty plan and writes
# nothing.
nothing_to_do() {
	image=$1
	shift
	before=$(written "$image")
	repack "$@" "$image"
	reported 'planned.files 0' 'planned.directories 0' 'done.files 0' \
		'done.transactions 0' 'cost.bytes_copied 0' \
		'cost.bytes_zeroed 0'
	same "$what: extents" "$(report after.extents)" \
		"$(report before.extents)"
	# opening for writing changes the MMP block
	[ "$what" = mmp ] || same "$what: written" "$(written "$image")" \
		"$before"
}

# excess IMAGE [PATH...]: prints the number of excess extents.
excess() {
	"$e4frag" -q --json "$@" >"$work/.frag" || fail "e4frag $*"
	sed -n 's/^    "excess_extents": \([0-9]*\),*$/\1/p' "$work/.frag"
}

# features 'RECIPE...': sets $recipes to names of recipes in
# tests/recipes/features: the recipes in $FEATURES or, if it is "all", all
# recipes without an external journal.  By default, sets $recipes to RECIPE...
# or, without --full, to one in three of them.
features() {
	case ${FEATURES:-few} in
	few)
		recipes=$1
		# shellcheck disable=SC2086
		in_full || recipes=$(printf '%s\n' $1 | sed -n '1~3p') ;;
	all) recipes=$(cd "$top_srcdir/tests/recipes/features" &&
		printf '%s\n' *.recipe | sed 's/\.recipe$//' |
		grep -v external) ;;
	*) recipes=$FEATURES ;;
	esac
}

# each_recipe COMMAND: makes an image of each recipe in tests/recipes/features, or
# of the recipes in $FEATURES, and runs COMMAND.  $what is the recipe's name;
# $protection has the options that e4repack requires.  COMMAND increments $images.
# Without --full, every third recipe is used, from number $third (see in_third).
third=1
each_recipe() {
	images=0 recipes=0
	for recipe in "$top_srcdir"/tests/recipes/features/*.recipe; do
		what=${recipe##*/} what=${what%.recipe}
		recipes=$((recipes + 1))
		in_third $recipes $third || continue
		case " ${FEATURES:-$what} " in
		*" $what "*) ;;
		*) continue ;;
		esac
		case $what in
		no-journal | ext2) protection=--no-undo ;;
		*) protection='' ;;
		esac
		check "$top_builddir/tests/tools/mkaged" "$recipe" "$img"
		"$1"
	done
	[ "$images" != 0 ] || fail "no such recipe: $FEATURES"
}
