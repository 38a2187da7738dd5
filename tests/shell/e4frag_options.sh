#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every option is accepted, and every wrong option is refused with exit status
# 2.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs

img=$work/img
mke2fs -qq -F -t ext4 "$img" 8M >/dev/null

documented "$e4frag" misc/e4frag.8 files prometheus dirs map html= compare= groups \
	top= sort= min-extents= json \
	quiet verbose progress= help version

for options in '' --groups --dirs --map '--top 3' '--top=0' \
	'--sort=excess' '--sort extents' \
	'--sort=fragments' '--sort=size' '--min-extents=7' --quiet '-q -v' \
	--progress=never --progress=auto --json --files '--files --json' \
	--files=json --files=table '--files=table -q'; do
	# shellcheck disable=SC2086
	check "$e4frag" $options "$img"
	case $options in
	*-v*) says '^e4frag: .*: read .* in [0-9,]* requests' ;;
	*) [ ! -s "$err" ] || fail "$options: prints on stderr" ;;
	esac
	case $options in
	*table*) [ -s "$out" ] ;;
	*-q*) [ ! -s "$out" ] ;;
	*) [ -s "$out" ] ;;
	esac || fail "$options: not the report"
done
check "$e4frag" --progress=always "$img"
says '^scanning \[#* *\] *[0-9]* %  (.*/s  )?[-0-9:]* left$'
check "$e4frag" --progress=always --quiet "$img"
[ ! -s "$err" ] || fail "--quiet shows progress"

wrong() {
	mustfail 2 "$e4frag" "$@"
	says '^e4frag: .'
	says "^Try 'e4frag --help'\.$"
	[ "$(wc -l <"$err")" = 2 ] || fail "not one sentence and a hint: $*"
}
wrong
wrong --nosuch "$img"
wrong -x "$img"
wrong -n 3 "$img"
wrong --top "$img"
wrong --top= "$img"
wrong --top=-1 "$img"
wrong --top=1x "$img"
wrong --top=99999999999999999999 "$img"
wrong --min-extents=many "$img"
wrong --files=list "$img"
wrong --sort=beauty "$img"
wrong --progress=maybe "$img"
wrong --json=yes "$img"
wrong "$img" --sort

# Standard output is closed, full, or a pipe without a reader.
no_output() {
	[ "$status" = 1 ] || fail "exit $status when stdout is $1"
	says "^e4frag: standard output: cannot write: $2"
	one_sentence e4frag
}
aged "$img" <<'END'
mke2fs -b 1024
many /m count 500 size 1K
END
for options in '' --json --files --help; do
	run sh -c '"$1" $3 "$2" >&-' - "$e4frag" "$img" "$options"
	no_output closed 'Bad file'
	if [ -w /dev/full ]; then
		run sh -c '"$1" $3 "$2" >/dev/full' - "$e4frag" "$img" "$options"
		no_output full 'No space left'
	fi
done
run sh -c 'trap "" PIPE; { "$1" --files "$2"; echo $? >"$3"; } | :' - \
	"$e4frag" "$img" "$work/status"
status=$(cat "$work/status")
no_output "a pipe without a reader" 'Broken pipe'
