# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: data that is synced while another file without a name is open
# survives a power cut, even if the stock kernel logged the file without a name.
# If a file got its first name before the power cut, the name survives.
. "$(dirname "$0")/common.sh"

# left HOW: print how many of 4096 synced bytes survive a power cut
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
