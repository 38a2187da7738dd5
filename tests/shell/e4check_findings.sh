#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The table of findings agrees with the manual page. Each layout finding is
# reported at its place and nowhere else. --json agrees with doc/schema.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs e2fsck /usr/bin/python3

table=$top_srcdir/lib/e4layout/check/findings.def
img=$work/img

manual() {
	/usr/bin/python3 "$top_srcdir/e2fsck/findings-man" --check "$1" \
		"$top_srcdir/e2fsck/e4check.8"
}
manual "$table" ||
	fail "e4check.8 has another table: run e2fsck/findings-man"
! grep -q '^\.SS SPDX' "$top_srcdir/e2fsck/e4check.8" ||
	fail "a licence is a section of e4check.8"
sed 's/has no directory entry"/has no name"/' "$table" \
	>"$work/findings.def"
! manual "$work/findings.def" || fail "a wrong table is accepted"
same "codes" "$(grep -o '^FINDING([A-Z_0-9]*, "[^"]*"' "$table" |
	sed 's/.*"\(.*\)"/\1/' | sort | uniq -d)" ""

# found CODE: fails unless the findings contain CODE.
found() {
	grep -q "^layout: $1, " "$out" && return
	show_run
	fail "not found: $1"
}

# only CODE SENTENCE: fails unless CODE is the only layout finding and e2fsck
# finds no errors.
only() {
	sound "$img"
	check "$e4check" --layout-only "$img"
	sed -n 's/^layout: \([a-z-]*\), .*/\1/p' "$out" | sort -u |
		tr '\n' ' ' >"$work/codes"
	[ "$(cat "$work/codes")" = "$1 " ] || {
		show_run
		fail "found: $(cat "$work/codes"), not $1"
	}
	grep -q -e "$2" "$out" || { show_run; fail "missing in the output: $2"; }
}

# fixed: fails unless the commands of "to fix:" remove all findings.
fixed() {
	sed -n 's/^to fix: e4repack *\(.*\) [^ ]*$/\1/p' "$out" >"$work/how"
	# shellcheck disable=SC2046
	check "$e4repack" -q $(cat "$work/how") "$img"
	sound "$img"
	check "$e4check" "$img"
	! grep -q '^layout:' "$out" || { show_run; fail "not fixed"; }
}

aged "$img" <<'END'
size 32M
file /a extents 0+8w@5000 8+8w@5008
END
only extents-mergeable '(/a): 1 pair of adjacent extents can be merged$'
fixed

aged "$img" <<'END'
size 32M
file /a extents 0+8w@5000 8+8u@5008 16+8w@5016 24+8u@5024 32+8w@5032 depth 0
END
check "$e4check" --layout-only "$img"
found unwritten-mosaic
grep -q '(/a): 4 extents are contiguous, .*' \
	"$out" || fail "does not count the splits"
grep -q "^to fix: e4repack --only=trees $img$" "$out" ||
	fail "not reported: zeroing"
check "$e4repack" -q --zeroout=1M "$img"
sound "$img"
check "$e4check" --layout-only "$img"
! grep -q '^layout:' "$out" || { show_run; fail "not fixed"; }

# A file whose start is written and whose end is preallocated has no finding.
aged "$img" <<'END'
size 32M
file /a extents 0+8w@5000 8+8u@5008
END
check "$e4check" --layout-only "$img"
! grep -q '^layout:' "$out" || { show_run; fail "a preallocated tail"; }

aged "$img" <<'END'
size 32M
file /a extents 0+8w@5000 8+8w@5100
file /holey extents 0+4w@5200 100+4w@5300
END
check "$e4check" --layout-only "$img"
found fragmented
grep -q '(/a): .* 2 fragments, .* 1$' "$out" ||
	fail "does not count fragments"
! grep -q '(/holey)' "$out" || fail "a hole alone fragments nothing"
fixed

aged "$img" <<'END'
size 32M
file /a extents 0+8w@5000 8+8w@5008 16+8w@5016 24+8w@5024 32+8w@5032 depth 1
END
check "$e4check" --layout-only "$img"
found tree-not-minimal
grep -q '(/a): .* 1 extent tree block, .* 0$' "$out" ||
	fail "does not count tree blocks"
fixed

aged "$img" <<'END'
size 32M
file /a extents 0+8w@5000 isize 28672
END
check "$e4check" --layout-only "$img"
found stale-past-eof

# Thirty files have inodes in different blocks of the inode table.
{
	echo 'size 32M'
	for n in $(seq 30); do
		echo "file /far/$n size 1 inode $((100 + 20 * n))"
	done
} >"$work/recipe"
aged "$img" <"$work/recipe"
only directory-spread '(/far): the inodes of the directory occupy '
grep -q "^to fix: e4repack --only=inodes $img" "$out" ||
	fail "not reported: --only=inodes"

# Control characters in a name are escaped; each object of JSON has the escaped
# name.
odd=$(printf '%s/e\033[31m' "$work")
cp "$img" "$odd"
check "$e4check" --layout-only "$odd"
for line in '^to fix: e4repack --only=inodes .*/e.x1b\[31m.$' \
	'/e.x1b\[31m: 1 layout problem$'; do
	grep -q "$line" "$out" || { show_run; fail "no line $line"; }
done
check "$e4check" --json --layout-only "$img" "$odd"
python3 -c 'import json, sys
named = [json.loads(line)["target"] for line in open(sys.argv[1])]
sys.exit(named != sys.argv[2:])' "$out" "$img" "$odd" ||
	{ show_run; fail "targets"; }

# Findings that cannot be fixed because of the feature stable_inodes are not
# reported.
check debugfs -w -R 'feature stable_inodes' "$odd"
check "$e4check" --layout-only "$odd"
! grep -q '^layout:' "$out" || { show_run; fail "a finding without a possible repair is reported"; }
check "$e4frag" "$odd"
! grep -q 'only=inodes' "$out" || { show_run; fail "--only=inodes is refused"; }
rm "$odd"
{
	echo 'size 32M'
	for n in $(seq 30); do echo "file /near/$n size 1"; done
} >"$work/recipe"
aged "$img" <"$work/recipe"
check "$e4check" --layout-only "$img"
! grep -q '^layout:' "$out" || { show_run; fail "side by side"; }

# e4repack --only=inodes fixes the finding directory-spread.
aged "$img" <<'END'
size 32M
mke2fs -b 1024 -N 4000
tree /t dirs 9 files 40
END
check "$e4check" --layout-only "$img"
found directory-spread
check "$e4repack" -q --only=inodes "$img"
check "$e4check" --layout-only "$img"
! grep -q '^layout: directory-spread' "$out" || { show_run; fail "not fixed"; }

# One directory has lost most of its names, and another directory is too large
# for the linear form.
aged "$img" <<'END'
size 32M
mke2fs -b 1024 -N 4000
many /d count 400 name a-name-that-takes-room-
delete /d percent 95
END
check "$e4check" --layout-only "$img"
found directory-sparse
grep -q '(/d): .* [0-9]* blocks, .* [0-9]*$' "$out" ||
	fail "does not count a directory's blocks"
grep -q "^to fix: e4repack --only=directories $img" "$out" ||
	fail "not reported: --only=directories"
check "$e4repack" -q --only=directories "$img"
check "$e4check" --layout-only "$img"
! grep -q '^layout: directory-[^s]*sparse' "$out" || { show_run; fail "not fixed"; }

aged "$img" <<'END'
size 32M
mke2fs -b 1024 -N 4000
many /linear count 400 name a-name-that-takes-room-
END
check "$e4check" --layout-only "$img"
found directory-linear
check "$e4repack" -q --only=directories "$img"
check "$e4check" --layout-only "$img"
! grep -q '^layout: directory-linear' "$out" ||
	{ show_run; fail "not fixed"; }

# A tunable has an invalid value, as another program could have stored it.
rm -f "$img"
mke2fs -qq -F -t ext4 "$img" 16M >/dev/null
check debugfs -w -R \
	'ea_set <2> trusted.ext4.tunables dir_ireserve=nonsense' "$img"
only tunables 'inode 2 (/): the stored tunables'
sed -n 's/^to fix: tune4fs \(.*\) [^ ]*$/\1/p' "$out" >"$work/how"
# shellcheck disable=SC2046
check "$tune4fs" -q $(cat "$work/how") "$img"
check "$e4check" "$img"
! grep -q '^layout:' "$out" || { show_run; fail "not fixed"; }

# the output of --json agrees with doc/schema
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null ||
	skip "no python3-jsonschema"
valid() {
	check /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/e4check-1.json" "$1" lines
}
echo '{"schema": "e4check/1"}' >"$work/lines"
mustfail 1 /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
	"$top_srcdir/doc/schema/e4check-1.json" "$work/lines" lines
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
check debugfs -w -R 'set_inode_field /split links_count 3' "$img"
check debugfs -w -R 'set_super_value free_blocks_count 7' "$img"
check debugfs -w -R 'set_bg 0 checksum 1' "$img"
run "$e4check" --json "$img"
same "exit code" "$status" 4
cp "$out" "$work/lines"
valid "$work/lines"
run "$e4check" --quiet "$img"
same "lines" "$(wc -l <"$work/lines")" "$(wc -l <"$out")"
same "the first" "$(head -n 1 "$work/lines" | /usr/bin/python3 -c '
import json, sys
d = json.loads(sys.stdin.readline())
print(d["severity"], d["code"], d["path"], d["group"], d["peer"], d["fix"])
')" 'error inode-links /split None PR_4_BAD_REF_COUNT e2fsck -fy'
