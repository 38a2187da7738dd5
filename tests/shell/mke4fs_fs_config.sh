#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --fs-config sets owners, modes and capabilities from a file in Android's
# format.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

cd "$work"
mkdir -p src/system/bin src/system/etc src/data
echo sh >src/system/bin/sh
echo run >src/system/bin/run-as
ln src/system/bin/run-as src/system/bin/same
echo one >src/system/etc/other
ln -s sh src/system/bin/link
ln -s system/bin src/bin
chmod 640 src/system/etc/other

# take OPTION...: makes img, and writes the messages to the file said
take() {
	rm -f img
	check "$mke4fs" -q -d src "$@" img
	cp "$err" said
	clean img
}

# has PATH UID GID MODE [CAPABILITIES]: fails unless PATH in img has these
# attributes
has() {
	check debugfs -R "stat $1" img
	got=$(sed -nE 's/.*Mode: +([0-9]+) .*/\1/p; s/^User: +([0-9]+) +Group: +([0-9]+) .*/\1 \2/p' \
		"$out" | tr '\n' ' ')
	same "$1" "$got" "$4 $2 $3 "
	# shellcheck disable=SC2086
	debugfs -R "ea_get -x $1 security.capability" img >caps 2>/dev/null
	same "the capabilities of $1" "$(sed -n 's/.*= *//p' caps | tr -d ' ')" "${5:-}"
}

cat >config <<'EOT'
# a comment

/ 1 2 0711
system/bin 0 2000 0751 capabilities=0x0
system/bin/run-as 0 2000 0750 capabilities=0x30000000c0
/system/bin/sh 7 8 4755 selabel=u:object_r:shell_exec:s0 capabilities=192
system/bin/link 5 6 0644
vendor/bin/missing 1 1 0644
system/bin/sh/below 1 1 0644
bin/sh 9 9 0644
system/../data 9 9 0644
data 100000 0 1777
EOT
caps=01000002c0000000000000003000000000000000
take --all-root --fs-config=config
[ ! -s said ] || fail "prints $(cat said)"
has / 1 2 0711
has system/bin 0 2000 0751
has system/bin/run-as 0 2000 0750 $caps
has system/bin/same 0 2000 0750 $caps
has system/bin/sh 7 8 04755 01000002c0000000000000000000000000000000
has system/bin/link 5 6 0777
has system/etc/other 0 0 0640
has data 100000 0 01777

# A path of one space stands for the root.  Lines of later files take
# precedence.  The last file is standard input.
printf ' 3 4 0700\nsystem/bin/sh 1 1 0755\n' >second
printf 'system/bin/run-as 1 1 0755 capabilities=0\r\n' |
	"$mke4fs" -q -d src --fs-config=config --fs-config=second \
		--fs-config=- img2
mv img2 img
clean img
has / 3 4 0700
has system/bin/run-as 1 1 0755
has system/bin/sh 1 1 0755 01000002c0000000000000000000000000000000

# Without copied attributes, capabilities are set, and -E root_owner takes
# precedence.
take -E no_copy_xattrs,root_owner=11:12 --uid-map=0:500 --fs-config=config
has / 11 12 0711
has system/bin/run-as 0 2000 0750 $caps

# The paths of the file belong to another image.
printf 'vendor/x 0 0 0755\n' >foreign
take --fs-config=foreign
same 'the message' "$(cat said)" "mke4fs: foreign: no path in this file exists \
in the image: paths must begin at the root of the image"
: >empty
take --fs-config=empty
[ ! -s said ] || fail "prints $(cat said)"

# bad_line SENTENCE LINE: fails unless LINE, as the second line of a file, is
# refused with SENTENCE
bad_line() {
	printf 'data 0 0 0755\n%b' "$2" >bad
	rm -f img
	mustfail 1 "$mke4fs" -q -d src --fs-config=bad img
	one_sentence mke4fs
	says "bad: line 2: $1"
	[ ! -e img ] || fail "an image is left of '$2'"
}
bad_line 'data: expected PATH UID GID MODE$' 'data\n'
bad_line 'data: expected PATH UID GID MODE$' 'data 0 0'
bad_line '/: expected PATH UID GID MODE$' ' 0 0\n'
bad_line 'root: invalid user ID' 'data root 0 0755\n'
bad_line '-1: invalid user ID' 'data -1 0 0755\n'
bad_line '4294967295: invalid group ID' 'data 0 4294967295 0755\n'
bad_line '0789: invalid mode' 'data 0 0 0789\n'
bad_line '100644: invalid mode' 'data 0 0 100644\n'
bad_line 'capability=1: expected capabilities=NUMBER' \
	'data 0 0 0755 capability=1\n'
for number in '' 0x 0xg 1x -1 0x10000000000000000; do
	bad_line "capabilities=$number: invalid number" \
		"data 0 0 0755 capabilities=$number\n"
done
bad_line 'data: only regular files can have capabilities' \
	'data 0 0 0755 capabilities=1\n'
bad_line 'the line has no newline, or contains a NUL byte' 'data 0 0 07\00005\n'
# standard input is read once
printf '#mtree\n' >mtree
for twice in '-d src --manifest=- --fs-config=-' '-d - -d -' '-d - -d layer:-' \
	'-d - -d -:/sub' '-d src --sort=- --manifest=-' '-d - --sort=-' \
	'-d src --fs-config=- --fs-config=-' '--manifest=- --manifest=-'; do
	rm -f img
	# shellcheck disable=SC2016,SC2086
	mustfail 2 sh -c '"$0" -q "$@" img <mtree' "$mke4fs" $twice
	one_sentence mke4fs
	says '^mke4fs: -: standard input can be given only once$'
	[ ! -e img ] || fail "an image is left of $twice"
done
mustfail 1 "$mke4fs" -q -d src --fs-config=none img
says 'none: cannot open: No such file'
mustfail 2 "$mke4fs" -q --fs-config=config img
says 'fs-config requires -d, --manifest or --from'
