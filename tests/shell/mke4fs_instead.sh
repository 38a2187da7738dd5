#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mke4fs replaces mke2fs: the test runs the command lines of programs that build
# images.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_loop

cd "$work" || exit
sample src
real=$(command -v mke2fs)
mkdir bin
for name in mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4; do
	ln -s "$mke4fs" bin/$name
done
# dpkg-divert renames the original mke2fs to mke2fs.distrib.
ln -s "$real" bin/mke2fs.distrib
PATH=$work/bin:$PATH
export PATH
# The names of mke2fs run mke4fs, which must run the original mke2fs and not
# itself.
same mkfs.ext4 "$(command -v mkfs.ext4)" "$work/bin/mkfs.ext4"

# build_image COMMAND...: fails unless COMMAND makes img with the content of src
build_image() {
	check "$@"
	equals img src
	rm img
}

uuid=01234567-89ab-4def-8123-456789abcdef
# the command of systemd-repart
build_image mkfs.ext4 -q -d src -L root -U $uuid -I 256 -O has_journal -m 0 \
	-E lazy_itable_init=1 -b 4096 -T default img 64M
# the command of genimage, for an image file that has its final size
truncate -s 64M img
build_image mke2fs -t ext4 -I 256 -F -E 'root_owner=0:0' -d src -L name img 65536k
# the command of buildroot
build_image mkfs.ext4 -d src -r 1 -N 0 -m 5 -L rootfs -I 256 -O ^64bit img 60M
# the command of Yocto, with options after the operands
truncate -s 64M img
build_image mkfs.ext4 -F -i 8192 img -d src
truncate -s 64M img
build_image mkfs.ext4 -F -T default -O ^metadata_csum img -d src
# the command of make-ext4-fs in nixpkgs
truncate -s 64M img
build_image mkfs.ext4 -L NIXOS_SD -U $uuid -d src img
# the command of Debian's live-build and of vmdb2
truncate -s 64M img
build_image mkfs.ext4 -F -q -m 0 -O ^metadata_csum,^64bit -d src img
# Several -E are used together.  They set attributes of the root directory.
check mkfs.ext4 -q -d src -E root_owner=3:4 -E root_perms=0711 \
	-E root_selinux=system_u:object_r:root_t:s0,hash_seed=$uuid \
	-E no_copy_xattrs img 64M
sound img
check debugfs -R 'stat /' img
grep -q 'Mode:  0711' "$out" || fail 'root_perms'
grep -q 'User: *3 *Group: *4' "$out" || fail 'root_owner'
check debugfs -R 'ea_list /' img
grep -q 'security.selinux.*root_t' "$out" || fail 'root_selinux'
same 'the seed' "$(value img 'Directory Hash Seed')" $uuid
rm img
# The source can be a tar archive, as for mke2fs 1.47.1 and later.
rm src/sock
tar --xattrs --acls -C src -cf src.tar .
check mkfs.ext4 -q -d src.tar img 64M
sound img
rm img
mkfs.ext4 -q -d - img 64M <src.tar || fail 'an archive on standard input'
sound img
rm img
# Without -d, mke4fs makes the same filesystem as mke2fs, for each name of
# mke2fs.
for name in mkfs.ext2 mkfs.ext3 mke2fs; do
	truncate -s 16M img
	check $name -q -F img
	check e2fsck -fn img
	case $name in
	mkfs.ext3)
		value img 'Filesystem features' | grep -q has_journal ||
			fail 'ext3 has a journal' ;;
	*)
		value img 'Filesystem features' | grep -q extent &&
			fail "$name makes ext2" ;;
	esac
	rm img
done

# -R is the old name of -E.  After wrong usage, the exit status is 1, as for
# mke2fs.
check mkfs.ext4 -q -F -R stride=4 img 16M
says "^mkfs.ext4: -R is deprecated .*-E"
same stride "$(value img 'RAID stride')" 4
rm img
check mkfs.ext4 -q -F -R low -d src img 64M
rm img
for options in -S '-z undo' '-R no_such' '-E no_such' '-R ,stride=4' \
	'-E root_owner=-1:-1' '-E root_owner=4294967296:1' '-b' ''; do
	# shellcheck disable=SC2086
	mustfail 1 mke2fs $options
	says '^mke2fs: '
	# shellcheck disable=SC2086
	mustfail 2 "$mke4fs" $options
done

# genimage runs mke4fs.
if command -v genimage >/dev/null; then
	cat >config <<-'EOT'
	image root.ext4 {
		ext4 {
			label = "root"
			use-mke2fs = true
		}
		size = 64M
	}
	EOT
	mkdir -p tmp
	rm -rf tmp
	check genimage --config config --rootpath src --tmppath tmp \
		--inputpath . --outputpath out-of-genimage
	mv out-of-genimage/root.ext4 img
	same "genimage's label" "$(value img 'Filesystem volume name')" root
	equals img src
	rm img
fi

# systemd-repart runs mke4fs, which is mkfs.ext4 in PATH.
repart=$(command -v systemd-repart || :)
if [ "$repart" ] && "$repart" --help | grep -q -- --offline; then
	mkdir repart.d
	printf '[Partition]\nType=linux-generic\nFormat=ext4\n%s\n%s\n' \
		"CopyFiles=$work/src:/" 'SizeMinBytes=64M' >repart.d/root.conf
	check "$repart" --empty=create --size=auto --offline=yes \
		--definitions=repart.d --dry-run=no disk
	offset=$(sfdisk -d disk | sed -n 's/.*start= *\([0-9]*\),.*/\1/p')
	dd if=disk of=img bs=512 skip="$offset" status=none
	equals img src
fi
