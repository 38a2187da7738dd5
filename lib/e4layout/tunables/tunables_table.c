// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The table of known tunables.  If the kernel limits a tunable
 * (fs/ext4/sysfs.c, fs/ext4/mballoc.c in Linux 6.12), the table has the
 * kernel's range.  If the kernel does not limit a tunable, values above the
 * table's maximum would have no further effect, or would make an allocation
 * hang.
 */
#include "config.h"
#include <string.h>
#include <e4layout/tunables.h>
#include "tunables.h"
#include "e4layout/base/internal.h"

static const struct e4l_tunable_word ireserve_words[] = {
	{ "off", 0 }, { "low", 16 }, { "normal", 64 }, { "high", 128 }, { 0 }
};

/*
 * The maximum number of clusters in a group: the block bitmap of a group is one
 * block of at most 64 KiB.
 */
#define MAX_GROUP_CLUSTERS 524288

/* The size of the longest extent, in KiB, with blocks of 64 KiB. */
#define MAX_EXTENT_KB 2097152

/* The allocator's counter of examined extents has 16 bits. */
#define MAX_FOUND 65535

/*
 * The highest value of mb_max_linear_groups.  With 16 or more groups
 * (MB_DEFAULT_LINEAR_SCAN_THRESHOLD in fs/ext4/mballoc.h), the allocator uses
 * lookup structures.  If the tunable is larger, the allocator can search all
 * groups linearly.  The allocator then continues with a criterion without a
 * lookup structure, and prints a warning.
 */
#define MAX_LINEAR 15

static const struct e4l_tunable_info table[] = {
	{ "dir_ireserve", E4L_TUNABLE_POWER_OF_TWO, 16, 4096, ireserve_words,
	  "inodes", 0, NULL, "dir_ireserve",
	  "inodes reserved together for the files of one directory" },
	{ "extent_max_zeroout_kb", E4L_TUNABLE_NUMBER, 0, MAX_EXTENT_KB, NULL,
	  "KiB", 32, "3.7", "extent_max_zeroout_kb",
	  "zero up to this size instead of splitting an unwritten extent" },
	{ "inode_readahead_blks", E4L_TUNABLE_POWER_OF_TWO, 1, 1 << 30, NULL,
	  "blocks", 32, "2.6.30", "inode_readahead_blks",
	  "inode-table blocks read ahead" },
	{ "mb_best_avail_max_trim_order", E4L_TUNABLE_NUMBER, 0, 64, NULL,
	  "powers of two", 3, "6.5", "mb_best_avail_max_trim_order",
	  "how far a request is shortened before all groups are searched" },
	{ "mb_group_prealloc", E4L_TUNABLE_NUMBER, 0, MAX_GROUP_CLUSTERS, NULL,
	  "clusters", E4L_TUNABLE_AUTO, "2.6.30", "mb_group_prealloc",
	  "size of preallocations for small files; 0: none" },
	{ "mb_max_linear_groups", E4L_TUNABLE_NUMBER, 0, MAX_LINEAR, NULL,
	  "groups", E4L_TUNABLE_AUTO, "5.13", "mb_max_linear_groups",
	  "groups searched in disk order before the best group" },
	{ "mb_max_to_scan", E4L_TUNABLE_NUMBER, 0, MAX_FOUND, NULL,
	  "extents", 200, "2.6.30", "mb_max_to_scan",
	  "maximum number of free extents to compare" },
	{ "mb_min_to_scan", E4L_TUNABLE_NUMBER, 0, MAX_FOUND, NULL,
	  "extents", 10, "2.6.30", "mb_min_to_scan",
	  "minimum number of free extents to compare" },
	{ "mb_order2_req", E4L_TUNABLE_NUMBER, 0, 32, NULL,
	  "powers of two", 2, "2.6.30", "mb_order2_req",
	  "smallest request that uses the buddy search" },
	{ "mb_prefetch", E4L_TUNABLE_NUMBER, 0, 65536, NULL,
	  "groups", E4L_TUNABLE_AUTO, "5.9", "mb_prefetch",
	  "block bitmaps read ahead at a time" },
	{ "mb_prefetch_limit", E4L_TUNABLE_NUMBER, 0, 1048576, NULL,
	  "groups", E4L_TUNABLE_AUTO, "5.9", "mb_prefetch_limit",
	  "maximum number of block bitmaps read ahead in the fast search" },
	{ "mb_stream_req", E4L_TUNABLE_NUMBER, 0, MAX_GROUP_CLUSTERS, NULL,
	  "blocks", 16, "2.6.30", "mb_stream_req",
	  "maximum size of files that are placed next to each other" },
};

const struct e4l_tunable_info *e4l_tunable_at(size_t i)
{
	return i < sizeof(table) / sizeof(*table) ? &table[i] : NULL;
}

const struct e4l_tunable_info *e4l_tunable_find(const char *name)
{
	size_t i;

	for (i = 0; e4l_tunable_at(i); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}
