#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The public headers, the version script and the exports of the libraries agree.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program nm
lib=$top_builddir/lib/e4layout/.libs
map=$top_srcdir/lib/e4layout/e4layout.map

# of_map: prints the names that the map exports.
of_map() {
	sed -n 's/^\t\([a-z0-9_]*\);.*/\1/p' "$map" | sort
}

# The declared functions are the names before a "(", outside comments.
cat "$top_srcdir"/lib/e4layout/*.h | sed 's,/\*.*\*/,,; /\/\*/,/\*\//d' |
	grep -v '^static inline' | grep -oE '\be4l_[a-z0-9_]+\(' |
	tr -d '(' | sort -u >"$work/declared"
grep -hoE '^static inline [a-z0-9_]+ e4l_[a-z0-9_]+' \
	"$top_srcdir"/lib/e4layout/*.h | sed 's/.* //' | sort |
	comm -23 "$work/declared" - >"$work/functions"
of_map | grep '^e4l_' >"$work/public"
diff "$work/functions" "$work/public" ||
	fail "the headers (<) and the map (>) have different functions"

# the static library exports only names with its prefix
nm -g --defined-only "$lib/libe4layout.a" 2>/dev/null |
	awk 'NF == 3 && $3 !~ /^(e4l_|et_e4l_|initialize_e4l_)/ { print $3 }' |
	grep -vE '^(__asan|__odr_asan|__tsan|__ubsan|__x86\.get_pc)' \
		>"$work/strange" || :
[ ! -s "$work/strange" ] ||
	fail "libe4layout.a exports $(paste -sd' ' "$work/strange")"

# the shared library exports the names of the map only
[ -e "$lib/libe4layout.so" ] || skip "exported names: no shared library"
nm -D --defined-only "$lib/libe4layout.so" | sed 's/.* //; s/@.*//' |
	grep -v '^E4LAYOUT' | sort >"$work/exported"
of_map | diff "$work/exported" - ||
	fail "the library (<) and the map (>) have different names"
[ "$(wc -l <"$work/exported")" -le 60 ] ||
	fail "the library exports $(wc -l <"$work/exported") names, more than 60"
