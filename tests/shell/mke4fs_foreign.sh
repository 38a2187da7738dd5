#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# From a directory, mke4fs copies the user's files: without the internal files
# of the filesystem, without the image that is being written, and, on request,
# without other mounted filesystems.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program tar

cd "$work"
# has IMAGE PATH: the image has the file
has() {
	debugfs -R "stat $2" "$1" 2>/dev/null | grep -q ^Inode
}
# attributes IMAGE PATH: prints the names of attributes
attributes() {
	debugfs -R "ea_list $2" "$1" 2>/dev/null |
		sed -n 's/^  \([^ (]*\) .*/\1/p' | sort | tr '\n' ' '
}

# attributes that xattr.conf(5) excludes from copies
truncate -s 32M host
check mke2fs -q -F -t ext4 host
mount_image host mnt
mkdir mnt/s
: >mnt/s/f
for name in trusted.SGI_ACL_FILE trusted.SGI_ACL_DEFAULT trusted.SGI_CAP_FILE \
	trusted.SGI_MAC_FILE trusted.SGI_DMI_DMIATTR user.Beagle.AttrTime; do
	setfattr -n $name -v private mnt/s/f
done
setfattr -n trusted.SGI -v users mnt/s/f
setfattr -n user.kept -v users mnt/s/f
kept='trusted.SGI user.kept '
check "$mke4fs" -q -d mnt/s img
same 'attributes from a directory' "$(attributes img f)" "$kept"
tar -C mnt/s --format=posix --xattrs --xattrs-include='*' -cf a.tar f
rm img
check "$mke4fs" -q -d a.tar img
same 'attributes from an archive' "$(attributes img f)" "$kept"
clean img
rm img

# only a portable EVM signature is valid in a copy
if setfattr -n security.evm -v 0x02abcd mnt/s/f 2>/dev/null; then
	check "$mke4fs" -q -d mnt/s img
	same 'attributes' "$(attributes img f)" "$kept"
	setfattr -n security.evm -v 0x05abcd mnt/s/f
	rm img
	check "$mke4fs" -q -d mnt/s img
	same 'attributes' "$(attributes img f)" "security.evm $kept"
	rm img
fi

# XFS shows an ACL twice
if command -v mkfs.xfs >/dev/null && truncate -s 400M x &&
	mkfs.xfs -q -f x && mkdir xfs && mount -o loop x xfs 2>/dev/null; then
	defer "umount '$work/xfs'"
	mkdir xfs/s
	: >xfs/s/f
	setfacl -m "$(seq -s, -f 'u:%g:r' 5001 5300)" xfs/s/f
	check "$mke4fs" -q -b 4096 -d xfs/s img
	same 'attributes of XFS' "$(attributes img f)" \
		'system.posix_acl_access '
	clean img
	rm img
fi

# excluded attributes are not read, and unreadable ones are named
shim=$top_builddir/tests/tools/.libs/blind_xattr.so
if [ -e "$shim" ]; then
	no_leak_check
	ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
	mkdir plain
	: >plain/f
	mustfail 1 env LD_PRELOAD="$shim" "$mke4fs" -q -d plain img
	one_sentence mke4fs
	says 'security.selinux: .*-E no_copy_xattrs'
	check env LD_PRELOAD="$shim" "$mke4fs" -q -E no_copy_xattrs -d plain img
	has img f || fail 'the file is missing'
	rm img
fi
python3 - <<'P'
import tarfile
with tarfile.open('bad.tar', 'w', format=tarfile.PAX_FORMAT) as t:
    i = tarfile.TarInfo('f')
    i.pax_headers = {'SCHILY.xattr.security.capability': 'nonsense'}
    t.addfile(i)
with tarfile.open('many.tar', 'w', format=tarfile.PAX_FORMAT) as t:
    i = tarfile.TarInfo('f')
    i.pax_headers = {'SCHILY.xattr.user.%0200d' % n: 'x' for n in range(50)}
    t.addfile(i)
P
mustfail 1 "$mke4fs" -q -b 4096 -d many.tar img
says '-O ea_inode'
mustfail 1 "$mke4fs" -q -b 4096 -O ea_inode -d many.tar img
says 'names .*one block'
mustfail 1 "$mke4fs" -q -d bad.tar img
check "$mke4fs" -q -E no_copy_xattrs -d bad.tar img
rm img
setfattr -n user.kept -v users mnt/s
command umount mnt
undefer "umount 'mnt'"
detach "$loop"
check "$mke4fs" -q -E no_copy_xattrs --from=host img
same 'attributes with --from' "$(attributes img s)" ''
rm img

# the image is not copied into itself: by its name, a hard link, a symbolic
# link, or through a loop device
mkdir self
seq 100 >self/a
check "$mke4fs" -q -d self self/img
mkdir self/d
ln self/img self/d/link
ln -s img self/symlink
for target in self/img self/symlink self/d/../img; do
	check "$mke4fs" -q -d self "$target"
	says 'img: omitted: .*the image'
	says 'd/link: omitted: .*the image'
	! has self/img img || fail "$target: the image is in itself"
	! has self/img d/link || fail "$target: the image is in itself"
	for name in a d symlink; do
		has self/img $name || fail "$target: $name is missing"
	done
done
rm self/d/link
mkdir upper work merged
if mount -t overlay -o "lowerdir=self,upperdir=upper,workdir=work" self \
	merged 2>/dev/null; then
	defer "umount 'merged'"
	check "$mke4fs" -q -d merged self/img
	says 'img: omitted: .*the image'
	! has self/img img || fail 'an overlay: the image is in itself'
	has self/img a || fail 'an overlay: a file is missing'
	command umount merged
	undefer "umount 'merged'"
else
	skip_part 'no overlay can be mounted here'
fi
attach self/img
check "$mke4fs" -q -F -d self "$loop"
says 'img: omitted: .*the image'
! has "$loop" img || fail 'a loop device: the image is in itself'
lower=$loop
attach "$lower"
check "$mke4fs" -q -F -d self "$loop"
says 'img: omitted: .*the image'
! has "$loop" img || fail 'a loop device over another: the image is in itself'
detach "$loop"
sectors=$(blockdev --getsz "$lower")
if has_program dmsetup && dmsetup create "self-$$" \
	--table "0 $sectors linear $lower 0" 2>/dev/null; then
	defer "dmsetup remove self-$$"
	dmsetup mknodes
	check "$mke4fs" -q -F -d self "/dev/mapper/self-$$"
	says 'img: omitted: .*the image'
	dmsetup remove "self-$$"
	undefer "dmsetup remove self-$$"
else
	skip_part 'no device mapper'
fi
detach "$lower"
clean self/img
rm self/img
check "$mke4fs" -q -d self self/img
[ ! -s "$err" ] || fail 'something is left out of an image that is new'

# mke4fs does not overwrite the filesystem that it copies
ln self/img self/link
sum=$(sha256sum <self/img)
for from in self/img self/link 'self/img?offset=0'; do
	mustfail 1 "$mke4fs" -q --from="$from" self/img
	one_sentence mke4fs
	says "$(printf '%s' "$from" | tr '?' .): .*the image self/img"
done
same 'the source' "$(sha256sum <self/img)" "$sum"
rm self/link

# mke4fs does not overwrite the archive that it copies
tar -cf self.tar self
truncate -s 4M self.tar
cp self.tar self.copy
ln self.tar self.link
for source in self.tar self.link layer:self.tar oci-archive:self.tar \
	docker-archive:self.tar; do
	mustfail 1 "$mke4fs" -q -F -d "$source" self.tar
	says 'source .*the image self.tar'
done
# shellcheck disable=SC2016
mustfail 1 sh -c '"$0" -q -F -d - self.tar <self.tar' "$mke4fs"
says '-: .*source .*the image self.tar'
attach self.tar
mustfail 1 "$mke4fs" -q -F -d self.tar "$loop"
says 'self.tar: .*source .*the image'
mustfail 1 "$mke4fs" -q -F -d "$loop" "$loop"
says 'source .*the image'
detach "$loop"
cmp self.tar self.copy || fail 'the archive has changed'
rm self.tar self.link self.copy

# mounts: all, or one filesystem
mkdir -p one/other one/bind one/plain other
: >one/file
: >one/plain/in
echo host >other/hosts
mount -t tmpfs none one/other || skip 'no tmpfs'
defer "command umount '$work/one/other'"
mount --bind one/plain one/bind
defer "command umount '$work/one/bind'"
mount --bind other/hosts one/file
defer "command umount '$work/one/file'"
: >one/other/deep
chmod 1770 one/other
rm -f img
check "$mke4fs" -q -d one img
for name in other/deep bind/in plain/in; do
	has img $name || fail "$name is missing"
done
rm img
check "$mke4fs" --one-file-system -d one img
says 'other: .*contents .*omitted: '
says 'file: omitted: '
has img other || fail 'the directory that something is mounted on is missing'
has img plain/in || fail 'plain/in is missing'
! has img other/deep || fail 'another filesystem was entered'
! has img bind/in || fail 'a mount of the same filesystem was entered'
! has img file || fail 'a file that is mounted was taken'
clean img
rm img
check "$mke4fs" -q --one-file-system -d one img
[ ! -s "$err" ] || fail 'it is not quiet'
rm img
mustfail 2 "$mke4fs" --one-file-system img 8M
one_sentence mke4fs
