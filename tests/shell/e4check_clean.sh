#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# No image that e2fsck calls clean has a finding of severity error.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"

for recipe in "$top_srcdir"/tests/recipes/features/*.recipe; do
	test_name="e4check_clean: $(basename "$recipe" .recipe)"
	"$top_builddir/tests/tools/mkaged" "$recipe" "$work/img" >/dev/null ||
		fail "mkaged cannot make the image"
	run "$e4check" "$work/img"
	case $recipe in
	*/external-journal.recipe) expected=8 ;;	# the journal is in a file
	*) expected=0 ;;
	esac
	same "exit code" "$status" $expected
	! grep -q '^error:' "$out" || fail "an error, and exit $status"
	rm -f "$work"/img*
done

# The last inode of a table has 128 bytes, and no bytes follow.
test_name='e4check_clean: the last inode'
aged "$work/img" <<END
size 24M
mke2fs -b 4096 -I 128 -N 4096
many /m count 4083 name n perdir 5000
END
same 'free inodes' "$(dumpe2fs -h "$work/img" 2>/dev/null |
	sed -n 's/^Free inodes: *//p')" 0
check "$e4check" --no-layout "$work/img"

# The checksum of a bitmap is not checked if the group is uninitialized.
test_name='e4check_clean: uninitialised'
check mke2fs -q -t ext4 -b 4096 -O ^has_journal,^resize_inode "$work/img" 8M
printf '\002' | dd of="$work/img" bs=1 seek=$((4096 + 18)) conv=notrunc status=none
printf '\125\252' |
	dd of="$work/img" bs=1 seek=$((4096 + 24)) conv=notrunc status=none
check e2fsck -fn "$work/img"
check "$e4check" --no-layout "$work/img"
grep -q '^warning: group-checksum' "$out" || fail "not reported: the checksum"

# The test detects a wrong link count of the root directory.
test_name=e4check_clean
check mke2fs -q -t ext4 -b 4096 "$work/img" 16M
check debugfs -w -R 'sif <2> links_count 7' "$work/img"
run "$e4check" "$work/img"
same "exit code" "$status" 4
grep -q '^error: inode-links, inode 2 (/): .* 7, .* 3$' \
	"$out" || fail "does not name the fault"
