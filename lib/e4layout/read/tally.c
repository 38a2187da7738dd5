/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tally: counts the locality of directories.  The locality of a directory of
 * one block is counted when the block is parsed.  For larger directories, pairs
 * of directory and inode are collected, sorted, and counted at the end of the
 * round.  For a huge directory, a bitmap of inodes replaces the pairs.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dirs.h"
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "tally.h"

/*
 * The maximum total size of the directories with two or more blocks in a round.
 * A directory that is larger than ROUND_BYTES is huge, and has a round of its
 * own.
 */
#define ROUND_BYTES	(8u << 20)
/*
 * A directory is spread if its inodes occupy more inode-table blocks than twice
 * the ideal number plus SPREAD_BLOCKS.
 */
#define SPREAD_BLOCKS	4

static bool get_bit(const uint8_t *bits, ext2_ino_t ino)
{
	return bits[ino / 8] & 1 << ino % 8;
}

static void set_bit(uint8_t *bits, ext2_ino_t ino)
{
	bits[ino / 8] |= 1 << ino % 8;
}

static uint8_t *new_bits(ext2_filsys fs)
{
	return calloc(fs->super->s_inodes_count / 8 + 1, 1);
}

/* ----------------------------------------------------------------- locality */

/*
 * A counter of distinct inodes and inode-table blocks.  count_ino() must be
 * called in ascending order of inodes.
 */
struct counter {
	ext2_filsys fs;
	struct e4l_dir_locality l;
	ext2_ino_t last_ino;
	uint64_t end; /* first inode after the current inode-table block */
};

/* Returns the first inode after the inode-table block of @ino. */
static uint64_t itable_block_end(ext2_filsys fs, ext2_ino_t ino)
{
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint32_t per_block = EXT2_INODES_PER_BLOCK(fs->super);
	uint32_t index = (ino - 1) % per_group;
	uint32_t end = (index / per_block + 1) * per_block;

	return (uint64_t)ino - index + (end < per_group ? end : per_group);
}

static void count_ino(struct counter *c, ext2_ino_t ino)
{
	if (ino == c->last_ino)
		return;
	c->l.inodes++;
	c->last_ino = ino;
	if (ino < c->end)
		return;
	c->l.itable_blocks++;
	c->end = itable_block_end(c->fs, ino);
}

static struct e4l_dir_locality counted(struct counter *c, ext2_ino_t dir)
{
	uint32_t per_block = EXT2_INODES_PER_BLOCK(c->fs->super);

	c->l.dir = dir;
	c->l.itable_blocks_ideal = (c->l.inodes + per_block - 1) / per_block;
	c->l.spread = !ext2fs_has_feature_stable_inodes(c->fs->super) &&
		      c->l.itable_blocks > 2 * c->l.itable_blocks_ideal +
					   SPREAD_BLOCKS;
	return c->l;
}

static bool is_subdir(const struct e4l_tally *t, const struct e4l_dirent *entry)
{
	if (t->is_dir)
		return get_bit(t->is_dir, entry->ino);
	return entry->file_type == EXT2_FT_DIR;
}

struct e4l_dir_locality e4l_count_locality(ext2_filsys fs, ext2_ino_t dir,
					   ext2_ino_t *inos, size_t n)
{
	struct counter c = { .fs = fs };
	size_t i;

	for (i = 1; i < n && inos[i - 1] <= inos[i]; i++)
		;
	if (i < n)
		qsort(inos, n, sizeof(*inos), e4l_u32_cmp);
	for (i = 0; i < n; i++)
		count_ino(&c, inos[i]);
	return counted(&c, dir);
}

/* ------------------------------------------------------------------- blocks */

static void part_damage(struct e4l_tally_part *part, ext2_ino_t ino,
			blk64_t blk, errcode_t why)
{
	if (e4l_grow(&part->damage, part->n_damage, sizeof(*part->damage)))
		part->err = ENOMEM;
	else
		part->damage[part->n_damage++] = (struct e4l_damage) {
			.ino = ino, .blk = blk, .why = why,
		};
}

static bool is_wanted(const struct e4l_tally *t, const struct e4l_dirent *entry)
{
	return t->ops.entry &&
	       (!t->ops.wanted || t->ops.wanted(entry, t->priv));
}

/*
 * Adds an entry to the statistics of the block, which judge_use() examines, and
 * records the inode of lost+found.
 */
static void note_use(struct e4l_tally_part *part,
		     const struct e4l_dirent *entry)
{
	if (e4l_dirent_is_dotdot(entry))
		return;
	e4l_dir_use_add(part->use, dirent_bytes(entry->name_len) +
				  part->hash_bytes);
	if (entry->dir == EXT2_ROOT_INO && entry->name_len == 10 &&
	    !memcmp(entry->name, "lost+found", 10))
		part->lost_found = entry->ino;
}

/*
 * Reports the entries in a block or in a part of an inline directory.  Adds the
 * inodes that count for locality to part->inos.
 */
static void parse(struct e4l_tally_part *part, struct e4l_dir_walk *w,
		  blk64_t blk)
{
	struct e4l_tally *t = part->t;
	struct e4l_dirent entry;
	enum e4l_dir_step step;
	bool locked = false;

	while (!part->err && (step = e4l_dir_next(w, &entry)) != DIR_END) {
		if (step == DIR_BAD) {
			part_damage(part, w->dir, blk, E4L_ET_DIR_CORRUPT);
			continue;
		}
		note_use(part, &entry);
		if (is_wanted(t, &entry)) {
			if (!locked)
				pthread_mutex_lock(&t->lock);
			locked = true;
			part->err = t->ops.entry(&entry, t->priv);
		}
		if (!e4l_dirent_is_dotdot(&entry) && !is_subdir(t, &entry))
			part->inos[part->n_inos++] = entry.ino;
	}
	if (locked)
		pthread_mutex_unlock(&t->lock);
}

/*
 * Uses part->inos, the inodes in the entries of one block of t->dirs[@index].
 * If the directory has only this block, computes the locality of the directory.
 * Otherwise, adds pairs of directory and inode to part->pairs.
 */
static void collect(struct e4l_tally_part *part, uint32_t index)
{
	const struct e4l_tally_dir *dir = &part->t->dirs[index];
	struct e4l_dir_locality l;
	size_t i;

	if (dir->blocks == 1 && !dir->begun && dir->last) {
		l = e4l_count_locality(part->t->e->fs, dir->ino, part->inos,
				       part->n_inos);
		l.blocks = 1;
		part->done[part->n_done++] = l;
		return;
	}
	for (i = 1; i < part->n_inos; i++) {
		if (e4l_grow(&part->pairs, part->n_pairs,
			     sizeof(*part->pairs))) {
			part->err = ENOMEM;
			return;
		}
		part->pairs[part->n_pairs++] = (uint64_t)index << 32 |
					       part->inos[i];
	}
}

void e4l_part_begin(struct e4l_tally_part *part)
{
	part->n_blocks = part->n_pairs = part->n_done = part->n_damage = 0;
	part->lost_found = 0;
	part->err = 0;
}

void e4l_part_block(struct e4l_tally_part *part, uint32_t index, uint32_t lblk,
		    blk64_t blk, const void *block)
{
	ext2_filsys fs = part->t->e->fs;
	const struct e4l_tally_dir *dir = &part->t->dirs[index];
	struct e4l_dir_use use = { 0 };
	size_t damages = part->n_damage;

	if (part->err)
		return;
	part->inos[0] = dir->ino;
	part->n_inos = 1;
	part->use = &use;
	part->hash_bytes = dir->has_hashes ? DIR_HASH_BYTES : 0;
	if (!block)
		part_damage(part, dir->ino, blk, E4L_ET_READ_DIR);
	else if (!e4l_dir_block_csum_ok(fs, dir->ino, dir->generation, block))
		part_damage(part, dir->ino, blk, E4L_ET_DIR_CSUM);
	else
		parse(part, &(struct e4l_dir_walk) {
				.fs = fs, .dir = dir->ino,
				.encrypted = dir->encrypted,
				.has_dots = !lblk,
				.buf = block, .len = fs->blocksize,
		      }, blk);
	part->blocks[part->n_blocks].dir = index;
	part->blocks[part->n_blocks].use = use;
	part->blocks[part->n_blocks++].damaged = part->n_damage > damages;
	if (part->t->ops.locality)
		collect(part, index);
}

/*
 * Reports ".." of an inline directory.  An inline directory has no entry "..",
 * but stores the inode number of its parent.
 */
static void hand_dotdot(struct e4l_tally_part *part, ext2_ino_t ino,
			const struct ext2_inode_large *inode)
{
	struct e4l_tally *t = part->t;
	struct e4l_dirent dotdot = {
		.dir = ino, .name = "..", .name_len = 2,
		.file_type = EXT2_FT_DIR,
		.ino = ext2fs_le32_to_cpu(inode->i_block[0]),
	};

	if (!dotdot.ino || dotdot.ino > t->e->fs->super->s_inodes_count) {
		part_damage(part, ino, 0, E4L_ET_DIR_CORRUPT);
	} else if (is_wanted(t, &dotdot)) {
		pthread_mutex_lock(&t->lock);
		part->err = t->ops.entry(&dotdot, t->priv);
		pthread_mutex_unlock(&t->lock);
	}
}

void e4l_part_inline(struct e4l_tally_part *part, ext2_ino_t ino,
		     const struct ext2_inode_large *inode)
{
	ext2_filsys fs = part->t->e->fs;
	struct e4l_dir_walk head = {
		.fs = fs, .dir = ino,
		.encrypted = inode->i_flags & EXT4_ENCRYPT_FL,
		.buf = (const char *)inode->i_block + DIR_INLINE_PARENT,
		.len = I_BLOCK_BYTES - DIR_INLINE_PARENT,
	}, tail = head;
	struct e4l_dir_use use = { 0 };

	if (part->err)
		return;
	tail.buf = e4l_inline_value(inode, EXT2_INODE_SIZE(fs->super),
				    &tail.len);
	part->inos[0] = ino;
	part->n_inos = 1;
	part->use = &use;
	hand_dotdot(part, ino, inode);
	parse(part, &head, 0);
	parse(part, &tail, 0);
	if (!part->err && part->t->ops.locality)
		part->done[part->n_done++] =
			e4l_count_locality(fs, ino, part->inos, part->n_inos);
}

/*
 * Adds the pairs of directory and inode in @part to t->pairs.  If the round has
 * one huge directory, sets the bits of the inodes in t->seen instead.
 */
static errcode_t keep_pairs(struct e4l_tally *t,
			    const struct e4l_tally_part *part)
{
	size_t i;

	for (i = 0; i < part->n_pairs; i++) {
		if (t->huge) {
			set_bit(t->seen, (ext2_ino_t)part->pairs[i]);
			continue;
		}
		if (e4l_grow(&t->pairs, t->n_pairs, sizeof(*t->pairs)))
			return ENOMEM;
		t->pairs[t->n_pairs++] = part->pairs[i];
	}
	return 0;
}

/*
 * Calls damage() for the damaged structures in @part, and locality() for the
 * directories whose statistics in @part are complete.
 */
static errcode_t deliver(struct e4l_tally *t, const struct e4l_tally_part *part)
{
	errcode_t err = 0;
	size_t i;

	pthread_mutex_lock(&t->lock);
	for (i = 0; i < part->n_damage && !err && t->ops.damage; i++)
		err = t->ops.damage(&part->damage[i], t->priv);
	for (i = 0; i < part->n_done && !err; i++)
		err = t->ops.locality(&part->done[i], t->priv);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/*
 * Updates the statistics of directories with the statistics of their blocks in
 * @part.
 */
static void add_use(struct e4l_tally *t, const struct e4l_tally_part *part)
{
	size_t i;

	for (i = 0; i < part->n_blocks; i++) {
		struct e4l_tally_dir *dir = &t->dirs[part->blocks[i].dir];
		const struct e4l_dir_use *use = &part->blocks[i].use;

		dir->use.bytes += use->bytes;
		if (dir->use.longest < use->longest)
			dir->use.longest = use->longest;
		dir->stays |= part->blocks[i].damaged;
	}
	if (part->lost_found)
		t->lost_found = part->lost_found;
}

errcode_t e4l_part_take(struct e4l_tally_part *part)
{
	errcode_t err = deliver(part->t, part);

	add_use(part->t, part);
	return err ? err : keep_pairs(part->t, part);
}

errcode_t e4l_part_init(struct e4l_tally_part *part, struct e4l_tally *t)
{
	/* an inline directory has fewer entries than a full block */
	size_t entries = t->e->fs->blocksize / DIR_ENTRY_BYTES;

	part->t = t;
	part->inos = calloc(1 + entries, sizeof(*part->inos));
	return part->inos ? 0 : ENOMEM;
}

void e4l_part_release(struct e4l_tally_part *part)
{
	free(part->inos);
	free(part->pairs);
	free(part->damage);
}

/* ------------------------------------------------------------------- rounds */

/*
 * Sets the members of @l that show what a rebuild of the directory would gain.
 */
static void judge_use(const struct e4l_tally *t,
		      const struct e4l_tally_dir *dir,
		      struct e4l_dir_locality *l)
{
	const struct e4l_dir_use *u = &dir->use;
	uint64_t most;

	l->blocks = u->blocks;
	if (dir->stays || dir->ino == t->lost_found || u->blocks < 2)
		return;
	most = e4l_dir_most_blocks(u);
	if (most && most < u->blocks && e4l_dir_is_sparse(u))
		l->spare_blocks = u->blocks - most;
	l->wants_index = most && e4l_dir_is_outgrown(u);
}

static errcode_t tell_locality(struct e4l_tally *t,
			       const struct e4l_tally_dir *dir,
			       struct e4l_dir_locality l)
{
	errcode_t err;

	judge_use(t, dir, &l);
	pthread_mutex_lock(&t->lock);
	err = t->ops.locality(&l, t->priv);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* Counts and reports the locality of a huge directory after its last block. */
static errcode_t count_seen(struct e4l_tally *t,
			    const struct e4l_tally_dir *dir)
{
	struct counter c = { .fs = t->e->fs };
	ext2_ino_t ino, max = t->e->fs->super->s_inodes_count;

	set_bit(t->seen, dir->ino);
	for (ino = 1; ino <= max && ino; ino++)
		if (t->seen[ino / 8] == 0)
			ino |= 7;
		else if (get_bit(t->seen, ino))
			count_ino(&c, ino);
	free(t->seen);
	t->seen = NULL;
	return tell_locality(t, dir, counted(&c, dir->ino));
}

/*
 * Counts and reports the locality of directories in [@first, @end), except
 * directories of one block, which are already counted.
 */
static errcode_t count_pairs(struct e4l_tally *t, size_t first, size_t end)
{
	errcode_t err = 0;
	size_t i, p = 0;

	e4l_sort(t->pairs, t->n_pairs, sizeof(*t->pairs), e4l_u64_cmp);
	for (i = first; i < end && !err; i++) {
		struct counter c = { .fs = t->e->fs };
		ext2_ino_t own = t->dirs[i].ino;
		bool counted_own = false;

		if (t->dirs[i].blocks == 1)
			continue;
		for (; p < t->n_pairs && t->pairs[p] >> 32 == i; p++) {
			if (!counted_own && own <= (ext2_ino_t)t->pairs[p]) {
				count_ino(&c, own);
				counted_own = true;
			}
			count_ino(&c, (ext2_ino_t)t->pairs[p]);
		}
		if (!counted_own)
			count_ino(&c, own);
		err = tell_locality(t, &t->dirs[i], counted(&c, own));
	}
	t->n_pairs = 0;
	return err;
}

/*
 * Returns the number of directories, from t->dirs[first] on, that one round
 * reads.  Sets t->huge to true if the first directory has more than ROUND_BYTES
 * or is only partly in the batch.  Such a directory has a round of its own.
 */
static size_t round_length(struct e4l_tally *t, size_t first)
{
	uint64_t max = ROUND_BYTES / t->e->fs->blocksize, long_blocks = 0;
	size_t i;

	for (i = first; i < t->n_dirs; i++) {
		const struct e4l_tally_dir *dir = &t->dirs[i];

		t->huge = dir->begun || !dir->last || dir->blocks > max;
		if (t->huge && i == first)
			return 1;
		if (dir->blocks > 1)
			long_blocks += dir->blocks;
		if (t->huge || long_blocks > max)
			break;
	}
	t->huge = false;
	return i - first;
}

errcode_t e4l_tally_begin(struct e4l_tally *t, size_t first, size_t *n)
{
	*n = round_length(t, first);
	if (t->huge && t->ops.locality && !t->seen) {
		t->seen = new_bits(t->e->fs);
		if (!t->seen)
			return ENOMEM;
	}
	return 0;
}

errcode_t e4l_tally_end(struct e4l_tally *t, size_t first, size_t n)
{
	if (!t->ops.locality)
		return 0;
	if (!t->huge)
		return count_pairs(t, first, first + n);
	return t->dirs[first].last ? count_seen(t, &t->dirs[first]) : 0;
}

errcode_t e4l_tally_add(struct e4l_tally *t, ext2_ino_t ino,
			uint32_t generation, uint32_t flags)
{
	ext2_filsys fs = t->e->fs;

	if (e4l_grow(&t->dirs, t->n_dirs, sizeof(*t->dirs)))
		return ENOMEM;
	t->dirs[t->n_dirs++] = (struct e4l_tally_dir) {
		.ino = ino, .generation = generation,
		.encrypted = flags & EXT4_ENCRYPT_FL,
		.has_hashes = flags & EXT4_ENCRYPT_FL &&
			      flags & EXT4_CASEFOLD_FL,
		.use = {
			.fs = fs,
			.indexed = flags & EXT2_INDEX_FL &&
				   ext2fs_has_feature_dir_index(fs->super),
		},
	};
	return 0;
}

/* ---------------------------------------------------------- the whole tally */

static errcode_t note_dir(const struct e4l_piece *piece, void *priv)
{
	struct e4l_tally *t = priv;

	set_bit(t->is_dir, piece->ino);
	return 0;
}

/*
 * Finds all directories in the inode tables.  Without the filetype feature,
 * entries do not show which inodes are directories.
 */
static errcode_t learn_dirs(struct e4l_tally *t)
{
	static const struct e4l_scan_ops ops = { .piece = note_dir };

	t->is_dir = new_bits(t->e->fs);
	if (!t->is_dir)
		return ENOMEM;
	return e4l_scan(t->e, E4L_SCAN_NO_MAPS | E4L_SCAN_DIRS, NULL, &ops, t);
}

errcode_t e4l_tally_init(struct e4l_tally *t, struct e4l *e,
			 const struct e4l_dirs_ops *ops, void *priv)
{
	*t = (struct e4l_tally) {
		.e = e, .ops = *ops, .priv = priv,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.lost_found = EXT2_FIRST_INO(e->fs->super),
	};
	return ops->locality && !ext2fs_has_feature_filetype(e->fs->super) ?
	       learn_dirs(t) : 0;
}

void e4l_tally_release(struct e4l_tally *t)
{
	free(t->dirs);
	free(t->is_dir);
	free(t->pairs);
	free(t->seen);
}
