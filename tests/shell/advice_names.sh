#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that messages recommend can be pasted into bash for a target of any
# name.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs e2fsck bash gzip

cd "$work"
mkdir names
mke2fs -qq -F -t ext4 sound.img 4M >/dev/null
cp sound.img damaged.img
debugfs -w -R 'ssv free_blocks_count 1' damaged.img 2>/dev/null
debugfs -w -R 'clri <11>' damaged.img 2>/dev/null
cp sound.img errors.img
debugfs -w -R 'ssv error_count 1' errors.img 2>/dev/null
cd names

# pasted NAME: runs the command of standard input in bash; neither another
# command nor another file is involved.
pasted() {
	bash -s </dev/stdin >"$work/ran" 2>&1 || :
	[ "$(printf '%s' ./*)" = "./$1" ] || {
		cat "$work/ran"
		ls
		fail "$1: other files"
	}
}

# given NAME: prints the argument that names the file NAME.
given() {
	case $1 in
	-*) printf './%s' "$1" ;;
	*) printf '%s' "$1" ;;
	esac
}

try() {
	name=$1
	cp "$work/damaged.img" "./$name"
	run "$e4check" "$(given "$name")"
	[ "$status" = 4 ] || { show_run; fail "$name: exit status $status"; }
	sed -n 's/^to fix: //p' "$out" >"$work/command"
	same "$name: commands" "$(wc -l <"$work/command")" 1
	pasted "$name" <"$work/command"
	check "$e4check" --no-layout "$(given "$name")"

	cp "$work/errors.img" "./$name"
	mustfail 1 "$e4repack" "$(given "$name")"
	sed -n 's/.*: run \(e2fsck -f .*\)/\1/p' "$err" >"$work/command"
	same "$name: commands" "$(wc -l <"$work/command")" 1
	sed 's/e2fsck -f/e2fsck -fy/' "$work/command" | pasted "$name"
	check "$e4repack" "$(given "$name")"
	rm "./$name"
}

try plain.img
same 'a plain name' "$(cat "$work/command")" 'e2fsck -f plain.img'
# shellcheck disable=SC2016
for name in 'a b.img' 'x;touch PWN.img' "it's" "it's\\" '-y' '*.img' \
	'$(touch PWN)' 'back\n' '~root' '#x' '"x"' 'x>y' '=ls' '[a].img' \
	'w?offset=0' 'a?b' 'grün' "$(printf 'line\nbreak')" \
	"$(printf 'escape\033[1m0')" "$(printf 'a\377b')" \
	"$(printf "tab\t'\\\\x41")"; do
	try "$name"
done

# Each program for compressed files works without a suffix, and overwrites no file.
for programs in gzip:gunzip bzip2:bunzip2 xz:unxz zstd:unzstd lz4:unlz4; do
	has_program "${programs%:*}" || continue
	rm -f ./*
	"${programs%:*}" -c <"$work/sound.img" >'a root'
	echo other >'a root.img'
	mustfail 8 "$e4check" 'a root'
	sed -n 's/.*: run \(.*\), and use .*/\1/p' "$err" >"$work/command"
	grep -q "^${programs#*:} <" "$work/command" || {
		show_run
		fail 'another command'
	}
	bash -e "$work/command"
	cmp 'a root.img.img' "$work/sound.img"
	same 'another file' "$(cat 'a root.img')" other
done
