#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An impossible request is reported in one sentence before the first write, and
# leaves no files.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives

# refuse PATTERN ARGUMENTS...: fails unless mke4fs fails with PATTERN and makes
# no image.
refuse() {
	pattern=$1
	shift
	mustfail 1 "$mke4fs" "$@"
	one_sentence mke4fs
	says "$pattern"
	[ ! -e "$work/img" ] || fail "an image is left behind: $*"
}

# archive FILE: makes the archive FILE with Python.  In the script on stdin, t
# is the tarfile.
archive() {
	{
		cat <<'HEAD'
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT)
def add(name, data=b"", **more):
    i = tarfile.TarInfo(name)
    i.size = len(data)
    for k, v in more.items():
        setattr(i, k, v)
    t.addfile(i, io.BytesIO(data))
HEAD
		cat
		echo 't.close()'
	} | python3 - "$1"
}

mkdir "$work/src"
head -c 3000000 /dev/urandom >"$work/src/file"

# The image is too small.
refuse 'img: not enough blocks: [0-9,]+ are needed, [0-9,]+ are free .[0-9.]+ MiB are missing.$' \
	-d "$work/src" "$work/img" 2M
(cd "$work/src" && mkdir many && cd many && seq 500 | xargs touch)
refuse 'not enough inodes: 504 are needed, [0-9]+ are free' \
	-d "$work/src" -N 64 "$work/img" 16M
says '[0-9]+ are missing; -N '
refuse 'not enough blocks: .* MiB are missing., not enough inodes: 504 are' \
	-d "$work/src" -N 64 "$work/img" 2M
head -c 4M /dev/urandom >"$work/disk"
sum=$(cksum <"$work/disk")
mustfail 1 "$mke4fs" -F -d "$work/src" "$work/disk"
[ "$(cksum <"$work/disk")" = "$sum" ] || fail "the device was changed"

# These filesystems are not supported.
refuse 'only into a filesystem with extents' -t ext2 -d "$work/src" "$work/img" 16M
refuse 'without casefold' -O casefold -E encoding=utf8 -d "$work/src" \
	"$work/img" 16M
mustfail 1 "$mke4fs" -O nonsense -d "$work/src" "$work/img" 16M
says 'mke2fs failed'
[ ! -e "$work/img" ] || fail "an image is left behind"

# Sources are missing, or are files but not archives.
refuse 'missing: cannot read: No such file' -d "$work/missing" "$work/img"
not='neither a directory nor a tar, cpio or zip archive'
refuse "file: $not" -d "$work/src/file" "$work/img"
# libarchive takes some files for lists of files, and supports formats that
# mke4fs refuses.
printf 'root:x:0:0:root:/root:/bin/sh\nbin:x:1:1::/bin:/bin/false\n' \
	>"$work/words"
refuse "words: $not" -d "$work/words" "$work/img"
printf '#mtree\n./a type=file mode=644 size=0\n' >"$work/words"
refuse "words: $not" -d "$work/words" "$work/img"
: >"$work/words"
refuse "words: $not" -d "$work/words" "$work/img"
gzip -c /etc/passwd >"$work/words"
refuse "words: $not" -d "$work/words" "$work/img"
printf '!<arch>\n' >"$work/words"
printf '%-16s%-12s%-6s%-6s%-8s%-10s`\n' a/ 0 0 0 100644 0 >>"$work/words"
refuse "words: $not" -d "$work/words" "$work/img"
if is_root && nobody_reaches "$mke4fs"; then
	chmod 0 "$work/src/file"
	chmod 777 "$work"
	mustfail 1 as_nobody "$mke4fs" -d "$work/src" "$work/img"
	says 'file: Permission denied'
	[ ! -e "$work/img" ] || fail "an image is left behind"
	chmod 644 "$work/src/file"
	chmod 0 "$work/src/many"
	mustfail 1 as_nobody "$mke4fs" -d "$work/src" "$work/img"
	says 'many: Permission denied'
	chmod 755 "$work/src/many"
fi
# Files in sysfs have a size of one page, but less data.  The files seem to
# shrink while mke4fs reads them.
if [ -d /sys/fs/ext4/features ]; then
	refuse ': the file became shorter while it was read' \
		-d /sys/fs/ext4/features "$work/img" 16M
fi
# Files in procfs have a size of 0, but have data: data beyond the size are omitted.
check "$mke4fs" -q -d /proc/sys/kernel/random "$work/img" 16M
clean "$work/img"
run debugfs -R 'stat /boot_id' "$work/img"
grep -q 'Size: 0' "$out" || fail "a file grew"
rm "$work/img"

# Some members of archives cannot be stored.
archive "$work/a.tar" <<'EOT'
add("x" * 256)
EOT
refuse 'longer than 255' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a/../../b")
EOT
refuse 'a/../../b: a path contains \.\.' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("b", type=tarfile.LNKTYPE, linkname="a")
EOT
refuse 'b: the target of the hard link, a, does not exist' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", type=tarfile.DIRTYPE)
add("b", type=tarfile.LNKTYPE, linkname="a")
EOT
refuse 'b: the target of the hard link is a directory or a reserved file' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", type=tarfile.SYMTYPE, linkname="/etc")
add("a/b", b"2")
EOT
check "$mke4fs" -q -d "$work/a.tar" "$work/img"
check debugfs -R 'cat etc/b' "$work/img"
same "a file by way of a symbolic link" "$(cat "$out")" 2
rm "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", pax_headers={
    "GNU.sparse.size": str(1 << 62), "GNU.sparse.numblocks": "1",
    "GNU.sparse.map": "0,0"})
EOT
refuse 'a: a file is too large' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", pax_headers={"size": "99999999999999999999"})
EOT
refuse 'size' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", pax_headers={"SCHILY.acl.access":
    "user::rw-,user:nobody-at-all:rw-,group::r--,mask::rw-,other::r--"})
EOT
refuse 'a: an ACL contains nobody-at-all, which is unknown' -d "$work/a.tar" \
	"$work/img"
# If an attribute occurs twice, as in archives of bsdtar, the last value is
# used.
python3 - "$work/a.tar" <<'EOT'
import base64, io, sys, tarfile
t = tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT)
for name, values in (("a", (b"1", b"2")), ("b", (b"3", b"3"))):
    records = b""
    for key, value in (("SCHILY", values[0]), ("SCHILY", values[1]),
                       ("LIBARCHIVE", base64.b64encode(values[1]))):
        tail = b" %s.xattr.user.x=%s\n" % (key.encode(), value)
        n = len(tail) + 2
        records += b"%d" % (n + (n > 99)) + tail
    x = tarfile.TarInfo("x")
    x.type, x.size = tarfile.XHDTYPE, len(records)
    t.addfile(x, io.BytesIO(records))
    t.addfile(tarfile.TarInfo(name))
t.close()
EOT
check "$mke4fs" -q -d "$work/a.tar" "$work/img"
for pair in a=2 b=3; do
	check debugfs -R "ea_list ${pair%=*}" "$work/img"
	same "attributes of ${pair%=*}" "$(grep user "$out")" \
		"  user.x (1) = \"${pair#*=}\""
done
clean "$work/img"
rm "$work/img"
# Control characters in names are escaped in messages.
archive "$work/a.tar" <<'EOT'
add("new\nline\033[2J/..", b"1")
EOT
refuse 'new.x0aline.x1b\[2J/\.\.: a path' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", b"1")
add("a/b", b"2")
EOT
refuse 'a.tar: a/b: the parent of this path is not a directory' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", uid=-1, pax_headers={"uid": "99999999999"})
EOT
not_id='the owner or group ID is not between 0 and 4294967294'
refuse "a: $not_id" -d "$work/a.tar" "$work/img"
for id in uid gid; do
	archive "$work/a.tar" <<EOT
add("dir/a", $id=4294967295)
EOT
	refuse "a.tar: dir/a: $not_id" -d "$work/a.tar" "$work/img"
done
archive "$work/a.tar" <<'EOT'
add("a", pax_headers={"SCHILY.xattr.user." + "n" * 251: "v"})
EOT
refuse 'a: extended attribute user.n*: the name is longer than 255 bytes' \
	-d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", pax_headers={"SCHILY.xattr.user.v": "v" * 65537})
EOT
refuse 'a: extended attribute user.v: the value is longer than 65536 bytes' \
	-d "$work/a.tar" "$work/img"
for value in x '\1\0\0\1' '\1\0\0\3' '\2\0\0\2'; do
	archive "$work/a.tar" <<EOT
value = "$value"
add("a", pax_headers={"SCHILY.xattr.security.capability":
    value + "\0" * (len(value) // 4 * 16)})
EOT
	refuse 'a: extended attribute security.capability: the value is not a valid file capability' \
		-d "$work/a.tar" "$work/img"
done
archive "$work/a.tar" <<'EOT'
add(".", b"1")
EOT
refuse 'a.tar: \.: the root must be a directory' \
	-d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("lost+found", b"1")
EOT
refuse 'a.tar: lost\+found: lost\+found must be a directory' \
	-d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("dir/a", type=tarfile.SYMTYPE, linkname="x" * 4096)
EOT
refuse "a.tar: dir/a: the target of a symbolic link is .*longer than 4095" \
	-d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("dir/a", type=tarfile.SYMTYPE, linkname="x" * 1024)
EOT
refuse "a.tar: dir/a: the target of a symbolic link must be shorter than a block" \
	-q -b 1024 -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", type=tarfile.CHRTYPE, devmajor=4096, devminor=7)
EOT
refuse 'a: the device number is out of range for Linux' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", type=tarfile.BLKTYPE, devmajor=7, devminor=1048576)
EOT
refuse 'a: the device number is out of range for Linux' -d "$work/a.tar" "$work/img"
archive "$work/a.tar" <<'EOT'
add("a", b"x" * 50000)
EOT
truncate -s 30000 "$work/a.tar"
refuse '[Tt]runcated' -d "$work/a.tar" "$work/img"
head -c 30000 "$work/src/file" >"$work/a.tar"
refuse "$not" -d "$work/a.tar" "$work/img"
# Absolute paths lose the slash, the last of two entries with one name is used,
# and missing parents are created.
archive "$work/a.tar" <<'EOT'
add("/abs/olute", b"one")
add("twice", b"the first is longer")
add("link", type=tarfile.LNKTYPE, linkname="./twice")
add("twice", b"second", mode=0o600)
add("./dot//slash/")
EOT
check "$mke4fs" -q -d "$work/a.tar" "$work/img" 16M
clean "$work/img"
check debugfs -R 'cat /abs/olute' "$work/img"
same "an absolute path" "$(cat "$out")" one
check debugfs -R 'cat /twice' "$work/img"
same "the second entry" "$(cat "$out")" second
check debugfs -R 'cat /link' "$work/img"
same "the first entry" "$(cat "$out")" "the first is longer"
check debugfs -R 'stat /dot/slash' "$work/img"
rm "$work/img"

# The directory of a zip archive is at the end, so the archive must be seekable.
python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("dir/file", "zipped")' "$work/a.zip"
check "$mke4fs" -q -d "$work/a.zip" "$work/img" 16M
clean "$work/img"
check debugfs -R 'cat /dir/file' "$work/img"
same "a file in a zip" "$(cat "$out")" zipped
rm "$work/img"

# A source that is in use or not clean is refused.
check mke2fs -q -t ext4 "$work/from" 8M
check debugfs -w -R 'feature needs_recovery' "$work/from"
refuse 'run e2fsck' --from="$work/from" "$work/img"
refuse 'contains no ext2' --from="$work/src/file" "$work/img"

# A filesystem image begins with zeroes, like an empty archive.
refuse "from: an ext2, .* not an archive: use --from=$work/from" \
	-d "$work/from" "$work/img"

# The device ends before the offset.
mustfail 1 timeout 10 "$mke4fs" "$work/from?offset=99999999999999"
says 'from: .*offset .*99999999999999 '

# Files that cannot contain a filesystem are refused at once.
mkfifo "$work/fifo"
mustfail 1 timeout 10 "$mke4fs" "$work/fifo"
says 'fifo: neither .* regular file'

# Wrong options are refused.
for bad in '-R 17' '-R some' '--uid-map=1' '--uid-map=1:2:0' \
	'--gid-map=4294967295:1:2' '--free=x' '--threads=0' '-S' \
	'--progress=maybe' '--unknown'; do
	# shellcheck disable=SC2086
	mustfail 2 "$mke4fs" $bad "$work/img" 8M
done
mustfail 2 "$mke4fs"
mustfail 2 "$mke4fs" a b c
mustfail 2 "$mke4fs" -d x --from=y "$work/img"
SOURCE_DATE_EPOCH=soon mustfail 2 "$mke4fs" "$work/img" 8M
printf '5 file\nx\n' >"$work/sort"
refuse 'sort: line 2: x: expected PRIORITY PATH' --sort="$work/sort" -d "$work/src" "$work/img"
for number in 32768 -32768 4294967297 99999999999999999999; do
	printf '5 file\n%s file\n' "$number" >"$work/sort"
	refuse "sort: line 2: $number file: expected a priority from -32767 to 32767" \
		--sort="$work/sort" -d "$work/src" "$work/img"
done
printf '32767 file\n-32767 file\n' >"$work/sort"
check "$mke4fs" -q --sort="$work/sort" -d "$work/src" "$work/img"
rm "$work/img"
printf '5 files\n' >"$work/sort"
refuse 'sort: line 1: files: no such file' --sort="$work/sort" -d "$work/src" \
	"$work/img"

# Messages of mke2fs about a prototype are printed with the name of the image.
mustfail 1 "$mke4fs" -d "$work/src" -U xx "$work/img" 30M
says "^$work/img: .*UUID: xx"
mustfail 1 "$mke4fs" -d "$work/src" "$work/img" 10k
says "^$work/img: Not enough space"
mustfail 1 "$mke4fs" -d "$work/src" "$work/img" 99999999999T
says "^mkfs.ext4: Size .* $work/img too big"
