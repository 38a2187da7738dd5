/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model-oracle IMAGE [PATH...]: prints the results of e4l_model_build(), one
 * "key value" per line, and a line for each file. model_common.sh compares the
 * results with other programs.
 */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <e4layout/e4layout.h>

#define PUT(m, field) printf(#field " %" PRIu64 "\n", (m)->field)

static errcode_t put_file(const struct e4l_file *f, void *priv)
{
	const struct e4l_file_score *s = &f->score;

	printf("file %u extents %" PRIu64 " fragments %" PRIu64 " filefrag %"
	       PRIu64 " fiemap %" PRIu64 " runs %" PRIu64 " path %s\n", f->ino,
	       s->extents, s->fragments, s->filefrag_extents, s->fiemap_extents,
	       s->logical_runs, f->path ? f->path : "?");
	return 0;
}

static void put_model(const struct e4l_model *m)
{
	uint64_t group_files = 0, group_free = 0, group_unused = 0;
	size_t i;

	PUT(m, files.count);
	PUT(m, files.regular);
	PUT(m, files.directories);
	PUT(m, files.fragmented);
	PUT(m, files.extents);
	PUT(m, files.unwritten_extents);
	PUT(m, files.fragments);
	PUT(m, files.ideal_extents);
	PUT(m, files.excess_extents);
	PUT(m, files.splits);
	PUT(m, files.mergeable);
	PUT(m, files.tree_blocks);
	PUT(m, files.ideal_tree_blocks);
	PUT(m, files.indirect_mapped);
	PUT(m, directories.count);
	PUT(m, directories.itable_blocks);
	PUT(m, directories.itable_blocks_ideal);
	PUT(m, directories.unused_inodes_read_by_fsck);
	PUT(m, free_space.blocks);
	PUT(m, free_space.runs);
	PUT(m, free_space.largest_blocks);
	for (i = 0; i < E4L_FREE_BUCKETS; i++)
		if (m->free_space.bucket[i].runs)
			printf("free %llu %" PRIu64 " %" PRIu64 "\n", 1ULL << i,
			       m->free_space.bucket[i].runs,
			       m->free_space.bucket[i].blocks);
	PUT(m, peers.filefrag_extents);
	PUT(m, peers.filefrag_fragmented);
	PUT(m, peers.e4defrag_extents);
	PUT(m, peers.e2fsck_files);
	PUT(m, peers.e2fsck_directories);
	PUT(m, damaged_count);
	for (i = 0; i < m->n_groups; i++) {
		group_files += m->groups[i].files;
		group_free += m->groups[i].free_space.blocks;
		group_unused += m->groups[i].unused_inodes_read_by_fsck;
	}
	printf("groups.files %" PRIu64 "\ngroups.free %" PRIu64
	       "\ngroups.unused %" PRIu64 "\n", group_files, group_free,
	       group_unused);
	for (i = 0; i < m->n_worst; i++)
		printf("worst %u excess %" PRIu64 " path %s\n", m->worst[i].ino,
		       m->worst[i].score.extents -
		       m->worst[i].score.ideal_extents,
		       m->worst[i].path ? m->worst[i].path : "?");
	for (i = 0; i < m->n_damaged; i++)
		printf("damaged inode %u block %" PRIu64 ": %s\n",
		       m->damaged[i].ino, (uint64_t)m->damaged[i].blk,
		       error_message(m->damaged[i].why));
}

int main(int argc, char **argv)
{
	struct e4l_model_options options = {
		.flags = E4L_MODEL_GROUPS | E4L_MODEL_FILE_PATHS,
		.top = 5, .max_damaged = 20, .file = put_file,
	};
	struct e4l_model model, plain;
	ext2_filsys fs;
	struct e4l *e;
	errcode_t err;

	initialize_ext2_error_table();
	err = argc < 2 ? EINVAL :
	      ext2fs_open2(argv[1], "cache=off",
			   EXT2_FLAG_64BITS | EXT2_FLAG_THREADS, 0, 0,
			   unix_io_manager, &fs);
	if (!err)
		err = e4l_new(fs, &e);
	if (!err && argc > 2)
		err = e4l_subtree(e, (const char **)argv + 2, argc - 2, NULL,
				  &options.only);
	if (!err)
		err = e4l_model_build(e, &options, &model);
	/*
	 * without names, e4l_model_build() finds only the paths of the worst
	 * files
	 */
	options.flags = 0;
	options.file = NULL;
	if (!err)
		err = e4l_model_build(e, &options, &plain);
	if (err) {
		fprintf(stderr, "model-oracle: %s\n", error_message(err));
		return 1;
	}
	put_model(&model);
	printf("plain\n");
	put_model(&plain);
	e4l_model_free(&model);
	e4l_model_free(&plain);
	ext2fs_free_inode_bitmap(options.only);
	e4l_free(e);
	ext2fs_close_free(&fs);
	return 0;
}
