#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Without a source, mke4fs can create everything that mke2fs can create, and a
# requested journal exists.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
cd "$work"
mkdir src
echo content >src/file

features() {
	dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Filesystem features: *//p'
}

# as_mke2fs OPTIONS: a new image, and an existing file, are equal to those of
# mke2fs
as_mke2fs() {
	rm -f theirs ours
	# shellcheck disable=SC2086
	check mkfs.ext4 -q $1 theirs 16M
	# shellcheck disable=SC2086
	check "$mke4fs" -q $1 ours 16M
	same "$1: features" "$(features ours)" "$(features theirs)"
	same "$1: the size" "$(stat -c %s ours)" "$(stat -c %s theirs)"
	head -c 16M /dev/urandom >ours
	# shellcheck disable=SC2086
	check "$mke4fs" -q -F $1 ours
	same "$1: features" "$(features ours)" "$(features theirs)"
}
for options in '-t ext2' '-t ext3' '-O ^extent,^64bit' '-r 0' '-o hurd' \
	'-E root_owner=5:6' '-t ext2 -j' '-O casefold -E encoding=utf8'; do
	as_mke2fs "$options"
	check e2fsck -fn ours
done
as_mke2fs '-O journal_dev'
case $(features ours) in journal_dev*) ;; *) fail "no journal" ;; esac
check "$mke4fs" -q -F -E root_owner=5:6 ours
check debugfs -R 'stat /' ours
grep -Eq 'User: +5 +Group: +6 ' "$out" || fail "the owner of the root"

# The report of --json about an empty filesystem is valid.
schema=$top_srcdir/doc/schema/mke4fs-1.json
rm ours
check "$mke4fs" -n --json -t ext2 ours 16M
[ ! -e ours ] || fail "-n makes an image"
check "$mke4fs" --json -t ext2 ours 16M
cp "$out" report.json
run /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" "$schema" report.json
[ "$status" = 77 ] || [ "$status" = 0 ] || { show_run; fail "the report"; }
same "entries" "$(json report.json 'd["entries"]')" 0
same "free blocks" "$(json report.json 'd["free_blocks"]')" \
	"$(dumpe2fs -h ours 2>/dev/null | sed -n 's/^Free blocks: *//p')"

# If a filesystem cannot be filled, its options are refused before any write.
rm ours
for options in '-t ext2' '-t ext3' '-O journal_dev'; do
	# shellcheck disable=SC2086
	mustfail 1 "$mke4fs" $options -d src ours 16M
	one_sentence mke4fs
	says 'files can(not)? be copied '
done
mustfail 1 "$mke4fs" -O nonsense -d src ours
says ': nonsense'
mustfail 1 "$mke4fs" -c -d src ours 16M
says '^mke4fs: ours: -c is not supported '
[ ! -e ours ] || fail "an image is left behind"

# A requested journal exists, whatever the size.
for options in -j '-J size=4' '-O has_journal' '-O ^has_journal -O has_journal' \
	'-O ^has_journal -j' '-b 1024 -J size=1'; do
	rm -f ours
	# shellcheck disable=SC2086
	check "$mke4fs" -q $options -d src ours
	sound ours
	case $(features ours) in
	*has_journal*) ;;
	*) fail "$options: the journal is left out" ;;
	esac
	rm ours
	# shellcheck disable=SC2086
	mustfail 1 "$mke4fs" $options -d src ours 1M
	says 'journal'
	[ ! -e ours ] || fail "an image is left behind"
done
# A journal that is not requested does not exist.
for options in '' '-O has_journal -O ^has_journal' '-O has_journal,none,extent'
do
	rm -f ours
	# shellcheck disable=SC2086
	check "$mke4fs" -q $options -d src ours
	sound ours
	case $(features ours) in
	*has_journal*) fail "$options: a journal" ;;
	esac
done
