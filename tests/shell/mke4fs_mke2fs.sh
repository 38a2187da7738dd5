#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With a source, each option of mke2fs is implemented by mke4fs, passed to
# mke2fs, or refused by name.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

mkdir -p "$work/src/dir"
cd "$work"
echo content >src/dir/file
setfattr -n user.one -v 1 src src/dir/file
echo 3000 >bad
fixed=-U0b5a6c3e-7a0f-4d0e-9f1e-3d1c5a0c9a10
seed=hash_seed=9f8c1c1e-3b7c-4a60-8a35-1d1d0a4f7a55

# header IMAGE: prints the superblock without times and usage, and the size of
# the orphan file
header() {
	dumpe2fs -h "$1" 2>/dev/null | grep -Ev -e \
	'^(Free|Filesystem created|Last (mount t|wr|ch)|Lifetime|MMP)' -e \
	'^(.*[Cc]hecksum:|    mmp_(up|dev|node|seq))' -e \
	'^(Directories|Journal (sequence|start)|Overhead)'
	debugfs -R 'stat <8>' "$1" 2>/dev/null | grep -A1 -E '^\(0'
	dumpe2fs -b "$1" 2>/dev/null
	orphans=$(value "$1" 'Orphan file inode')
	[ ! "$orphans" ] ||
		debugfs -R "stat <$orphans>" "$1" 2>/dev/null | grep -o 'Size: .*'
}

# ----------------------------------------------------------------- passed on
# Each option makes the same filesystem as mke2fs, and changes the filesystem.
check mkfs.ext4 -q $fixed -E $seed plain 64M
header plain >plain.header
sum=0
# shellcheck disable=SC2086
while read -r same options; do
	rm -f theirs ours
	case $options in *-E*) sep=, ;; *) sep=" -E " ;; esac
	if ! mkfs.ext4 -q $fixed $options$sep$seed theirs 64M \
		>mke2fs.out 2>&1; then
		grep -Eq 'Bad option|invalid option|option has been removed' \
			mke2fs.out ||
			fail "mke2fs: $options"
		continue	# this version of mke2fs does not have the option
	fi
	check "$mke4fs" -q $fixed $options$sep$seed -d src ours 64M
	sound ours
	header theirs >theirs.header
	header ours >ours.header
	diff theirs.header ours.header >&2 || fail "$options: the superblock differs from mke2fs"
	if cmp -s plain.header ours.header; then
		[ "$same" = = ] || fail "$options: nothing shows"
	fi
	sum=$((sum + 1))
done <<'END'
! -b 2048
! -O bigalloc -C 32768
= -D
! -e panic
= -F
! -g 4096
! -G 8
! -i 8192
! -I 512
= -j
! -J size=2
! -J location=4M
! -O fast_commit -J size=8,fast_commit_size=512
= -K
! -l bad
! -L label
! -m 2
! -M /mnt
! -N 512
= -o linux
! -O ^metadata_csum
! -O ^metadata_csum -O uninit_bg
= -r 1
! -O ^resize_inode -s 0
= -t ext4
! -T news
= -E assume_storage_prezeroed=1
= -E desc-size=64
= -E desc_size=64
= -E discard
= -E nodiscard
= -E lazy_itable_init=0
= -E lazy_journal_init=1
! -O mmp -E mmp_update_interval=9
! -O sparse_super2 -E num_backup_sb=1
! -O orphan_file -E orphan_file_size=256k
= -E packed_meta_blocks=1
! -O quota -E quotatype=usrquota
! -E resize=1000000
= -E revision=1
! -E stride=8
! -E stride=8,stripe-width=32
! -E stride=8,stripe_width=32
! -E test_fs
END
[ $sum -ge 40 ] || fail "only $sum options"
# mke2fs ignores all but the last -E and the last -O
check "$mke4fs" -q -F -E stride=8 -E stripe_width=16 -O quota -O project \
	-d src ours 64M
header ours >ours.header
for word in 'stride: *8' 'width: *16' 'quota.* project'; do
	grep -q "$word" ours.header || fail "one of several options has no effect: $word"
done

# ------------------------------------------------------- applied by mke4fs
# root_is MODE USER GROUP: the root directory's attributes
root_is() {
	sound img
	check debugfs -R 'stat /' img
	grep -Eq "Mode: +$1 " "$out" || { show_run; fail "not $1"; }
	grep -Eq "User: +$2 +Group: +$3 " "$out" ||
		{ show_run; fail "not $2:$3"; }
}
chmod 755 src
check "$mke4fs" -q -F -d src -E root_owner=70000:7,root_perms=1770 img 16M
root_is 01770 70000 7
# Options for the root take precedence over options for all files.
check "$mke4fs" -q -F -d src --all-root -E root_owner=5:6 img 16M
root_is 0755 5 6
check "$mke4fs" -q -F -d src -E root_owner img 16M
root_is 0755 "$(id -u)" "$(id -g)"
check "$mke4fs" -q -F --from=img -E root_perms=700 img2 16M
mv img2 img
root_is 0700 "$(id -u)" "$(id -g)"
check "$mke4fs" -q -F -E root_owner=5:6,tunables=dir_ireserve=64 img 16M
root_is 0755 5 6

# With these options, mke2fs miscounts free blocks.
rm -f img
check "$mke4fs" -q -d src -b 2048 -G 1 -E packed_meta_blocks=1 img 100M
sound img

# attributes IMAGE PATH: prints the names of the attributes of PATH
attributes() {
	debugfs -R "ea_list $2" "$1" 2>/dev/null |
		sed -n 's/^  \([^ ]*\) (.*/\1/p' | tr '\n' ' '
}
same "attributes" "$(attributes img2 / 2>&1; attributes ours /dir/file)" \
	"user.one "
check "$mke4fs" -q -F -d src -E no_copy_xattrs,root_selinux=system_u:root_t \
	img 16M
sound img
same "attributes" "$(attributes img /)" "security.selinux "
same "attributes" "$(attributes img /dir/file)" ""
check debugfs -R 'ea_get / security.selinux' img
grep -q 'security.selinux (15) = "system_u:root_t"' "$out" || fail "the label"
check "$mke4fs" -q -F -d src -E no_copy_xattrs,tunables=dir_ireserve=64 img 16M
same "attributes" "$(attributes img /)" "trusted.ext4.tunables "

# ------------------------------------------------------------------- refused
rm img
# refuse OPTIONS PATTERN: fails unless OPTIONS are refused with a message that
# matches PATTERN
refuse() {
	# shellcheck disable=SC2086
	mustfail 2 "$mke4fs" -d src $1 img 16M
	one_sentence mke4fs
	says "$2"
	[ ! -e img ] || fail "$1: an image is left behind"
}
refuse -S '^mke4fs: -S: '
refuse '-z undo' '^mke4fs: -z: '
refuse '-E stride=8,android_sparse' '^mke4fs: -E android_sparse: '
refuse '-E stride=8,no_such=1' "^mke4fs: unknown option '-E no_such=1'"
refuse '-E root_owner=5' '-E root_owner=: invalid value'
refuse '-E root_owner=5:6x' '-E root_owner=: invalid value'
refuse '-E root_perms=8' '-E root_perms=: invalid value'
refuse '-E root_perms=17777' '-E root_perms=: invalid value'
refuse '-E root_perms' '-E root_perms=: invalid value'
for list in ,stride=4 stride=4,,stripe_width=8 ,tunables=dir_ireserve=64; do
	refuse "-E $list" '^mke4fs: -E: an empty option before '
done
refuse '-E offset=x' '-E offset=: invalid value'

# ------------------------------------------------- all options of mke2fs
run mke2fs -q -E no_such_option=1 x.img 16M
sed -nE 's,^\t([a-z_-]+)(=.*)?$,\1,p' "$err" >theirs.words
[ "$(wc -l <theirs.words)" -gt 15 ] || fail "mke2fs lists no extended options"
while read -r word; do
	run "$mke4fs" -n -d src -E "$word=1" img 16M
	! grep -q 'unknown option' "$err" || fail "-E $word is not known"
done <theirs.words
run mke2fs
grep -o -e '[[ ]-[a-zA-Z]' "$err" | cut -c3 | sort -u >theirs.letters
[ "$(wc -l <theirs.letters)" -gt 20 ] || fail "mke2fs lists no options"
while read -r letter; do
	run "$mke4fs" "-$letter"
	! grep -q 'unknown option' "$err" || fail "-$letter is not known"
done <theirs.letters
