#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The output of --json agrees with doc/schema. The manual page and the
# completion know every tunable of the table.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs bash /usr/bin/python3
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null ||
	skip "no python3-jsonschema"

schema=$top_srcdir/doc/schema/tune4fs-1.json
img=$work/img

# valid ARGUMENT...: runs tune4fs with --json, and fails unless the output, in
# $work/doc, is valid.
valid() {
	check "$tune4fs" --json "$@"
	cp "$out" "$work/doc"
	check /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$schema" "$work/doc"
}

# holds EXPRESSION: fails unless a Python expression about d, the last document,
# is true.
holds() {
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
t = {x["name"]: x for x in d["tunables"]}
sys.exit(not eval(sys.argv[2]))' "$work/doc" "$1" || {
		cat "$work/doc" >&2
		fail "does not hold: $1"
	}
}

echo '{"schema": "tune4fs/1"}' >"$work/bad"
mustfail 1 /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" "$schema" \
	"$work/bad"

mke2fs -qq -F -t ext4 "$img" 16M >/dev/null
valid -l "$img"
holds 'd["changes"] == [] and d["mount_point"] is None'
holds 'd["attribute_bytes"] == 0 and not any(x["stored"] for x in t.values())'
holds 't["dir_ireserve"]["needs_patched_kernel"] is True'
holds 't["mb_prefetch"]["default"] is None'
valid -n -E dir_ireserve=low "$img"
holds 'd["dry_run"] and d["changes"][0]["to"] == "16"'
printf 'mb_order2_req=77,future=x/"y\\z' >"$work/v"
debugfs -w -R "ea_set -f $work/v / trusted.ext4.tunables" "$img" \
	>/dev/null 2>&1
valid -E dir_ireserve=low "$img"
holds 'd["changes"] == [{"name": "dir_ireserve", "where": "filesystem",
	"from": None, "to": "16"}]'
holds 't["dir_ireserve"]["persistent"] == 16'
holds 't["mb_order2_req"]["persistent"] is None and t["mb_order2_req"]["stored"] == "77"'
holds 't["future"]["stored"] == "x/\"y\\z" and not t["future"]["known"]'
valid --clear "$img"
holds 'len(d["changes"]) == 3 and d["attribute_bytes"] == 0'

valid -l "$img"
/usr/bin/python3 - "$work/doc" "$top_srcdir/misc/tune4fs.8" <<'END' ||
import json, re, sys
page = open(sys.argv[2]).read()
for t in json.load(open(sys.argv[1]))["tunables"]:
    entry = re.search(rf"^\.TP\n\.B {t['name']}\n(.*?)^\.(TP|SH)\b(?!\n\.B off)",
                      page, re.M | re.S)
    assert entry, t["name"]
    text = entry.group(1)
    assert str(t["max"]) in text, (t["name"], "max")
    assert t["default"] is None or \
        re.search(rf"default {t['default']}\b", text), (t["name"], "default")
    assert t["since"] is None or f"Linux {t['since']}." in text, t["name"]
END
	fail "the manual differs from the table"
/usr/bin/python3 -c 'import json, sys
print(*(t["name"] for t in json.load(open(sys.argv[1]))["tunables"]))' \
	"$work/doc" >"$work/names"
bash -c 'compopt() { :; }; . "$1"; COMP_WORDS=(tune4fs -E mb_order2_req=1,);
COMP_CWORD=2; _tune4fs; echo "${COMPREPLY[@]}"' - \
	"$top_srcdir/misc/completions/tune4fs" |
	sed 's/mb_order2_req=1,\([a-z0-9_]*\)=/\1/g' >"$work/completed"
cmp -s "$work/names" "$work/completed" || {
	cat "$work/names" "$work/completed" >&2
	fail "the completion differs from the table"
}
