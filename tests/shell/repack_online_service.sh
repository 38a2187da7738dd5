#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The command of the systemd service repacks mounted filesystems.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
unit=$top_builddir/misc/e4layout-repack@.service
timer=$top_srcdir/misc/e4layout-repack@.timer
[ -e "$unit" ] || skip "configured without systemd"

if command -v systemd-analyze >/dev/null; then
	mkdir "$work/units"
	sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|; /^Documentation/d' \
		"$unit" >"$work/units/${unit##*/}"
	sed '/^Documentation/d' "$timer" >"$work/units/${timer##*/}"
	check systemd-analyze verify \
		"$work/units/e4layout-repack@srv.service" \
		"$work/units/e4layout-repack@srv.timer"
	[ ! -s "$err" ] || { show_run; fail "systemd-analyze complains"; }
fi
grep -q '^\[Install\]' "$unit" && fail "the service can be enabled"

# With only the capabilities of the unit, its command repacks files of other
# users.
require_loop
require_program setpriv
aged "$work/img" <<'END'
size 128M
interleave /data count 20 rounds 8 blocks 1
END
mount_image "$work/img" "$work/mnt x"
chmod 700 "$work/mnt x/data"
chmod 400 "$work/mnt x/data"/*
chown -R 65534:65534 "$work/mnt x/data"
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" |
	tr ' ' '\n' | sed 's/^CAP_/,+/' | tr -d '\n' | tr '[:upper:]' '[:lower:]')
options=$(sed -n 's/^Environment="OPTIONS=\(.*\)"$/\1/p' "$unit")
# shellcheck disable=SC2016
same "the command" '$OPTIONS -- %f' \
	"$(sed -n 's/^ExecStart=[^ ]*e4repack //p' "$unit")"
# --idle is omitted, because --idle would wait while the machine is busy.
# shellcheck disable=SC2086
check setpriv --bounding-set=-all"$caps" --inh-caps=-all --no-new-privs \
	"$e4repack" ${options#--idle } -- "$work/mnt x"
grep -q '^Files fragmented  *20  *0$' "$out" || {
	show_run
	fail "files were not repacked"
}
umount "$work/mnt x"
undefer "umount '$work/mnt x'"
sound "$work/img"
