/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 1: extended attributes in inodes, in blocks, and with EA inodes. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/base/io_pool.h"
#include "ea_inodes.h"
#include "encryption.h"
#include "pass1_walk.h"
#include "usage.h"
#include <ext2fs/ext2_ext_attr.h>	/* requires ext2fs.h */

/* A bitmap of the used bytes of an attribute list. */
struct region {
	unsigned int bytes;
	uint8_t used[65536 / 8];
};

static void region_init(struct region *r, unsigned int bytes)
{
	r->bytes = bytes;
	memset(r->used, 0, (bytes + 7) / 8);
}

/*
 * Marks bytes as used.  If a byte is outside the list or already used, returns
 * false.
 */
static bool region_take(struct region *r, uint64_t start, uint64_t len)
{
	uint64_t i;

	if (start > r->bytes || len > r->bytes - start)
		return false;
	for (i = start; i < start + len; i++) {
		if (r->used[i / 8] & 1 << i % 8)
			return false;
		r->used[i / 8] |= 1 << i % 8;
	}
	return true;
}

/* The attributes in an inode's body or in an attribute block. */
struct list {
	struct check *ck;
	ext2_ino_t ino;
	uint32_t generation;
	blk64_t blk;		/* 0: the list is in an inode */
	const char *base;	/* address of byte 0 of @region */
	const char *values;	/* e_value_offs is the offset from @values */
	const char *first, *end;
	struct region region;
	struct xattr_values values_in_inodes;
};

const struct ext2_ext_attr_entry *e4l_xattr_walk(const char **p,
						 const char *end)
{
	const struct ext2_ext_attr_entry *entry = (const void *)*p;
	size_t left = end - *p;

	if (left < sizeof(*entry) || EXT2_EXT_IS_LAST_ENTRY(entry) ||
	    left < EXT2_EXT_ATTR_LEN(entry->e_name_len))
		return NULL;
	*p += EXT2_EXT_ATTR_LEN(entry->e_name_len);
	return entry;
}

static void add_value(struct xattr_values *values, ext2_filsys fs,
		      const struct ext2_ext_attr_entry *entry)
{
	uint64_t cluster = (uint64_t)fs->blocksize << fs->cluster_ratio_bits;

	values->n++;
	values->clusters += (entry->e_value_size + cluster - 1) / cluster;
}

/* Returns the reference of @entry to its EA inode. */
static struct ea_use ea_use(const struct list *l,
			    const struct ext2_ext_attr_entry *entry)
{
	struct ext2_ext_attr_entry *e = (struct ext2_ext_attr_entry *)entry;

	return (struct ea_use) {
		.ino = l->ino, .ea_ino = e->e_value_inum, .hash = e->e_hash,
		.size = e->e_value_size,
		.name_hash = ext2fs_ext_attr_hash_entry(e, NULL),
		.signed_name_hash = ext2fs_ext_attr_hash_entry_signed(e, NULL),
		.generation = l->generation,
	};
}

/* Returns the number of clusters in EA inodes of Lustre that list @l uses. */
static uint64_t lustre_clusters(const struct list *l)
{
	const struct ext2_ext_attr_entry *entry;
	struct xattr_values values = { 0 };
	const char *p = l->first;
	struct ea_use use;

	while ((entry = e4l_xattr_walk(&p, l->end))) {
		if (!entry->e_value_inum)
			continue;
		use = ea_use(l, entry);
		if (e4l_ea_inode_is_lustre(l->ck, &use))
			add_value(&values, l->ck->fs, entry);
	}
	return values.clusters;
}

/*
 * Records an attribute with an EA inode.  Pass 4 checks the EA inode, after
 * pass 1 has read all inodes.
 */
static bool note_ea_inode(struct list *l, struct ext2_ext_attr_entry *entry)
{
	struct check *ck = l->ck;
	errcode_t err;

	if (entry->e_value_inum < EXT2_FIRST_INODE(ck->fs->super) ||
	    entry->e_value_inum > ck->fs->super->s_inodes_count) {
		FOUND(ck, EA_INODE, .ino = l->ino, .blk = l->blk,
		      .got = entry->e_value_inum);
		return true;
	}
	if (!ext2fs_has_feature_ea_inode(ck->fs->super))
		FOUND(ck, EA_INODE_FEATURE, .ino = l->ino, .blk = l->blk,
		      .got = entry->e_value_inum);
	add_value(&l->values_in_inodes, ck->fs, entry);
	pthread_mutex_lock(&ck->lock);
	err = e4l_grow(&ck->eas, ck->n_eas, sizeof(*ck->eas));
	if (!err)
		ck->eas[ck->n_eas++] = ea_use(l, entry);
	else
		ck->found->failed = true;
	pthread_mutex_unlock(&ck->lock);
	return true;
}

static bool hash_ok(const struct list *l, struct ext2_ext_attr_entry *entry)
{
	void *value = (char *)l->values + entry->e_value_offs;

	/* attributes in inodes of old filesystems have no hash */
	if (!l->blk && !entry->e_hash)
		return true;
	return entry->e_hash == ext2fs_ext_attr_hash_entry(entry, value) ||
	       entry->e_hash == ext2fs_ext_attr_hash_entry_signed(entry, value);
}

static bool wrong_hash(struct list *l, struct ext2_ext_attr_entry *entry)
{
	FOUND(l->ck, XATTR_HASH, .ino = l->ino, .blk = l->blk,
	      .got = entry->e_hash);
	return true;
}

/*
 * Checks an entry whose name is inside the list.  If the entry is invalid,
 * returns false; the following entries must not be checked.
 */
static bool judge_entry(struct list *l, struct ext2_ext_attr_entry *entry)
{
	uint64_t start = l->values - l->base + entry->e_value_offs;
	uint64_t room = l->end - l->values;
	uint64_t taken = EXT2_EXT_ATTR_SIZE(entry->e_value_size);

	if (entry->e_value_inum)
		return note_ea_inode(l, entry);
	if (!l->blk && !entry->e_value_size)
		return hash_ok(l, entry) || wrong_hash(l, entry);
	if (entry->e_value_size > EXT2_XATTR_SIZE_MAX ||
	    (uint64_t)entry->e_value_offs + entry->e_value_size > room)
		return false;
	if (entry->e_value_size && (entry->e_value_offs + taken > room ||
				    !region_take(&l->region, start, taken)))
		return false;
	return hash_ok(l, entry) || wrong_hash(l, entry);
}

/*
 * Checks the entries up to the first invalid entry.  Returns whether all
 * entries are valid.
 */
static bool judge_list(struct list *l)
{
	const char *p = l->first;

	for (;;) {
		struct ext2_ext_attr_entry *entry = (void *)p;
		size_t left = l->end - p;

		if (left < sizeof(uint32_t))
			return false;
		if (EXT2_EXT_IS_LAST_ENTRY(entry) ||
		    (!l->blk && left < sizeof(*entry)))
			return region_take(&l->region, p - l->base,
					   sizeof(uint32_t));
		if (left < sizeof(*entry) ||
		    left < EXT2_EXT_ATTR_LEN(entry->e_name_len) ||
		    !region_take(&l->region, p - l->base,
				 EXT2_EXT_ATTR_LEN(entry->e_name_len)))
			return false;
		if (l->blk && !entry->e_name_index)
			return false;
		if (memchr(entry + 1, '\0', entry->e_name_len))
			FOUND(l->ck, XATTR_NAME, .ino = l->ino, .blk = l->blk);
		if (!judge_entry(l, entry))
			return false;
		p += EXT2_EXT_ATTR_LEN(entry->e_name_len);
	}
}

/* -------------------------------------------------- attributes in the inode */

const char *e4l_xattr_ibody_header(const struct check *ck,
				   const struct ext2_inode_large *inode)
{
	const size_t size = EXT2_INODE_SIZE(ck->fs->super);
	const char *header;

	if (size == EXT2_GOOD_OLD_INODE_SIZE ||
	    size <= EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize +
		    sizeof(uint32_t) ||
	    inode->i_extra_isize % 4)
		return NULL;
	header = (const char *)inode + EXT2_GOOD_OLD_INODE_SIZE +
		 inode->i_extra_isize;
	return *(const uint32_t *)header == EXT2_EXT_ATTR_MAGIC ? header : NULL;
}

/*
 * Finds the attributes in @inode's body.  If the body has no attributes,
 * returns false.
 */
static bool ibody_list(struct check *ck, ext2_ino_t ino,
		       const struct ext2_inode_large *inode, struct list *l)
{
	const char *header = e4l_xattr_ibody_header(ck, inode);

	if (!header)
		return false;
	l->ck = ck;
	l->ino = ino;
	l->generation = inode->i_generation;
	l->blk = 0;
	l->base = header;
	l->values = l->first = header + sizeof(uint32_t);
	l->end = (const char *)inode + EXT2_INODE_SIZE(ck->fs->super);
	l->values_in_inodes = (struct xattr_values) { 0 };
	return true;
}

void e4l_xattr_judge_ibody(struct check *ck, ext2_ino_t ino,
			   const struct ext2_inode_large *inode)
{
	struct list l;

	if (!ibody_list(ck, ino, inode, &l))
		return;
	region_init(&l.region, l.end - l.base);
	region_take(&l.region, 0, sizeof(uint32_t));
	if (!judge_list(&l))
		FOUND(ck, XATTR_INODE, .ino = ino);
}

bool e4l_xattr_ibody_readable(struct check *ck,
			      const struct ext2_inode_large *inode)
{
	const struct ext2_ext_attr_entry *x;
	struct list l;
	const char *p;

	if (!ibody_list(ck, 0, inode, &l))
		return false;
	for (p = l.first; l.end - p >= sizeof(*x);
	     p += EXT2_EXT_ATTR_LEN(x->e_name_len)) {
		x = (const void *)p;
		if (EXT2_EXT_IS_LAST_ENTRY(x))
			break;
		if (l.end - p < EXT2_EXT_ATTR_LEN(x->e_name_len) ||
		    (!x->e_value_inum && (uint64_t)x->e_value_offs +
		     x->e_value_size > l.end - l.values))
			return false;
	}
	return true;
}

struct xattr_values e4l_xattr_ibody_values(struct check *ck,
					   const struct ext2_inode_large *inode)
{
	const struct ext2_ext_attr_entry *entry;
	struct xattr_values values = { 0 };
	struct list l;
	const char *p;

	if (!ibody_list(ck, 0, inode, &l))
		return values;
	p = l.first;
	while ((entry = e4l_xattr_walk(&p, l.end)))
		if (entry->e_value_inum)
			add_value(&values, ck->fs, entry);
	return values;
}

uint64_t e4l_xattr_ibody_lustre(struct check *ck, ext2_ino_t ino,
				const struct ext2_inode_large *inode)
{
	struct list l;

	return ibody_list(ck, ino, inode, &l) ? lustre_clusters(&l) : 0;
}

/* ----------------------------------------------------- attributes in blocks */

struct blocks {
	struct check *ck;
	struct xattr_use *uses;		/* sorted by block */
	size_t *at;	/* index in @uses of the first use of each block */
	size_t n, next;
};

#define JOB_BLOCKS 64

struct blocks_job {
	struct blocks *b;
	struct e4l_want wants[JOB_BLOCKS];
	size_t first, n;
	char *scratch, *host;
	struct list list;
};

static int use_cmp(const void *a, const void *b)
{
	const struct xattr_use *x = a, *y = b;

	if (x->blk != y->blk)
		return x->blk < y->blk ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static bool block_csum_ok(ext2_filsys fs, blk64_t blk, const void *block)
{
	static const uint8_t zero[4];
	const size_t at = offsetof(struct ext2_ext_attr_header, h_checksum);
	const struct ext2_ext_attr_header *h = block;
	uint64_t le_blk = ext2fs_cpu_to_le64(blk);
	uint32_t crc;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	crc = e4l_crc32c(fs->csum_seed, &le_blk, sizeof(le_blk));
	crc = e4l_crc32c(crc, block, at);
	crc = e4l_crc32c(crc, zero, sizeof(zero));
	crc = e4l_crc32c(crc, (const char *)block + at + sizeof(zero),
			 fs->blocksize - at - sizeof(zero));
	return crc == ext2fs_le32_to_cpu(h->h_checksum);
}

/* Returns the content of @block in host byte order. */
static const void *host_block(struct blocks_job *job, const void *block)
{
#ifdef WORDS_BIGENDIAN
	ext2fs_swap_ext_attr(job->host, (char *)block,
			     job->b->ck->fs->blocksize, 1);
	return job->host;
#else
	return block;
#endif
}

/* Returns the number of inodes that use the block of b->uses[@at]. */
static size_t count_uses(const struct blocks *b, size_t at)
{
	size_t i = at;

	while (i < b->ck->n_xattrs && b->uses[i].blk == b->uses[at].blk)
		i++;
	return i - at;
}

static void wrong_blocks(struct check *ck, const struct xattr_use *use,
			 uint64_t clusters)
{
	ext2_filsys fs = ck->fs;
	struct ext2_inode_large inode;
	uint64_t got;

	if (e4l_inode_read(ck, use->ino, &inode))
		return;
	got = ext2fs_inode_i_blocks(fs, (struct ext2_inode *)&inode);
	FOUND(ck, INODE_BLOCKS, .ino = use->ino, .got = got,
	      .want = got + ((clusters - use->missing) <<
			     fs->cluster_ratio_bits <<
			     (EXT2_BLOCK_SIZE_BITS(fs->super) - 9)));
}

/*
 * Checks i_blocks of the @n inodes from b->uses[@at] on, which all use the
 * attribute block with the list @l.  i_blocks must include the clusters of the
 * EA inodes in @l.
 */
static void judge_missing(struct blocks *b, size_t at, size_t n,
			  const struct list *l)
{
	uint64_t clusters = l->values_in_inodes.clusters;
	struct xattr_use *use = &b->uses[at];

	/* only one inode can use an attribute block with EA inodes of Lustre */
	if (clusters && use->missing < clusters)
		clusters -= lustre_clusters(l);
	for (; n; n--, use++) {
		use->values = l->values_in_inodes.n;
		if (!use->judged && use->missing != clusters)
			wrong_blocks(b->ck, use, clusters);
	}
}

/*
 * Reports encrypted inodes whose encryption context is neither in the body of
 * the inode nor in the attribute block.  @has: whether the attribute block has
 * a context.
 */
static void judge_contexts(struct blocks *b, size_t at, size_t n, bool has)
{
	size_t i;

	for (i = at; i < at + n && !has; i++)
		if (b->uses[i].encrypted)
			FOUND(b->ck, INODE_ENCRYPTION, .ino = b->uses[i].ino);
}

static void judge_block(struct blocks_job *job, size_t at, const void *disk)
{
	struct blocks *b = job->b;
	struct check *ck = b->ck;
	const struct xattr_use *use = &b->uses[at];
	const struct ext2_ext_attr_header *h = host_block(job, disk);
	size_t n = count_uses(b, at);
	struct list *l = &job->list;

	if (!block_csum_ok(ck->fs, use->blk, disk))
		FOUND(ck, XATTR_CSUM, .ino = use->ino, .blk = use->blk);
	if (h->h_magic != EXT2_EXT_ATTR_MAGIC || h->h_blocks != 1) {
		FOUND(ck, XATTR_BLOCK, .ino = use->ino, .blk = use->blk);
		return;
	}
	l->ck = ck;
	l->ino = use->ino;
	l->generation = use->generation;
	l->blk = use->blk;
	l->base = l->values = (const char *)h;
	l->first = (const char *)(h + 1);
	l->end = l->base + ck->fs->blocksize;
	l->values_in_inodes = (struct xattr_values) { 0 };
	region_init(&l->region, ck->fs->blocksize);
	region_take(&l->region, 0, sizeof(*h));
	if (!judge_list(l))
		FOUND(ck, XATTR_BLOCK, .ino = use->ino, .blk = use->blk);
	if (h->h_refcount != n)
		FOUND(ck, XATTR_REFCOUNT, .ino = use->ino, .blk = use->blk,
		      .got = h->h_refcount, .want = n);
	judge_missing(b, at, n, l);
	judge_contexts(b, at, n, e4l_encryption_in_list(l->first, l->end));
}

static void visit_block(const struct e4l_want *want, const void *block,
			errcode_t why, void *priv)
{
	struct blocks_job *job = priv;
	size_t at = job->b->at[job->first + want->slot];

	e4l_check_noted(job->b->ck, why);
	if (block)
		judge_block(job, at, block);
	else
		FOUND(job->b->ck, XATTR_BLOCK_READ, .blk = want->blk,
		      .ino = job->b->uses[at].ino);
}

static errcode_t blocks_init(void *arg, void *priv)
{
	struct blocks_job *job = arg;

	job->b = priv;
	job->host = malloc(job->b->ck->fs->blocksize);
	if (!job->host || posix_memalign((void **)&job->scratch, 4096,
					 E4L_GATHER_BYTES))
		return ENOMEM;
	return 0;
}

static void blocks_release(void *arg, void *priv)
{
	struct blocks_job *job = arg;

	free(job->scratch);
	free(job->host);
}

static bool blocks_next(void *arg, void *priv)
{
	struct blocks_job *job = arg;
	struct blocks *b = priv;

	job->first = b->next;
	for (job->n = 0; job->n < JOB_BLOCKS && b->next < b->n; job->n++)
		job->wants[job->n] = (struct e4l_want) {
			.blk = b->uses[b->at[b->next++]].blk, .slot = job->n,
		};
	return job->n;
}

static errcode_t blocks_work(void *arg, void *priv)
{
	struct blocks_job *job = arg;

	e4l_gather(job->b->ck->e, job->wants, job->n, job->scratch,
		   visit_block, job);
	return 0;
}

static errcode_t blocks_done(void *arg, void *priv)
{
	return 0;
}

/* Lists each attribute block once, and claims the block for its first user. */
static errcode_t claim_blocks(struct blocks *b)
{
	const struct xattr_use *use = b->uses;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < b->ck->n_xattrs && !err; i++) {
		if (i && use[i].blk == use[i - 1].blk)
			continue;
		b->at[b->n++] = i;
		err = e4l_claim_clusters(b->ck, use[i].ino, use[i].blk,
					 EXT2FS_B2C(b->ck->fs, use[i].blk), 1);
	}
	return err;
}

/*
 * Adds the EA inodes of each attribute block to the quota usage of every inode
 * that uses the block.
 */
static errcode_t charge_values(struct check *ck)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < ck->n_xattrs && !err; i++) {
		const struct xattr_use *use = &ck->xattrs[i];
		struct ext2_inode_large inode;

		if (use->values && !e4l_inode_read(ck, use->ino, &inode))
			err = e4l_usage_charge(ck, use->ino, &inode, 0,
					       use->values);
	}
	return err;
}

errcode_t e4l_pass1_xattr_blocks(struct check *ck)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(struct blocks_job),
		.init = blocks_init, .release = blocks_release,
		.next = blocks_next, .work = blocks_work, .done = blocks_done,
	};
	struct blocks b = { .ck = ck, .uses = ck->xattrs };
	errcode_t err;

	if (!ck->n_xattrs)
		return 0;
	qsort(ck->xattrs, ck->n_xattrs, sizeof(*ck->xattrs), use_cmp);
	b.at = malloc(ck->n_xattrs * sizeof(*b.at));
	err = b.at ? claim_blocks(&b) : ENOMEM;
	if (!err)
		err = e4l_pipe_run(ck->e, &ops, &b);
	free(b.at);
	return err ? err : charge_values(ck);
}
