/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the image: group by group, the contents of each inode (data, map,
 * directory blocks), then the group's inode table.
 */
#include "config.h"
#include <string.h>
#include "lab.h"
#include <ext2fs/ext3_extents.h>

#define CHUNK_BYTES (1 << 20)

static __u64 mix(__u64 x)
{
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
	return x ^ (x >> 31);
}

__u64 emit_key(const struct lab *l, ext2_ino_t ino, __u64 lblk)
{
	return mix(l->seed ^ mix((__u64)ino << 32 | lblk));
}

static __u32 generation(const struct lab *l, ext2_ino_t ino)
{
	return emit_key(l, ino, 0);
}

void emit_fill(void *buf, size_t bytes, __u64 key)
{
	__u64 *word = buf, *end = word + bytes / sizeof(*word);

	for (; word < end; word++) {
		key += 0x9E3779B97F4A7C15ULL;
		*word = ext2fs_cpu_to_le64((key ^ key >> 29) *
					   0xBF58476D1CE4E5B9ULL | 1);
	}
}

static void write_blks(struct lab *l, blk64_t pblk, int count, const void *buf)
{
	lab_check(l, io_channel_write_blk64(l->fs->io, pblk, count, buf),
		  "writing the image");
}

/* ---- contents ---- */

/*
 * Fills one block of a regular file.  Beyond the end of the file, a written
 * block is zero.  An unwritten block also has content, so that readers that
 * return the content are detected.
 */
static void fill_block(struct lab *l, const struct node *n, char *buf,
		       __u64 lblk, bool unwritten)
{
	__u64 at = lblk * l->block_bytes;
	__u64 keep = n->size_bytes > at ? n->size_bytes - at : 0;

	emit_fill(buf, l->block_bytes, emit_key(l, node_ino(l, n), lblk));
	if (!unwritten && keep < l->block_bytes &&
	    !(n->iflags & EXT4_VERITY_FL))
		memset(buf + keep, 0, l->block_bytes - keep);
}

static void emit_contents(struct lab *l, const struct node *n)
{
	__u32 per_chunk = CHUNK_BYTES / l->block_bytes, i, b, at, count;
	char *buf = lab_alloc(l, CHUNK_BYTES);
	const struct extent *e;

	for (i = 0; i < n->n_extents; i++) {
		e = &n->extents[i];
		for (at = 0; at < e->len_blks; at += count) {
			count = e->len_blks - at;
			if (count > per_chunk)
				count = per_chunk;
			for (b = 0; b < count; b++)
				fill_block(l, n, buf + b * l->block_bytes,
					   (__u64)e->lblk + at + b,
					   e->unwritten);
			write_blks(l, e->pblk + at, count, buf);
		}
	}
	free(buf);
}

static void emit_dir(struct lab *l, const struct node *n)
{
	const struct extent *e;
	__u32 i, b;

	for (i = 0; i < n->n_extents; i++) {
		e = &n->extents[i];
		for (b = 0; b < e->len_blks; b++)
			lab_check(l, ext2fs_write_dir_block4(
				l->fs, e->pblk + b, n->x->dir +
				((size_t)e->lblk + b) * l->block_bytes,
				0, node_ino(l, n)), "writing a directory");
	}
}

static void emit_slow_link(struct lab *l, const struct node *n)
{
	char *buf = lab_alloc(l, l->block_bytes);

	memcpy(buf, n->x->target, n->size_bytes);
	write_blks(l, n->extents[0].pblk, 1, buf);
	free(buf);
}

/* ---- maps ---- */

static void put_header(struct ext3_extent_header *h, __u32 entries,
		       size_t bytes, int depth)
{
	h->eh_magic = ext2fs_cpu_to_le16(EXT3_EXT_MAGIC);
	h->eh_entries = ext2fs_cpu_to_le16(entries);
	h->eh_max = ext2fs_cpu_to_le16((bytes - sizeof(*h)) /
				       sizeof(struct ext3_extent));
	h->eh_depth = ext2fs_cpu_to_le16(depth);
}

/*
 * Writes the @count entries in @entries to one level of tree blocks.  Replaces
 * @entries by the index entries that refer to these tree blocks.  Returns the
 * number of index entries.
 */
static __u32 emit_level(struct lab *l, const struct node *n,
			struct ext3_extent *entries, __u32 count, int depth,
			const blk64_t *pblk)
{
	__u32 fanout = tree_fanout(l, n, depth == 0), at, part, out = 0;
	struct ext3_extent_header *h = lab_alloc(l, l->block_bytes);
	struct ext3_extent_idx idx;

	for (at = 0; at < count; at += part, out++) {
		part = count - at < fanout ? count - at : fanout;
		memset(h, 0, l->block_bytes);
		put_header(h, part, l->block_bytes, depth);
		memcpy(h + 1, &entries[at], part * sizeof(*entries));
		lab_check(l, ext2fs_extent_block_csum_set(
				     l->fs, node_ino(l, n), h), "a checksum");
		write_blks(l, pblk[out], 1, h);
		memset(&idx, 0, sizeof(idx));
		idx.ei_block = entries[at].ee_block;
		idx.ei_leaf = ext2fs_cpu_to_le32(pblk[out]);
		idx.ei_leaf_hi = ext2fs_cpu_to_le16(pblk[out] >> 32);
		memcpy(&entries[out], &idx, sizeof(idx));
	}
	free(h);
	return out;
}

static void emit_tree(struct lab *l, const struct node *n,
		      struct ext2_inode *inode)
{
	struct ext3_extent *entries =
		lab_alloc(l, n->n_extents * sizeof(*entries));
	struct ext3_extent_header *root = (void *)inode->i_block;
	__u32 count = n->n_extents, i, used = 0;
	int depth, d;

	for (i = 0; i < count; i++) {
		const struct extent *e = &n->extents[i];

		entries[i].ee_block = ext2fs_cpu_to_le32(e->lblk);
		entries[i].ee_len = ext2fs_cpu_to_le16(
			e->len_blks +
			(e->unwritten ? EXT_INIT_MAX_LEN : 0));
		entries[i].ee_start = ext2fs_cpu_to_le32(e->pblk);
		entries[i].ee_start_hi = ext2fs_cpu_to_le16(e->pblk >> 32);
	}
	node_meta_needed(l, n, &depth);
	for (d = 0; d < depth; d++, used += count)
		count = emit_level(l, n, entries, count, d,
				   n->x->meta_blks + used);
	put_header(root, count, sizeof(inode->i_block), depth);
	memcpy(root + 1, entries, count * sizeof(*entries));
	free(entries);
}

/* A walk over a file's blocks in logical order. */
struct walk {
	struct lab *l;
	const struct node *n;
	__u32 extent; /* index of the first extent that the walk has not left */
	__u32 used;   /* number of the node's meta_blks written so far */
};

/*
 * Returns the first extent that ends after @lblk.  If there is no such extent,
 * returns NULL.
 */
static const struct extent *walk_to(struct walk *w, __u64 lblk)
{
	const struct extent *e;

	for (; w->extent < w->n->n_extents; w->extent++) {
		e = &w->n->extents[w->extent];
		if (e->lblk + (__u64)e->len_blks > lblk)
			return e;
	}
	return NULL;
}

static blk64_t walk_map(struct walk *w, __u64 lblk)
{
	const struct extent *e = walk_to(w, lblk);

	return e && e->lblk <= lblk ? e->pblk + (lblk - e->lblk) : 0;
}

/*
 * Returns the block that maps @span logical blocks from @first on, after
 * writing this block and all indirect blocks below it.  If @span is 1, writes
 * nothing, and returns the data block.  If nothing is mapped, returns 0.
 */
static blk64_t emit_indirect(struct walk *w, __u64 first, __u64 span)
{
	__u32 per = w->l->block_bytes / sizeof(__u32), i;
	const struct extent *next = walk_to(w, first);
	blk64_t pblk;
	__u32 *buf;

	if (span == 1)
		return walk_map(w, first);
	if (!next || next->lblk >= first + span)
		return 0;
	pblk = w->n->x->meta_blks[w->used++];
	buf = lab_alloc(w->l, w->l->block_bytes);
	for (i = 0; i < per; i++)
		buf[i] = ext2fs_cpu_to_le32(emit_indirect(
			w, first + i * (span / per), span / per));
	write_blks(w->l, pblk, 1, buf);
	free(buf);
	return pblk;
}

static void emit_blockmap(struct lab *l, const struct node *n,
			  struct ext2_inode *inode)
{
	struct walk w = { .l = l, .n = n };
	__u64 first = 0, span = 1;
	int i;

	for (i = 0; i < EXT2_N_BLOCKS; i++, first += span) {
		if (i >= EXT2_IND_BLOCK)
			span *= l->block_bytes / sizeof(__u32);
		inode->i_block[i] = emit_indirect(&w, first, span);
	}
}

/* ---- inodes ---- */

static void add_clusters(struct lab *l, blk64_t blk, blk64_t len, void *arg)
{
	*(blk64_t *)arg += len / l->ratio_blks;
}

static void emit_special(const struct node *n, struct ext2_inode *inode)
{
	__u32 dev = n->x->dev;

	if (dev & ~0xFFFFU)
		inode->i_block[1] = dev;
	else
		inode->i_block[0] = dev;
}

/* Writes the blocks that i_block refers to, and sets i_block. */
static void emit_body(struct lab *l, const struct node *n,
		      struct ext2_inode *inode)
{
	if (n->iflags & EXT4_INLINE_DATA_FL)
		return;
	if (LINUX_S_ISCHR(n->mode) || LINUX_S_ISBLK(n->mode)) {
		emit_special(n, inode);
		return;
	}
	if (LINUX_S_ISLNK(n->mode) && !n->n_extents) {
		memcpy(inode->i_block, n->x->target, n->size_bytes);
		return;
	}
	if (node_is_dir(n))
		emit_dir(l, n);
	else if (LINUX_S_ISLNK(n->mode))
		emit_slow_link(l, n);
	else if (n->has_contents && n->n_extents)
		emit_contents(l, n);
	if (n->iflags & EXT4_EXTENTS_FL)
		emit_tree(l, n, inode);
	else if (n->n_extents)
		emit_blockmap(l, n, inode);
}

static void emit_links(struct lab *l, const struct node *n,
		       struct ext2_inode *inode)
{
	if (n->links <= EXT2_LINK_MAX)
		inode->i_links_count = n->links;
	else if (node_is_dir(n) && ext2fs_has_feature_dir_nlink(l->fs->super))
		inode->i_links_count = 1;
	else
		lab_fail(l, "inode %u has %u links", node_ino(l, n), n->links);
}

static void emit_inode(struct lab *l, const struct node *n,
		       struct ext2_inode_large *large)
{
	struct ext2_inode *inode = (struct ext2_inode *)large;
	blk64_t clusters = n->x ? n->x->n_meta : 0;

	inode->i_mode = n->mode;
	inode->i_atime = inode->i_ctime = inode->i_mtime = LAB_TIME;
	inode->i_flags = n->iflags;
	inode->i_generation = generation(l, node_ino(l, n));
	lab_check(l, ext2fs_inode_size_set(l->fs, inode, n->size_bytes),
		  "a file's size");
	emit_links(l, n, inode);
	node_each_run(l, n, add_clusters, &clusters);
	if (clusters)
		lab_check(l, ext2fs_iblk_set(l->fs, inode, clusters),
			  "a file's number of blocks");
	large->i_extra_isize = l->fs->super->s_want_extra_isize;
	large->i_crtime = LAB_TIME;
	if (n->x) {
		inode->i_uid = n->x->uid;
		inode->osd2.linux2.l_i_uid_high = n->x->uid >> 16;
		inode->i_gid = n->x->gid;
		inode->osd2.linux2.l_i_gid_high = n->x->gid >> 16;
		large->i_projid = n->x->projid;
	}
	emit_body(l, n, inode);
}

/* Writes the inode to @slot in the inode table. */
static void emit_slot(struct lab *l, const struct node *n, char *slot)
{
	size_t bytes = EXT2_INODE_SIZE(l->fs->super);
	struct ext2_inode_large inode = { 0 };

	emit_inode(l, n, &inode);
#ifdef WORDS_BIGENDIAN
	ext2fs_swap_inode_full(l->fs, &inode, &inode, 1, sizeof(inode));
#endif
	memset(slot, 0, bytes);
	memcpy(slot, &inode, bytes < sizeof(inode) ? bytes : sizeof(inode));
	if (n->iflags & EXT4_ENCRYPT_FL)
		extra_encryption(l, node_ino(l, n), slot);
	lab_check(l, ext2fs_inode_csum_set(l->fs, node_ino(l, n), (void *)slot),
		  "a checksum");
}

static void emit_group(struct lab *l, dgrp_t group)
{
	__u32 per_group = l->fs->super->s_inodes_per_group, used = per_group, i;
	const struct node *nodes = &l->nodes[group * per_group + 1];
	blk64_t table = ext2fs_inode_table_loc(l->fs, group);
	size_t slot_bytes = EXT2_INODE_SIZE(l->fs->super);
	__u32 n_blks;
	char *buf;

	while (used && !nodes[used - 1].links)
		used--;
	if (!used)
		return;
	n_blks = div_up(used * slot_bytes, l->block_bytes);
	buf = lab_alloc(l, (size_t)n_blks * l->block_bytes);
	lab_check(l, io_channel_read_blk64(l->fs->io, table, n_blks, buf),
		  "reading the inode table");
	for (i = 0; i < used; i++)
		if (nodes[i].links)
			emit_slot(l, &nodes[i], buf + i * slot_bytes);
	write_blks(l, table, n_blks, buf);
	free(buf);
}

/*
 * Reads an inode for libext2fs, which needs the generation for checksums.
 * emit.c writes blocks before the inode, so the inode on disk is not valid yet.
 */
static errcode_t read_inode(ext2_filsys fs, ext2_ino_t ino,
			    struct ext2_inode *inode)
{
	inode->i_generation = generation(fs->priv_data, ino);
	return 0;
}

static void emit_groups(struct lab *l)
{
	dgrp_t group;

	l->fs->priv_data = l;
	l->fs->read_inode = read_inode;
	for (group = 0; group < l->fs->group_desc_count; group++)
		emit_group(l, group);
	l->fs->read_inode = NULL;
}

void emit_image(struct lab *l)
{
	struct ext2_super_block *super = l->fs->super;

	emit_groups(l);
	lab_check(l, ext2fs_flush_icache(l->fs), "flushing");
	extra_inodes(l);
	extra_blocks(l);
	memset(super->s_hash_seed, 0x5A, sizeof(super->s_hash_seed));
	l->fs->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
	ext2fs_mark_super_dirty(l->fs);
	lab_check(l, ext2fs_flush2(l->fs, EXT2_FLAG_FLUSH_NO_SYNC),
		  "writing the image");
}
