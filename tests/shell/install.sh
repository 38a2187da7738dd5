#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make install DESTDIR= installs every file, and a program can be built with the
# installed files.
# shellcheck disable=SC2016
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program make pkg-config cc debugfs
[ -f "$top_builddir/Makefile" ] || fail "no Makefile in $top_builddir"

# make must not inherit options of the running make.
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$work/root
run make -C "$top_builddir" install DESTDIR="$root"
[ "$status" = 0 ] || { show_run; fail "make install"; }

# variable NAME: prints a variable of the Makefile. make reads all variables
# once.
for name in sbindir libdir includedir mandir bashcompletiondir docdir \
	systemdsystemunitdir udevrulesdir CFLAGS prefix; do
	printf '\t@echo %s $(%s)\n' "$name" "$name"
done >"$work/names"
{ echo show:; cat "$work/names"; } >"$work/show.mk"
make -s --no-print-directory -C "$top_builddir" -f Makefile \
	-f "$work/show.mk" show >"$work/variables" || fail "make show"
variable() {
	sed -n "s,^$1 ,,p" "$work/variables"
}
sbin=$(variable sbindir)
lib=$(variable libdir)
include=$(variable includedir)

installed() {
	[ -s "$root$1" ] || fail "not installed: $1"
}
for tool in e4check e4debug e4frag e4repack mke4fs tune4fs; do
	installed "$sbin/$tool"
	installed "$(variable mandir)/man8/$tool.8"
	installed "$(variable bashcompletiondir)/$tool"
done
installed "$(variable mandir)/man3/libe4layout.3"
for page in "$top_srcdir"/lib/e4layout/man/*.3; do
	installed "$(variable mandir)/man3/$(basename "$page")"
done
installed "$(variable mandir)/man7/e4layout.7"
installed "$(variable docdir)/e4check-1.json"
installed "$(variable docdir)/e4debug-1.json"
installed "$(variable docdir)/e4frag-1.json"
installed "$(variable docdir)/e4frag-file-1.json"
installed "$(variable docdir)/e4repack-1.json"
installed "$(variable docdir)/mke4fs-1.json"
installed "$(variable docdir)/tune4fs-1.json"
units=$(variable systemdsystemunitdir)
rules=$(variable udevrulesdir)
[ "$units" = no ] || installed "$units/e4layout-tunables.service"
[ "$units" = no ] ||
	grep -q "^ExecStart=$sbin/tune4fs " \
		"$root$units/e4layout-tunables.service" ||
	fail "the service runs another tune4fs"
[ "$units" = no ] || installed "$units/e4layout-prometheus@.timer"
[ "$units" = no ] ||
	grep -q "^ExecStart=$sbin/e4frag " \
		"$root$units/e4layout-prometheus@.service" ||
	fail "the service runs another e4frag"
[ "$units" = no ] || installed "$units/e4layout-repack@.timer"
[ "$units" = no ] ||
	grep -q "^ExecStart=$sbin/e4repack " \
		"$root$units/e4layout-repack@.service" ||
	fail "the service runs another e4repack"
for page in README.md alerts.yml grafana.json; do
	installed "$(variable docdir)/fleet/$page"
done
[ "$rules" = no ] || installed "$rules/90-e4layout-tunables.rules"
for header in "$top_srcdir"/lib/e4layout/*.h; do
	installed "$include/e4layout/$(basename "$header")"
done
installed "$include/e4layout/e4l_err.h"
installed "$lib/pkgconfig/e4layout.pc"
installed "$lib/libe4layout.a"
if [ -e "$top_builddir/lib/e4layout/.libs/libe4layout.so.0" ]; then
	installed "$lib/libe4layout.so.0"
	LD_LIBRARY_PATH=$root$lib
	export LD_LIBRARY_PATH
fi
check "$root$sbin/e4frag" --version

# Every header can be included first, also from C++.
for header in "$root$include"/e4layout/*.h; do
	echo "#include <e4layout/$(basename "$header")>"
done >"$work/all.c"
while read -r line; do
	echo "$line" >"$work/one.c"
	check cc -fsyntax-only -Wall -Werror -I"$root$include" "$work/one.c"
done <"$work/all.c"

case $(variable CFLAGS) in
*-fsanitize*)
	skip_part "a program linked with the library: sanitizers are in use"
	exit ;;
esac
PKG_CONFIG_PATH=$root$lib/pkgconfig
PKG_CONFIG_SYSROOT_DIR=
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
flags=$(pkg-config --define-variable=prefix="$root$(variable prefix)" \
	--cflags --libs e4layout)
source_dir=$(variable docdir)/examples
for example in image minimal repack report; do
	source=$source_dir/$example.c
	installed "$source"
	# shellcheck disable=SC2086
	check cc -Wall -Werror -o "$work/$example" "$root$source" $flags
done
aged "$work/img" <"$top_srcdir/tests/shell/layout.recipe"

# minimal.c, built with the installed library, refuses a damaged image.
[ "$(sed '1,/^$/d; /^$/d' "$root$source_dir/minimal.c" | wc -l)" -le 15 ] ||
	fail "minimal.c has more than 15 lines of code"
cp "$work/img" "$work/damaged"
debugfs -w -R 'set_inode_field /split links_count 3' "$work/damaged" \
	>/dev/null 2>&1
before=$(cksum <"$work/damaged")
run "$work/minimal" "$work/damaged"
same "exit of minimal" "$status" 1
grep -q '^1 errors, 0 extents: the filesystem is damaged' "$out" || {
	show_run
	fail "minimal.c does not report the damage"
}
same "bytes of a damaged image" "$(cksum <"$work/damaged")" "$before"
cp "$work/img" "$work/sound"
check "$work/minimal" "$work/sound"
grep -q '^0 errors, [1-9][0-9]* extents: ' "$out" || {
	show_run
	fail "minimal.c does not report"
}
sound "$work/sound"
check "$work/repack" "$work/img"
grep -q 'extents became' "$out" || fail "nothing was repacked"
run "$work/repack" "$work"
says "^$work: neither .* image"
check "$work/report" "$work/img"
check mke2fs -q -F -t ext4 "$work/new" 8M
mkdir "$work/from"
check "$work/image" "$work/from" "$work/new"
