#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Filesystems that must not be written to are refused with one sentence, a
# command to run and exit status 1, and no byte is changed. (target_write.sh has
# the other refusals.)
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"

cat >"$work/recipe" <<'END'
size 32M
scatter /a frags 30 blocks 2
scatter /b frags 30 blocks 2
file /whole size 100K
dir /d
END
fresh() {
	aged "$img" <"$work/recipe"
}

# both PATTERN [OPTION...] NAME: fails unless a run and a plan are refused with
# the same message.
both() {
	pattern=$1
	shift
	mustfail 1 "$e4repack" "$@"
	one_sentence e4repack
	says "^e4repack: $pattern"
	cp "$err" "$work/sentence"
	mustfail 1 "$e4repack" -n "$@"
	cmp "$err" "$work/sentence" || fail "a plan: $(cat "$err")"
}

# refuse PATTERN [OPTION...]: fails unless a run and a plan are refused and
# nothing is changed.
refuse() {
	pattern=$1
	shift
	cp "$img" "$work/copy"
	both "$img: .*$pattern" "$@" "$img"
	cmp -s "$img" "$work/copy" || fail "image changed: $pattern"
}

# poke PATTERN COMMAND...: runs debugfs COMMANDs on a new image, and calls
# refuse.
poke() {
	pattern=$1
	shift
	fresh
	for command; do
		debugfs -w -R "$command" "$img" >/dev/null 2>&1
	done
	refuse "$pattern"
}

# block PATH N: prints the block number of block N of PATH.
block() {
	debugfs -R "bmap $1 $2" "$img" 2>/dev/null
}

fresh
check "$e4repack" "$img"

poke 'needs recovery: run e2fsck -p ' 'feature needs_recovery'
poke 'recorded errors: run e2fsck -f ' 'ssv state 3'
poke 'not cleanly unmounted: run e2fsck -f ' 'ssv state 0'
poke 'orphaned inodes: run e2fsck -f ' 'ssv last_orphan 12'
poke 'read-only: run tune2fs ' 'feature read-only'
poke 'share blocks: run e2fsck ' 'feature shared_blocks'
poke 'feature FEATURE_C30, which.* does not support' 'feature FEATURE_C30'

# Only a scan finds these errors: cross-linked blocks, and used blocks that are
# marked free.
fresh
poke "run e2fsck -f $img" "sif /whole block[2] 0" \
	"sif /whole block[5] $(block /a 0)"
poke "run e2fsck -f $img" "sif /whole block[5] $(block /d 0)"
poke "run e2fsck -f $img" "freeb $(block /a 10)"
poke "run e2fsck -f $img" "freeb $(block /whole 3)"
poke "run e2fsck -f $img" "sif /whole block[5] 1"
# A tree block, an inode or a bitmap is damaged.
fresh
tree=$(debugfs -R 'ex /a' "$img" 2>/dev/null | awk '$1 == "0/" { print $8 }')
[ "$tree" ] || fail "no tree block found"
printf x | dd of="$img" bs=1 seek=$((tree * 4096 + 100)) conv=notrunc \
	status=none
refuse "run e2fsck -f $img"
fresh
bitmap=$(debugfs -R 'stats' "$img" 2>/dev/null |
	sed -n 's/.*block bitmap at \([0-9]*\),.*/\1/p' | head -n 1)
printf '\125' | dd of="$img" bs=1 seek=$((bitmap * 4096 + 300)) conv=notrunc \
	status=none
refuse "run e2fsck -f $img"

# The journal has an unknown feature.
fresh
journal=$(debugfs -R 'bmap <8> 0' "$img" 2>/dev/null)
printf '\100' | dd of="$img" bs=1 seek=$((journal * 4096 + 0x28)) conv=notrunc \
	status=none
refuse 'the journal has a version or feature that this version of e4layout does not support'

# There is neither a journal nor an undo file.
fresh
debugfs -w -R 'feature -has_journal' "$img" >/dev/null 2>&1
e2fsck -fy "$img" >/dev/null 2>&1 || :
refuse 'the filesystem has no journal: give an undo file \(-z FILE\), or --no-undo'
check "$e4repack" -n --no-undo "$img"
: >"$work/undo"
both "$work/undo: the file exists: give another name for the undo file" \
	-z "$work/undo" "$img"
both "$work/none/undo: cannot create the undo file: No such file or directory" \
	-z "$work/none/undo" "$img"
rm "$work/undo"
check "$e4repack" -n -z "$work/undo" "$img"
[ ! -e "$work/undo" ] || fail "a plan has left an undo file"
check "$e4repack" --no-undo "$img"
clean "$img"

# A journal cannot number all blocks that were never written.  The run is
# refused before the scan.
truncate -s 4200G "$work/large" 2>/dev/null &&
	mke2fs -qq -F -t ext4 -b 1024 -O bigalloc,64bit -C 65536 -N 16384 \
		-J size=1 -E lazy_itable_init=1,nodiscard "$work/large" \
		>/dev/null 2>&1 && {
	both "$work/large: .*32-bit block numbers only: mount the filesystem once" \
		"$work/large"
	if can_trace; then
		run strace -f -qq -o "$work/trace" -P "$work/large" \
			-e trace=pread64,read "$e4repack" "$work/large"
		reads=$(grep -c read "$work/trace")
		[ "$reads" -lt 100 ] || fail "$reads reads before the refusal"
	fi
	rm "$work/large"
}

require_loop
fresh
mount_image "$img" "$work/mnt"
for name in "$img" "$loop"; do
	both "$name: mounted on $work/mnt: first run umount $work/mnt" \
		"$name"
done
check "$e4repack" -n "$work/mnt"
says "mounted on $work/mnt: .*latest changes"
for option in --verify --inodes --only=directories --only=inodes; do
	mustfail 1 "$e4repack" "$option" "$work/mnt"
	one_sentence e4repack
	says "mounted: ${option%%=*}[a-z=]* requires .*unmounted"
done
check "$e4repack" --only=free "$work/mnt"
check "$e4repack" -n -q --json "$work/mnt" "$work/mnt/a"
same 'planned' "$(json "$out" 'd["planned"]["files"]')" 1 || fail "a path below the mount point"
check umount "$work/mnt"
undefer "umount '$work/mnt'"
both "$img: attached to $loop: detach the loop device first: losetup -d $loop" \
	"$img"
check "$e4repack" -n "$loop"
detach "$loop"

# The device is read-only.
loop=$(losetup -r --show -f "$img") || skip 'losetup -r does not work here'
defer "losetup -d $loop"
both "$loop: the device is read-only" "$loop"
detach "$loop"
if chattr +i "$img" 2>/dev/null; then
	defer "chattr -i '$img'"
	both "$img: cannot open for writing: Operation not permitted" "$img"
	check chattr -i "$img"
fi
: >"$work/bound"
mount --bind "$img" "$work/bound" || skip 'bind mounts do not work here'
defer "umount '$work/bound'"
mount -o remount,bind,ro "$work/bound" || skip 'bind mounts stay writable here'
both "$work/bound: cannot open for writing: Read-only file system" "$work/bound"
