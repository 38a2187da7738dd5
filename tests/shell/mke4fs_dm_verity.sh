#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --dm-verity: the hash tree equals a tree computed by Python, veritysetup
# accepts the tree and finds a changed byte, and equal images have equal trees.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

cd "$work"
uuid=01234567-89ab-4def-8123-456789abcdef
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
mkdir src
head -c 3M /dev/urandom >src/random
seq 100000 >src/text

# take OPTION...: makes an image, and sets $root to the root hash
take() {
	check "$mke4fs" --json -U "$uuid" -E "hash_seed=$uuid" -d src "$@"
	cp "$out" report.json
	root=$(json report.json 'd["dm_verity"]["root_hash"]')
}

# tree DATA HASHES OFFSET: computes the hash tree of DATA with Python, compares
# it with HASHES from OFFSET on, and prints the root hash
tree() {
	/usr/bin/python3 - "$@" <<'END'
import hashlib, struct, sys
data = open(sys.argv[1], "rb")
hashes = open(sys.argv[2], "rb")
at = int(sys.argv[3])
hashes.seek(at)
(magic, version, kind, uuid, algorithm, data_size, hash_size, n, salt_size,
 salt) = struct.unpack("<8sII16s32sIIQH6x256s", hashes.read(344))
assert magic == b"verity\0\0" and version == 1 and kind == 1
assert algorithm.rstrip(b"\0") == b"sha256" and salt_size == 32
assert data_size == hash_size == 4096 and uuid[6] >> 4 == 8
salt = salt[:salt_size]
assert not any(hashes.read(4096 - 344))

def level(f, n):
    digests = b"".join(hashlib.sha256(salt + f.read(4096)).digest()
                       for _ in range(n))
    return digests + bytes(-len(digests) % 4096)

import io
levels = [level(data, n)]
while len(levels[-1]) > 4096:
    levels.append(level(io.BytesIO(levels[-1]), len(levels[-1]) // 4096))
for want in reversed(levels):
    assert hashes.read(len(want)) == want, "the tree differs"
if sys.argv[1] != sys.argv[2] or at:
    assert not hashes.read(1), "data follow the tree"
print(hashlib.sha256(salt + levels[-1]).hexdigest())
END
}

# correct DATA HASHES OFFSET: fails unless the tree of the report is correct
correct() {
	same 'the offset' "$(json report.json \
		'd["dm_verity"]["hash_offset_bytes"]')" "$3"
	same 'the root hash' "$(tree "$@")" "$root"
}

# verified DATA HASHES OFFSET: fails if veritysetup finds an error
verified() {
	! command -v veritysetup >/dev/null ||
		check veritysetup verify "$1" "$2" "$root" --hash-offset="$3"
}

# The hash tree is after the filesystem, and the size of the filesystem does not
# change.
check "$mke4fs" -q -U "$uuid" -E "hash_seed=$uuid" -d src without
size=$(stat -c %s without)
take --dm-verity img
same 'the hash file' "$(json report.json 'd["dm_verity"]["hash_file"]')" None
cmp -n "$size" img without || fail 'the filesystem differs'
correct img img "$size"
verified img img "$size"
sound img
/usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
	"$top_srcdir/doc/schema/mke4fs-1.json" report.json || [ $? = 77 ] ||
	fail 'the report does not match the schema'
first=$root

# The hash tree is in a separate file, and is the same in both runs.
for again in 1 2; do
	rm -f img2
	take --dm-verity=hashes img2
	cmp img2 without || fail 'the filesystem differs'
	same 'the root hash' "$root" "$first"
	correct img2 hashes 0
	verified img2 hashes 0
	[ $again = 2 ] || mv hashes hashes1
done
cmp hashes hashes1 || fail 'the same image has another tree'
tail -c "+$((size + 1))" img | cmp - hashes ||
	fail 'behind the filesystem it is another tree'

# veritysetup makes the same tree for the same salt and UUID.
if has_program veritysetup; then
	check veritysetup format img2 theirs \
		--salt="$(json report.json 'd["dm_verity"]["salt"]')" \
		--uuid="$(json report.json 'd["dm_verity"]["uuid"]')"
	cmp theirs hashes || fail 'veritysetup makes another tree'
fi

# The tree has three levels, blocks are large, and other sources are used.
take --dm-verity img3 80M
correct img3 img3 $((80 << 20))
verified img3 img3 $((80 << 20))
take -F -b 16384 --dm-verity=hashes img4 64M
correct img4 hashes 0
check "$mke4fs" --json --dm-verity --from=without img5
cp "$out" report.json
root=$(json report.json 'd["dm_verity"]["root_hash"]')
correct img5 img5 "$(json report.json 'd["dm_verity"]["data_blocks"] * 4096')"

# The command in the report opens an image of any name.
check "$mke4fs" --dm-verity='hash es' -d src 'a b'
same 'quoted names' "$(sed -n 's/^To open: //p' "$out")" \
	"veritysetup open 'a b' NAME 'hash es' $(sed -n 's/^Root hash: //p' "$out")"
rm img
check "$mke4fs" --dm-verity -d src img
root=$(sed -n 's/^Root hash: //p' "$out")
same 'the command' "$(sed -n 's/^To open: //p' "$out")" \
	"veritysetup open img NAME img $root --hash-offset=$size"
verified img img "$size"
rm img
check "$mke4fs" --dm-verity=hashes -d src img
same 'the command' "$(sed -n 's/^To open: //p' "$out")" \
	"veritysetup open img NAME hashes $(sed -n 's/^Root hash: //p' "$out")"
if has_program veritysetup; then
	root=$(sed -n 's/^Root hash: //p' "$out")
	printf x | dd of=img bs=1 seek=$((size - 9)) conv=notrunc 2>/dev/null
	run veritysetup verify img hashes "$root"
	[ "$status" != 0 ] || fail 'veritysetup accepts a changed byte'
fi

# An empty file stays empty if the hash file cannot be written.
if can_mount && mkdir tiny && mount -t tmpfs -o size=4k none tiny; then
	defer "umount '$work/tiny'"
	: >empty
	mustfail 1 "$mke4fs" -q --dm-verity=tiny/hashes -d src empty
	same 'the size of the file' "$(stat -c %s empty)" 0
	rm empty
fi

# A dry run makes no files.
rm -f img hashes
check "$mke4fs" -n --json --dm-verity=hashes -d src img
same 'a tree of a dry run' "$(json "$out" 'd["dm_verity"]')" None
if [ -e img ] || [ -e hashes ]; then
	fail '-n makes a file'
fi

# Existing files and devices keep their size.
truncate -s 32M disk
mustfail 1 "$mke4fs" -q --dm-verity -d src disk
one_sentence mke4fs
says 'disk: --dm-verity: no space for the hash tree .* at most ([0-9]+)K$'
limit=$(sed -n 's/.* at most \([0-9]*\)K$/\1/p' "$err")
[ "$(tr -d '\0' <disk | wc -c)" = 0 ] || fail 'disk has changed'
take -F --dm-verity disk "${limit}K"
same 'the size' "$(stat -c %s disk)" $((32 << 20))
same 'the offset' "$(json report.json 'd["dm_verity"]["hash_offset_bytes"]')" \
	$((limit * 1024))
verified disk disk $((limit * 1024))
mustfail 1 "$mke4fs" -q -F --dm-verity -d src disk "$((limit + 64))K"
says 'no space for the hash tree'

# refuse SENTENCE OPTION...: fails unless mke4fs fails with SENTENCE and makes
# no image
refuse() {
	sentence=$1
	shift
	rm -f img
	mustfail 1 "$mke4fs" -q -d src "$@"
	one_sentence mke4fs
	says "$sentence"
	[ ! -e img ] || fail "an image is left of $*"
}
mkdir dir
ln disk linked
sum=$(cksum <disk)
refuse 'requires a block size of at least 4096' -b 1024 --dm-verity img
refuse 'not supported for a filesystem at an offset' --dm-verity \
	-E offset=4096 img 16M
refuse 'dir: .*not a regular file' --dm-verity=dir img
refuse 'no/x: cannot write: No such file' --dm-verity=no/x img
refuse 'img: .*the hash file is the image itself' --dm-verity=img img
refuse 'img: .*the hash file is the image itself' --dm-verity=./img img
refuse 'linked: .*the hash file is the image itself' -F --dm-verity=linked disk
# The temporary file of HASHFILE has a longer name than HASHFILE.
long=$(printf '%0255d' 1)
for name in "$long" "${long#??????}" "dir/$long"; do
	refuse "$name: cannot write: File name too long" -F --dm-verity="$name" \
		disk
done
same 'the image' "$(cksum <disk)" "$sum"
check "$mke4fs" -q --dm-verity="${long#???????}" -d src img
rm "${long#???????}"
rm -f img
mustfail 2 "$mke4fs" -q --dm-verity= -d src img
one_sentence mke4fs
says "dm-verity: invalid value ''"
[ ! -e img ] || fail 'an image is left'
mustfail 2 "$mke4fs" -q --dm-verity img
says 'dm-verity requires -d, --manifest or --from'
refuse '/dev/full: .*not a regular file' --dm-verity=/dev/full img
set -- hashes*
[ $# = 1 ] || fail "left behind: $*"

if can_mount && losetup -f hashes1 2>/dev/null; then
	loop=$(losetup -nO NAME -j "$work/hashes1")
	defer "losetup -d $loop"
	refuse 'hashes1' --dm-verity=hashes1 img
fi

# The kernel mounts the image.
if has_program veritysetup && can_mount; then
	check "$mke4fs" --json --dm-verity -d src img
	cp "$out" report.json
	root=$(json report.json 'd["dm_verity"]["root_hash"]')
	if veritysetup open img "e4l-$$" img "$root" \
		--hash-offset="$size" 2>/dev/null; then
		defer "veritysetup close e4l-$$"
		mkdir mnt
		mount -r "/dev/mapper/e4l-$$" mnt
		defer "umount '$work/mnt'"
		diff -r -x lost+found src mnt >&2 || fail 'the contents differ'
	else
		skip_part 'no device mapper with dm-verity'
	fi
fi

# A signal leaves neither an image nor a hash file.
if can_trace && [ "$(id -u)" = 0 ]; then
	rm -f img hashes
	no_leak_check
	env --default-signal=INT strace -D -f -o /dev/null -e trace=pread64 \
		-e inject=pread64:delay_enter=300000 -P "$work/img" \
		"$mke4fs" -q --threads=1 -d src --dm-verity=hashes "$work/img" 32M \
		>"$out" 2>"$err" </dev/null &
	pid=$!
	for _ in $(seq 300); do
		set -- hashes.*
		[ ! -e "$1" ] || break
		sleep 0.1
	done
	kill -INT $pid
	status=0
	wait $pid || status=$?
	same 'status after a signal' "$status" 1
	one_sentence mke4fs
	says 'img: making the hash tree: interrupted'
	for name in img hashes hashes.*; do
		[ ! -e "$name" ] || fail "$name is left behind"
	done
fi
