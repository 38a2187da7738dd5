/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a Merkle tree level by level.  Reads the blocks of a level in large
 * pieces, and writes their digests to the next higher level.  The memory use
 * does not depend on the size of the data.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/full_io.h"
#include "mke4fs_merkle.h"

#define DIGESTS		(MERKLE_BLOCK_BYTES / SHA256_DIGEST_SIZE)
/*
 * number of blocks that are read and hashed at once; the digests of these
 * blocks fill whole blocks of the next level of the tree
 */
#define PIECE_BLOCKS	(2 * DIGESTS)
#define PIECE_BYTES	(PIECE_BLOCKS * MERKLE_BLOCK_BYTES)
#define PIECE_DIGEST_BYTES (PIECE_BLOCKS * SHA256_DIGEST_SIZE)

static void hash_block(const struct merkle *m, const uint8_t *block,
		       uint8_t *digest)
{
	struct sha256_ctx ctx = m->salted;

	sha256_update(&ctx, MERKLE_BLOCK_BYTES, block);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, digest);
}

void merkle_plan(struct merkle *m, const uint8_t *salt, size_t salt_len,
		 uint64_t data_blocks)
{
	static const uint8_t zeroes[MERKLE_BLOCK_BYTES];
	uint64_t n = data_blocks;
	unsigned int level;

	*m = (struct merkle) { .data_blocks = data_blocks };
	while (n > 1) {
		n = (n + DIGESTS - 1) / DIGESTS;
		m->n_blocks[m->n_levels++] = n;
	}
	for (level = m->n_levels; level--;) {
		m->first[level] = m->tree_blocks;
		m->tree_blocks += m->n_blocks[level];
	}
	sha256_init(&m->salted);
	sha256_update(&m->salted, salt_len, salt);
	hash_block(m, zeroes, m->zeroes);
}

/* Writes the digests of @n blocks to @digests. */
static void hash_blocks(const struct merkle *m, const uint8_t *blocks, size_t n,
			uint8_t *digests)
{
	for (; n--; blocks += MERKLE_BLOCK_BYTES,
	     digests += SHA256_DIGEST_SIZE) {
		if (!*blocks &&
		    !memcmp(blocks, blocks + 1, MERKLE_BLOCK_BYTES - 1))
			memcpy(digests, m->zeroes, SHA256_DIGEST_SIZE);
		else
			hash_block(m, blocks, digests);
	}
}

/*
 * Writes the digests of the @n blocks in @from to @to, and zeroes up to the end
 * of the last block.  @piece has space for PIECE_BLOCKS blocks and for their
 * digests.
 */
static errcode_t build_level(const struct merkle *m, uint8_t *piece,
			     const struct merkle_place *from, uint64_t n,
			     const struct merkle_place *to,
			     struct merkle_work *work)
{
	uint8_t *digests = piece + PIECE_BYTES;
	uint64_t out_at = to->at, at = from->at, now;
	size_t out_bytes;
	errcode_t err;

	for (; n; n -= now, at += now * MERKLE_BLOCK_BYTES) {
		work->failed_fd = from->fd;
		if (!work->progress(work->done, work->priv))
			return E4L_ET_INTERRUPTED;
		now = n < PIECE_BLOCKS ? n : PIECE_BLOCKS;
		err = e4l_read_full(from->fd, piece, now * MERKLE_BLOCK_BYTES,
				    at, EIO);
		if (err)
			return err;
		memset(digests, 0, PIECE_DIGEST_BYTES);
		hash_blocks(m, piece, now, digests);
		out_bytes = (now + DIGESTS - 1) / DIGESTS * MERKLE_BLOCK_BYTES;
		work->failed_fd = to->fd;
		err = e4l_write_full(to->fd, digests, out_bytes, out_at);
		if (err)
			return err;
		out_at += out_bytes;
		work->done += now;
	}
	return 0;
}

static struct merkle_place level_at(const struct merkle *m,
				    const struct merkle_place *tree,
				    unsigned int level)
{
	return (struct merkle_place) {
		tree->fd, tree->at + m->first[level] * MERKLE_BLOCK_BYTES,
	};
}

errcode_t merkle_build(const struct merkle *m, const struct merkle_place *data,
		       const struct merkle_place *tree,
		       struct merkle_work *work,
		       uint8_t root[SHA256_DIGEST_SIZE])
{
	uint8_t *piece = malloc(PIECE_BYTES + PIECE_DIGEST_BYTES);
	struct merkle_place from = *data, to;
	uint64_t n = m->data_blocks;
	errcode_t err = piece ? 0 : ENOMEM;
	unsigned int level;

	work->failed_fd = data->fd;
	work->done = 0;
	for (level = 0; level < m->n_levels && !err; level++) {
		to = level_at(m, tree, level);
		err = build_level(m, piece, &from, n, &to, work);
		from = to;
		n = m->n_blocks[level];
	}
	if (!err)
		err = e4l_read_full(from.fd, piece, MERKLE_BLOCK_BYTES,
				    from.at, EIO);
	if (!err)
		hash_block(m, piece, root);
	free(piece);
	return err;
}
