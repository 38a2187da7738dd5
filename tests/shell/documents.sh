#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Documents agree with the code, and the files that they name exist.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
require_program python3

# doc/tunables-format.md lists exactly the tunables of the code.
check mke2fs -q -F -t ext4 "$work/img" 8M
check "$tune4fs" --json "$work/img"
# shellcheck disable=SC2016
json "$out" '"\n".join("| `%s` | %s%d to %d | %s | %s | %s |" % (t["name"],
	"0, or a power of two from " if t["type"] != "number" else "",
	t["min"], t["max"], t["unit"],
	"auto" if t["default"] is None else t["default"],
	t["since"] or "patched") for t in d["tunables"])' >"$work/rows"
# shellcheck disable=SC2016
grep '^| `' "$top_srcdir/doc/tunables-format.md" | diff - "$work/rows" ||
	fail 'doc/tunables-format.md does not have the tunables of the code'

# The README shows what the tools print about the sample, except for run times.
check "$top_builddir/tests/tools/mkaged" \
	"$top_srcdir/tests/recipes/sample.recipe" "$work/sample.img"
python3 - "$top_srcdir/README.md" "$work" "$e4frag" "$e4repack" <<'END' ||
import os, re, subprocess, sys
readme, work, *tools = sys.argv[1:]
tools = {os.path.basename(tool): tool for tool in tools}

def lines(text):
    return re.sub(r" in [0-9.]+ s$", "", text, flags=re.M).split("\n")

found = re.findall(r"^    \$ build/misc/(.*)\n((?:(?:    (?!\$ ).*)?\n)+)",
                   open(readme).read(), re.M)
for command, shown in found:
    tool, *args = command.split()
    printed = iter(lines(subprocess.run([tools[tool], *args], cwd=work, text=True,
                                        stdout=subprocess.PIPE,
                                        check=True).stdout))
    for line in lines(shown):
        if line[4:] not in ("", "[...]") and line[4:] not in printed:
            sys.exit(f"{command} does not print: {line[4:]}")
if len(found) < 3:
    sys.exit("where are the examples?")
END
	fail "README.md"
rm "$work/sample.img"

# The files that documents name in backquotes exist.
for page in "$top_srcdir"/*.md "$top_srcdir"/doc/*.md \
	"$top_srcdir"/tests/README.md; do
	# shellcheck disable=SC2016
	grep -oE '`(lib|misc|debugfs|e2fsck|kernel|tests|bench|doc|scripts)/[A-Za-z0-9_./-]*`' \
		"$page" | tr -d '`' | sort -u | while read -r name; do
		[ -e "$top_srcdir/$name" ] || [ -e "$top_srcdir/$name.c" ] || fail "$page: there is no $name"
	done
done

# The archive of a release has all files except git's own.
[ -e "$top_srcdir/.git" ] || skip "the archive of a release: no git checkout"
require_program git
unset MAKEFLAGS MFLAGS MAKELEVEL
check make -s -C "$top_builddir" distdir distdir="$work/dist"
(cd "$work/dist" && find . -type f | sed 's,^\./,,' | sort) >"$work/have"
git -C "$top_srcdir" ls-files | grep -v '^\.git' | sort |
	comm -13 "$work/have" - >"$work/missing"
[ ! -s "$work/missing" ] ||
	fail "the archive lacks $(paste -sd' ' "$work/missing")"
