#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Trees with paths longer than PATH_MAX are copied from every kind of source.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
cd "$work"

# deep.py makes nested directories with names of 11 bytes, and two files in
# every hundredth directory.
cat >deep.py <<'EOT'
import os, sys
top, task, levels = sys.argv[1:]
LEVELS = int(levels)
os.chdir(top)
for i in range(LEVELS):
    if task == "make" and i % 100 == 99:
        for name in "a", "b":
            with open(name, "w") as f:
                f.write("%s%d\n" % (name, i))
    if task == "make":
        os.mkdir("level-%05d" % i)
    names = ["level-%05d" % i] + (["a", "b"] if i % 100 == 99 else [])
    if task == "look":
        assert set(os.listdir()) - {"lost+found"} == set(names), (i, names)
        for name in names[1:]:
            assert open(name).read() == "%s%d\n" % (name, i), (i, name)
    os.chdir("level-%05d" % i)
assert not os.listdir()
EOT
mkdir src
levels=$(in_full && echo 5000 || echo 1000)
check python3 deep.py src make "$levels"
defer "rm -rf '$work/src'"
tar -C src -cf deep.tar .
check "$mke4fs" -q --threads=3 -d src img
check "$mke4fs" -q --from=img copy
check "$mke4fs" -q -d deep.tar tarred
for made in img copy tarred; do
	sound "$made"
	mount_image "$made" mnt ro,noload
	check python3 deep.py mnt look "$levels"
	umount mnt
	undefer "umount 'mnt'"
done
