/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --verity: adds the Merkle tree and the descriptor of fs-verity to files,
 * after the end of each file, as ext4 stores them (fs/ext4/verity.c in Linux).
 * The contents of the files are copied to the spool, so that the metadata can
 * follow the contents.
 */
#include "config.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/format.h"
#include "e4layout/populate/tree.h"
#include "mke4fs_merkle.h"
#include "mke4fs_image.h"
#include "mke4fs_source.h"
#include "support/say.h"
#include "support/units.h"

#define METADATA_ALIGN	65536u
#define COPY_BYTES	(1u << 20)
#define MAX_FILE_BYTES	((FILE_LAST_LBLK + 1ULL) * MERKLE_BLOCK_BYTES)

/* struct fsverity_descriptor in Linux */
#define DESCRIPTOR_BYTES 256
#define AT_VERSION	0
#define AT_ALGORITHM	1
#define AT_LOG_BLOCK	2
#define AT_DATA_SIZE	8
#define AT_ROOT_HASH	16
#define VERITY_VERSION	1
#define SHA256		1
#define LOG_BLOCK	12

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/*
 * Appends the content of the file @id, and zeroes up to the end of the last
 * block.  Returns false after printing an error.
 */
static bool append_content(const struct load *l, uint32_t id, uint64_t size)
{
	char *buf = malloc(COPY_BYTES);
	uint64_t at, end = round_up(size, MERKLE_BLOCK_BYTES), n;
	errcode_t err = buf ? 0 : ENOMEM;
	bool done = true;

	for (at = 0; at < end && !err && done; at += n) {
		n = end - at < COPY_BYTES ? end - at : COPY_BYTES;
		err = e4l_tree_read(l->t, id, at, n, buf);
		done = err || spool_append(l->spool, buf, n);
	}
	free(buf);
	return err ? say_source(source_name(l->c, l->t), l->t, err) : done;
}

static bool go_on(uint64_t done, void *priv)
{
	(void)done;
	(void)priv;
	return true;
}

/*
 * Appends the metadata of fs-verity to the spool: the Merkle tree of the @size
 * bytes at @data, and the descriptor.  Returns false after printing an error.
 */
static bool append_metadata(struct spool *s, uint64_t data, uint64_t size)
{
	char block[MERKLE_BLOCK_BYTES] = { 0 };
	const struct merkle_place from = { s->fd, data };
	const struct merkle_place to = { s->fd, s->end };
	struct merkle_work work = { .progress = go_on };
	uint8_t root[SHA256_DIGEST_SIZE] = { 0 };
	struct merkle m;
	errcode_t err = 0;

	merkle_plan(&m, NULL, 0, round_up(size, MERKLE_BLOCK_BYTES) /
				 MERKLE_BLOCK_BYTES);
	if (m.data_blocks)
		err = merkle_build(&m, &from, &to, &work, root);
	if (err) {
		say_error("the temporary file", "cannot write", err);
		return false;
	}
	s->end += m.tree_blocks * MERKLE_BLOCK_BYTES;
	block[AT_VERSION] = VERITY_VERSION;
	block[AT_ALGORITHM] = SHA256;
	block[AT_LOG_BLOCK] = LOG_BLOCK;
	put_le64(block + AT_DATA_SIZE, size);
	memcpy(block + AT_ROOT_HASH, root, sizeof(root));
	/*
	 * ext4 reads the size of the descriptor at the end of the last block.
	 */
	put_le32(block + sizeof(block) - 4, DESCRIPTOR_BYTES);
	return spool_append(s, block, sizeof(block));
}

/*
 * Adds the bytes that the file @e needs in the spool to *@l->taken.  If ext4
 * cannot store the file, or if the bytes exceed --max-size, prints an error and
 * returns false.
 */
static bool take_room(const struct load *l, const struct e4l_entry *e)
{
	uint64_t limit = l->c->max_bytes, content, metadata;
	char text[UNITS_LEN];
	struct merkle m;

	if (e->size > MAX_FILE_BYTES)
		return complain(l, error_message(E4L_ET_FILE_TOO_LARGE));
	content = round_up(e->size, MERKLE_BLOCK_BYTES);
	merkle_plan(&m, NULL, 0, content / MERKLE_BLOCK_BYTES);
	metadata = (m.tree_blocks + 1) * MERKLE_BLOCK_BYTES;
	if (round_up(e->size, METADATA_ALIGN) + metadata > MAX_FILE_BYTES)
		return complain(l, error_message(E4L_ET_FILE_TOO_LARGE));
	*l->taken += content + metadata;
	if (!limit || *l->taken <= limit)
		return true;
	say("%s: %s: the size of all files with their metadata exceeds %s "
	    "(--max-size=SIZE allows more)", l->name, l->path,
	    units_size(limit, text));
	return false;
}

static bool protect(const struct load *l, uint32_t id)
{
	const struct e4l_time now = { .tv_sec = l->c->now };
	struct spool *s = l->spool;
	uint64_t data = s->end, metadata;
	struct e4l_entry e;
	errcode_t err = e4l_tree_get(l->t, id, &e);
	struct e4l_stretch stretches[2];
	size_t n = 0;

	if (!err && !(take_room(l, &e) && append_content(l, id, e.size)))
		return false;
	metadata = s->end;
	if (!err && !append_metadata(s, data, e.size))
		return false;
	if (e.size)
		stretches[n++] = (struct e4l_stretch) {
			.bytes = e.size, .pos = data,
		};
	stretches[n++] = (struct e4l_stretch) {
		.offset = round_up(e.size, METADATA_ALIGN),
		.bytes = s->end - metadata, .pos = metadata,
	};
	e.stretches = stretches;
	e.n_stretches = n;
	/*
	 * Only contents from ext4 can have stretches after the end of the file.
	 */
	e.from_ext4 = true;
	e.path = NULL;
	if (!err)
		err = e4l_tree_set_content(l->t, id, &e);
	if (!err)
		err = e4l_tree_add_flags(l->t, id, EXT4_VERITY_FL, &now);
	return !err || say_source(source_name(l->c, l->t), l->t, err);
}

/*
 * If the path of the file @id matches @pattern, adds fs-verity's metadata to
 * the file and sets *@found to true.  Returns false after printing an error.
 */
static bool take_file(struct load *l, uint32_t id, const char *pattern,
		      bool *found)
{
	char *path = e4l_tree_long_path(l->t, id);
	bool matches = path && !fnmatch(pattern, path, 0), done;

	if (!path)
		return say_source(l->name, l->t, ENOMEM);
	*found |= matches;
	l->path = path;
	done = !matches || e4l_tree_flags(l->t, id) & EXT4_VERITY_FL ||
	       protect(l, id);
	l->path = NULL;
	free(path);
	return done;
}

/*
 * Adds fs-verity's metadata to the files whose paths match @pattern.  Returns
 * false after printing an error.
 */
static bool take_pattern(struct load *l, const char *pattern)
{
	const char *relative = pattern + strspn(pattern, "/");
	bool found = false;
	uint32_t id = 0;

	while ((id = e4l_tree_next_file(l->t, id)))
		if (!take_file(l, id, relative, &found))
			return false;
	if (!found)
		say("--verity: no regular file matches '%s'", pattern);
	return found;
}

bool add_verity(const struct config *c, struct e4l_tree *t, struct spool *spool)
{
	uint64_t taken = 0;
	struct load l = {
		.c = c, .t = t, .spool = spool, .name = "--verity",
		.taken = &taken,
	};
	bool done;
	size_t i;

	if (!c->verity.n)
		return true;
	done = spool_open(&l) && begin_layer(&l, true);
	for (i = 0; done && i < c->verity.n; i++)
		done = take_pattern(&l, c->verity.v[i]);
	return done;
}

bool verity_allowed(const struct config *c, const struct image *im)
{
	if (!c->verity.n || im->fs->blocksize == MERKLE_BLOCK_BYTES)
		return true;
	say("%s: --verity requires a block size of %u bytes", c->device,
	    MERKLE_BLOCK_BYTES);
	return false;
}
