#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mke4fs combines several sources: overlapping directories and archives, sources
# below a path, layers with whiteouts, and manifests.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program tar python3

settle() {
	find "$1" -exec touch -h -d @1000000000 {} +
}

# make_image OPTION...: makes img from the sources in OPTIONs
make_image() {
	rm -f img
	check "$mke4fs" -q "$@" img
}

# refuse SENTENCE OPTION...: fails unless mke4fs fails with SENTENCE
refuse() {
	sentence=$1
	shift
	rm -f img
	mustfail 1 "$mke4fs" -q "$@" img
	says "$sentence"
	one_sentence mke4fs
	[ ! -e img ] || fail "an image is left of $*"
}

cd "$work" || exit

# Files of later directories replace files of earlier directories, as if rsync
# had copied them.
mkdir -p one/both/deep one/only two/both/deep two/changes three
echo one >one/both/a
echo one >one/both/b
echo one >one/both/deep/c
ln one/both/b one/linked
echo file >one/changes
ln -s nowhere one/points
head -c 300000 /dev/urandom >one/only/large
echo two, and longer >two/both/b
chmod 600 two/both/b
echo two >two/both/deep/d
echo two >two/changes/e
mkdir two/points
ln two/both/b two/other-name
chown 7:8 two/both
setfattr -n user.x -v y two/both
echo three >three/f
head -c 100000 /dev/urandom >three/g
truncate -s 1M three/holes
printf x | dd of=three/holes bs=1 seek=500000 conv=notrunc status=none
for d in one two three; do settle $d; done

mkdir expected
rsync -aHAX one/ expected/
rsync -aHAX --force two/ expected/
mkdir -p expected/opt/x
rsync -aHAX three/ expected/opt/x/
settle expected
chmod 755 expected/opt expected/opt/x
(
	SOURCE_DATE_EPOCH=1000000000
	export SOURCE_DATE_EPOCH
	make_image -d one -d two -d three:/opt/x
)
equals img expected
# Archives give the same result as directories, and so does an archive after a
# directory.
for d in one two three; do tar -C $d --xattrs -cf $d.tar .; done
gzip -k two.tar
for sources in 'one.tar two.tar.gz' 'one two.tar' 'one.tar two'; do
	# shellcheck disable=SC2086
	set -- $sources
	(
		SOURCE_DATE_EPOCH=1000000000
		export SOURCE_DATE_EPOCH
		make_image -d "$1" -d "$2" -d "three.tar:/opt/x"
	)
	equals img expected
done

# A file whose name contains ":/" is not cut.
mkdir 'odd:'
cp -a three 'odd:/x'
make_image -d 'odd:/x'
equals img three
rm -r 'odd:'

# A layer has a hard link to a file of a directory, and removes the name of the
# file.
python3 - <<'EOT'
import io, tarfile
def archive(name, *members):
    t = tarfile.open(name, "w", format=tarfile.PAX_FORMAT)
    for m in members:
        i = tarfile.TarInfo(m[0])
        i.mtime, i.mode = 1000000000, 0o644
        data = b""
        if m[1] == "dir":
            i.type, i.mode = tarfile.DIRTYPE, 0o755
        elif m[1] == "link":
            i.type, i.linkname = tarfile.LNKTYPE, m[2]
        elif m[1] == "symlink":
            i.type, i.linkname = tarfile.SYMTYPE, m[2]
        else:
            data = m[1].encode()
        i.size = len(data)
        t.addfile(i, io.BytesIO(data))
    t.close()
archive("link.tar", ("kept", "link", "f"), (".wh.f", ""))
archive("white.tar", ("both/.wh.a", ""), ("both/new", "new\n"),
        ("both/deep/.wh..wh..opq", ""), ("both/deep/own", "own\n"),
        (".wh.only", ""), ("only/", "dir"), ("only/new", "new\n"),
        (".wh..wh.aufs", ""), (".wh..wh.plnk/", "dir"),
        (".wh..wh.plnk/123", "x"), ("both/.wh..wh.orph/d/e", "x"),
        ("only/.wh..wh.plnk/.wh..wh..opq", ""))
archive("usr.tar", ("usr", "dir"), ("usr/lib", "dir"),
        ("lib", "symlink", "usr/lib"), ("up", "symlink", "../lib"),
        ("loop", "symlink", "loop"))
archive("into.tar", ("lib/a", "a\n"))
archive("out.tar", ("up/a", "a\n"))
archive("round.tar", ("loop/a", "a\n"))
archive("nothing.tar", (".wh.not-there", ""), ("f", "f\n"))
archive("empty-name.tar", ("d/.wh.", ""))
archive("dot-name.tar", ("d/.wh..", ""))
archive("root.tar", (".", "a file"))
EOT
make_image -d three -d layer:link.tar
rm -rf expected
cp -a three expected
mv expected/f expected/kept
settle expected
chmod 755 expected
equals img expected

# Whiteouts are found anywhere in the layer.
make_image -d one -d layer:white.tar
rm -rf expected
cp -a one expected
rm -r expected/both/a expected/both/deep/* expected/only/*
echo new >expected/both/new
echo own >expected/both/deep/own
echo new >expected/only/new
settle expected
equals img expected
# Without "layer:", whiteouts are ordinary files.
make_image -d white.tar
debugfs -R 'stat both/.wh.a' img 2>&1 | grep -q 'Type: regular' ||
	fail 'a plain archive has no whiteouts'
# a whiteout that hides nothing is not an error
check "$mke4fs" -q -d layer:nothing.tar img2
says 'nothing.tar: .wh.not-there: .*hides nothing'
one_sentence mke4fs

# A layer has files in a directory that is a symbolic link in an earlier layer.
make_image -d usr.tar -d layer:into.tar
same "usr/lib/a" "$(debugfs -R 'cat usr/lib/a' img 2>/dev/null)" a
refuse 'layer:out.tar: up/a: a symbolic link in the path leads out of the source' \
	-d usr.tar -d layer:out.tar
refuse 'layer:round.tar: loop/a: too many symbolic links in the path' \
	-d usr.tar -d layer:round.tar
refuse 'd/.wh.: the whiteout has no file name' -d layer:empty-name.tar
refuse 'd/.wh..: the whiteout has no file name' -d layer:dot-name.tar
refuse 'root.tar: \.: the root must be a directory' -d root.tar
refuse 'three: /below/f/x: not a directory' -d three:/below -d three:/below/f/x

# --max-size limits the unpacked size of all archives together.
head -c 3M /dev/zero >zeroes
tar -czf bomb.tar.gz zeroes
refuse 'bomb.tar.gz: zeroes: the unpacked size exceeds 2 MiB .--max-size' \
	--max-size=2M -d bomb.tar.gz
refuse 'exceeds 4 MiB' --max-size=4M -d bomb.tar.gz -d bomb.tar.gz
make_image --max-size=4M -d bomb.tar.gz

# Manifests change files and add files.
cat >manifest <<'EOT'
#mtree
/set type=file uid=3 gid=4 mode=0640
. type=dir mode=0711 time=1000000000
    dir type=dir mode=0750 time=1000000000
        file\040one contents=three/f time=999999999.500000000
        sub type=dir time=1000000000 mode=0700
            deep contents=three/g size=100000 \
                time=1000000000
        ..
    ..
/unset all
./null type=char device=native,1,3 mode=0666 uid=0 gid=0 time=1000000000
./dir/link type=link link=file\040one uid=1 gid=2 time=1000000000
./dir/fifo type=fifo mode=0600 uid=0 gid=0 time=1000000000
./f mode=0600 uid=5
./other/implied type=file time=1000000000 xattr.user.note=aGVsbG8=
EOT
(
	SOURCE_DATE_EPOCH=1000000000
	export SOURCE_DATE_EPOCH
	make_image -d three --manifest=manifest
)
rm -rf expected
cp -a three expected
mkdir -m 750 expected/dir
cp three/f 'expected/dir/file one'
mkdir -m 700 expected/dir/sub
cp three/g expected/dir/sub/deep
chmod 640 'expected/dir/file one' expected/dir/sub/deep
mknod -m 666 expected/null c 1 3
ln -s 'file one' expected/dir/link
mkfifo -m 600 expected/dir/fifo
mkdir -m 755 expected/other
: >expected/other/implied
chmod 644 expected/other/implied
setfattr -n user.note -v hello expected/other/implied
settle expected
touch -d @999999999.5 'expected/dir/file one'
chown 3:4 expected expected/dir 'expected/dir/file one' expected/dir/sub expected/dir/sub/deep
chmod 711 expected
chown -h 1:2 expected/dir/link
chmod 600 expected/f
chown 5 expected/f
equals img expected

# A manifest that bsdtar wrote for a directory is accepted, with the content
# from the directory.
if has_program bsdtar; then
	bsdtar -C one -cf one.mtree --format=mtree \
		--options='!all,type,mode,uid,gid,time,link,size' .
	sed 's|^\./\(.*\) type=file\(.*\)|./\1 type=file contents=one/\1\2|
		' one.mtree |
		sed '/type=file/!s/size=[0-9]*//' >with-contents
	make_image --manifest=with-contents
	cp -a one unlinked
	rm unlinked/linked
	cp -p unlinked/both/b unlinked/linked
	touch -r one unlinked
	equals img unlinked
fi

# A change through one name of a file changes the file of all names.
printf './linked uid=9 mode=0604\n./both/b xattr.user.a=eA==\n' >change
make_image -d one --manifest=change
cp -a one changed
chown 9 changed/linked
chmod 604 changed/linked
setfattr -n user.a -v x changed/linked
touch -r one changed
equals img changed

bad_line() {
	printf '%s\n' "$2" >bad
	refuse "bad: line 1: $1" -d three --manifest=bad
}
bad_line 'x: a new file requires type=' 'x uid=1'
bad_line 'colour=red: unknown keyword' 'f colour=red'
bad_line 'mode=999: invalid value .see mtree' 'f mode=999'
bad_line 'uid=-1: invalid value' 'f uid=-1'
bad_line 'type=door: invalid value' 'f type=door'
bad_line 'x: type=link requires link=' 'x type=link'
bad_line 'x: type=block and type=char require device=' 'x type=char'
bad_line 'x: a new file with a size requires contents=' 'x type=file size=5'
bad_line 'f: contents= requires type=file' 'f type=dir contents=three/f'
bad_line 'three: not a regular file' 'x contents=three'
bad_line 'three/f: the size differs from' 'x contents=three/f size=5'
bad_line 'f: the size differs from' 'f type=file size=5'
bad_line 'user.a: the value is not valid base64' 'f xattr.user.a=!!'
bad_line 'security.capability: the value is not a valid file capability' \
	'f xattr.security.capability=AQAAAg=='
bad_line 'user.a: only regular files and directories' \
	'x type=link link=f xattr.user.a=eA=='
bad_line 'system.posix_acl_default: only directories have a default ACL' \
	'f xattr.system.posix_acl_default=AgAAAAEABwD/////BAAHAP////8gAAcA/////w=='
bad_line 'nons: the name has no namespace' 'f xattr.nons=eA=='
for name in foo.bar system.other; do
	bad_line "$name: ext4 does not store attributes" "f xattr.$name=YQ=="
done
printf '\134' >bad
refuse 'bad: line 1: the line has no newline' -d three --manifest=bad
printf 'f uid=1\n\134' >bad
refuse 'bad: line 2: the line has no newline' -d three --manifest=bad
bad_line 'a/../b: a path contains ..' 'a/../b type=file'
bad_line '\.\.: the entry leads above the root directory' '..'
bad_line '.*x5cx: invalid file name' '\x type=file'
printf 'f mode=0\0\n' >bad
refuse 'bad: line 1: the line has no newline, or contains a NUL byte' \
	--manifest=bad
refuse 'not-there: cannot open' --manifest=not-there
printf 'x contents=not-there\n' >bad
refuse 'bad: not-there: No such file' --manifest=bad
