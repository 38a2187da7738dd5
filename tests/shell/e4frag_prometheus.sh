#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Metrics agree with the report, hostile labels are escaped, the file is
# replaced atomically, and the programs that read metrics accept the file.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_strace
require_program mke2fs tune2fs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"

check "$e4frag" --json "$img"
cp "$out" "$work/report"
check "$e4frag" --prometheus "$img"
cp "$out" "$work/metrics"
# is NAME VALUE: fails unless the metric NAME has VALUE
is() {
	same "$1" "$(sed -n "s/^e4layout_$1{[^}]*} //p" "$work/metrics")" \
		"$(json "$work/report" "$2")"
}
for name in fragmented extents fragments ideal_extents excess_extents splits \
	mergeable unwritten_extents; do
	is "$(echo $name | sed 's/fragmented/&_files/')" "d['files']['$name']"
done
is files 'd["files"]["count"]'
is mapped_bytes 'd["files"]["blocks"] * d["filesystem"]["block_size_bytes"]'
is free_bytes 'd["free_space"]["blocks"] * d["filesystem"]["block_size_bytes"]'
is largest_free_extent_bytes 'd["free_space"]["largest_blocks"] *
	d["filesystem"]["block_size_bytes"]'
is damaged_places 0
is repack_files 'd["repack"]["files"]'
is repack_extents 'd["repack"]["extents"]'
is size_bytes 'd["filesystem"]["blocks"] * d["filesystem"]["block_size_bytes"]'
same 'free extents' "$(awk '/^e4layout_free_bytes_by_extent/ { n += $2 }
	END { print n }' "$work/metrics")" \
	"$(sed -n 's/^e4layout_free_bytes{.*} //p' "$work/metrics")"

# The label and paths have any bytes.
nl='
'
odd="$work/a\"b\\c${nl}d$(printf '\377')e"
cp "$img" "$odd"
tune2fs -L '"\n{}' "$odd" >/dev/null
check "$e4frag" --prometheus "$odd"
cp "$out" "$work/odd"
grep -qF 'device="'"$work"'/a\"b\\x5cc\\x0ad\\xffe",mountpoint=""' "$out" ||
	fail "the name is not escaped"
grep -qF 'label="\"\\x5cn{}"} 1' "$out" || fail "the label is not escaped"

# A new file has the mode that umask allows, and is durable before it gets its
# name.  No temporary file is left.
file=$work/dir/e4layout.prom
mkdir "$work/dir"
(umask 027 && exec strace -f -o "$work/trace" -e trace=fsync,rename \
	"$e4frag" -q --prometheus="$file" "$img") >"$out" 2>"$err" ||
	{ show_run; fail 'no file'; }
cat "$out" "$err" >"$work/said"
[ ! -s "$work/said" ] || fail 'unexpected output'
calls=$(sed -n 's/^[0-9]* *\(fsync\|rename\)(.* = 0$/\1/p' "$work/trace" |
	tail -n 3 | paste -sd' ')
same 'calls' "$calls" 'fsync rename fsync'
same 'mode' "$(stat -c %a "$file")" 640
same 'files' "$(ls "$work/dir")" e4layout.prom
grep -v timestamp_seconds "$work/metrics" >"$work/wanted"
grep -v timestamp_seconds "$file" | cmp -s - "$work/wanted" ||
	fail 'other metrics in the file'

# After a signal during the run, the file has all metrics, and no other file is
# left.
echo old >"$file"
chmod 604 "$file"
strace -f -o "$work/trace" -e trace=fchmod -e inject=fchmod:signal=TERM \
	"$e4frag" -q --prometheus="$file" "$img" >"$out" 2>"$err" || :
grep -q 'SIGTERM' "$work/trace" || fail 'no signal was sent'
same 'files after a signal' "$(ls "$work/dir")" e4layout.prom
same 'the mode that it had' "$(stat -c %a "$file")" 604
grep -v timestamp_seconds "$file" | cmp -s - "$work/wanted" ||
	fail 'other metrics after a signal'

# Files that must not or cannot be replaced are refused.
mkdir "$work/dir/x.prom"
mustfail 1 "$e4frag" --prometheus="$work/dir/x.prom" "$img"
says 'x\.prom: not a regular'
ln -s "$img" "$work/dir/y.prom"
mustfail 1 "$e4frag" --prometheus="$work/dir/y.prom" "$img"
says 'y\.prom: not a regular'
mustfail 1 "$e4frag" --prometheus="$work/none/x.prom" "$img"
says 'none/x\.prom: cannot write: No such file'
mustfail 2 "$e4frag" --prometheus="$img" "$img"
says "end in \.prom"
one_sentence e4frag
cp "$img" "$work/dir/z.prom"
mustfail 1 "$e4frag" --prometheus="$work/dir/z.prom" "$work/dir/z.prom"
says 'z\.prom: .*also an input'
cmp "$img" "$work/dir/z.prom"
mustfail 2 "$e4frag" --prometheus --json "$img"
mustfail 1 "$e4frag" --prometheus "$img" /data
says 'requires .*filesystem'

# the alerts and dashboards use existing metrics only
fleet=$top_srcdir/doc/fleet
cat "$fleet/alerts.yml" "$fleet/grafana.json" |
	grep -o 'e4layout_[a-z_]*' | sort -u | while read -r name; do
	grep -q "^# TYPE $name gauge\$" "$work/metrics" ||
		fail "there is no metric $name"
done

# Programs of Prometheus and systemd check the files, if the programs are
# installed.
/usr/bin/python3 - "$fleet/grafana.json" >"$work/dashboard.yml" <<'END'
import json, sys
print("groups: [{name: dashboard, rules: [")
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        print(json.dumps({"record": "x", "expr": target["expr"],
                          "labels": {"panel": str(panel["id"]) +
                                     target["refId"]}}) + ",")
print("]}]")
END
unit=$top_builddir/misc/e4layout-prometheus@.service
if [ -e "$unit" ] && command -v systemd-analyze >/dev/null; then
	mkdir "$work/units"
	sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|; /^Documentation/d' \
		"$unit" >"$work/units/${unit##*/}"
	sed '/^Documentation/d' \
		"$top_srcdir/misc/e4layout-prometheus@.timer" \
		>"$work/units/e4layout-prometheus@.timer"
	check systemd-analyze verify \
		"$work/units/e4layout-prometheus@srv.service" \
		"$work/units/e4layout-prometheus@srv.timer"
	[ ! -s "$err" ] || { show_run; fail "systemd-analyze complains"; }
fi

# The command of the service writes metrics of a mounted filesystem.
if [ -e "$unit" ] && can_mount; then
	mount_image "$img" "$work/mnt \"x"
	# shellcheck disable=SC2016
	command=$(sed -n 's/^ExecStart=[^ ]*e4frag //p' "$unit" | sed \
		's/%i/srv/; s/%f/"$work\/mnt \\"x"/; s/${TEXTFILES}/$work\/dir/')
	eval "check \"\$e4frag\" $command"
	[ ! -s "$out" ] || fail 'the service prints messages'
	cp "$work/dir/e4layout-srv.prom" "$work/mounted"
	grep -qF "{device=\"$loop\",mountpoint=\"$work/mnt \\\"x\"}" \
		"$work/mounted" || fail 'not the labels of what is mounted'
	mustfail 1 "$e4frag" --prometheus "$work/mnt \"x/data"
	says 'requires .*filesystem'
else
	cp "$work/metrics" "$work/mounted"
fi
require_program promtool
for metrics in metrics odd mounted; do
	promtool check metrics <"$work/$metrics" >"$out" 2>&1 ||
		{ show_run; fail "promtool complains of $metrics"; }
done
check promtool check rules "$work/dashboard.yml"
cp "$fleet/alerts.yml" "$top_srcdir/tests/shell/fleet_alerts.yml" "$work"
check promtool test rules "$work/fleet_alerts.yml"
