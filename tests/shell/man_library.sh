#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages of section 3 agree with the headers, name each exported
# function, and format without warnings.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program man
lib=$top_srcdir/lib/e4layout

check /usr/bin/python3 "$lib/headers-man" --check "$lib/e4layout.map" "$lib"
for page in "$lib"/man/*.3; do
	man_formats "$page"
	name=$(basename "$page" .3)
	grep -q "^\.BR $name (3)" "$lib/libe4layout.3" ||
		fail "libe4layout.3 does not name $name(3)"
	! has_program mandoc || check mandoc -T lint -W warning "$page"
done

# headers-man reports a function that is in no page.
sed 's/^\te4l_open;/&\n\te4l_none;/' "$lib/e4layout.map" >"$work/map"
mustfail 1 /usr/bin/python3 "$lib/headers-man" --check "$work/map" "$lib"
says '^headers-man: e4l_none[(][)] .*no page$'
