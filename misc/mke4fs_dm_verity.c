/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --dm-verity: writes a superblock and a hash tree in the format of
 * veritysetup(8).  The salt and the UUID are derived from the filesystem, so
 * that equal images have equal trees.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>
#include "e4layout/base/full_io.h"
#include "e4layout/format/format.h"
#include "mke4fs_dm_verity.h"
#include "mke4fs_output.h"
#include "support/progress.h"
#include "support/replace.h"
#include "support/say.h"
#include "support/text.h"

/* Superblock of veritysetup(8). Numbers are little-endian. */
struct super {
	char signature[8];
	uint32_t version;
	/* 1: the salt is hashed before the data */
	uint32_t hash_type;
	uint8_t uuid[16];
	char algorithm[32];
	uint32_t data_block_bytes;
	uint32_t hash_block_bytes;
	uint64_t data_blocks;
	uint16_t salt_bytes;
	uint8_t reserved[6];
	uint8_t salt[256];
};

static bool is_appended(const struct config *c)
{
	return !*c->dm_verity;
}

static uint64_t data_bytes(const struct image *im)
{
	return ext2fs_blocks_count(im->fs->super) * im->fs->blocksize;
}

/* Returns the size of the superblock and of the tree for @bytes of data. */
static uint64_t hash_bytes(uint64_t bytes)
{
	struct merkle m;

	merkle_plan(&m, NULL, 0, bytes / MERKLE_BLOCK_BYTES);
	return (1 + m.tree_blocks) * MERKLE_BLOCK_BYTES;
}

/* ------------------------------------------------------------------ refusals */

/*
 * Checks that the device or image has space for the tree after the filesystem.
 * Returns false after printing an error.
 */
static bool has_room(const struct config *c, const struct image *im,
		     uint64_t device_bytes)
{
	uint64_t bytes = data_bytes(im), all = hash_bytes(device_bytes);

	if (!device_bytes || bytes + hash_bytes(bytes) <= device_bytes)
		return true;
	say("%s: --dm-verity: no space for the hash tree behind the filesystem: "
	    "give a SIZE of at most %" PRIu64 "K", c->device,
	    device_bytes > all ? (device_bytes - all) / 4096 * 4 : 0);
	return false;
}

bool dm_verity_allowed(const struct config *c, const struct image *im,
		       uint64_t device_bytes)
{
	if (!c->dm_verity)
		return true;
	if (c->offset_bytes) {
		say("%s: --dm-verity is not supported for a filesystem at an "
		    "offset", c->device);
		return false;
	}
	if (im->fs->blocksize < MERKLE_BLOCK_BYTES) {
		say("%s: --dm-verity requires a block size of at least %u "
		    "bytes", c->device, MERKLE_BLOCK_BYTES);
		return false;
	}
	return !is_appended(c) || has_room(c, im, device_bytes);
}

/* ------------------------------------------------------------------- writing */

/*
 * Derives @len bytes (at most 32) from @purpose, and from the filesystem's UUID
 * and hash seed.
 */
static void derive(const struct image *im, const char *purpose, uint8_t *bytes,
		   size_t len)
{
	const struct ext2_super_block *super = im->fs->super;
	struct sha256_ctx ctx;
	uint8_t seed[16];
	int i;

	for (i = 0; i < 4; i++)
		put_le32(seed + 4 * i, super->s_hash_seed[i]);
	sha256_init(&ctx);
	sha256_update(&ctx, strlen(purpose), (const uint8_t *)purpose);
	sha256_update(&ctx, sizeof(super->s_uuid), super->s_uuid);
	sha256_update(&ctx, sizeof(seed), seed);
	sha256_digest(&ctx, len, bytes);
}

/* Sets the salt, and a UUID of version 8 (RFC 9562). */
static void set_ids(const struct image *im, struct dm_verity *v)
{
	derive(im, "dm-verity salt", v->salt, sizeof(v->salt));
	derive(im, "dm-verity UUID", v->uuid, sizeof(v->uuid));
	v->uuid[6] = 0x80 | (v->uuid[6] & 0x0f);
	v->uuid[8] = 0x80 | (v->uuid[8] & 0x3f);
}

static errcode_t write_super(const struct dm_verity *v, uint64_t data_blocks,
			     const struct merkle_place *at)
{
	uint8_t block[MERKLE_BLOCK_BYTES] = { 0 };
	struct super super = {
		.signature = "verity", .algorithm = "sha256",
		.version = ext2fs_cpu_to_le32(1),
		.hash_type = ext2fs_cpu_to_le32(1),
		.data_block_bytes = ext2fs_cpu_to_le32(MERKLE_BLOCK_BYTES),
		.hash_block_bytes = ext2fs_cpu_to_le32(MERKLE_BLOCK_BYTES),
		.data_blocks = ext2fs_cpu_to_le64(data_blocks),
		.salt_bytes = ext2fs_cpu_to_le16(sizeof(v->salt)),
	};

	memcpy(super.uuid, v->uuid, sizeof(v->uuid));
	memcpy(super.salt, v->salt, sizeof(v->salt));
	memcpy(block, &super, sizeof(super));
	return e4l_write_full(at->fd, block, sizeof(block), at->at);
}

struct watch {
	struct interrupt *in;
	struct progress progress;
	uint64_t total;
};

static bool show_progress(uint64_t done, void *priv)
{
	struct watch *w = priv;

	progress_update(&w->progress, done, w->total,
			done * MERKLE_BLOCK_BYTES);
	return !interrupt_heard(w->in);
}

/* The arguments of write_tree(). */
struct job {
	const struct config *c;
	struct image *im;
	struct interrupt *in;
	int image_fd;
	uint64_t at;
};

static bool say_failed(const struct job *j, int failed_fd, errcode_t err)
{
	const char *path = failed_fd == j->image_fd ? j->im->name :
						      j->c->dm_verity;

	say_write_error(path, path, "making the hash tree", err);
	return false;
}

/*
 * Writes the dm-verity superblock and the hash tree to @fd, from the byte
 * offset j->at on.  @priv is a struct job.  Returns false after printing an
 * error.
 */
static bool write_tree(int fd, void *priv)
{
	const struct job *j = priv;
	struct dm_verity *v = &j->im->verity;
	const struct merkle_place data = { .fd = j->image_fd };
	struct merkle_place at = { fd, j->at };
	struct watch watch = { .in = j->in };
	struct merkle_work work = { .progress = show_progress, .priv = &watch };
	struct merkle m;
	errcode_t err;

	set_ids(j->im, v);
	merkle_plan(&m, v->salt, sizeof(v->salt),
		    data_bytes(j->im) / MERKLE_BLOCK_BYTES);
	err = write_super(v, m.data_blocks, &at);
	if (err)
		return say_failed(j, fd, err);
	at.at += MERKLE_BLOCK_BYTES;
	watch.total = m.data_blocks + m.tree_blocks;
	progress_start(&watch.progress, &j->c->common, "hashing");
	err = merkle_build(&m, &data, &at, &work, v->root);
	progress_end(&watch.progress);
	if (err)
		return say_failed(j, work.failed_fd, err);
	v->data_blocks = m.data_blocks;
	v->hash_blocks = m.tree_blocks;
	v->at_bytes = j->at;
	return true;
}

bool dm_verity_write(const struct config *c, struct image *im, int fd,
		     struct interrupt *in)
{
	struct job job = { c, im, in, fd, 0 };

	if (!c->dm_verity)
		return true;
	if (!is_appended(c))
		return outputs_apart(c) &&
		       replace_file_by(c->dm_verity, write_tree, &job);
	job.at = data_bytes(im);
	return write_tree(fd, &job);
}

/* -------------------------------------------------------------------- report */

/* Writes @len bytes as hexadecimal digits to @text. */
static const char *hex(const uint8_t *bytes, size_t len, char *text)
{
	size_t i;

	for (i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

json_t *dm_verity_json(const struct config *c, const struct image *im)
{
	const struct dm_verity *v = &im->verity;
	char root[2 * sizeof(v->root) + 1], salt[2 * sizeof(v->salt) + 1];
	char uuid[UUID_STR_LEN];

	if (!v->data_blocks)
		return json_null();
	uuid_unparse_lower(v->uuid, uuid);
	return json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:I}",
			 "root_hash", hex(v->root, sizeof(v->root), root),
			 "salt", hex(v->salt, sizeof(v->salt), salt),
			 "uuid", uuid,
			 "hash_file", is_appended(c) ? json_null() :
						       json_name(c->dm_verity),
			 "hash_offset_bytes", (json_int_t)v->at_bytes,
			 "data_blocks", (json_int_t)v->data_blocks,
			 "hash_blocks", (json_int_t)v->hash_blocks);
}

void dm_verity_report(const struct config *c, const struct image *im)
{
	const struct dm_verity *v = &im->verity;
	char root[2 * sizeof(v->root) + 1];

	if (!v->data_blocks)
		return;
	hex(v->root, sizeof(v->root), root);
	printf("Root hash: %s\nTo open: veritysetup open ", root);
	text_put_word(stdout, c->device);
	fputs(" NAME ", stdout);
	text_put_word(stdout, is_appended(c) ? c->device : c->dm_verity);
	printf(" %s", root);
	if (v->at_bytes)
		printf(" --hash-offset=%" PRIu64, v->at_bytes);
	putchar('\n');
}
