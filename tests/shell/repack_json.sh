#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The output of --json agrees with doc/schema. Skipped files are listed with the
# reason, and counted by reason in the text report.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null ||
	skip "no python3-jsonschema"

valid() {
	/usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4repack-1.json" "$work/.report" ||
		fail "$*: not valid"
}

recipe=$work/recipe
cat >"$recipe" <<'END'
size 64M
mosaic /db size 4M written 4K unwritten 4K
scatter /a/excluded frags 30 blocks 2
scatter /a/too frags 30 blocks 2
scatter /immutable frags 30 blocks 2 flags immutable
scatter /indirect frags 30 blocks 2 indirect
scatter /swap frags 30 blocks 4
scatter /other frags 30 blocks 2
END
aged "$img" <"$recipe"
inode() {
	debugfs -R "stat $1" "$img" 2>/dev/null |
		sed -n 's/^Inode: \([0-9]*\) .*/\1/p'
}
block=$(debugfs -R "bmap /swap 0" "$img" 2>/dev/null)
printf SWAPSPACE2 | dd of="$img" bs=1 conv=notrunc status=none \
	seek=$((block * 4096 + 4086))

options='--exclude=/a --only=files,trees,directories'
for extra in -n ''; do
	# shellcheck disable=SC2086
	repack $extra $options "$img"
	valid $extra
	same "skipped" "$(/usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))["skipped_inodes"]
print(*sorted((s["inode"], s["reason"]) for s in d))' "$work/.report")" \
		"$(for file in '/a/excluded excluded' '/a/too excluded' \
			'/immutable immutable' \
			'/indirect block-mapped' \
			'/swap swap'; do
			echo "$(inode "${file%% *}"), '${file#* }'"
		done | sort -n | sed 's/.*/(&)/' | paste -sd' ')"
	same planned "$(report planned.files)" 2
done
# shellcheck disable=SC2086
check "$e4repack" $options "$img"
grep -q '^Skipped: 2 files (58 extents): excluded by --exclude$' "$out" ||
	{ show_run; fail "two are excluded"; }
repack --move=immutable,swap --only=files,trees,directories "$img"
valid
reported 'planned.files 4' 'done.files 4'
same "indirect" "$(json "$work/.report" '[f["reason"] for f in
	d["skipped_inodes"]], d["target"], d["dry_run"], d["stopped"],
	d["failed"]')" "(['block-mapped'], '$img', False, False, False)"
clean "$img"

# PATHs restrict the run to files and subtrees.
aged "$img" <"$recipe"
repack "$img" /a /db
reported 'planned.files 3'
repack --exclude=a/too "$img" /a /other
reported 'planned.files 1'

# the tunable that the filesystem stores is the default of --zeroout
aged "$img" <"$recipe"
check "$tune4fs" -E extent_max_zeroout_kb=0 "$img"
repack -n --only=trees "$img"
reported 'planned.files 0'
repack -n --only=trees --zeroout=4K "$img"
reported 'planned.files 1' 'cost.bytes_zeroed 2097152'
