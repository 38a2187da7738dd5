#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mke4fs copies the user's files from a directory, without the internal files of
# the filesystem and, on request, without other mounted filesystems.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program tar

cd "$work"
# has IMAGE PATH: true if the image has the file PATH
has() {
	debugfs -R "stat $2" "$1" 2>/dev/null | grep -q ^Inode
}
# attributes IMAGE PATH: prints the names of the attributes of PATH
attributes() {
	debugfs -R "ea_list $2" "$1" 2>/dev/null |
		sed -n 's/^  \([^ (]*\) .*/\1/p' | sort | tr '\n' ' '
}

# Attributes that xattr.conf(5) excludes from copies are omitted.
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
else
	skip_part 'no attribute security.evm can be set here'
fi

# XFS lists an ACL under two names.
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
else
	skip_part 'no XFS can be made and mounted here'
fi

# Excluded attributes are not read.  A message names each unreadable attribute.
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
else
	skip_part 'a static build has no blind_xattr.so'
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
says 'ea_inode'
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

# mke4fs copies the filesystems that are mounted below the directory, or with
# --one-file-system omits them.
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
