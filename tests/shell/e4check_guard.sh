#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If e2fsck -fn finds a filesystem unclean, e4check has an error and no tool
# writes to the filesystem.  If e2fsck finds the filesystem clean, e4check has
# no error.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs dumpe2fs
img=$work/img
echo text >"$work/text"

# made MKE2FS-OPTION...: makes a new image of 8 MiB.
made() {
	rm -f "$img"
	check mke2fs -q -F -b 1024 "$@" "$img" 8M
}

# change REQUEST...: runs all requests in one debugfs.
change() {
	printf '%s\n' "$@" >"$work/requests"
	run debugfs -w -f "$work/requests" "$img"
	# debugfs always exits with 0
	[ "$(grep -cv '^debugfs [0-9]' "$err")" = 0 ] ||
		{ show_run; fail "$*"; }
}

# ask REQUEST: prints the output of a debugfs request for the image.
ask() {
	debugfs -R "$1" "$img" 2>/dev/null
}

# clean WHAT: fails unless both programs find the image clean.
clean() {
	run e2fsck -fn "$img"
	[ "$status" = 0 ] || { show_run; fail "$1: e2fsck finds the image unclean"; }
	run "$e4check" --no-layout "$img"
	[ "$status" = 0 ] || { show_run; fail "$1: not clean"; }
}

# unclean CODE WHAT: fails unless both programs find errors and no tool writes
# to the image.
unclean() {
	run e2fsck -fn "$img"
	[ "$status" != 0 ] || fail "$2: e2fsck finds the image clean"
	run "$e4check" --no-layout "$img"
	[ "$status" = 4 ] || { show_run; fail "$2: exit $status"; }
	grep -q "^error: $1[,:] " "$out" || { show_run; fail "$2: no $1"; }
	sum=$(cksum <"$img")
	mustfail 1 "$e4repack" --no-undo --only=inodes,directories "$img"
	mustfail 1 "$tune4fs" --no-undo -E dir_ireserve=64 "$img"
	mustfail 1 "$e4debug" -w --no-undo -R 'mkdir /new' "$img"
	same "$2: the refused image" "$(cksum <"$img")" "$sum"
}

# ---- counts in a group descriptor

# group N NAME: prints the number NAME from the descriptor of group N.
group() {
	dumpe2fs "$img" 2>/dev/null | awk -v "group=Group $1:" -v "name=$2" '
		index($0, group) == 1 { found = 1 }
		found && $0 ~ name { print $(NF - 2); exit }'
}

# hidden GROUP VALUE CHECKSUM: sets the group's count of unused inodes to VALUE,
# and the checksum to CHECKSUM.
hidden() {
	cp "$work/files" "$img"
	set -- "$@" entry-skipped
	change "set_bg $1 itable_unused $2" "$([ "$3" = stale ] ||
		echo "set_bg $1 checksum calc")"
	unclean "$4" "group $1 counts $2, checksum $3"
}

made -t ext4 -g 1024 -N 512 -O ^flex_bg,^resize_inode,64bit -J size=1
for n in $(seq 1 80); do
	echo "write $work/text f$n"
done >"$work/requests"
debugfs -w -f "$work/requests" "$img" >/dev/null 2>&1
run e2fsck -fy "$img"
clean 'files in several groups'
cp "$img" "$work/files"
unused=$(group 1 'unused inodes')
for sum in renewed stale; do
	for value in 64 65 128 65535 65536 0x7fffffff 0xffffffff \
		$((0x80000000 + ${unused:-0})); do
		hidden 1 "$value" "$sum"
	done
	hidden 0 65 "$sum" group-root-unused
	hidden 0 0xffffffff "$sum" group-root-unused
done
# All inodes of the group are free, so e2fsck reads no inodes of the group.
cp "$work/files" "$img"
change 'set_bg 5 itable_unused 65' 'set_bg 5 checksum calc'
clean 'a group without inodes in use counts too many'
grep -q '^warning: group-itable-unused, group 5' "$out" ||
	fail 'not reported: the group'
sum=$(cksum <"$img")
mustfail 1 "$e4repack" --no-undo "$img"
says 'group 5\): .*count'
same 'the image with such a count' "$(cksum <"$img")" "$sum"
for field in free_blocks_count free_inodes_count used_dirs_count; do
	cp "$work/files" "$img"
	change "set_bg 2 $field 0xffff" 'set_bg 2 checksum calc'
	unclean "group-$(case $field in
		free_blocks*) echo free-blocks ;;
		free_inodes*) echo free-inodes ;;
		*) echo directories ;; esac)" "$field"
done

# Without group checksums, the count of unused inodes and the flag do not apply.
# e2fsck accepts both fields as long as no inode in use is among the unused
# inodes.
rm -f "$img"
check mke2fs -q -F -b 4096 -t ext4 -O ^metadata_csum,^uninit_bg -N 128 "$img" 6M
{
	echo 'mkdir a'
	echo 'mkdir b'
	for n in $(seq 1 40); do
		echo "write $work/text a/f$n"
		echo "write $work/text b/f$n"
	done
} >"$work/requests"
debugfs -w -f "$work/requests" "$img" >/dev/null 2>&1
cp "$img" "$work/plain"
change 'set_bg 0 itable_unused 16'
clean 'a count of unused inodes without group checksums'
check "$e4repack" -q --no-undo --only=inodes "$img"
! cmp -s "$img" "$work/plain" || fail 'no inode was moved'
clean 'moved inodes with a count of unused inodes'
cp "$work/plain" "$img"
change 'set_bg 0 flags 1'
run "$e4repack" -q --no-undo --only=inodes "$img"
[ "$status" != 0 ] || clean 'moved inodes in a group with a flag'

# The superblock's free counts may have any value, because a writer corrects the
# free counts.
cp "$work/files" "$img"
change 'ssv free_blocks_count 1' 'ssv free_inodes_count 0'
clean 'the superblock counts nothing free'
check "$e4repack" --no-undo --only=inodes "$img"
check "$e4debug" -w --no-undo -R 'mkdir /new' "$img"
sound "$img"
sb=$(dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^Free \(.*s\): *//p' | xargs)
groups=$(dumpe2fs "$img" 2>/dev/null | awk '
	/free blocks,.*free inodes/ { b += $1; i += $4 } END { print b, i }')
same 'free counts of the superblock' "$sb" "$groups"

# ---- a directory without ".."

# covered DIR: makes "." of DIR fill its block.
covered() {
	block=$(ask "bmap $1 0")
	printf '\000\004' | dd of="$img" bs=1 seek=$((block * 1024 + 4)) \
		conv=notrunc status=none
}
made -t ext4 -O ^metadata_csum,^dir_index
change 'mkdir d' 'mkdir d/e' "write $work/text d/f"
clean 'directories'
cp "$img" "$work/dirs"
covered d/e
change 'sif d links_count 2'
unclean dir-dotdot 'an empty directory'
cp "$work/dirs" "$img"
covered /
unclean dir-dotdot 'the root'

# ---- the Hurd's fields

# The file t has a translator block, as set by settrans.
made -t ext2 -o hurd -I 128
change "write $work/text f" "write $work/text t" "write $work/text g"
block=$(ask 'bmap t 0')
inode=$(ask 'stat t' | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
change "sif f translator $block" 'unlink t' "clri <$inode>" "freei <$inode>"
run e2fsck -fy "$img"
clean 'a translator'
same 'the block of the translator' "$(ask "testb $block")" \
	"Block $block marked in use"
cp "$img" "$work/hurd"
rm -f "$work/copy"
mustfail 1 "$mke4fs" -q --from "$img" "$work/copy"
one_sentence mke4fs
says ': f: .*translator'
mustfail 3 "$mke4fs" -q --from "$img" --skip-damaged "$work/copy"
says ' f: .*translator'
rm "$work/copy"
for dir in / lost+found; do
	free=$(ask 'ffb 1' | sed 's/.*: //')
	change "sif $dir translator $free" "setb $free"
	run e2fsck -fy "$img"
	clean "a translator of $dir"
	cp "$work/hurd" "$img"
done
# damaged CODE REQUEST...: changes the image with the translator, and fails
# unless both programs find errors
damaged() {
	code=$1
	shift
	cp "$work/hurd" "$img"
	change "$@"
	unclean "$code" "$*"
}
for value in 8192 0x7fffffff 0xffffffff; do
	damaged map-range "sif f translator $value"
done
damaged block-metadata 'sif f translator 5'
damaged block-metadata 'sif <1> translator 5'
damaged map-range 'sif <1> translator 0x7fffffff'
damaged block-shared "sif g translator $block"
damaged block-shared "sif f translator $(ask 'bmap f 0')"
damaged block-bitmap-lost 'sif f translator 0'
damaged block-bitmap-free "freeb $block"
damaged inode-fragment 'sif f frag 1'
damaged inode-fragment 'sif f fsize 1'
damaged inode-high-bits 'sif lost+found size 0x100003000'
cp "$work/hurd" "$img"
change 'sif f blocks 77' 'sif f author 5'
clean "fields of the Hurd that e2fsck does not check"
# In a filesystem of Linux, the bytes of the translator field contain i_version.
made -t ext4
change "write $work/text f" 'sif f translator 0xffffffff'
run e2fsck -fy "$img"
clean 'a version'

# ---- reserved inodes whose feature is off
made -t ext4 -O ^has_journal,^quota,^metadata_csum
cp "$img" "$work/reserved"
for inode in 3 4 8; do
	for request in 'flags 0x80000' 'flags 0x1000' 'flags 0x81000' \
		'size 77777' 'file_acl 7' 'mode 0100644' 'generation 5' \
		'block[3] 99' 'block[IND] 0xffffffff' 'uid 5' 'faddr 5' \
		'dtime @1700000000' 'size 0x900000000'; do
		cp "$work/reserved" "$img"
		change "sif <$inode> $request"
		clean "inode $inode: $request"
	done
	for request in 'links_count 1' 'blocks 2' 'block[0] 99'; do
		cp "$work/reserved" "$img"
		change "sif <$inode> $request"
		unclean inode-reserved "inode $inode: $request"
	done
done

# Attributes in the body of a reserved inode are not read: i_blocks does not
# count their EA inodes.
# body INODE: prints the offset of the inode's attribute area.
body() {
	ask "imap <$1>" | sed -n 's/.* block \([0-9]*\), offset \(0x.*\)/\1 \2/p' |
		{ read -r block offset; echo $((block * 1024 + offset + 128)); }
}
head -c 1024 /dev/zero | tr '\0' x >"$work/value"
made -t ext4 -I 256 \
	-O ea_inode,^has_journal,^resize_inode,^metadata_csum,^uninit_bg
change "write $work/text f"
ea=$(ask 'stat f' | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
change "ea_set -f $work/value f user.x" 'sif f blocks 4'
clean 'a value in an inode'
cp "$img" "$work/reserved"
for inode in 5 6 7 9 10; do
	cp "$work/reserved" "$img"
	dd if="$img" bs=1 skip="$(body "$ea")" count=128 status=none |
		dd of="$img" bs=1 seek="$(body $inode)" conv=notrunc status=none
	clean "inode $inode with an attribute"
	change "sif <$inode> blocks 2"
	unclean inode-blocks "inode $inode counts a value"
done

# ---- e2fsck regards metadata of groups without a bitmap as in use

made -t ext4 -g 1024 -G 4 -N 512 -O ^metadata_csum,uninit_bg,flex_bg
change 'freeb 4121'
run "$e4check" --no-layout "$img"
same 'a free block of an inode table' "$status" 4
grep -q '^error: block-bitmap-free, block 4121' "$out" ||
	{ show_run; fail 'the block in the inode table is not named'; }

# ---- the commands that e4check prints repair the filesystem

# repaired CODE: fails unless the command that e4check printed removes all
# findings.
repaired() {
	command=$(sed -n 's/^to fix: //p' "$out")
	sh -c "$command" >/dev/null 2>&1 || :
	clean "$1, after $command"
	grep -Eq '^(error|warning): ' "$out" &&
		{ show_run; fail "$1: $command leaves a finding"; }
	return 0
}
for options in has_journal ^has_journal; do
	made -t ext4 -O "$options"
	change 'ssv journal_uuid 11111111-2222-3333-4444-555555555555'
	unclean journal-two "a UUID of an external journal, $options"
	says "run debugfs -w -R 'ssv journal_uuid clear' $img;"
	run "$e4check" --no-layout "$img"
	repaired journal-two
done

# A backup of the superblock, and a backup of the group descriptors, are
# damaged.
for block in 8193 8194; do
	rm -f "$img"
	check mke2fs -q -F -t ext4 -b 1024 "$img" 24M
	dd if=/dev/zero of="$img" bs=1024 seek=$block count=1 conv=notrunc \
		status=none
	clean "a backup in block $block"
	grep -Eq '^warning: backup-(super|descriptors)' "$out" ||
		fail "not reported: the backup in block $block"
	repaired "the backup in block $block"
done
