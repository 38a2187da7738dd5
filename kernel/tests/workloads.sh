# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/workloads only: benefits and costs of directory windows and
# zero-out under further workloads.  $tree is a tar archive.  $WORKLOADS selects
# the workloads.
. "$(dirname "$0")/common.sh"
: "${tree:?}" "${WORKLOAD_DIRS:=20000}" "${WORKLOAD_FILES:=5000}"
: "${WORKLOADS:=empty tree mail delay stride}" "${GUEST_MEM:=1G}"

# workload NAME KERNEL OPTIONS [READ_MS WRITE_MS]: run a workload, on a disk
# that takes READ_MS for a read and WRITE_MS for a write.
workload() {
	kernel=$2
	echo "$1"
	boot <<-END
		. /guest/functions.sh
		touch_memory
		again() {
			umount /mnt
			mount -t ext4 -o \$options \$on /mnt || exit 1
		}
		options=noatime,commit=300,$3
		$([ ! "${4-}" ] || echo "delay \$disk $4 $5; on=/dev/dm-0")
		mount -t ext4 -o \$options \$on /mnt || exit 1
		$script
		umount /mnt
	END
	clean
}

# all WHICH TITLE SCRIPT [READ_MS WRITE_MS]: if WHICH is selected, run workload
# with the stock kernel and with each value of dir_ireserve
all() {
	case " $WORKLOADS " in *" $1 "*) ;; *) return 0 ;; esac
	title=$2 script=$3
	shift 3
	printf '\n%s\n%-22s%9s%9s%9s%9s%9s%9s%9s\n' "$title" "" reads blocks \
		writes blocks s "cpu ms" alone
	for reserve in stock off low normal; do
		new_disk 4096 -N 1000000
		case $reserve in
		stock) workload stock "$stock" defaults "$@" ;;
		*) workload $reserve "$patched" dir_ireserve=$reserve "$@" ;;
		esac
	done
}

all empty "$WORKLOAD_DIRS empty directories" "
	step create trees create /mnt $WORKLOAD_DIRS 0"
disk2=$tree
all tree "a source tree of $(tar -tf "$tree" | wc -l) files and directories" "
	mkdir /mnt/tree
	step untar tar -xf \$disk2 -C /mnt/tree
	again
	step find find /mnt -size +1000000
	again
	step rm rm -rf /mnt/tree"
disk2=
all mail "mail: $WORKLOAD_FILES files, $((WORKLOAD_FILES * 4)) steps" "
	step mail trees mail /mnt 1 $WORKLOAD_FILES $((WORKLOAD_FILES * 4))"
all delay "1000 directories of 15 files; 8 ms for each read, 4 for a write" "
	step create trees create /mnt 1000 15
	again
	step find trees stat /mnt 1000
	again
	step rm trees remove /mnt 1000 15" 8 4

# stride NAME KERNEL KB: make writes at a stride, with extent_max_zeroout_kb set
# to KB
stride() {
	new_disk 512
	kernel=$2
	boot <<-END
		. /guest/functions.sh
		mount -t ext4 -o commit=300 \$disk /mnt || exit 1
		echo $3 >/sys/fs/ext4/\${disk#/dev/}/extent_max_zeroout_kb
		step "$1" writes stride direct /mnt/f 2000 64
		awk '/requested/ { n = \$1 } /logged/ { printf \
			"%22s%d transactions of %d blocks\n", "", n, \$1 }' \
			/proc/fs/jbd2/\${disk#/dev/}-8/info
		umount /mnt
	END
	clean
	echo "$(extents /f) extents" | sed 's/^/                      /'
}
case " $WORKLOADS " in *" stride "*) ;; *) exit ;; esac
printf '\n%s\n' "2000 direct writes of 4 KiB every 64 KiB, each to disk"
for kb in 0 32 64 128; do
	stride "stock-$kb-KiB" "$stock" $kb
	stride "patched-$kb-KiB" "$patched" $kb
done
