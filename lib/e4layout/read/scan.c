/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scan: reports every inode in use, in ascending order, with its extents.
 *
 *  1. next(): split the inode tables into chunks, and announce later chunks;
 *  2. work(): read a chunk, verify the inodes of the chunk, and decode the
 *     inodes into tokens (extent_tree.h).  Replace tree blocks by their
 *     content, level by level, with many reads in disk order, until the number
 *     of tokens is large;
 *  3. done(): report the tokens as pieces, in order, and read the remaining
 *     tree blocks.  Memory need not hold all extents of a file.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/format/extent_tree.h"
#include "e4layout/format/host_inode.h"
#include "e4layout/base/io_pool.h"
#include "scan.h"

#define CHUNK_BYTES	(512u << 10)	/* bytes of inode tables per job */
#define AHEAD_CHUNKS	16	/* number of chunks that are read ahead */
/*
 * A test defines SCAN_LIMITS and small values, to run code that otherwise runs
 * for huge files only.
 */
#ifndef SCAN_LIMITS
/* maximum bytes of tree blocks that e4l_gather() reads in one call */
#define GATHER_MAX	(4u << 20)
/*
 * if a job has at least TOKENS_MAX tokens, scan_work() reads no more tree
 * blocks, and done() reads the remaining tree blocks
 */
#define TOKENS_MAX	(256u << 10)
/* maximum numbers of extents and of tree blocks in a struct e4l_piece */
#define PIECE_EXTENTS	(32u << 10)
#define PIECE_TREE	(4u << 10)
#endif
/*
 * The maximum size, in bytes, of a gap of unwanted inodes that the scan reads.
 * If the gap_bytes of the device are larger, gaps up to gap_bytes are read.
 */
#define CHUNK_GAP_BYTES	(32u << 10)

#define PREFETCH_TOKENS	12
#define CACHE_LINE	64

/* Part of one group's inode table. */
struct chunk {
	dgrp_t group;
	uint32_t first;	/* index of the first inode, from 0 in the group */
	/* number of inodes; 0: the chunk only reports the error @why */
	uint32_t inodes;
	blk64_t blk;
	unsigned int blocks;
	errcode_t why;		/* error of the group descriptor; 0: none */
};

struct chunk_iter {
	dgrp_t group;
	uint32_t next;	/* index of the next inode, from 0 in the group */
};

struct scan {
	struct e4l *e;
	unsigned int flags;
	ext2fs_inode_bitmap only;
	/* callbacks that verify the metadata; NULL: the scan verifies it */
	const struct e4l_scan_look *look;
	const struct e4l_scan_ops *ops;
	void *priv;
	struct chunk_iter reading, announced;
	/* the scan ends before this group; 0: after the last group */
	dgrp_t end;
	/* number of chunks that are announced, but not yet read */
	unsigned int ahead;
	unsigned int inode_bytes, inodes_per_block;
	atomic_ullong tree_blocks;	/* number of tree blocks read */
	/* the piece that done() is filling */
	struct e4l_piece piece;
	struct e4l_extent *extents;
	struct e4l_tree_block *tree;
	struct ext2_inode_large *host_inode; /* used on big-endian machines */
};

/* A tree block that is being read. */
struct node {
	size_t token;	/* job->tokens[token] refers to the block */
	struct e4l_token inode;	/* token of the inode that owns the block */
	struct e4l_node_pos pos;
	bool indirect;
};

/*
 * A walk visits all tokens of a job in logical order.  The tokens are in a list
 * for the inodes and in one list for each tree block that was read.  TOKEN_END
 * ends each list.  The argument of a TOKEN_TREE is the index of the list of its
 * tree block.  After flatten(), the argument of a TOKEN_TREE is 0, and the
 * content of the tree block follows the token.
 */
struct walk {
	/*
	 * at[0]: index of the next token in the list of the inodes; at[i]:
	 * index of the next token of the tree block at level i of nesting
	 */
	size_t at[EXTENT_MAX_DEPTH + 2];
	unsigned int depth;
};

struct job {
	struct scan *s;
	struct chunk chunk;
	char *raw;		/* the content of the chunk */
	uint8_t *wanted; /* if s->only is set: one bit per inode of the chunk */
	char *scratch;
	struct ext2_inode_large *host_inode; /* used on big-endian machines */
	struct e4l_token_vec tokens, spare;
	struct e4l_want *wants;
	struct node *nodes;
	size_t max_nodes;
	/*
	 * position of the first unread tree block, and the inode that owns this
	 * block
	 */
	struct walk resolved;
	struct e4l_token inode;
	errcode_t err;
};

/* ---------------------------------------------------------------- 1. chunks */

/*
 * Returns how many inodes at the start of the inode table of @group may be in
 * use.  Sets *@why to the error of a damaged group descriptor, or to 0.
 */
static uint32_t group_inodes(ext2_filsys fs, dgrp_t group, errcode_t *why)
{
	uint32_t all = fs->super->s_inodes_per_group;
	uint32_t unused = ext2fs_bg_itable_unused(fs, group);
	blk64_t itable = ext2fs_inode_table_loc(fs, group);
	blk64_t end = ext2fs_blocks_count(fs->super);

	*why = 0;
	if (itable <= fs->super->s_first_data_block ||
	    fs->inode_blocks_per_group > end ||
	    itable > end - fs->inode_blocks_per_group) {
		*why = E4L_ET_ITABLE_RANGE;
		return 0;
	}
	if (!ext2fs_has_group_desc_csum(fs))
		return all;
	if (!ext2fs_group_desc_csum_verify(fs, group)) {
		*why = E4L_ET_GROUP_CSUM;
		return all;
	}
	if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT))
		return 0;
	return unused > all ? all : all - unused;
}

/*
 * Returns the index of the first wanted inode in @group from @index on, or
 * @limit if no inode before @limit is wanted.
 */
static uint32_t next_wanted(struct scan *s, dgrp_t group, uint32_t index,
			    uint32_t limit)
{
	ext2_ino_t base = group * s->e->fs->super->s_inodes_per_group + 1;
	ext2_ino_t found;

	if (index >= limit || !s->only)
		return index;
	if (ext2fs_find_first_set_inode_bitmap2(s->only, base + index,
						base + limit - 1, &found))
		return limit;
	return found - base;
}

/*
 * Finds the next large gap between wanted inodes, from the wanted inode @first
 * on.  Returns the index after the last wanted inode before the gap.  If
 * @wanted is not NULL, also sets the bits of the wanted inodes before the gap.
 * Bit 0 of @wanted is inode @base.  All indexes count from 0 in the group;
 * @limit is the end of the inodes to scan.
 */
static uint32_t mark_wanted(struct scan *s, dgrp_t group, uint32_t first,
			    uint32_t limit, uint32_t base, uint8_t *wanted)
{
	uint32_t gap = (s->e->reading.gap_bytes > CHUNK_GAP_BYTES ?
			s->e->reading.gap_bytes : CHUNK_GAP_BYTES) /
		       s->inode_bytes;
	uint32_t last = first, i = first;

	while (i < limit && i - last <= gap) {
		last = i;
		if (wanted)
			wanted[(i - base) / 8] |= 1 << (i - base) % 8;
		i = next_wanted(s, group, i + 1, limit);
	}
	return last + 1;
}

/*
 * Sets *@c to the next chunk.  If s->only is set and @wanted is not NULL, sets
 * the bit of each wanted inode of the chunk in @wanted.  Returns false if there
 * are no more chunks.
 */
static bool next_chunk(struct scan *s, struct chunk_iter *it, struct chunk *c,
		       uint8_t *wanted)
{
	ext2_filsys fs = s->e->fs;
	uint32_t ipb = s->inodes_per_block;
	uint32_t limit, first, end;

	for (; it->group < s->end; it->group++, it->next = 0) {
		limit = group_inodes(fs, it->group, &c->why);
		if (it->next)
			c->why = 0;
		first = next_wanted(s, it->group, it->next, limit);
		if (first >= limit && !c->why)
			continue;
		c->group = it->group;
		c->first = first / ipb * ipb;
		end = c->first + CHUNK_BYTES / s->inode_bytes;
		if (end > limit)
			end = limit;
		if (s->only && first < limit)
			end = mark_wanted(s, it->group, first, end, c->first,
					  wanted);
		c->inodes = first < limit ? end - c->first : 0;
		c->blk = ext2fs_inode_table_loc(fs, c->group) + c->first / ipb;
		c->blocks = (c->inodes + ipb - 1) / ipb;
		it->next = end;
		if (!c->inodes)
			it->next = fs->super->s_inodes_per_group;
		return true;
	}
	return false;
}

static void announce(struct scan *s)
{
	struct chunk c;

	while (s->ahead < AHEAD_CHUNKS &&
	       next_chunk(s, &s->announced, &c, NULL)) {
		e4l_readahead(s->e, c.blk, c.blocks);
		s->ahead++;
	}
}

static bool scan_next(void *arg, void *priv)
{
	struct scan *s = priv;
	struct job *job = arg;

	announce(s);
	if (s->only)
		memset(job->wanted, 0, CHUNK_BYTES / s->inode_bytes / 8 + 1);
	s->ahead--;
	return next_chunk(s, &s->reading, &job->chunk, job->wanted);
}

/* ---------------------------------------------------------------- 2. inodes */

static enum e4l_map map_of(ext2_filsys fs, const struct ext2_inode *inode)
{
	if (inode->i_flags & EXT4_INLINE_DATA_FL)
		return E4L_MAP_INLINE;
	if (!inode_has_map(fs, inode))
		return E4L_MAP_NONE;
	return inode->i_flags & EXT4_EXTENTS_FL ? E4L_MAP_EXTENTS :
						  E4L_MAP_INDIRECT;
}

static errcode_t push_end(struct e4l_token_vec *vec)
{
	return e4l_token_push(vec, (struct e4l_token) { .kind = TOKEN_END }) ?
	       0 : ENOMEM;
}

static bool push_damage(struct job *job, blk64_t blk, errcode_t why)
{
	return e4l_token_push(&job->tokens, (struct e4l_token) {
		.kind = TOKEN_DAMAGE, .pblk = blk,
		.arg = why - ERROR_TABLE_BASE_e4l,
	});
}

/*
 * A TOKEN_INODE starts an inode.  lblk is the inode number, and pblk is the
 * offset of the inode in the chunk.  level is the depth of the map, and arg is
 * the kind of map.  If the inode cannot be decoded, pblk is NO_INODE, and only
 * TOKEN_DAMAGE follows.
 */
#define NO_INODE 0xFFFFFFFFu

static bool push_bad_inode(struct job *job, ext2_ino_t ino, blk64_t blk,
			   errcode_t why)
{
	return e4l_token_push(&job->tokens, (struct e4l_token) {
		.kind = TOKEN_INODE, .pblk = NO_INODE, .lblk = ino,
	}) && push_damage(job, blk, why);
}

/*
 * Appends tokens (struct e4l_token) that describe an inode and the entries in
 * the root of its block map.
 */
static errcode_t decode_inode(struct job *job, ext2_ino_t ino, size_t offset,
			      enum e4l_map map)
{
	struct scan *s = job->s;
	ext2_filsys fs = s->e->fs;
	const char *i_block = job->raw + offset +
			      offsetof(struct ext2_inode, i_block);
	size_t at = job->tokens.n;
	unsigned int depth = 0;
	errcode_t err = 0;

	if (!e4l_token_push(&job->tokens, (struct e4l_token) {
		.kind = TOKEN_INODE, .pblk = offset, .lblk = ino, .arg = map }))
		return ENOMEM;
	if (s->flags & E4L_SCAN_NO_MAPS)
		return 0;
	if (map == E4L_MAP_EXTENTS)
		err = e4l_decode_extent_root(fs, i_block, &depth, &job->tokens);
	else if (map == E4L_MAP_INDIRECT)
		err = e4l_decode_indirect_root(fs, i_block, &depth,
					       &job->tokens);
	job->tokens.v[at].level = depth;
	if (err && err != ENOMEM)
		err = push_damage(job, 0, err) ? 0 : ENOMEM;
	return err;
}

/* Calls look->inode(), and decodes the inode if the callback returns true. */
static errcode_t look_at_one(struct job *job, ext2_ino_t ino, uint32_t index)
{
	struct scan *s = job->s;
	size_t offset = (size_t)index * s->inode_bytes;
	const char *raw = job->raw + offset;
	const struct ext2_inode_large *inode =
		e4l_host_inode(s->e->fs, job->host_inode, raw);
	enum e4l_map map = map_of(s->e->fs, (const void *)inode);
	blk64_t blk = job->chunk.blk + index / s->inodes_per_block;

	if (!s->look->inode(ino, blk, raw, inode, &map, s->priv))
		return 0;
	return decode_inode(job, ino, offset, map);
}

static errcode_t decode_one(struct job *job, uint32_t index)
{
	struct scan *s = job->s;
	ext2_filsys fs = s->e->fs;
	size_t offset = (size_t)index * s->inode_bytes;
	const char *raw = job->raw + offset;
	const struct ext2_inode *inode;
	ext2_ino_t ino = job->chunk.group * fs->super->s_inodes_per_group +
			 job->chunk.first + index + 1;

	if (s->look)
		return look_at_one(job, ino, index);
	if (!((const struct ext2_inode *)raw)->i_links_count ||
	    (s->only && !(job->wanted[index / 8] & 1 << index % 8)))
		return 0;
	inode = (const void *)e4l_host_inode(fs, job->host_inode, raw);
	if ((s->flags & E4L_SCAN_DIRS) && !LINUX_S_ISDIR(inode->i_mode))
		return 0;
	if (!e4l_inode_csum_ok(fs, ino, raw))
		return push_bad_inode(job, ino, job->chunk.blk +
				      index / s->inodes_per_block,
				      E4L_ET_INODE_CSUM) ? 0 : ENOMEM;
	return decode_inode(job, ino, offset, map_of(fs, inode));
}

static errcode_t decode_block(struct job *job, unsigned int block)
{
	uint32_t i = block * job->s->inodes_per_block;
	uint32_t end = i + job->s->inodes_per_block;
	errcode_t err = 0;

	if (end > job->chunk.inodes)
		end = job->chunk.inodes;
	for (; i < end && !err; i++)
		err = decode_one(job, i);
	return err;
}

/* After a failed read of the whole chunk, reads the chunk block by block. */
static errcode_t read_singly(struct job *job)
{
	struct scan *s = job->s;
	ext2_filsys fs = s->e->fs;
	unsigned int i;
	errcode_t err = 0;

	for (i = 0; i < job->chunk.blocks && !err; i++) {
		blk64_t blk = job->chunk.blk + i;

		if (!e4l_read(s->e, blk, 1,
			      job->raw + (size_t)i * fs->blocksize))
			err = decode_block(job, i);
		else if (!push_bad_inode(job, 0, blk, E4L_ET_READ_ITABLE))
			err = ENOMEM;
	}
	return err;
}

static errcode_t read_chunk(struct job *job)
{
	struct chunk *c = &job->chunk;
	unsigned int i;
	errcode_t err = 0;

	if (c->why && !job->s->look &&
	    !push_bad_inode(job, 0, e4l_descriptor_blk(job->s->e->fs, c->group),
			    c->why))
		return ENOMEM;
	if (!c->inodes)
		return 0;
	if (e4l_read(job->s->e, c->blk, c->blocks, job->raw))
		return read_singly(job);
	for (i = 0; i < c->blocks && !err; i++)
		err = decode_block(job, i);
	return err;
}

/* ------------------------------------------------------------ 2. tree blocks */

/*
 * Returns the next token of a walk, or NULL at the end.  After the token of a
 * tree block, the walk continues with the tokens of the content of the tree
 * block.
 */
static struct e4l_token *walk_on(const struct job *job, struct walk *w)
{
	struct e4l_token *t;

	while ((t = &job->tokens.v[w->at[w->depth]])->kind == TOKEN_END) {
		if (!w->depth)
			return NULL;
		w->depth--;
	}
	w->at[w->depth]++;
	if (t->kind == TOKEN_TREE && t->arg)
		w->at[++w->depth] = t->arg;
	return t;
}

/* Calls look->node() for a tree block. */
static void look_at_node(struct job *job, const struct node *node,
			 const void *block)
{
	struct scan *s = job->s;
	const struct ext2_inode_large *inode;

	inode = e4l_host_inode(s->e->fs, job->host_inode,
			       job->raw + node->inode.pblk);
	s->look->node(node->inode.lblk, inode, &node->pos, node->indirect,
		      block, s->priv);
}

/*
 * Returns the checksum seed of an inode, or 0 if the inode has no tree blocks.
 */
static uint32_t inode_seed(const struct job *job,
			   const struct e4l_token *inode)
{
	const struct ext2_inode *raw;

	if (!inode->level)
		return 0;
	raw = (const void *)(job->raw + inode->pblk);
	return e4l_inode_seed(job->s->e->fs, inode->lblk,
			      ext2fs_le32_to_cpu(raw->i_generation));
}

/*
 * Collects the next unread tree blocks in job->wants, and returns the number of
 * these blocks.  If the number is not 0, moves job->resolved to the first
 * unread tree block.
 */
static size_t collect_nodes(struct job *job)
{
	struct walk w = job->resolved;
	struct e4l_token inode = job->inode, *t;
	uint32_t seed = inode_seed(job, &inode);
	size_t n = 0;

	while (n < job->max_nodes && (t = walk_on(job, &w))) {
		if (t->kind == TOKEN_INODE) {
			inode = *t;
			seed = inode_seed(job, &inode);
		} else if (t->kind == TOKEN_TREE && t->arg && !t->level) {
			/* skip a list that has only data extents */
			w.depth--;
		}
		if (t->kind != TOKEN_NODE)
			continue;
		if (!n) {
			job->resolved = w;
			job->resolved.at[w.depth]--;
			job->inode = inode;
		}
		job->wants[n] = (struct e4l_want) { .blk = t->pblk, .slot = n };
		job->nodes[n++] = (struct node) {
			.token = t - job->tokens.v, .inode = inode,
			.indirect = inode.arg == E4L_MAP_INDIRECT,
			.pos = { .blk = t->pblk, .seed = seed,
				 .level = t->level, .trusted = job->s->look,
				 .first = t->lblk, .last = t->arg },
		};
	}
	return n;
}

/*
 * Decodes the tree block @block, and appends its extents and child blocks to
 * job->tokens.
 */
static errcode_t decode_node(struct job *job, const struct node *node,
			     const void *block)
{
	struct scan *s = job->s;
	ext2_filsys fs = s->e->fs;
	errcode_t err;

	if (atomic_fetch_add(&s->tree_blocks, 1) >=
	    ext2fs_blocks_count(fs->super))
		return E4L_ET_TREE_LOOP;
	if (node->indirect)
		err = e4l_decode_indirect(fs, block, fs->blocksize / 4,
					  &node->pos, &job->tokens);
	else
		err = e4l_decode_extent_node(fs, block, fs->blocksize,
					     &node->pos, &job->tokens);
	return err ? err : push_end(&job->tokens);
}

static void visit_node(const struct e4l_want *want, const void *block,
		       errcode_t why, void *priv)
{
	struct job *job = priv;
	const struct node *node = &job->nodes[want->slot];
	size_t content = job->tokens.n;
	struct e4l_token *t;

	if (block && job->s->look)
		look_at_node(job, node, block);
	why = block ? decode_node(job, node, block) : E4L_ET_READ_TREE;
	t = &job->tokens.v[node->token];
	if (!why) {
		t->kind = TOKEN_TREE;
		t->arg = content;
	} else if (why != ENOMEM) {
		t->kind = TOKEN_DAMAGE;
		t->arg = why - ERROR_TABLE_BASE_e4l;
	} else {
		job->err = why;
	}
}

/*
 * Reads the next tree blocks.  Sets *@more to false if all tree blocks were
 * read.
 */
static errcode_t resolve_nodes(struct job *job, bool *more)
{
	size_t n = collect_nodes(job);

	*more = n > 0;
	job->err = 0;
	if (n)
		e4l_gather(job->s->e, job->wants, n, job->scratch, visit_node,
			   job);
	return job->err;
}

static errcode_t scan_work(void *arg, void *priv)
{
	struct job *job = arg;
	bool more = true;
	errcode_t err;

	job->tokens.n = 0;
	job->resolved = (struct walk) { 0 };
	job->inode = (struct e4l_token) { 0 };
	err = read_chunk(job);
	if (!err)
		err = push_end(&job->tokens);
	while (!err && more && job->tokens.n < TOKENS_MAX)
		err = resolve_nodes(job, &more);
	return err;
}

/* ---------------------------------------------------------------- 3. pieces */

/*
 * Reports the collected extents and tree blocks of the current inode as a
 * piece.  @last is true for the last piece of the inode.
 */
static errcode_t flush_piece(struct scan *s, bool last)
{
	struct e4l_piece *p = &s->piece;
	errcode_t err;

	if (!p->inode)
		return 0;
	p->last = last;
	p->extents = s->extents;
	p->tree = s->tree;
	err = s->ops->piece(p, s->priv);
	p->first = false;
	p->n_extents = p->n_tree = 0;
	if (last)
		p->inode = NULL;
	return err;
}

static void begin_inode(struct job *job, const struct e4l_token *t)
{
	struct scan *s = job->s;

	s->piece = (struct e4l_piece) {
		.ino = t->lblk, .first = true, .map = t->arg,
		.depth = t->level,
	};
	if (t->pblk != NO_INODE)
		s->piece.inode = e4l_host_inode(s->e->fs, s->host_inode,
						job->raw + t->pblk);
}

static void add_extent(struct scan *s, const struct e4l_token *t)
{
	struct e4l_piece *p = &s->piece;
	struct e4l_extent *last = p->n_extents ?
				  &s->extents[p->n_extents - 1] : NULL;

	if (p->map == E4L_MAP_INDIRECT && last &&
	    last->pblk + last->len == t->pblk &&
	    (uint64_t)last->lblk + last->len == t->lblk &&
	    (uint64_t)last->len + t->arg <= INT32_MAX) {
		last->len += t->arg;
		return;
	}
	s->extents[p->n_extents++] = (struct e4l_extent) {
		.pblk = t->pblk, .lblk = t->lblk, .len = t->arg,
		.unwritten = t->kind == TOKEN_UNWRITTEN,
	};
}

static errcode_t report_damage(struct scan *s, const struct e4l_token *t)
{
	struct e4l_damage damage = {
		.ino = s->piece.ino, .blk = t->pblk,
		.why = ERROR_TABLE_BASE_e4l + t->arg,
	};

	s->piece.damaged = true;
	return s->ops->damage ? s->ops->damage(&damage, s->priv) : 0;
}

static errcode_t emit_token(struct job *job, const struct e4l_token *t)
{
	struct scan *s = job->s;
	struct e4l_piece *p = &s->piece;
	errcode_t err = 0;

	switch (t->kind) {
	case TOKEN_INODE:
		err = flush_piece(s, true);
		begin_inode(job, t);
		job->inode = *t;
		break;
	case TOKEN_WRITTEN:
	case TOKEN_UNWRITTEN:
		if (p->n_extents == PIECE_EXTENTS)
			err = flush_piece(s, false);
		add_extent(s, t);
		break;
	case TOKEN_TREE:
		if (p->n_tree == PIECE_TREE)
			err = flush_piece(s, false);
		s->tree[p->n_tree++] = (struct e4l_tree_block) {
			.pblk = t->pblk, .lblk = t->lblk, .level = t->level,
		};
		break;
	case TOKEN_DAMAGE:
		err = report_damage(s, t);
		break;
	}
	return err;
}

/*
 * Prefetches an inode before its use, because inodes are often in the cache of
 * another processor.
 */
static void prefetch_inode(const struct job *job, const struct e4l_token *t)
{
	if (t < job->tokens.v + job->tokens.n && t->kind == TOKEN_INODE &&
	    t->pblk != NO_INODE) {
		__builtin_prefetch(job->raw + t->pblk);
		__builtin_prefetch(job->raw + t->pblk + CACHE_LINE);
	}
}

/*
 * Passes the job's next tokens (struct e4l_token) to the callbacks.  Stops
 * before an unread tree block, or at the end of the walk @w.  Sets *@end to
 * whether @w has ended.
 */
static errcode_t emit_resolved(struct job *job, struct walk *w, bool *end)
{
	struct e4l_token *t = NULL;
	errcode_t err = 0;

	while (!err && (t = walk_on(job, w)) && t->kind != TOKEN_NODE) {
		prefetch_inode(job, t + PREFETCH_TOKENS);
		err = emit_token(job, t);
	}
	*end = !t;
	if (!err && t)
		w->at[w->depth]--;
	return err;
}

/*
 * Copies the tokens (decoded inodes and map entries) that were not reported yet
 * into one list, and drops the reported tokens.
 */
static errcode_t flatten(struct job *job, struct walk *w)
{
	struct e4l_token_vec old = job->tokens;
	struct e4l_token *t;

	job->spare.n = 0;
	while ((t = walk_on(job, w))) {
		if (!e4l_token_push(&job->spare, *t))
			return ENOMEM;
		if (t->kind == TOKEN_TREE)
			job->spare.v[job->spare.n - 1].arg = 0;
	}
	job->tokens = job->spare;
	job->spare = old;
	*w = job->resolved = (struct walk) { 0 };
	return push_end(&job->tokens);
}

/* Drops the reported tokens, and reads the next tree blocks. */
static errcode_t read_on(struct job *job, struct walk *w)
{
	errcode_t err = flatten(job, w);
	bool more;

	if (!err)
		err = resolve_nodes(job, &more);
	if (!err && e4l_is_interrupted(job->s->e))
		err = E4L_ET_INTERRUPTED;
	return err;
}

static errcode_t scan_done(void *arg, void *priv)
{
	struct job *job = arg;
	struct scan *s = priv;
	struct walk w = { 0 };
	bool end;
	errcode_t err = emit_resolved(job, &w, &end);

	while (!err && !end) {
		err = read_on(job, &w);
		if (!err)
			err = emit_resolved(job, &w, &end);
	}
	if (!err)
		err = flush_piece(s, true);
	if (!err && s->ops->progress)
		s->ops->progress(job->chunk.group,
				 s->e->fs->group_desc_count, s->priv);
	return err;
}

/* ----------------------------------------------------------- the whole scan */

static errcode_t job_init(void *arg, void *priv)
{
	struct scan *s = priv;
	struct job *job = arg;
	unsigned int blocksize = s->e->fs->blocksize;

	job->s = s;
	job->max_nodes = GATHER_MAX / blocksize;
	if (posix_memalign((void **)&job->raw, 4096, CHUNK_BYTES) ||
	    posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	job->host_inode = malloc(s->inode_bytes + sizeof(*job->host_inode));
	job->wanted = malloc(CHUNK_BYTES / s->inode_bytes / 8 + 1);
	job->wants = calloc(job->max_nodes, sizeof(*job->wants));
	job->nodes = calloc(job->max_nodes, sizeof(*job->nodes));
	return job->host_inode && job->wanted && job->wants && job->nodes ? 0 :
	       ENOMEM;
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	free(job->raw);
	free(job->scratch);
	free(job->host_inode);
	free(job->wanted);
	free(job->wants);
	free(job->nodes);
	free(job->tokens.v);
	free(job->spare.v);
}

static errcode_t scan_all(struct scan *s)
{
	static const struct e4l_pipe_ops pipe_ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = scan_next, .work = scan_work, .done = scan_done,
	};
	struct e4l *e = s->e;
	errcode_t err;

	if (s->flags & ~(E4L_SCAN_NO_MAPS | E4L_SCAN_DIRS) ||
	    E4L_HAS_UNKNOWN(s->ops))
		return e4l_fail(e, E4L_ET_OPTION, "scanning the inodes", 0, 0);
	if (!s->end)
		s->end = e->fs->group_desc_count;
	s->inode_bytes = EXT2_INODE_SIZE(e->fs->super);
	s->inodes_per_block = e->fs->blocksize / s->inode_bytes;
	s->extents = calloc(PIECE_EXTENTS, sizeof(*s->extents));
	s->tree = calloc(PIECE_TREE, sizeof(*s->tree));
	s->host_inode = malloc(s->inode_bytes + sizeof(*s->host_inode));
	e4l_fail(e, 0, NULL, 0, 0);
	err = s->extents && s->tree && s->host_inode ?
	      e4l_pipe_run(e, &pipe_ops, s) : ENOMEM;
	if (!err && s->ops->progress)
		s->ops->progress(e->fs->group_desc_count,
				 e->fs->group_desc_count, s->priv);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "scanning the inodes", 0, 0);
	free(s->extents);
	free(s->tree);
	free(s->host_inode);
	return err;
}

errcode_t e4l_scan(struct e4l *e, unsigned int flags, ext2fs_inode_bitmap only,
		   const struct e4l_scan_ops *ops, void *priv)
{
	return scan_all(&(struct scan) {
		.e = e, .flags = flags, .only = only, .ops = ops, .priv = priv,
	});
}

errcode_t e4l_scan_inode(struct e4l *e, ext2_ino_t ino,
			 const struct e4l_scan_ops *ops, void *priv)
{
	int type = e->fs->default_bitmap_type;
	ext2fs_inode_bitmap only;
	errcode_t err;
	dgrp_t group;

	if (!ino || ino > e->fs->super->s_inodes_count)
		return e4l_fail(e, E4L_ET_BAD_ARGUMENT, "scanning an inode",
				ino, 0);
	group = ext2fs_group_of_ino(e->fs, ino);
	/* a red-black tree needs little memory; a bit array can need 512 MiB */
	e->fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
	err = ext2fs_allocate_inode_bitmap(e->fs, "one inode", &only);
	e->fs->default_bitmap_type = type;
	if (err)
		return err;
	ext2fs_mark_inode_bitmap2(only, ino);
	err = scan_all(&(struct scan) {
		.e = e, .only = only, .ops = ops, .priv = priv,
		.reading.group = group, .announced.group = group,
		.end = group + 1,
	});
	ext2fs_free_inode_bitmap(only);
	return err;
}

errcode_t e4l_scan_looking(struct e4l *e, const struct e4l_scan_look *look,
			   const struct e4l_scan_ops *ops, void *priv)
{
	return scan_all(&(struct scan) {
		.e = e, .look = look, .ops = ops, .priv = priv,
	});
}

errcode_t e4l_refuse_damage(const struct e4l_damage *damage, void *priv)
{
	struct e4l *e = *(struct e4l **)priv;

	return e4l_fail(e, E4L_ET_DAMAGED, error_message(damage->why),
			damage->ino, damage->blk);
}
