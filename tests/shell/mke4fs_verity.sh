#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --verity: the metadata of fs-verity after the end of a file equals metadata
# computed by Python and the digests of fsverity(1).  The kernel accepts the
# metadata.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

cd "$work"
mkdir -p src/app/deep
: >src/app/empty.apk
printf x >src/app/byte.apk
for size in 4095 4096 4097 65535 65536 65537 524288 524289; do
	head -c $size /dev/urandom >src/app/$size.apk
done
head -c 5M /dev/urandom >src/app/deep/large.apk
truncate -s 3M src/app/hole.apk
echo plain >src/app/plain
ln src/app/4097.apk src/linked

# correct IMAGE: fails unless each *.apk of IMAGE has the metadata that Python
# computes
correct() {
	(cd src && find . -name '*.apk' | cut -c 3-) >names
	while read -r name; do
		printf 'stat /%s\nblocks /%s\n' "$name" "$name"
	done <names >requests
	check debugfs -f requests "$1"
	/usr/bin/python3 - "$1" "$out" names >digests <<'END'
import hashlib, re, struct, sys
image = open(sys.argv[1], "rb")
text = open(sys.argv[2]).read()
parts = re.split(r"debugfs: stat /", text)[1:]
names = open(sys.argv[3]).read().split()
assert len(parts) == len(names)

def read(extents, first, n):
    data = b""
    for block in range(first, first + n):
        for start, end, place in extents:
            if start <= block <= end:
                image.seek((place + block - start) * 4096)
                data += image.read(4096)
                break
        else:
            data += bytes(4096)
    return data

def level(data):
    out = b"".join(hashlib.sha256(data[i:i + 4096]).digest()
                   for i in range(0, len(data), 4096))
    return out + bytes(-len(out) % 4096)

for name, part in zip(names, parts):
    data = open("src/" + name, "rb").read()
    flags = int(re.search(r"Flags: 0x([0-9a-f]+)", part)[1], 16)
    assert flags & 0x100000, (name, "no flag")
    assert int(re.search(r"Size: (\d+)", part)[1]) == len(data)
    found = re.search(r"EXTENTS:\n(.*)", part)[1]
    extents = []
    for start, end, place in re.findall(r"\((\d+)(?:-(\d+))?\):(\d+)", found):
        extents.append((int(start), int(end or start), int(place)))
    padded = data + bytes(-len(data) % 4096)
    assert read(extents, 0, len(padded) // 4096) == padded, (name, "content")
    levels, root = [], bytes(32)
    top = padded
    while len(top) > 4096:
        top = level(top)
        levels.insert(0, top)
    if data:
        root = hashlib.sha256(top).digest()
    descriptor = struct.pack("<BBBBIQ64s32s144s", 1, 1, 12, 0, 0, len(data),
                             root, b"", b"")
    metadata = b"".join(levels) + descriptor
    metadata += bytes(4096 - 4 - 256) + struct.pack("<I", 256)
    first = -(-len(data) // 65536) * 16
    n = len(metadata) // 4096
    assert read(extents, first, n) == metadata, (name, "metadata")
    assert max(end for _, end, _ in extents) == first + n - 1, (name, "end")
    print(f"sha256:{hashlib.sha256(descriptor).hexdigest()} {name}")
END
	! command -v fsverity >/dev/null || {
		(cd src && xargs fsverity digest <../names) >wanted
		cmp digests wanted || fail 'fsverity has other digests'
	}
}

# take OPTION...: makes img with the files of a source
take() {
	rm -f img
	check "$mke4fs" -q "$@" img
	clean img
}

take -d src --verity='*.apk'
check dumpe2fs -h img
grep -q 'Filesystem features:.* verity' "$out" || fail 'no feature verity'
correct img
check debugfs -R 'stat /app/plain' img
grep -q 'Flags: 0x80000$' "$out" || fail 'a file that does not match has a flag'
check debugfs -R 'stat /linked' img
grep -q 'Flags: 0x180000$' "$out" || fail 'another name has no flag'

# An archive and an image as source, and other features, give the same metadata.
take -O inline_data,quota -d src --verity='/app/*'
correct img
take -d src --verity='app/4*.apk' --verity='/app/[!4]*.apk' \
	--verity='app/byte*'
correct img
take -d src --verity='app/*.apk' -O ^has_journal
mv img first
check "$mke4fs" -q -O verity --from=first copy
clean copy
correct copy
check "$mke4fs" -q --from=first --verity='*.apk' copy2
correct copy2
check "$mke4fs" -q --from=first --verity=app/plain copy3
correct copy3
if built_with ARCHIVE; then
	tar -C src -cf src.tar .
	take -d src.tar --verity='*.apk'
	correct img
fi

# the kernel verifies the files
take -d src --verity='*.apk'
if has_program fsverity && can_mount; then
	attach img
	mkdir mnt
	if mount -r -t ext4 "$loop" mnt 2>/dev/null; then
		defer "umount '$work/mnt'"
		if cat mnt/app/byte.apk >/dev/null 2>"$err"; then
			diff -r -x lost+found src mnt >&2 ||
				fail 'the contents differ'
			(cd mnt && xargs fsverity measure <../names) >measured
			cmp measured digests || fail 'the kernel has other digests'
		else
			grep -q 'not supported' "$err" || fail "$(cat "$err")"
			skip_part 'the kernel has no fs-verity'
		fi
	else
		skip_part 'the kernel does not mount the feature verity'
	fi
fi

mustfail 1 "$mke4fs" -q -d src --verity='*.none' img2
one_sentence mke4fs
says "no regular file matches '\*\.none'"
mustfail 1 "$mke4fs" -q -d src --verity='*.none' --verity='*.apk' img2
says "no regular file matches '\*\.none'"
mustfail 1 "$mke4fs" -q -b 1024 -d src --verity='*.apk' img2
one_sentence mke4fs
says 'verity requires a block size of 4096 bytes'
mustfail 1 "$mke4fs" -q -d src --verity='*.apk' img2 8M
says 'not enough blocks'
# sizes are checked before zeroes replace the holes of a file
mustfail 1 "$mke4fs" -q --max-size=3M -d src --verity='app/hole*' img2
one_sentence mke4fs
says 'verity: app/hole.apk: the size .* exceeds 3[.0]* MiB .--max-size'
take -d src --verity='app/hole*' --max-size=4M
if built_with ARCHIVE; then
	# vast SIZE: makes an archive with a sparse file of SIZE bytes
	vast() {
		python3 - "$1" <<'END'
import io, sys, tarfile
size = sys.argv[1]
i = tarfile.TarInfo("vast")
i.size = 1024
i.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                 "GNU.sparse.name": "vast", "GNU.sparse.realsize": size}
sparse = b"1\n0\n512\n".ljust(512, b"\0") + b"x" * 512
with tarfile.open("vast.tar", "w", format=tarfile.PAX_FORMAT) as t:
    t.addfile(i, io.BytesIO(sparse))
END
	}
	# 4 EiB, and the largest file of ext4, which has no space for metadata
	for size in 4611686018427387904 17592186040320; do
		vast $size
		mustfail 1 timeout 60 "$mke4fs" -q -d vast.tar --verity='*' img2
		one_sentence mke4fs
		says 'verity: vast: a file is too large for the block size$'
	done
	vast 1099511627776
	mustfail 1 timeout 60 "$mke4fs" -q --max-size=1G -d vast.tar \
		--verity='*' img2
	one_sentence mke4fs
	says 'verity: vast: the size .* exceeds 1[.0]* GiB .--max-size'
fi
mustfail 2 "$mke4fs" -q --verity='*' img2
says 'verity requires -d, --manifest or --from'
[ ! -e img2 ] || fail 'an image is left'
