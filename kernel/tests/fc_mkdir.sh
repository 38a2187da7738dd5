# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: after a power cut, directories that were created or that grew have
# no errors and can be removed.
. "$(dirname "$0")/common.sh"

# cut BLOCKSIZE DO OPTION...: run the commands DO in /mnt, sync another file,
# and cut the power
cut() {
	block=$1 do=$2
	shift 2
	new_disk 32 -O fast_commit "$@" -b "$block"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=600 \$disk /mnt || exit 1
		mkdir /mnt/before
		: >/mnt/f
		sync
		cd /mnt
		$do
		: >/mnt/g
		sync /mnt/g || exit 1
		poweroff -f -n
	END
}

# removed: replay the journal, remove the directories, and print the errors
removed() {
	replayed rm -rf /mnt/before /mnt/made
}

make="mkdir made made/below"
name=$(printf '%0200d' 0)
grow="n=0
while [ \$n -lt 40 ]; do : >before/$name\$n; n=\$((n + 1)); done"

kernel=$stock
bad=0
for do in "$make" "$grow"; do
	cut 1024 "$do"
	replayed >/dev/null || bad=$((bad + 1))
	cut 4096 "$do"
	removed >/dev/null || bad=$((bad + 1))
done
echo "stock: $bad of 4 have errors"
kernel=$patched
complains=
for how in "1024" "4096" "1024 -O inline_data" "4096 -O ^huge_file"; do
	for do in "$make" "$grow"; do
		for then in replayed removed; do
			# shellcheck disable=SC2086
			cut ${how%% *} "$do" ${how#"${how%% *}"}
			got=$($then) || fail "blocks of $how: $do: $then: $got"
		done
	done
done
echo "ok: directories that were made, or have grown, are as they should be"
