#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What --json prints is what doc/schema says; what is left alone is listed with
# its reason, and counted by reason in the report for people.
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

options="--exclude=/a"
for extra in -n ''; do
	# shellcheck disable=SC2086
	repack $extra $options "$img"
	valid $extra
	same "skipped" "$(/usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))["files_skipped"]
print(*sorted((s["inode"], s["why"]) for s in d))' "$work/.report")" \
		"$(for file in '/a/excluded excluded' '/a/too excluded' \
			'/immutable immutable (--move=immutable)' \
			'/indirect indirect-mapped' \
			'/swap a swap file (--move=swap)'; do
			echo "$(inode "${file%% *}"), '${file#* }'"
		done | sort -n | sed 's/.*/(&)/' | paste -sd' ')"
	same planned "$(report files_planned)" 2
done
# shellcheck disable=SC2086
check "$e4repack" $options "$img"
grep -q '^Left alone: 2 files, 58 extents: excluded$' "$out" ||
	{ show_run; fail "two are excluded"; }
grep -q ': nothing can be done as things are$' "$out" ||
	{ show_run; fail "nothing to repair, but for what is left alone"; }
repack --move=immutable,swap "$img"
valid
reported 'files_planned 4' 'files_done 4'
same "indirect" "$(json "$work/.report" '[f["why"] for f in
	d["files_skipped"]], d["target"], d["dry_run"], d["stopped"],
	d["planned"]["files"]')" "(['indirect-mapped'], '$img', False, False, 4)"
clean "$img"

# PATHs restrict
aged "$img" <"$recipe"
repack "$img" /a /db
reported 'files_planned 3'
repack --exclude=a/too "$img" /a /other
reported 'files_planned 1'

# the tunable that the filesystem keeps
aged "$img" <"$recipe"
check "$tune4fs" -E extent_max_zeroout_kb=0 "$img"
repack -n --only=zeroout "$img"
reported 'files_planned 0'
repack -n --only=zeroout --zeroout=4K "$img"
reported 'files_planned 1' 'bytes_zeroed 2097152'
