#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Manual pages format without a warning.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program man

for page in "$top_srcdir"/misc/*.8 "$top_srcdir"/debugfs/*.8 \
	"$top_srcdir"/e2fsck/*.8; do
	[ -e "$page" ] || continue
	MANWIDTH=80 run man --warnings -E UTF-8 -l -Tutf8 "$page"
	[ "$status" = 0 ] || fail "man cannot format $page"
	[ ! -s "$err" ] || { show_run; fail "$page"; }
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' \
		'SEE ALSO'; do
		grep -q "^\.SH $section\$" "$page" ||
			fail "$page: no section $section"
	done
	if command -v mandoc >/dev/null; then
		check mandoc -T lint -W warning "$page"
	fi
done
