/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 6: the orphan file, which must be empty. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/base/io_pool.h"
#include "check_internal.h"

#define TAIL_BYTES 8	/* magic and checksum */

struct orphan_file {
	struct check *ck;
	ext2_ino_t ino;
	uint32_t seed;
	e2_blkcnt_t blocks;	/* number of blocks according to i_size */
	bool bad;
	char *block, *clean;
};

/* Sets f->clean to the content of an empty orphan block at @blk. */
static void make_clean(struct orphan_file *f, blk64_t blk)
{
	ext2_filsys fs = f->ck->fs;
	size_t tail = fs->blocksize - TAIL_BYTES;
	uint64_t le_blk = ext2fs_cpu_to_le64(blk);
	uint32_t words[2] = { ext2fs_cpu_to_le32(EXT4_ORPHAN_BLOCK_MAGIC) };
	uint32_t crc;

	memset(f->clean, 0, fs->blocksize);
	if (ext2fs_has_feature_metadata_csum(fs->super)) {
		crc = e4l_crc32c(f->seed, &le_blk, sizeof(le_blk));
		crc = e4l_crc32c(crc, f->clean, tail);
		words[1] = ext2fs_cpu_to_le32(crc);
	}
	memcpy(f->clean + tail, words, sizeof(words));
}

static int on_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t n, blk64_t ref,
		    int offset, void *priv)
{
	struct orphan_file *f = priv;

	if (!*blk) {
		f->bad |= n != f->blocks;
		return BLOCK_ABORT;
	}
	if (!in_filesystem(fs, *blk)) {
		f->bad = true;
		return BLOCK_ABORT;
	}
	make_clean(f, *blk);
	if (e4l_check_noted(f->ck, e4l_read(f->ck->e, *blk, 1, f->block)) ||
	    memcmp(f->block, f->clean, fs->blocksize)) {
		FOUND(f->ck, ORPHAN_BLOCK, .ino = f->ino, .blk = *blk);
		return BLOCK_ABORT;
	}
	return 0;
}

static errcode_t judge_file(struct check *ck, ext2_ino_t ino)
{
	ext2_filsys fs = ck->fs;
	struct orphan_file f = { .ck = ck, .ino = ino };
	struct ext2_inode inode;

	if (!ino || ino > fs->super->s_inodes_count ||
	    e4l_check_noted(ck, ext2fs_read_inode(fs, ino, &inode)) ||
	    EXT2_I_SIZE(&inode) % fs->blocksize) {
		FOUND(ck, ORPHAN_FILE, .ino = ino);
		return 0;
	}
	f.seed = e4l_inode_seed(fs, ino, inode.i_generation);
	f.blocks = EXT2_I_SIZE(&inode) / fs->blocksize;
	f.block = malloc(fs->blocksize);
	f.clean = malloc(fs->blocksize);
	if (f.block && f.clean &&
	    e4l_check_noted(ck, ext2fs_block_iterate3(fs, ino,
				BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_HOLE |
				BLOCK_FLAG_READ_ONLY, NULL, on_block, &f)))
		f.bad = true;
	if (f.bad)
		FOUND(ck, ORPHAN_FILE, .ino = ino);
	free(f.block);
	free(f.clean);
	return f.block && f.clean ? 0 : ENOMEM;
}

errcode_t e4l_pass6_orphans(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	bool present = ext2fs_has_feature_orphan_present(sb);

	if (present || (ext2fs_has_feature_orphan_file(sb) &&
			!ext2fs_has_feature_journal(sb)))
		FOUND(ck, ORPHAN_FLAG);
	return ext2fs_has_feature_orphan_file(sb) ?
	       judge_file(ck, sb->s_orphan_file_inum) : 0;
}
