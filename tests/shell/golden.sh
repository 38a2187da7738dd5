#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each file in golden/ has commands of one tool, after "$ ", with the expected
# output and exit status.  After an intended change of a text, `golden.sh DIR`
# writes the transcripts to DIR.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

golden=$top_srcdir/tests/shell/golden
texts=${1:-$work/texts}
mkdir -p "$texts"
texts=$(cd "$texts" && pwd)
SOURCE_DATE_EPOCH=1000000000
export SOURCE_DATE_EPOCH

# The commands use a small image, the same image with an error, an image with
# one fragmented file, and a directory.
cd "$work"
aged image.0 <"$top_srcdir/tests/shell/layout.recipe"
aged simple.0 <<'END'
size 16M
file /a extents 0+4w@3000 4+4w@3100
END
cp image.0 damaged.0
check debugfs -w -R 'set_inode_field /split links_count 3' damaged.0
mkdir source
echo text >source/file

# transcript FILE: prints the commands of FILE, each with its actual output.
transcript() {
	grep '^\$ ' "$1" | while read -r _ command; do
		for name in image damaged simple; do
			cp $name.0 $name
		done
		rm -f new
		echo "\$ $command"
		status=0
		eval "\"\$${command%% *}\" ${command#* }" 2>&1 || status=$?
		echo "exit status $status"
	done | sed 's/ in [0-9.]* s$/ in N s/'
}

different=
for file in "$golden"/*; do
	transcript "$file" >"$texts/${file##*/}"
	diff -u "$file" "$texts/${file##*/}" >&2 || different="$different ${file##*/}"
done
[ ! "$different" ] || fail "texts differ from golden/:$different"
