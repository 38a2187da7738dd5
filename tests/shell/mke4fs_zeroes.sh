#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Zeroes in an archive become holes where they fill 32 KiB of the file. The
# content is unchanged, and the size of the reads from the archive makes no
# difference.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_program tar gzip python3

mkdir "$work/src"
# The script prints the name of each file, and how many KiB of 4-KiB blocks the
# file needs.
python3 - "$work/src" >"$work/needs" <<'EOT'
import os, random, sys
random.seed(7)
KIB = 1024
files = {
    "empty": b"",
    "all": bytes(1 << 20),
    "one-place": b"x" * 32 * KIB + bytes(32 * KIB) + b"y" * 32 * KIB,
    "crooked": b"x" * 1000 + bytes(40000) + b"y" * 1000,
    "wide": b"x" * 1000 + bytes(100000) + b"y",
    "head": bytes(64 * KIB) + b"x",
    "tail": b"x" + bytes(70000),
    "short": bytes(9000),
    "almost": (bytes(32 * KIB - 1) + b"x") * 20,
    "many": (bytes(32 * KIB) + b"x" * 32 * KIB) * 100,
}
for i in range(40):
    files["random-%d" % i] = b"".join(
        bytes([random.choice((0, 0, 65))]) * random.randrange(90000)
        for _ in range(random.randrange(12)))
for name, data in sorted(files.items()):
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(data)
    need = 0
    for at in range(0, len(data), 32 * KIB):
        place = data[at:at + 32 * KIB]
        if len(place) < 32 * KIB or any(place):
            need += (len(place) + 4095) // 4096 * 4
    print(name, need)
EOT
tar -C "$work/src" --sort=name -cf "$work/a.tar" .
gzip -k "$work/a.tar"
# The archive has holes next to zeroes that are data.
cp --sparse=never "$work/src/all" "$work/src/partly"
fallocate -p -o 100K -l 300K "$work/src/partly"
tar -C "$work/src" -S -cf "$work/sparse.tar" .
rm "$work/src/partly"

uuid=9f8c1c1e-3b7c-4a60-8a35-1d1d0a4f7a55
# image ARCHIVE OPTION...: makes an image of ARCHIVE, and compares the contents
# and block counts
image() {
	archive=$1
	shift
	rm -rf "$work/img" "$work/got"
	check env SOURCE_DATE_EPOCH=1700000000 "$mke4fs" -q -U $uuid \
		-E hash_seed=$uuid "$@" -d "$archive" "$work/img" 64M
	clean "$work/img"
	mkdir "$work/got"
	check debugfs -R "rdump / $work/got" "$work/img"
	rm -rf "$work/got/lost+found" "$work/got/partly"
	diff -r "$work/src" "$work/got" >&2 || fail "other contents"
}

image "$work/a.tar" -b 4096
while read -r name need; do
	kib=$(debugfs -R "stat $name" "$work/img" 2>/dev/null |
		sed -n 's/.*Blockcount: \([0-9]*\)$/\1/p')
	kib=$((kib / 2))
	# a file of more than four extents also has a tree block
	[ $kib = "$need" ] || [ $kib = $((need + 4)) ] ||
		fail "$name: $kib KiB, not $need"
done <"$work/needs"
[ "$(wc -l <"$work/needs")" = 50 ] || fail "no files"
mv "$work/img" "$work/first"
image "$work/a.tar.gz" -b 4096
cmp "$work/img" "$work/first" >&2 || fail "a compressed archive gives another"
image "$work/sparse.tar" -b 4096
for options in '-b 1024' '-O bigalloc -C 65536' '-O bigalloc -C 16384'; do
	# shellcheck disable=SC2086
	image "$work/a.tar" $options
done

# Directories and copied filesystems keep their holes.
cp --sparse=never "$work/src/all" "$work/src/data"
rm "$work/img"
check "$mke4fs" -q -d "$work/src" "$work/img"
check "$mke4fs" -q --from="$work/img" "$work/copy"
for image in img copy; do
	debugfs -R "stat data" "$work/$image" 2>/dev/null |
		grep -q 'Blockcount: 2048$' || fail "$image: data became a hole"
done
