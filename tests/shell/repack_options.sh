#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every option is accepted, and every wrong option is refused with exit status
# 2.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

mke2fs -qq -F -t ext4 "$img" 16M >/dev/null
debugfs -w -R "mkdir d" "$img" >/dev/null 2>&1

documented "$e4repack" misc/e4repack.8 dry-run inodes only= all no-move \
	free-run= zeroout= zeroout-budget= \
	max-bytes= max-time= min-excess= mem= exclude= move= renumber-anyway \
	map undo-file= no-undo verify json quiet verbose progress= help version

for options in '' -n --dry-run --inodes --all --no-move --free-run=4M \
	--only=trees --only=trees,files,directories,free,inodes \
	--zeroout=1M --zeroout=off '--zeroout 0' --zeroout-budget=64M \
	--zeroout=1.5MB --zeroout-budget=10% --max-bytes=2.5% --mem=10% \
	--max-bytes=1G --max-time=3600 --min-excess=7 --mem=1M --mem=0 \
	--move=immutable \
	--move=swap,immutable '--exclude=/lost+found --exclude lost+found' \
	--no-undo --verify --quiet '-q -v' --progress=never --json '-n --json'; do
	# shellcheck disable=SC2086
	check "$e4repack" $options "$img"
	case $options in
	*' -v'*) says '^e4repack: .*: read .* in [0-9,]* requests' ;;
	*) [ ! -s "$err" ] || fail "$options: prints on stderr" ;;
	esac
	case $options in
	*--json*) grep -q '"schema": "e4repack/1"' "$out" ;;
	*-q*) [ ! -s "$out" ] ;;
	*) grep -q ': nothing to do$' "$out" ;;
	esac || fail "$options: not the report"
done
check "$e4repack" --progress=always "$img"
says '^planning \[#* *\] *[0-9]* %  (.*/s  )?[-0-9:]* left$'
COLUMNS=30 check "$e4repack" --progress=always "$img"
[ "$(wc -L <"$err")" -lt 30 ] || fail "the progress is too wide"
check "$e4repack" --progress=always --quiet "$img"
[ ! -s "$err" ] || fail "--quiet shows progress"
check "$e4repack" "$img" /lost+found

wrong() {
	mustfail 2 "$e4repack" "$@"
	says '^e4repack: .'
	says "^Try 'e4repack --help'\.$"
	[ "$(wc -l <"$err")" = 2 ] || fail "not one sentence and a hint: $*"
}
wrong
wrong --nosuch "$img"
wrong --only= "$img"
wrong --only=beauty "$img"
wrong --only=trees,beauty "$img"
wrong --zeroout=on "$img"
wrong --zeroout=-1 "$img"
wrong --zeroout-budget=off "$img"
wrong --max-bytes=much "$img"
wrong --max-bytes=101% "$img"
wrong --zeroout=1% "$img"
wrong --max-time=0 "$img"
wrong --max-time=1h "$img"
wrong --min-excess=few "$img"
wrong --mem=little "$img"
wrong --mem=-1 "$img"
wrong --keep=swap "$img"
wrong --move=everything "$img"
# --only does not accept these words.
for word in merge zeroout move room dirs index; do
	wrong --only=$word "$img"
done
wrong --exclude
wrong -z
mustfail 2 "$e4repack" --only=files --free-run=1M "$img"
one_sentence e4repack
says "^e4repack: --free-run requires the word 'free' in --only$"
mustfail 2 "$e4repack" --no-move --free-run=1M --only=trees,free "$img"
one_sentence e4repack
says '^e4repack: --no-move and --free-run cannot be given together$'
mustfail 2 "$e4repack" --only=files --renumber-anyway "$img"
one_sentence e4repack
says '^e4repack: --renumber-anyway requires --inodes$'

for path in /none /d/none; do
	mustfail 1 "$e4repack" "$img" "$path"
	one_sentence e4repack
	says "^e4repack: $img: $path: no such file"
	mustfail 1 "$e4repack" --exclude="$path" "$img"
	one_sentence e4repack
	says "^e4repack: $img: $path: no such file"
done

if [ -w /dev/full ]; then
	run sh -c '"$1" --json "$2" >/dev/full' - "$e4repack" "$img"
	[ "$status" = 1 ] || fail "exit $status when stdout is full"
	says 'standard output: cannot write: No space left'
fi
