#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If any allocation fails, no tool gives a wrong verdict or crashes, and the
# filesystem is in the state before or after a transaction.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_program mke2fs e2fsck

shim=$top_builddir/tests/tools/.libs/fail_malloc.so
[ -e "$shim" ] || skip 'built without shared libraries'
# E4L_MALLOCS: number of failed allocations per run; 0: all
: "${E4L_MALLOCS:=$(in_full && echo 60 || echo 6)}"

# short N COMMAND...: runs COMMAND, whose allocation number N fails.
short() {
	nth=$1
	shift
	run env FAIL_MALLOC="$nth" LD_PRELOAD="$shim" "$@"
}

# each FUNCTION COMMAND...: runs COMMAND with each failing allocation on the
# same image, and calls FUNCTION after each run.
each() {
	judge=$1
	shift
	cp "$work/whole" "$img"
	check env FAIL_MALLOC_COUNT="$work/count" LD_PRELOAD="$shim" "$@"
	cp "$out" "$work/said"
	echo old >"$work/page"
	count=$(cat "$work/count")
	[ "$count" -gt 50 ] || fail "only $count allocations: $*"
	step=1
	[ "$E4L_MALLOCS" = 0 ] || step=$((count / E4L_MALLOCS + 1))
	# also fail the last allocations, which close files
	for n in $(seq 1 "$step" "$count") $(seq $((count - 3)) "$count"); do
		cp "$work/whole" "$img"
		short "$n" "$@"
		$judge "$@"
	done
	echo "$(basename "$1"): $count allocations, every ${step}th failed"
}

wrong() {
	show_run
	fail "allocation $nth fails: exit $status: $*"
}

# reads COMMAND...: fails unless the last run printed its complete output, or
# failed with a message.
reads() {
	cmp -s "$img" "$work/whole" || wrong "wrote" "$@"
	case $status in
	0) ;;
	1|8)
		[ -s "$err" ] || wrong "no message" "$@"
		return ;;
	98) return ;;
	*) wrong "$@" ;;
	esac
	for said in "$out" "$work/said"; do
		sed /_timestamp_/d "$said" >"$work/$(basename "$said").x"
	done
	cmp -s "$work/.out.x" "$work/said.x" || wrong "another verdict" "$@"
}

# pages COMMAND...: fails unless the HTML page is complete or unchanged.
pages() {
	reads "$@"
	[ "$status" = 0 ] || echo old | diff -q - "$work/page" >/dev/null ||
		wrong "a page" "$@"
	[ "$status" != 0 ] || cmp -s "$work/page" "$work/page.whole" ||
		wrong "another page" "$@"
	echo old >"$work/page"
}

# makes COMMAND...: fails unless the result is identical to the result with
# enough memory.
makes() {
	reads "$@"
	[ "$status" != 0 ] || cmp -s "$work/made" "$work/made.whole" ||
		wrong "another image" "$@"
	rm -f "$work/made"
}

# does COMMAND...: fails if the last run exited with 0 but did not make /newdir.
does() {
	[ "$status" != 0 ] || debugfs -R 'stat /newdir' "$img" 2>/dev/null |
		grep -q '^Inode:' || wrong "not done" "$@"
}

# digests IMAGE: digests all inodes except the root, because the root gets the
# attribute of tunables.
digests() {
	digest -z "$1" | grep -v '^2 '
}

writes() {
	case $status in 0|1|98) ;; *) wrong "$@" ;; esac
	e2fsck -fp "$img" >/dev/null 2>&1 || [ $? = 1 ] ||
		wrong "e2fsck -p fails" "$@"
	check e2fsck -fn "$img"
	digests "$img" >"$work/now"
	unchanged "$work/before" "$work/now"
}

"$top_builddir/tests/tools/mkaged" \
	"$top_srcdir/tests/corrupt/bases/quota.recipe" "$work/whole" >/dev/null ||
	fail 'no image'
digests "$work/whole" >"$work/before"

each reads "$e4check" --threads=1 "$img"
each reads "$e4frag" --dirs "$img"
each reads "$e4frag" --files "$img"
each reads "$e4frag" --prometheus "$img"
cp "$work/whole" "$img"
check "$e4frag" --json "$img"
cp "$out" "$work/old.json"
set -- "$e4frag" -q --compare="$work/old.json"
check "$@" --html="$work/page.whole" "$img"
each pages "$@" --html="$work/page" "$img"
each reads "$e4repack" -n -v "$img"
each reads "$e4debug" -R plan "$img"
each reads "$e4debug" -R findings "$img"
each reads "$tune4fs" -n --set dir_ireserve=64 "$img"
each writes "$e4repack" "$img"
each writes "$tune4fs" --set dir_ireserve=64 "$img"
each writes "$e4debug" -w -R repack "$img"

# With --full, every allocation fails once.  Blocks have 2 KiB: unix_io_manager
# starts with 1 KiB, and allocates its cache again without a check.
mkdir -p "$work/src/dir"
echo content >"$work/src/file"
printf 'y%.0s' $(seq 700) >"$work/value"
ln -s file "$work/src/dir/link"
rm "$work/whole"
mke2fs -q -t ext4 -b 2048 -N 64 -J size=2 -d "$work/src" "$work/whole" 6M \
	>/dev/null 2>&1 || fail 'no image'
check debugfs -w -R "ea_set -f $work/value /file user.large" "$work/whole"
E4L_MALLOCS=$(in_full && echo 0 || echo 24)
each reads "$tune4fs" -l "$img"
each reads "$e4repack" -n --all "$img"
each reads "$e4check" --threads=1 "$img"
printf 'mkdir /newdir\n' >"$work/script"
each does "$e4debug" -w -f "$work/script" "$img"
SOURCE_DATE_EPOCH=1000000000
export SOURCE_DATE_EPOCH
seed=hash_seed=9f8c1c1e-3b7c-4a60-8a35-1d1d0a4f7a55
set -- "$mke4fs" -q -U0b5a6c3e-7a0f-4d0e-9f1e-3d1c5a0c9a10 -E $seed
cp "$work/whole" "$img"
check "$@" --from="$img" "$work/made.whole" 8M
each makes "$@" --from="$img" "$work/made" 8M

# libarchive itself may crash.
makes_of_tar() {
	[ "$status" -gt 128 ] || makes "$@"
}

if built_with ARCHIVE; then
python3 - "$work/tar" <<'END'
import sys
import tarfile

with tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT) as tar:
    for i in range(3):
        info = tarfile.TarInfo(f"f{i}")
        info.pax_headers = {"SCHILY.xattr.user.note": "n" * 200,
                            "SCHILY.xattr.user.empty": ""}
        tar.addfile(info)
END
	cp "$work/whole" "$img"
	rm "$work/made.whole"
	check "$@" -d "$work/tar" "$work/made.whole" 8M
	check debugfs -R 'ea_get /f2 user.note' "$work/made.whole"
	grep -q 'nnnnnnnn' "$out" || fail 'an attribute is not there'
	each makes_of_tar "$@" -d "$work/tar" "$work/made" 8M
fi

# The first superblock, or the first group descriptors, are damaged.
check mke2fs -q -F -t ext4 -b 1024 -g 8192 \
	-O ^metadata_csum,^uninit_bg,^has_journal "$work/sound" 24M
cp "$work/sound" "$work/whole"
check debugfs -w -R 'set_block_group 1 inode_table 3' "$work/whole"
each reads "$e4check" --threads=1 --no-layout "$img"
cp "$work/sound" "$work/whole"
dd if=/dev/zero of="$work/whole" bs=1 seek=1080 count=2 conv=notrunc status=none
each reads "$e4check" --threads=1 --no-layout "$img"
