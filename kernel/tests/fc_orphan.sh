# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# With fast commits: what was synced beside a file that has no name is there
# after the power was cut, also if the stock kernel has logged it, and what has got
# its first name, has it.
. "$(dirname "$0")/common.sh"

# left HOW: how many bytes of 4096 are there of what was synced
left() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		: >/mnt/g
		sync
		echo y >/mnt/g
		sync
		orphan $1 /mnt || exit 1
	END
	replayed || return 0
	case $1 in
	linked*) name=l ;;
	*) name=g ;;
	esac
	bytes_of y "/$name"
}

ways="tmpfile unlinked replaced linked linked-later"
kernel=$stock
for how in $ways; do
	echo "stock: $how: $(left "$how" 2>"$work/err") (4096 were written)"
done
kernel=$patched
for how in $ways; do
	got=$(left "$how")
	[ "$got" = 4096 ] || fail "$how: $got, not 4096"
done
echo "ok: synced beside files without a name, and with their first"

kernel=$stock
replayer=$patched
for how in tmpfile unlinked replaced; do
	got=$(left "$how")
	[ "$got" = 4096 ] || fail "logged by stock, $how: $got, not 4096"
done
echo "ok: replayed what the stock kernel had logged"
