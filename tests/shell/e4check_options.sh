#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every option has its documented effect; every wrong option is refused with
# exit status 16.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

img=$work/img
mke2fs -qq -F -t ext4 -U 00000000-0000-4000-8000-000000000001 "$img" 8M \
	>/dev/null

documented "$e4check" e2fsck/e4check.8 layout-only no-layout max-findings= \
	threads= json quiet verbose progress= help version

for options in '' --layout-only --no-layout '--max-findings 3' '--max-findings 0' \
	--threads=1 '--threads 7' --quiet '-q -v' --progress=never --progress=auto \
	--json '--json --no-layout'; do
	# shellcheck disable=SC2086
	check "$e4check" $options "$img"
	case $options in
	*-v*) says '^e4check: .*: read .* in [0-9,]* requests' ;;
	*) [ ! -s "$err" ] || fail "$options: prints on stderr" ;;
	esac
	case $options in
	*-q* | *--json*) [ ! -s "$out" ] || fail "$options: unexpected output" ;;
	*) [ "$(wc -l <"$out")" = 1 ] || fail "$options: not a summary" ;;
	esac
done
check "$e4check" --progress=always "$img"
says '^inodes \[#* *\] *[0-9]* %  (.*/s  )?[-0-9:]* left$'
check "$e4check" --progress=always --quiet "$img"
[ ! -s "$err" ] || fail "--quiet shows progress"

# Options of fsck are ignored, unless they ask for changes.
check "$e4check" "$img"
cp "$out" "$work/plain"
for options in -n -f '-fn' '-C 3' '-n -f -C 3'; do
	# shellcheck disable=SC2086
	check "$e4check" $options "$img"
	cmp "$work/plain" "$out" || fail "$options: the output differs"
done
check "$e4check" -n -C 0 "$img"
says '^inodes \[#* *\] *[0-9]* %'
for option in -p -y; do
	mustfail 16 "$e4check" "$option" "$img"
	says "^e4check: -p and -y .* e2fsck -p or e2fsck -fy $img$"
done

wrong() {
	mustfail 16 "$e4check" "$@"
	says '^e4check: .'
}
wrong
wrong --nosuch "$img"
wrong -x "$img"
wrong --threads "$img"
wrong --threads=0 "$img"
wrong --threads=65 "$img"
wrong --max-findings= "$img"
wrong --max-findings=-1 "$img"
wrong --max-findings=1x "$img"
wrong --max-findings=99999999999999999999 "$img"
wrong --progress=maybe "$img"
wrong --json=yes "$img"
wrong --layout-only --no-layout "$img"

# The image has a finding of each severity: an error, a warning, and a
# fragmented file.
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
check debugfs -w -R 'set_inode_field /split links_count 3' "$img"
check debugfs -w -R 'set_super_value free_blocks_count 7' "$img"
run "$e4check" "$img"
same "exit code" "$status" 4
sed 's/:.*//' "$out" | uniq | head -n 3 >"$work/order"
same "order" "$(tr '\n' ' ' <"$work/order")" "error warning layout "
tail -n 1 "$out" >"$work/sum"
grep -q ': 1 error, 1 warning, [0-9]* layout problems$' \
	"$work/sum" || fail "the summary is $(cat "$work/sum")"
grep -q "^to fix: e2fsck -fy $img$" "$out" || fail "not reported: e2fsck -fy"
grep -q "^to fix: e4repack $img$" "$out" || fail "not reported: e4repack"

# The most severe findings are listed, and all findings are counted.
run "$e4check" --max-findings 2 "$img"
same "exit code" "$status" 4
same "findings shown" "$(grep -c '^[a-z]*: [a-z-]*,*' "$out")" 2
grep -q '^error: inode-links, inode ' "$out" || fail "not the worst first"
same "summary" "$(tail -n 1 "$out")" "$(cat "$work/sum")"
run "$e4check" --max-findings=0 --quiet "$img"
same "exit code" "$status" 4
[ ! -s "$out" ] || fail "--max-findings=0 shows some"

check "$e4check" --layout-only "$img"
! grep -Eq '^(error|warning):' "$out" || fail "--layout-only tells more"
grep -q '^layout: fragmented, inode [0-9]* (/data/broken): .* 3 fragments, ' \
	"$out" || fail "--layout-only does not tell"
run "$e4check" --no-layout "$img"
same "exit code" "$status" 4
! grep -q '^layout:' "$out" || fail "--no-layout: the output has layout findings"
grep -q '^error:' "$out" || fail "--no-layout does not tell of errors"

# The findings do not depend on the number of threads.  One image has directory
# blocks for all threads, so that a sanitizer detects races.
mkdir "$work/tree"
(cd "$work/tree" && seq 2000 | xargs mkdir)
mke2fs -qq -F -t ext4 -d "$work/tree" "$work/dirs" 32M
same_findings() {
	run "$e4check" --threads=1 "$1"
	one=$status
	cp "$out" "$work/one"
	run "$e4check" --threads=8 "$1"
	same "exit code with threads" "$status" "$one"
	cmp "$work/one" "$out" || fail "other findings with threads"
}
same_findings "$img"
for _ in $(seq 10); do
	same_findings "$work/dirs"
done

# The reader of the output exits early, or the disk of the output is full.
if [ -w /dev/full ]; then
	for option in -v --json; do
		run sh -c '"$1" "$2" "$3" >/dev/full' - "$e4check" "$option" \
			"$img"
		[ "$status" = 8 ] || fail "exit $status when stdout is full"
		says 'standard output: cannot write: No space left'
	done
fi
