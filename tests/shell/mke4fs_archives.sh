#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A layer whose entries repeatedly replace earlier entries of other types gives
# the same result as creating the files one by one.  Other archives must not
# replace a directory with files.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop

# changing FILE DIR SEED: makes the archive FILE, and the expected directory DIR
changing() {
	python3 - "$@" <<'EOT'
import io, os, random, shutil, stat, sys, tarfile
archive, top, seed = sys.argv[1:]
random.seed(int(seed))
os.umask(0)
t = tarfile.open(archive, "w", format=tarfile.PAX_FORMAT)

def paths(want_dirs):
    for at, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(at, name)
            is_dir = stat.S_ISDIR(os.lstat(path).st_mode)
            if is_dir == want_dirs:
                yield os.path.relpath(path, top)

def make(path, kind, n):
    real, i, data = os.path.join(top, path), tarfile.TarInfo(path), b""
    i.mtime, i.mode = 1000000000, 0o755
    to = sorted(p for p in paths(False)
                if p != path and not p.startswith(path + "/"))
    if kind == "link" and not to:
        return
    if kind == "link":
        i.type, i.linkname = tarfile.LNKTYPE, random.choice(to)
        if os.path.lexists(real) and \
           os.path.samestat(os.lstat(real),
                            os.lstat(os.path.join(top, i.linkname))):
            t.addfile(i)
            return
    was_dir = stat.S_ISDIR(os.lstat(real).st_mode) \
        if os.path.lexists(real) else None
    if was_dir and kind != "dir":
        shutil.rmtree(real)
    elif was_dir is False:
        os.unlink(real)
    if kind == "link":
        os.link(os.path.join(top, i.linkname), real, follow_symlinks=False)
    elif kind == "dir":
        i.type = tarfile.DIRTYPE
        if not was_dir:
            os.mkdir(real, 0o755)
    elif kind == "symlink":
        i.type, i.linkname, i.mode = tarfile.SYMTYPE, "to-%d" % n, 0o777
        os.symlink(i.linkname, real)
    elif kind == "fifo":
        i.type = tarfile.FIFOTYPE
        os.mkfifo(real, 0o755)
    else:
        data = b"%d\n" % n * random.randrange(2000)
        with open(real, "wb") as f:
            f.write(data)
        os.chmod(real, 0o755)
    i.size = len(data)
    t.addfile(i, io.BytesIO(data))

for n in range(300):
    parent = random.choice([""] + sorted(p for p in paths(True)
                                         if p.count("/") < 2))
    make(os.path.join(parent, random.choice("abcd")),
         random.choice(["file", "file", "dir", "dir", "link", "symlink",
                        "fifo"]), n)
root = tarfile.TarInfo(".")
root.type, root.mtime, root.mode = tarfile.DIRTYPE, 1000000000, 0o755
t.addfile(root)
t.close()
EOT
	find "$2" -exec touch -h -d @1000000000 {} +
}

for seed in 1 2 3 4; do
	rm -rf "$work/tree" "$work/img"
	mkdir "$work/tree"
	changing "$work/a.tar" "$work/tree" $seed
	check "$mke4fs" -q -d "layer:$work/a.tar" "$work/img"
	equals "$work/img" "$work/tree"
done

# Names keep their bytes: "e" with an accent, as one character or as two,
# results in two files.
rm -rf "$work/tree"
mkdir "$work/tree"
one=$(printf '\303\251')
two=$(printf 'e\314\201')
echo 1 >"$work/tree/$one"
echo 22 >"$work/tree/$two"
ln -s "$two" "$work/tree/symlink"
ln "$work/tree/$two" "$work/tree/hard"
truncate -s 1M "$work/tree/sparse-$two"
echo end >>"$work/tree/sparse-$two"
find "$work/tree" -exec touch -h -d @1000000000 {} +
for format in posix gnu; do
	rm -f "$work/img"
	tar -C "$work/tree" --format=$format -S -cf "$work/a.tar" .
	check "$mke4fs" -q -d "$work/a.tar" "$work/img"
	equals "$work/img" "$work/tree"
done

# members FILE NAME...: makes the archive FILE of files and, for names with a
# slash, directories
members() {
	python3 - "$@" <<'EOT'
import sys, tarfile
with tarfile.open(sys.argv[1], 'w') as t:
    for name in sys.argv[2:]:
        i = tarfile.TarInfo(name)
        i.type = tarfile.DIRTYPE if name.endswith('/') else tarfile.REGTYPE
        i.mtime, i.mode = 1000000000, 0o755
        t.addfile(i)
EOT
}
cd "$work"
rm img
for names in 'd/ d/f d' 'd/f d' 'd/sub/ d' 'x/ d/e/f d/e'; do
	# shellcheck disable=SC2086
	members a.tar $names
	mustfail 1 "$mke4fs" -q -d a.tar img
	one_sentence mke4fs
	says 'a.tar: d/(f|sub|e/f): a later member .* replace this directory'
	check "$mke4fs" -q -d layer:a.tar img
	rm img
done
# The replaced directory is empty, or has files of an earlier source.
members a.tar d/ d
check "$mke4fs" -q -d a.tar img
members b.tar d/f e
rm img
check "$mke4fs" -q -d b.tar -d a.tar img
debugfs -R 'stat d' img 2>/dev/null | grep -q 'Type: regular' ||
	fail 'a file of a later source has not replaced a directory'
