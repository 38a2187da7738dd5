/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merkle trees of SHA-256 digests in the format of dm-verity and fs-verity.  A
 * block contains the digests of 128 blocks of the next lower level.  The
 * highest level is stored first.
 */
#ifndef MKE4FS_MERKLE_H
#define MKE4FS_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>
#include <nettle/sha2.h>

#define MERKLE_BLOCK_BYTES 4096u
/* maximum number of levels, for 2^63 bytes of data */
#define MERKLE_LEVELS 8

struct merkle {
	struct sha256_ctx salted;	/* state after hashing the salt */
	uint8_t zeroes[SHA256_DIGEST_SIZE];	/* digest of a block of zeroes */
	/*
	 * Level 0 has the digests of the data.  Sizes and positions are in
	 * blocks.
	 */
	unsigned int n_levels;
	uint64_t n_blocks[MERKLE_LEVELS];
	uint64_t first[MERKLE_LEVELS];
	uint64_t data_blocks, tree_blocks;
};

/* A file, and the byte at which the first block is read or written. */
struct merkle_place {
	int fd;
	uint64_t at;
};

/* The progress of merkle_build(). */
struct merkle_work {
	/*
	 * Called with the number of blocks that have been read; the total is
	 * data_blocks + tree_blocks.  If the function returns false,
	 * merkle_build() ends with E4L_ET_INTERRUPTED.
	 */
	bool (*progress)(uint64_t done, void *priv);
	void *priv;
	uint64_t done;
	int failed_fd;			/* file of the failed read or write */
};

/* Computes the shape of the tree for @data_blocks (at least 1) blocks. */
void merkle_plan(struct merkle *m, const uint8_t *salt, size_t salt_len,
		 uint64_t data_blocks);

/*
 * Reads the data, writes the tree level by level, and sets @root to the digest
 * of the single block of the highest level.
 */
errcode_t merkle_build(const struct merkle *m, const struct merkle_place *data,
		       const struct merkle_place *tree,
		       struct merkle_work *work,
		       uint8_t root[SHA256_DIGEST_SIZE]);

#endif
