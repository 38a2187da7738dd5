# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2154
# What the tests of e4repack --all share; sourced after repack_common.sh.

# all KEY: what the last report says of all parts.
all() {
	json "$work/.report" "d['$1']"
}

# by_name IMAGE: all that must stay.
by_name() {
	digest -enz "$1" | sort
}

# layout IMAGE: what a repair must not make worse, and what it is there for.
layout() {
	check "$e4frag" -q --json "$1"
	json "$out" "'\n'.join(f'{k} {v}' for k, v in {
		'fragments': d['files']['fragments'],
		'excess': d['files']['excess_extents'],
		'trees': d['files']['tree_blocks'],
		'itables': d['directories']['itable_blocks'],
		'runs': d['free_space']['extents'],
		'shorter': -d['free_space']['largest_blocks']}.items())"
}

# kept: $img is sound, and has what it had.
kept() {
	clean "$img"
	by_name "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# no_worse: nothing in $work/then is more than in $work/now.
no_worse() {
	layout "$img" >"$work/then"
	paste -d' ' "$work/now" "$work/then" | while read -r key was _ is; do
		[ "$is" -le "$was" ] || fail "$what: $key: $was, then $is"
	done
	echo "$what: $(paste -sd' ' "$work/now"), then" \
		"$(paste -sd' ' "$work/then")"
}

# repaired: the last run did what it is for.
repaired() {
	kept
	no_worse
	left=$(json "$work/.report" "sum(x['extents'] for x in [p for p in
		d['parts'] if p['only'][0] == 'merge'][-1]['left_alone'])")
	[ "$(sed -n 's/^excess //p' "$work/then")" -le "$left" ] ||
		fail "$what: excess, and $left extents left alone"
	case $(json "$work/.report" \
		"'/'.join(p['only'][0] for p in d['parts'])") in
	index/inodes/free/merge | index/inodes/free/merge/*) ;;
	*) fail "$what: other parts" ;;
	esac
	for key in bytes_copied bytes_zeroed bytes_discarded; do
		same "$what: $key" "$(all $key)" \
			"$(json "$work/.report" "sum(p['$key'] for p in d['parts'])")"
	done
}

# begins_with IMAGE: what there was in it.
begins_with() {
	layout "$1" >"$work/now"
	by_name "$1" >"$work/before"
}
