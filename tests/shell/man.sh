#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Manual pages format without warnings at 80 and 120 columns, have at most 500 lines
# at 80 columns, have their sections in the order of man-pages(7), and name every
# tool and every header.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program man

# sections PAGE: prints the sections that PAGE must have.
sections() {
	printf '%s\n' NAME DESCRIPTION 'SEE ALSO'
	case $1 in
	*.8) printf '%s\n' SYNOPSIS OPTIONS 'EXIT STATUS' ;;
	*.3) printf '%s\n' SYNOPSIS 'RETURN VALUE' EXAMPLES ;;
	esac
}

order='NAME|SYNOPSIS|DESCRIPTION|OPTIONS|EXIT STATUS|RETURN VALUE|ENVIRONMENT|FILES|NOTES|EXAMPLES|SEE ALSO'
overview=$top_srcdir/doc/e4layout.7
library=$top_srcdir/lib/e4layout/libe4layout.3
for page in "$top_srcdir"/misc/*.8 "$top_srcdir"/debugfs/*.8 \
	"$top_srcdir"/e2fsck/*.8 "$overview" "$library"; do
	[ -e "$page" ] || fail "there is no $page"
	man_formats "$page"
	sed -n 's/^\.SH //p' "$page" | grep -xE "$order" >"$work/sections"
	echo "$order" | tr '|' '\n' | grep -xFf "$work/sections" |
		diff "$work/sections" - || fail "$page: sections are out of order"
	! grep -q '^\.TS' "$page" || [ "$(head -n 1 "$page")" = "'\\\" t" ] ||
		fail "$page: line 1 does not name the preprocessor tbl"
	sections "$page" | while read -r section; do
		grep -q "^\.SH $section\$" "$page" ||
			fail "$page: no section $section"
	done
	case $page in
	*.8)
		grep -q '^\.BR e4layout (7)' "$page" ||
			fail "$page does not lead to e4layout(7)"
		tool=$(basename "$page" .8)
		sed -n '/^\.SH TOOLS/,/^\.SH WHICH/p' "$overview" |
			grep -q "^\.BR $tool (8)$" ||
			fail "$overview does not name $tool" ;;
	esac
	if has_program mandoc; then
		check mandoc -T lint -W warning "$page"
	fi
done

# libe4layout(3) has a line for each header, and names only functions of the
# library.
for header in "$top_srcdir"/lib/e4layout/*.h; do
	name=$(basename "$header")
	[ "$name" = e4layout.h ] || grep -qE "^\.IR .*\b$name " "$library" ||
		fail "$library does not name $name"
done
sed 's/^\.BR e4l_[a-z]* (3).*//' "$library" |
	grep -oE '\be4l_[a-z_]+( \(|\()' | tr -d ' (' | sort -u |
	while read -r name; do
	grep -q "^	$name;" "$top_srcdir/lib/e4layout/e4layout.map" ||
		fail "$library: the library has no $name()"
done
sed -n '/^struct e4l_model model;/,/^\.fi/p' "$library" | sed '/^\.fi/d; s/\\e/\\/g' \
	>"$work/lines"
printf '%s\n' '#include <stdint.h>' '#include <stdio.h>' \
	'#include <e4layout/e4layout.h>' \
	'void example(const char *device);' \
	'void example(const char *device)' '{' >"$work/example.c"
cat "$work/lines" >>"$work/example.c"
echo '}' >>"$work/example.c"
! has_program cc || check cc -fsyntax-only -Wall -Werror \
	-I"$top_srcdir/lib" -I"$top_builddir/lib" "$work/example.c"
