#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The upper bounds of a repack's savings that e4frag reports are not below the
# savings that e4repack -n plans, and e4frag computes no plan.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs /usr/bin/python3

img=$work/img

# bounds WHAT [PATH...]: fails if e4repack -n plans to save more than e4frag's
# upper bounds for $img.
bounds() {
	what=$1
	shift
	check "$e4repack" -n --inodes --json "$img" "$@"
	cp "$out" "$work/plan"
	check "$e4frag" --json "$img" "$@"
	/usr/bin/python3 - "$work/plan" "$out" <<-'PYTHON' || fail "$what: bounds"
	import json, sys
	plan, report = (json.load(open(name)) for name in sys.argv[1:])
	was, now, most = plan['before'], plan['after'], report['repack']
	saved = {key: was[key] - now[key] for key in
	         ('extents', 'fragments', 'tree_blocks', 'free_extents')}
	bad = [f'{key}: {n} are planned, and {most[key]} are the most'
	       for key, n in saved.items() if n > most[key]]
	if plan['planned']['files'] and not most['files'] and \
	   saved['fragments'] > 0:
	    bad.append('files')
	if bad:
	    sys.exit('\n'.join(bad))
	PYTHON
}

# prints PATTERN: fails unless the last output has a matching line.
prints() {
	grep -qE "$1" "$out" || { cat "$out"; fail "not printed: $1"; }
}

for recipe in sample features/default features/bigalloc features/block-1k \
	features/encrypt features/indirect features/inline-data \
	features/no-csum features/quota features/verity; do
	(cd "$top_srcdir/tests/recipes" &&
		"$top_builddir/tests/tools/mkaged" $recipe.recipe "$img") \
		>/dev/null || fail "mkaged cannot make $recipe"
	bounds "$recipe"
	bounds "$recipe, one directory" /
done
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
bounds "layout.recipe"
bounds "two paths" /data/old /data/broken
check "$e4frag" "$img" /data/old /data/broken
prints '^A repack would save at most \(exact plan: e4repack -n\)$'
[ "$(wc -L <"$out")" -le 80 ] || fail "the report is wider than 80 columns"
check "$e4frag" "$img" /none
prints '^A repack would save nothing$'

# The report has at most as many directory blocks as --only=directories saves.
aged "$img" <<'END'
size 64M
mke2fs -b 1024
many /d count 900 name a-name-that-takes-room-
delete /d percent 90
END
check "$e4repack" -n --json --only=directories "$img"
saved=$(json "$out" 'd["before"]["directory_blocks"] -
	d["after"]["directory_blocks"]')
check "$e4frag" --json "$img"
spare=$(json "$out" 'd["repack"]["directories"]["spare_blocks"]')
{ [ "$spare" -gt 0 ] && [ "$spare" -le "$saved" ]; } ||
	fail "$spare spare, and $saved are saved"
check "$e4frag" "$img"
prints "^  dir blocks  *$spare   of [0-9]* in sparse directories\$"

aged "$img" <<'END'
size 64M
mke2fs -b 1024
many /d count 900 name a-name-that-takes-room-
many /e count 5 name a-name-that-takes-room-
END
check "$e4frag" "$img"
prints '^  linear dirs  *1   large directory without an index$'
check "$e4repack" -q --only=directories "$img"
check "$e4frag" --json "$img"
same 'left' "$(json "$out" 'd["repack"]["directories"]["linear"]')" 0

# With enough free inodes, --only=inodes saves the inode-table blocks that
# e4frag reports.
aged "$img" <<'END'
size 64M
mke2fs -b 1024 -N 8000
tree /t dirs 20 files 40
END
check "$e4frag" --json "$img"
spare=$(json "$out" 'd["repack"]["directories"]["spread"]["spare_itable_blocks"]')
check "$e4frag" "$img"
prints "^  itable blocks  *$spare   of [0-9,]*, only with --inodes\$"
check "$e4repack" --json --only=inodes "$img"
same "itable blocks" "$(json "$out" 'd["before"]["itable_blocks"] -
	d["after"]["itable_blocks"]')" "$spare"

# The report names damaged structures, and counts everything else.
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
blk=$(debugfs -R 'ex /data/deep/tree' "$img" 2>/dev/null |
	awk '$1 == "0/" { print $8; exit }')
dd if=/dev/zero of="$img" bs=4096 seek="$blk" count=1 conv=notrunc status=none
check "$e4frag" "$img"
prints "^Before a repack, repair the damage: e2fsck -f $img\$"
