/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <e2p/e2p.h>
#include <uuid/uuid.h>
#include "json_layout.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char *json_map_name(enum e4l_map map)
{
	static const char *const names[] = {
		[E4L_MAP_NONE] = "none",
		[E4L_MAP_EXTENTS] = "extents",
		[E4L_MAP_INDIRECT] = "indirect",
		[E4L_MAP_INLINE] = "inline",
	};

	return names[map];
}

#define SCORE(key) { #key, offsetof(struct e4l_file_score, key) }
static const struct json_member score_members[] = {
	SCORE(blocks), SCORE(unwritten_blocks), SCORE(extents),
	SCORE(unwritten_extents), SCORE(fragments), SCORE(ideal_extents),
	SCORE(splits), SCORE(mergeable), SCORE(tree_blocks),
	SCORE(ideal_tree_blocks),
};

json_t *json_score(const struct e4l_file_score *score)
{
	return json_members(score, score_members, COUNT(score_members));
}

void json_line_score(struct json_line *line,
		     const struct e4l_file_score *score)
{
	json_line_members(line, score, score_members, COUNT(score_members));
}

#define FILES(key) { #key, offsetof(struct e4l_model, files.key) }
static const struct json_member files_members[] = {
	FILES(count), FILES(regular), FILES(directories), FILES(fragmented),
	FILES(blocks), FILES(unwritten_blocks), FILES(extents),
	FILES(unwritten_extents), FILES(fragments), FILES(ideal_extents),
	FILES(excess_extents), FILES(splits), FILES(mergeable),
	FILES(tree_blocks), FILES(ideal_tree_blocks), FILES(indirect_mapped),
	FILES(inline_data),
};

json_t *json_files(const struct e4l_model *m)
{
	return json_members(m, files_members, COUNT(files_members));
}

/* From runs of one block up to the longest, in powers of two. */
static json_t *histogram_array(const struct e4l_free_histogram *h)
{
	json_t *array = json_array();
	uint64_t min;
	int failed = 0, i;

	for (i = 0; i < E4L_FREE_BUCKETS; i++) {
		min = 1ULL << i;
		if (min > h->largest_blocks)
			break;
		failed |= json_array_append_new(array,
				json_pack("{s:I, s:I, s:I, s:I}",
					  "min_blocks", (json_int_t)min,
					  "max_blocks",
					  (json_int_t)(2 * min - 1),
					  "extents",
					  (json_int_t)h->bucket[i].runs,
					  "blocks",
					  (json_int_t)h->bucket[i].blocks));
	}
	return json_checked(array, failed);
}

json_t *json_free_space(const struct e4l_free_histogram *h)
{
	return json_pack("{s:I, s:I, s:I, s:o}",
			 "blocks", (json_int_t)h->blocks,
			 "extents", (json_int_t)h->runs,
			 "largest_blocks", (json_int_t)h->largest_blocks,
			 "histogram", histogram_array(h));
}

static json_t *features_array(const struct ext2_super_block *sb)
{
	static const int sets[] = {
		E2P_FEATURE_COMPAT, E2P_FEATURE_INCOMPAT,
		E2P_FEATURE_RO_INCOMPAT,
	};
	const uint32_t bits[] = {
		sb->s_feature_compat, sb->s_feature_incompat,
		sb->s_feature_ro_compat,
	};
	json_t *array = json_array();
	int failed = 0, i, bit;

	for (i = 0; i < COUNT(sets); i++)
		for (bit = 0; bit < 32; bit++)
			if (bits[i] >> bit & 1)
				failed |= json_array_append_new(array,
					json_string(e2p_feature2string(sets[i],
								1u << bit)));
	return json_checked(array, failed);
}

json_t *json_filesystem(ext2_filsys fs)
{
	struct ext2_super_block *sb = fs->super;
	char uuid[UUID_STR_LEN];

	uuid_unparse_lower(sb->s_uuid, uuid);
	return json_pack("{s:s, s:o, s:i, s:I, s:I, s:I, s:I, s:o}",
			 "uuid", uuid,
			 "label", json_field((const char *)sb->s_volume_name,
					     sizeof(sb->s_volume_name)),
			 "block_size_bytes", (int)fs->blocksize,
			 "blocks", (json_int_t)ext2fs_blocks_count(sb),
			 "free_blocks",
			 (json_int_t)ext2fs_free_blocks_count(sb),
			 "inodes", (json_int_t)sb->s_inodes_count,
			 "free_inodes", (json_int_t)sb->s_free_inodes_count,
			 "features", features_array(sb));
}

json_t *json_room(const struct e4l_repack_result *result, unsigned int bs)
{
	return json_pack("{s:I, s:I, s:I, s:I}",
			 "runs", (json_int_t)result->room_runs,
			 "fragments_saved", (json_int_t)result->room_fragments,
			 "files_moved_away", (json_int_t)result->room_files,
			 "bytes_to_copy_away",
			 (json_int_t)(result->room_blocks * bs));
}

json_t *json_free_runs(const struct e4l_repack_result *result, unsigned int bs)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "zones", (json_int_t)result->zones,
			 "files_moved_away", (json_int_t)result->zone_files,
			 "bytes_to_copy_away",
			 (json_int_t)(result->zone_blocks * bs),
			 "runs_before", (json_int_t)result->free_runs_before,
			 "runs_after", (json_int_t)result->free_runs_after,
			 "longest_before_bytes", (json_int_t)
			 (result->longest_free_before_blocks * bs),
			 "longest_after_bytes", (json_int_t)
			 (result->longest_free_blocks * bs));
}
