#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# debian/ agrees with the rest of the tree. tests/packages/run builds packages
# from debian/.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program python3
debian=$top_srcdir/debian

version=$(sed -n 's/^AC_INIT(\[e4layout\], \[\(.*\)\])$/\1/p' \
	"$top_srcdir/configure.ac")
same 'version in debian/changelog' \
	"$(sed -n '1s/^e4layout (\(.*\)) .*/\1/p' "$debian/changelog")" \
	"$version"

# each symbol of the library has the version that introduced it
sed -n 's/^\(E4LAYOUT[^ ]*\) {$/\1/p' \
	"$top_srcdir/lib/e4layout/e4layout.map" | sort >"$work/map"
sed -n 's/^ (symver)\([^ ]*\) .*/\1/p' "$debian/libe4layout0.symbols" |
	sort | diff - "$work/map" ||
	fail "debian/libe4layout0.symbols (<) and the map (>) differ"

# the build dependencies are also in scripts/packages
sed -n 's/^build  *\(.*-dev\)$/\1/p' "$top_srcdir/scripts/packages" |
	grep -vx libc6-dev | while read -r package; do
	sed '/^Package:/,$d' "$debian/control" |
		grep -Eq "^ $package( .*)?,$" ||
		fail "debian/control does not build-depend on $package"
done

# each file has the licence that debian/copyright names
cat >"$work/licences.py" <<'END'
import fnmatch, os, re, sys
top = sys.argv[1]
names = {"GPL-2.0": "GPL-2", "GPL-2.0-only": "GPL-2",
         "GPL-2.0-or-later": "GPL-2+", "LGPL-2.1-or-later": "LGPL-2.1+"}
rows = []
for part in open(top + "/debian/copyright").read().split("\n\n"):
    files = re.search(r"^Files: (.*(?:\n .*)*)", part, re.M)
    if files:
        rows.append((files[1].split(),
                     re.search(r"^License: (.*)", part, re.M)[1]))
wrong = []
for folder, folders, files in os.walk(top):
    folders[:] = [f for f in folders if f != "autom4te.cache" and
                  not f.startswith((".git", "build", "_build", "_inst"))]
    if folder == top + "/debian":
        folders[:] = ["source"]     # other folders contain built files
    for name in files:
        path = os.path.relpath(os.path.join(folder, name), top)
        text = open(os.path.join(top, path), "rb").read(4096)
        spdx = re.search(rb"SPDX-License-Identifier: ([A-Za-z0-9.-]+)", text)
        said = [licence for patterns, licence in rows
                if any(fnmatch.fnmatch(path, p) for p in patterns)][-1]
        if spdx and names.get(spdx[1].decode()) != said:
            wrong.append("%s: %s, not %s" % (path, spdx[1].decode(), said))
print("\n".join(wrong))
sys.exit(bool(wrong))
END
check python3 "$work/licences.py" "$top_srcdir"
