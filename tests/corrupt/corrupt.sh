#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reading tools neither crash nor hang on the corpus of corruptions, and e2fsck
# -fn and e4check agree except for the cases in verdicts.tsv, which has the
# right verdict and the reason. Most cases are judged by the program judge,
# which runs e4check on many images in one process: fast enough for sanitizers.
#
# E4L_CORRUPT_EACH: number of cases of each field of each structure (1); 0: all
# 	cases, which takes half an hour
# E4L_CORRUPT_PART: if N, one in N of these cases, of the cases for writing tools
# 	and of the truncated images is tested (1)
# E4L_CORRUPT_RANDOM: number of random cases per image (10)
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs prlimit /usr/bin/python3

part=${E4L_CORRUPT_PART:-1}
judge="$top_builddir/tests/corrupt/judge --threads 4"
corpus() {
	run /usr/bin/python3 "$top_srcdir/tests/corrupt/run" \
		--jobs "$(nproc)" --keep "$work/verdicts" "$@" "$top_builddir"
}

# program NAME COMMAND: makes a program that runs COMMAND with its $1.
program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
	chmod +x "$work/$1"
}

# fails_with REGEX: fails unless the last corpus failed with output that matches.
fails_with() {
	[ "$status" = 1 ] && grep -Eq -e "$1" "$out" && return
	show_run
	fail "not seen: $1"
}

# shellcheck disable=SC2016
program crashes 'e2fsck -fn "$1" >/dev/null 2>&1 || kill -SEGV $$'
corpus --base default --only 'super 0: s_magic' --tool "it=$work/crashes"
fails_with '^CRASH it: '
# One case in PART * PART is run, because each case starts two processes.
corpus --each 1 --part $((part * part)) \
	--tool "e4frag=$e4frag --quiet" \
	--tool "e4repack=$e4repack -n --no-undo"
cat "$out"
[ "$status" = 0 ] || fail "one of them crashes or hangs"
count=$(sed -n 's/ cases in all$//p' "$out")
for page in doc/check.md tests/README.md; do
	grep -q -e "$count c" "$top_srcdir/$page" ||
		fail "$page does not say that there are $count cases"
done

# doc/check.md has the table of verdicts.tsv.
corpus --doc
[ "$(sed -n '/^| images /,/^$/p' "$top_srcdir/doc/check.md" |
	grep '^|')" = "$(cat "$out")" ] ||
	fail "doc/check.md has another table than verdicts.tsv"

# The corpus detects a checker that finds no errors, and a checker that always
# reports errors.
corpus --base default --only 'super 0: s_magic' --e4check true
fails_with '[1-9][0-9]* disagreed'
# shellcheck disable=SC2016
program harsh 'dumpe2fs -h "$1" 2>&1 | grep -q "name: *<none>" || exit 4'
corpus --base default --only 'super 0: s_volume_name' --e4check "$work/harsh"
fails_with '[1-9][0-9]* disagreed'

# A judge that crashes, and a judge that exits with an error, are detected.
# shellcheck disable=SC2016
program dies 'read -r image; echo exit 0; ! read -r image || kill -SEGV $$'
corpus --base default --only 'super 0: s_magic' --judge "$work/dies"
fails_with '^CRASH e4check: '
# shellcheck disable=SC2016
program leaks 'n=0
while read -r image; do n=$((n + 1)); echo exit 0; done
[ $n = 1 ] || { echo SUMMARY: a leak; exit 23; }'
corpus --base default --only 'super 0: s_magic' --judge "$work/leaks"
fails_with '^CRASH e4check: .*: a leak$'

corpus --each "${E4L_CORRUPT_EACH:-1}" --part "$part" --judge "$judge"
cat "$out"
[ "$status" = 0 ] || fail "the two disagree, or one of them crashed"

# Random cases of the images of bases/, and of images that all installed programs
# that write ext4 have made.
mkdir "$work/images"
"$top_srcdir/tests/corrupt/writers/make" "$top_builddir" "$work/images"
corpus --random "${E4L_CORRUPT_RANDOM:-10}" --images "$work/images" \
	--judge "$judge"
cat "$out"
[ "$status" = 0 ] || fail "the two disagree on a random case"

# Each case damages the index of a directory: an index at an offset that is not
# aligned; a directory whose last block is extremely distant; an index that one
# thread drops while another thread reads the index.
corpus --part "$part" --judge "$judge" --base default --base block-4k \
	--only '^default .* htree-root .*: info_length=max ' \
	--only '^block-4k .* extent .*: ee_block=sign ' \
	--only '^default .* htree-node '
cat "$out"
[ "$status" = 0 ] || fail "one of those that were wrong once"

# Writing tools refuse filesystems that e2fsck finds unclean, and leave clean
# filesystems clean.
corpus --each 1 --part "$part" --writers 20
cat "$out"
[ "$status" = 0 ] || fail "one of them wrote what it must not"
grep -q '[1-9][0-9]* unclean e4repack refused' "$out" || fail "nothing refused"
grep -q '[1-9][0-9]* clean e4repack wrote' "$out" || fail "nothing written"
grep -q '[1-9][0-9]* unclean mke4fs --skip-damaged copied' "$out" ||
	fail "nothing copied"

# Truncated images of various sizes are checked.
corpus --part "$part" --truncate
cat "$out"
[ "$status" = 0 ] || fail "the two disagree on truncated images"
