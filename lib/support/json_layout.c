/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <e2p/e2p.h>
#include <uuid/uuid.h>
#include "json_layout.h"
#include "skips.h"

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

/*
 * Returns one element for each power of two, from one block to the largest free
 * extent.
 */
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

#define LAYOUT(key, member) { key, offsetof(struct e4l_layout, member) }
static const struct json_member layout_members[] = {
	LAYOUT("files", files), LAYOUT("fragmented_files", fragmented_files),
	LAYOUT("extents", extents), LAYOUT("fragments", fragments),
	LAYOUT("excess_fragments", excess_fragments),
	LAYOUT("tree_blocks", tree_blocks),
	LAYOUT("directory_blocks", dir_blocks),
	LAYOUT("itable_blocks", itable_blocks),
	LAYOUT("itable_blocks_ideal", itable_blocks_ideal),
	LAYOUT("free_blocks", free_blocks),
	LAYOUT("free_extents", free_extents),
	LAYOUT("largest_free_blocks", largest_free_blocks),
	LAYOUT("large_free_blocks", large_free_blocks),
};

static json_t *layout_object(const struct e4l_layout *l)
{
	return json_members(l, layout_members,
			    sizeof(layout_members) / sizeof(*layout_members));
}

/*
 * Returns the planned or the actual cost of a repack.  The two objects have
 * equal keys.
 */
static json_t *cost_object(const struct e4l_repack_cost *cost, uint64_t files,
			   uint64_t dirs, uint64_t inode_dirs, unsigned int bs)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "files", (json_int_t)files,
			 "directories", (json_int_t)dirs,
			 "inode_directories", (json_int_t)inode_dirs,
			 "bytes_copied",
			 (json_int_t)(cost->copied_blocks * bs),
			 "bytes_zeroed",
			 (json_int_t)(cost->zeroed_blocks * bs),
			 "directory_blocks", (json_int_t)cost->dir_blocks,
			 "inodes", (json_int_t)cost->inodes,
			 "bytes_discarded",
			 (json_int_t)(cost->discarded_blocks * bs),
			 "transactions", (json_int_t)cost->transactions);
}

json_t *json_repack(const struct e4l_repack_result *r, unsigned int bs)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:I}",
			 "before", layout_object(&r->before),
			 "after", layout_object(&r->after),
			 "planned",
			 cost_object(&r->planned, r->files_planned,
				     r->dirs_planned, r->inode_dirs_planned,
				     bs),
			 "done",
			 cost_object(&r->done, r->files_done, r->dirs_done,
				     r->inode_dirs_done, bs),
			 "skipped", skips_array(r),
			 "stopped", r->stopped,
			 "indexes_planned", (json_int_t)r->indexes_planned,
			 "least_lacking_bytes",
			 (json_int_t)(r->least_lacking_blocks * bs),
			 "most_lacking_bytes",
			 (json_int_t)(r->most_lacking_blocks * bs));
}
