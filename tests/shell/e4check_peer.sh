#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Cases outside the corpus of corruptions are checked.  If e2fsck -fn finds the
# filesystem clean, e4check reports no error.  If e2fsck finds the filesystem
# unclean, e4check reports an error.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs tune2fs
img=$work/img

# made MKE2FS-OPTION...: makes a new image of 8 MiB.
made() {
	rm -f "$img"
	check mke2fs -q -F -t ext4 -b 1024 "$@" "$img" 8M
}

# change REQUEST: runs a debugfs REQUEST that changes the image.
change() {
	check debugfs -w -R "$1" "$img"
}

# field FILE NAME: prints the number NAME of a file, from debugfs.
field() {
	debugfs -R "stat $1" "$img" 2>/dev/null |
		sed -n "s/.*$2: *\\([0-9]*\\).*/\\1/p" | head -n 1
}

# clean WHAT: fails unless both programs find no errors. unclean CODE WHAT:
# fails unless both programs find errors and e4check finds CODE.
clean() {
	run e2fsck -fn "$img"
	[ "$status" = 0 ] || { show_run; fail "$1: e2fsck finds the image unclean"; }
	run "$e4check" --no-layout "$img"
	[ "$status" = 0 ] || { show_run; fail "$1: not clean"; }
}
unclean() {
	run e2fsck -fn "$img"
	[ "$status" != 0 ] || fail "$2: e2fsck finds the image clean"
	run "$e4check" --no-layout "$img"
	[ "$status" = 4 ] || { show_run; fail "$2: exit $status"; }
	grep -q "^error: $1, " "$out" || { show_run; fail "$2: no $1"; }
}

echo text >"$work/text"
head -c 2000 /dev/zero | tr '\0' x >"$work/value"

# ---- values of attributes in EA inodes

# One attribute is in the inode's body, and one attribute is in a block, with
# quotas.
for size in 256 128; do
	made -I "$size" -O quota,ea_inode
	change "write $work/text f"
	change "write $work/text g"
	change "ea_set -f $work/value f user.first"
	change "ea_set -f $work/value g user.second"
	run e2fsck -fy "$img"
	clean "quotas charge inodes of values, inodes of $size bytes"
done

# i_blocks of a symbolic link counts the EA inode, and the target is in the
# inode: e2fsck before 1.47.4 reads the target as a map
made -O ea_inode,^extents,^64bit
change 'symlink link target'
change "ea_set -f $work/value link user.value"
change 'sif link blocks 2'
check "$e4check" --no-layout "$img"
check "$mke4fs" -q --from "$img" "$work/copy"
check debugfs -R 'stat link' "$work/copy"
grep -q 'Fast link dest: "target"' "$out" || fail "the copy of the link differs"
change 'sif link blocks 4'
unclean inode-blocks "i_blocks that counts more than the value"

# Lustre's EA inodes refer to their user by mtime and generation.  The i_blocks
# of the user does not count such EA inodes.
for size in 256 128; do
	made -I "$size" -O ea_inode
	change "write $work/text f"
	change "ea_set -f $work/value f user.value"
	[ "$size" = 256 ] || [ "$(field f ACL)" != 0 ] ||
		fail "the value is not in an attribute block"
	change 'sif f generation 77'
	for set in 'generation 77' 'mtime @12' 'atime @1234567' \
		'ctime @1234567'; do
		change "sif <13> $set"
	done
	clean "a value of Lustre's, inodes of $size bytes"
	change 'sif <13> generation 78'
	unclean xattr-hash "a value of somebody else's"
done

# i_blocks of other files counts their EA inodes
for size in 256 128; do
	made -I "$size" -O ea_inode
	change "write $work/text f"
	change "ea_set -f $work/value f user.value"
	change 'ea_set f user.short text'
	run e2fsck -fy "$img"
	clean "i_blocks with a value, inodes of $size bytes"
	blocks=$(field f Blockcount)
	change "sif f blocks $((blocks - 2))"
	unclean inode-blocks "i_blocks without a value, inodes of $size bytes"
	want="i_blocks is $((blocks - 2)), but should be $blocks\$"
	grep -q "$want" "$out" || { show_run; fail "other numbers: $want"; }
done

# ---- bad blocks

# list BLOCK...: makes the bad-blocks inode list these blocks.
list() {
	list_n=0
	for block; do
		change "set_inode_field <1> block[$list_n] $block"
		list_n=$((list_n + 1))
	done
}

# group N NAME: prints the block number of a group's superblock, or of other
# metadata.
group() {
	dumpe2fs "$img" 2>/dev/null | sed -n "/^Group $1:/,/^Group $(($1 + 1)):/p" |
		sed -n "s/.*$2 at \([0-9]*\).*/\1/p"
}

old='^has_journal,^flex_bg,^metadata_csum,^uninit_bg,^resize_inode'
made -g 4096 -O "$old" -N 256
cp "$img" "$work/old"
for vital in '0 superblock' '0 Group descriptors' '1 Block bitmap' \
	'0 Inode bitmap'; do
	cp "$work/old" "$img"
	# shellcheck disable=SC2086
	list "$(group ${vital%% *} "${vital#* }")"
	unclean bad-block-vital "a bad block in ${vital#* }"
done
cp "$work/old" "$img"
list "$(group 1 'Backup superblock')" "$(group 1 'Group descriptors')"
clean 'a bad block in a copy'
grep -q '^warning: bad-block-own, ' "$out" || fail "not reported: the copy"

# Inodes in a bad block of an inode table are in use, and are not read.
cp "$work/old" "$img"
list "$(group 1 'Inode table')"
run e2fsck -fy "$img"
clean 'a bad block in an inode table'
cp "$work/old" "$img"
list "$(group 0 'Inode table')"
unclean bad-block-inode 'a list that names itself'
cp "$work/old" "$img"
list "$(($(group 0 'Inode table') + 2))"
unclean entry-bad-block 'a name of an inode in a bad block'

cp "$work/old" "$img"
list 4000
change 'set_inode_field <1> block[IND] 4000'
run e2fsck -fn "$img"
[ "$status" != 0 ] || fail "e2fsck finds a list in a bad block clean"
run "$e4check" "$img"
grep -q '^error: bad-block-map, ' "$out" || { show_run; fail "no list"; }

# ---- EA inodes, judged by the newest e2fsck: older versions find no errors

# newer CODE WHAT: fails unless e4check finds CODE.
newer() {
	run "$e4check" --no-layout "$img"
	[ "$status" = 4 ] || { show_run; fail "$2: exit $status"; }
	grep -q "^error: $1, " "$out" || { show_run; fail "$2: no $1"; }
}
made -O ea_inode
change "write $work/text f"
change 'mkdir d'
change "ea_set -f $work/value f user.value"
run e2fsck -fy "$img"
clean 'a value in an inode'
cp "$img" "$work/valued"
change 'link <14> name'
newer ea-inode-named 'a name of an inode with a value'
cp "$work/valued" "$img"
change 'feature ^ea_inode'
newer ea-inode-feature 'a value in an inode without the feature'
cp "$work/valued" "$img"
change 'set_inode_field d flags 0x280000'
newer ea-inode-type 'a directory with the flag'
cp "$work/valued" "$img"
change "write $work/text g"
change 'set_inode_field g flags 0x280000'
clean 'a file with the flag'
for size in 1999 2001 0x1000007d0 0; do
	cp "$work/valued" "$img"
	change "set_inode_field <14> size $size"
	newer ea-inode "a value of 2000 bytes in an inode of $size"
done
cp "$work/valued" "$img"
change 'set_inode_field <9> flags 0x200000'
newer ea-inode-type 'a reserved inode with the flag'

# A symbolic link with a block and a size of 1: e2fsck reads the block number as a
# target of one byte.
made -O ^extent,^64bit,^has_journal
change "symlink l $(printf 'long/%.0s' $(seq 20))"
change 'set_inode_field l size 1'
newer inode-symlink 'a short link with a block'

# ---- an empty extent tree may have any depth
for options in metadata_csum ^metadata_csum; do
	made -O "$options"
	change 'write /dev/null f'
	for depth in 1 6 0xffff; do
		change "sif f block[1] $((depth * 65536 + 4))"
		clean "$options, an empty tree of depth $depth"
	done
done

# ---- inodes that are opened by their number need no name
made
change 'feature imagic_inodes'
change "write $work/text f"
change 'set_inode_field f flags 0x82000'
change 'unlink f'
clean 'an inode to be opened by its number'

# ---- encrypted inodes have a context, whatever their type

for mode in 0100644 0120777 020666 010666; do
	made -O encrypt
	change 'feature imagic_inodes'
	change "write /dev/null f"
	change "sif f mode $mode"
	change 'sif f flags 0x82800'
	[ "$mode" = 0100644 ] || change 'sif f flags 0x2800'
	change 'unlink f'
	unclean inode-encryption "mode $mode, without a context"
done

# ---- a file of a bigalloc filesystem has extents

# unmapped: makes a file without a map
unmapped() {
	made -O bigalloc,ea_inode,^has_journal
	change "write /dev/null f"
	change 'sif f flags 0'
	for n in 0 1 2 3; do
		change "sif f block[$n] 0"
	done
}
unmapped
clean 'an empty file without extents, with clusters'
change "ea_set -f $work/value f user.value"
change 'sif f blocks 32'
unclean map-bigalloc 'blocks, though of a value alone'
unmapped
change "write $work/text g"
block=$(debugfs -R 'blocks g' "$img" 2>/dev/null | tr -d ' ')
change "zap_block $block"
change 'unlink g'
change 'clri <13>'
change 'freei <13>'
change "sif f block[IND] $block"
change 'sif f blocks 32'
unclean map-bigalloc 'a map without blocks'

# ---- features require a revision that supports them
made -O ^has_journal,^ext_attr,^resize_inode -I 128
change 'ssv rev_level 0'
change "write $work/text f"
change 'sif f size 3000000000'
clean 'a large file in revision 0'
grep -q '^warning: super-revision: ' "$out" || fail "not reported: the revision"

# ---- a link with an inline target: e2fsck does not check i_blocks and quotas
mkdir "$work/tree"
ln -s "$(printf 'target%.0s' $(seq 16))" "$work/tree/link"
made -O inline_data -d "$work/tree"
check tune2fs -O quota "$img"
run e2fsck -fy "$img"
clean 'quotas of an inline link'
change 'sif link blocks 2'
clean 'i_blocks of an inline link'
grep -q '^warning: inode-unread, ' "$out" || fail "not reported: i_blocks"

# ---- names in casefolded directories
made -O casefold -E encoding=utf8,encoding_flags=strict
change 'mkdir d'
change "write $work/text d/plain"
change 'set_inode_field d flags 0x40080000'
clean 'names in a strict encoding'
change "ln d/plain \"d/$(printf '\377\376')\""
change 'set_inode_field d/plain links_count 2'
unclean entry-name 'a name in no encoding'
made -O casefold -E encoding=utf8
change 'mkdir d'
change "write $work/text d/Name"
change 'set_inode_field d flags 0x40080000'
change 'ln d/Name d/name'
change 'set_inode_field d/Name links_count 2'
clean 'names that are one when they are folded'

# ---- inodes that share an attribute block
head -c 300 /dev/urandom >"$work/shared"

# share FILE...: makes the files share the attribute block of the file a.
share() {
	acl=$(field a ACL)
	blocks=$(field a Blockcount)
	for file; do
		change "set_inode_field $file file_acl $acl"
		change "set_inode_field $file blocks $blocks"
	done
}

# values IMAGE: prints each attribute value of the files a, b and c.
values() {
	for file in a b c; do
		debugfs -R "ea_get -x $file user.v" "$1" 2>/dev/null | cksum
	done | sort -u
}

# only CODE...: fails unless these are the only errors that e4check finds.
only() {
	grep '^error: ' "$out" | sed 's/^error: \([^,]*\),.*/\1/' | sort -u |
		grep -vxF -e xattr-refcount -e quota-usage &&
		fail "$options: another error"
	return 0
}

for options in '-I 128' '-I 128 -O ^metadata_csum' '-I 256 -b 4096' \
	'-I 128 -O quota' '-I 128 -b 4096 -O bigalloc -C 16384' \
	'-b 4096 -O bigalloc,quota -C 16384'; do
	# shellcheck disable=SC2086
	made $options
	for file in a b c; do
		change "write $work/text $file"
	done
	change "ea_set -f $work/shared a user.v"
	share b c
	unclean xattr-refcount "$options: 1 user of 3"
	grep -q "xattr-refcount, .*block $acl: .* 1, .* 3\$" \
		"$out" || { show_run; fail "$options: miscounted"; }
	only
	run e2fsck -fy "$img"
	clean "$options: 3 users"
	cp "$img" "$work/whole"
	values "$img" >"$work/values"
	[ "$(debugfs -R 'ea_get -x b user.v' "$img" 2>/dev/null | wc -c)" \
		-gt 600 ] || fail "$options: the value is not shared"
	same "$options: values" "$(wc -l <"$work/values")" 1

	# mke4fs, e4repack and e4debug keep the values of the attributes
	rm -f "$work/copy"
	check "$mke4fs" -q --verify --from="$img" "$work/copy"
	sound "$work/copy"
	values "$work/copy" | cmp - "$work/values"
	check "$e4repack" --verify "$img"
	sound "$img"
	values "$img" | cmp - "$work/values"
	run "$e4debug" -w -R 'mkdir /new' "$img"
	sound "$img"
	values "$img" | cmp - "$work/values"

	# the attribute block has one user less
	cp "$work/whole" "$img"
	change 'set_inode_field c file_acl 0'
	change "set_inode_field c blocks $((blocks - $(
		dumpe2fs -h "$img" 2>/dev/null | awk '
			/^Block size:/ { b = $3 } /^Cluster size:/ { c = $3 }
			END { print (c ? c : b) / 512 }')))"
	unclean xattr-refcount "$options: 3 users of 2"
	grep -q "xattr-refcount, .*block $acl: .* 3, .* 2\$" \
		"$out" || { show_run; fail "$options: miscounted"; }
	only
	run e2fsck -fy "$img"
	clean "$options: 2 users"

	# writers refuse a wrong count
	cp "$work/whole" "$img"
	change 'set_inode_field c file_acl 0'
	sum=$(cksum <"$img")
	mustfail 1 "$e4repack" "$img"
	mustfail 1 "$tune4fs" -E dir_ireserve=64 "$img"
	same "$options: what was refused" "$(cksum <"$img")" "$sum"
done
