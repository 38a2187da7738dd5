/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/dir_block.h"
#include "e4layout/base/io_pool.h"
#include "encryption.h"
#include "layout.h"
#include "metadata.h"
#include "pass1_walk.h"
#include "usage.h"

#define NO_BLOCK	(-1LL)

/* The file to which the extents of the walk currently belong. */
struct file {
	ext2_ino_t ino;
	bool is_dir;
	uint32_t dir;			/* index in ck->dirs */
	uint64_t clusters; /* number of clusters that the file owns */
	uint64_t extents, blocks;
	/* last mapped logical block; NO_BLOCK: no block is mapped */
	int64_t last_lblk;
	/* last written logical block; NO_BLOCK: no block is written */
	int64_t last_written;
	blk64_t last_pblk;	/* physical block of @last_lblk; 0: no block */
	struct e4l_extent first;	/* first extent of the file */
	bool encrypted;
	/* result of e4l_encryption_policy(), if @encrypted is set */
	uint32_t policy;
	bool told_hole, told_big, told_unwritten;
	struct e4l_scorer scorer;
};

struct file_walk {
	struct check *ck;
	struct file f;
	bool score;
	uint64_t max_indirect_bytes;
};

/* Returns the maximum size of a file with an indirect map, in bytes. */
static uint64_t max_indirect_bytes(ext2_filsys fs)
{
	uint64_t per = fs->blocksize / 4;

	return (EXT2_NDIR_BLOCKS + per + per * per + per * per * per) *
	       fs->blocksize;
}

errcode_t e4l_walk_new(struct check *ck, struct file_walk **ret)
{
	struct file_walk *w = calloc(1, sizeof(*w));

	*ret = w;
	if (!w)
		return ENOMEM;
	w->ck = ck;
	w->score = !(ck->opt->flags & E4L_CHECK_NO_LAYOUT);
	w->max_indirect_bytes = max_indirect_bytes(ck->fs);
	return 0;
}

void e4l_walk_free(struct file_walk *w)
{
	free(w);
}

/* -------------------------------------------------------------- ownership */

errcode_t e4l_claim_clusters(struct check *ck, ext2_ino_t ino, blk64_t blk,
			     uint64_t first, uint64_t n)
{
	uint64_t taken = 0, hit = 0;
	errcode_t err = e4l_owners_claim(ck->owners, first, n, &taken, &hit);

	if (err || !taken || ext2fs_has_feature_shared_blocks(ck->fs->super))
		return err;
	hit = EXT2FS_C2B(ck->fs, hit);
	if (hit > blk)
		blk = hit;
	taken = EXT2FS_C2B(ck->fs, taken);
	if (e4l_metadata_meets(ck, hit, taken))
		FOUND(ck, BLOCK_METADATA, .ino = ino, .blk = blk, .got = taken);
	else
		FOUND(ck, BLOCK_SHARED, .ino = ino, .blk = blk, .got = taken);
	return 0;
}

/*
 * Whether an extent violates the alignment to clusters.  The first logical
 * block and the first physical block must have equal offsets in their clusters.
 * A logical cluster must not be mapped to two physical clusters.
 */
static bool is_misplaced(const struct file_walk *w,
			 const struct e4l_extent *ex)
{
	ext2_filsys fs = w->ck->fs;
	blk64_t mask = EXT2FS_CLUSTER_MASK(fs);

	if (!fs->cluster_ratio_bits)
		return false;
	if ((ex->lblk & mask) != (ex->pblk & mask))
		return true;
	return w->f.last_pblk && ex->lblk & mask &&
	       EXT2FS_B2C(fs, ex->lblk) == EXT2FS_B2C(fs, w->f.last_lblk) &&
	       EXT2FS_B2C(fs, ex->pblk) != EXT2FS_B2C(fs, w->f.last_pblk);
}

static errcode_t claim_extent(struct file_walk *w, const struct e4l_extent *ex)
{
	ext2_filsys fs = w->ck->fs;
	uint64_t first = EXT2FS_B2C(fs, ex->pblk);
	uint64_t last = EXT2FS_B2C(fs, ex->pblk + ex->len - 1);

	if (is_misplaced(w, ex))
		FOUND(w->ck, EXTENT_CLUSTER, .ino = w->f.ino, .blk = ex->pblk);
	/* a cluster that two extents share is claimed with the first extent */
	if (fs->cluster_ratio_bits && w->f.last_pblk &&
	    first == EXT2FS_B2C(fs, w->f.last_pblk))
		first++;
	if (first > last)
		return 0;
	w->f.clusters += last - first + 1;
	return e4l_claim_clusters(w->ck, w->f.ino, ex->pblk, first,
				  last - first + 1);
}

static errcode_t claim_tree(struct file_walk *w, const struct e4l_piece *p)
{
	ext2_filsys fs = w->ck->fs;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < p->n_tree && !err; i++) {
		w->f.clusters++;
		/*
		 * the lower tree blocks of the resize inode are reserved
		 * descriptor blocks, which are claimed as metadata
		 */
		if (w->f.ino == EXT2_RESIZE_INO && p->tree[i].level != 1)
			continue;
		err = e4l_claim_clusters(w->ck, w->f.ino, p->tree[i].pblk,
					 EXT2FS_B2C(fs, p->tree[i].pblk), 1);
	}
	return err;
}

/*
 * Claims the block of a Hurd file's passive translator, to which the inode
 * refers outside its map.
 */
static errcode_t claim_translator(struct file_walk *w,
				  const struct e4l_piece *p)
{
	blk64_t blk = p->inode->osd1.hurd1.h_i_translator;
	struct check *ck = w->ck;

	if (ck->fs->super->s_creator_os != EXT2_OS_HURD ||
	    p->map != E4L_MAP_INDIRECT || !blk)
		return 0;
	if (!in_filesystem(ck->fs, blk)) {
		FOUND(ck, MAP_RANGE, .ino = p->ino, .blk = blk);
		return 0;
	}
	w->f.clusters++;
	if (p->ino == EXT2_BAD_INO && e4l_metadata_meets(ck, blk, 1))
		FOUND(ck, BLOCK_METADATA, .ino = p->ino, .blk = blk, .got = 1);
	if (p->ino == EXT2_BAD_INO)
		return e4l_claim_anyway(ck, blk, 1);
	if (p->ino == EXT2_RESIZE_INO)
		return 0;
	return e4l_claim_clusters(ck, p->ino, blk, EXT2FS_B2C(ck->fs, blk), 1);
}

/* ------------------------------------------------------------- directories */

static errcode_t add_run(struct check *ck, uint32_t dir, blk64_t pblk,
			 uint32_t lblk, uint32_t len)
{
	errcode_t err = 0;
	uint32_t n;

	do {
		n = len < 0xFFFF ? len : 0xFFFF;
		err = e4l_grow(&ck->runs, ck->n_runs, sizeof(*ck->runs));
		if (!err)
			ck->runs[ck->n_runs++] = (struct dir_run) {
				.pblk = pblk, .len = n, .lblk = lblk,
				.dir = dir,
			};
		pblk += n;
		lblk += n;
		len -= n;
	} while (len && !err);
	return err;
}

static errcode_t begin_dir(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	struct dir dir = {
		.ino = p->ino, .generation = p->inode->i_generation,
	};
	errcode_t err;

	if (p->inode->i_flags & EXT2_INDEX_FL &&
	    ext2fs_has_feature_dir_index(ck->fs->super)) {
		if (p->map == E4L_MAP_INLINE)
			FOUND(ck, HTREE_ROOT, .ino = p->ino);
		else
			dir.flags |= DIR_INDEX;
	}
	if (p->inode->i_flags & EXT2_INDEX_FL)
		dir.flags |= DIR_HAD_INDEX;
	if (p->inode->i_flags & EXT4_CASEFOLD_FL)
		dir.flags |= DIR_CASEFOLD;
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		dir.flags |= DIR_ENCRYPTED;
	err = e4l_grow(&ck->dirs, ck->n_dirs, sizeof(dir));
	if (err)
		return err;
	w->f.dir = ck->n_dirs;
	ck->dirs[ck->n_dirs++] = dir;
	/* the run without blocks makes pass 2 read the inline directory */
	return p->map == E4L_MAP_INLINE ?
	       add_run(ck, w->f.dir, 0, 0, 0) : 0;
}

static uint64_t max_dir_blocks(ext2_filsys fs)
{
	return 1ULL << (21 - fs->super->s_log_block_size);
}

/*
 * Checks an extent of a directory.  If the extent exceeds the maximum size of a
 * directory, returns false.
 */
static bool judge_dir_extent(struct file_walk *w, const struct e4l_piece *p,
			     const struct e4l_extent *ex)
{
	struct check *ck = w->ck;
	struct ext2_super_block *sb = ck->fs->super;
	bool large = ext2fs_has_feature_largedir(sb);

	if (!large && !p->inode->i_size_high &&
	    (uint64_t)ex->lblk + ex->len > max_dir_blocks(ck->fs)) {
		if (!w->f.told_big)
			FOUND(ck, MAP_TOO_BIG, .ino = p->ino, .blk = ex->pblk);
		w->f.told_big = true;
		return false;
	}
	if (ex->unwritten && !w->f.told_unwritten) {
		FOUND(ck, DIR_UNWRITTEN, .ino = p->ino, .blk = ex->pblk,
		      .got = ex->lblk);
		w->f.told_unwritten = true;
	}
	if (w->f.last_lblk + 1 < ex->lblk && !w->f.told_hole &&
	    (p->map == E4L_MAP_EXTENTS || !large ||
	     ext2fs_has_feature_inline_data(sb))) {
		FOUND(ck, DIR_HOLE, .ino = p->ino, .got = w->f.last_lblk + 1);
		w->f.told_hole = true;
	}
	return true;
}

/* ------------------------------------------------------------------ extents */

static errcode_t walk_extent(struct file_walk *w, const struct e4l_piece *p,
			     const struct e4l_extent *ex)
{
	errcode_t err = 0;

	/* a bad block may also belong to a file or to metadata */
	if (p->ino == EXT2_BAD_INO)
		return e4l_claim_anyway(w->ck, ex->pblk, ex->len);
	if (w->f.is_dir) {
		if (!judge_dir_extent(w, p, ex))
			return 0;
		err = add_run(w->ck, w->f.dir, ex->pblk, ex->lblk, ex->len);
	}
	if (p->ino == EXT2_RESIZE_INO)
		w->f.clusters += ex->len;
	else if (!err)
		err = claim_extent(w, ex);
	if (!w->f.extents++)
		w->f.first = *ex;
	w->f.blocks += ex->len;
	w->f.last_lblk = (int64_t)ex->lblk + ex->len - 1;
	w->f.last_pblk = ex->pblk + ex->len - 1;
	if (!ex->unwritten)
		w->f.last_written = w->f.last_lblk;
	return err;
}

/* ----------------------------------------------------------- end of a file */

/* Reports written extents beyond i_size. */
static void judge_past_eof(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	uint64_t size = EXT2_I_SIZE(p->inode);
	int64_t blocks = (size + ck->fs->blocksize - 1) / ck->fs->blocksize;

	if (p->map != E4L_MAP_EXTENTS || w->f.is_dir ||
	    w->f.last_written < blocks || p->inode->i_flags & EXT4_VERITY_FL)
		return;
	if (p->depth && size)
		FOUND(ck, EXTENT_PAST_EOF, .ino = p->ino, .got = blocks);
	else if (!(ck->opt->flags & E4L_CHECK_NO_LAYOUT) && (uint64_t)w->f.last_written *
		 ck->fs->blocksize <= size)
		FOUND(ck, STALE_PAST_EOF, .ino = p->ino, .got = blocks);
}

static bool dir_size_ok(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	uint64_t size = EXT2_I_SIZE(p->inode);
	int64_t blocks = size / ck->fs->blocksize;
	int64_t mapped = w->f.last_lblk + 1;
	size_t len;

	if (p->map == E4L_MAP_INLINE)
		return !e4l_inline_value(p->inode,
					 EXT2_INODE_SIZE(ck->fs->super),
					 &len) ||
		       size == I_BLOCK_BYTES + len;
	/* e2fsck uses only the low 32 bits of the number of blocks */
	if (blocks > mapped && (uint32_t)blocks == mapped) {
		FOUND(ck, INODE_DIR_SIZE_HIGH, .ino = p->ino, .got = size);
		return true;
	}
	return size % ck->fs->blocksize == 0 && blocks <= mapped &&
	       mapped - blocks <= ck->fs->super->s_prealloc_dir_blocks;
}

static bool file_size_ok(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	uint64_t size = EXT2_I_SIZE(p->inode);
	unsigned int bits = EXT2_BLOCK_SIZE_BITS(ck->fs->super);

	if (w->f.last_written >= 0 &&
	    size < (uint64_t)w->f.last_written << bits &&
	    !(p->inode->i_flags & EXT4_VERITY_FL))
		return false;
	if (ext2fs_has_feature_extents(ck->fs->super) &&
	    p->inode->i_flags & EXT4_EXTENTS_FL)
		return size < 1ULL << (32 + bits);
	return size <= w->max_indirect_bytes;
}

static void judge_size(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	bool ok = w->f.is_dir ? dir_size_ok(w, p) : file_size_ok(w, p);

	if (LINUX_S_ISREG(p->inode->i_mode) &&
	    ext2fs_needs_large_file_feature(EXT2_I_SIZE(p->inode)) &&
	    !ext2fs_has_feature_large_file(ck->fs->super))
		FOUND(ck, INODE_LARGE_FILE, .ino = p->ino);
	if (ok || LINUX_S_ISLNK(p->inode->i_mode))
		return;
	FOUND(ck, INODE_SIZE, .ino = p->ino, .got = EXT2_I_SIZE(p->inode),
	      .want = (w->f.last_lblk + 1) * ck->fs->blocksize);
}

/*
 * Converts i_blocks to clusters.  If i_blocks is not a whole number of
 * clusters, returns false.
 */
static bool stated_clusters(ext2_filsys fs, const struct ext2_inode *inode,
			    uint64_t *clusters)
{
	bool huge = ext2fs_has_feature_huge_file(fs->super) &&
		    inode->i_flags & EXT4_HUGE_FILE_FL;
	uint64_t unit = huge ? 1 : fs->blocksize / 512;
	uint64_t n = ext2fs_inode_i_blocks(fs, (struct ext2_inode *)inode);

	unit <<= fs->cluster_ratio_bits;
	*clusters = n / unit;
	return n % unit == 0 && !(huge && inode->osd2.linux2.l_i_blocks_hi);
}

/*
 * Records that the inode of @p uses the attribute block @blk.  struct xattr_use
 * describes @missing and @judged.
 */
static errcode_t note_xattr_block(struct file_walk *w,
				  const struct e4l_piece *p, blk64_t blk,
				  uint64_t missing, bool judged)
{
	struct check *ck = w->ck;
	errcode_t err = e4l_grow(&ck->xattrs, ck->n_xattrs,
				 sizeof(*ck->xattrs));

	if (!err)
		ck->xattrs[ck->n_xattrs++] = (struct xattr_use) {
			.blk = blk, .ino = p->ino,
			.generation = p->inode->i_generation,
			.encrypted = w->f.encrypted &&
				     e4l_encryption_in_block(w->f.policy),
			.missing = missing > UINT32_MAX ? UINT32_MAX : missing,
			.judged = judged,
		};
	return err;
}

/*
 * Checks the location of the attribute block.  Returns whether the inode has an
 * attribute block with a valid location.
 */
static bool judge_xattr_place(struct check *ck, ext2_ino_t ino, blk64_t acl)
{
	if (!acl)
		return false;
	if (ext2fs_has_feature_xattr(ck->fs->super) &&
	    in_filesystem(ck->fs, acl))
		return true;
	if (ino == EXT2_JOURNAL_INO && !in_filesystem(ck->fs, acl))
		FOUND(ck, JOURNAL_XATTR, .ino = ino, .got = acl);
	else if (ck->kind[ino] & (KIND_NO_NAME | KIND_EA_INODE))
		FOUND(ck, INODE_UNREAD, .ino = ino);
	else
		FOUND(ck, XATTR_BLOCK_LOC, .ino = ino, .got = acl);
	return false;
}

/*
 * Counts the EA inodes of the attributes in the body of p->inode.  The count is
 * 0 for a reserved inode, such as the journal inode, because e2fsck does not
 * read the attributes of a reserved inode.
 */
static struct xattr_values body_values(struct check *ck,
				       const struct e4l_piece *p)
{
	uint8_t kind = ck->kind[p->ino];

	if (kind & KIND_NO_NAME && !(kind & KIND_TYPE))
		return (struct xattr_values) { 0 };
	return e4l_xattr_ibody_values(ck, p->inode);
}

/*
 * Returns the number of clusters that i_blocks of p->inode should count, except
 * for the EA inodes of the attribute block.  @has_acl: the inode has an
 * attribute block.  @stated is the number of clusters in i_blocks.
 */
static uint64_t count_clusters(struct file_walk *w, const struct e4l_piece *p,
			       bool has_acl, uint64_t stated)
{
	struct check *ck = w->ck;
	struct xattr_values values = body_values(ck, p);
	uint64_t counted = w->f.clusters + has_acl + values.clusters;

	if (values.n && stated < counted)
		counted -= e4l_xattr_ibody_lustre(ck, p->ino, p->inode);
	if (p->ino == EXT2_RESIZE_INO)
		counted += ck->resize_super;
	return counted;
}

/*
 * Checks i_blocks.  Sets *@owned to the number of clusters that belong to the
 * inode, including extended attributes.
 */
static errcode_t judge_blocks(struct file_walk *w, const struct e4l_piece *p,
			      uint64_t *owned)
{
	struct check *ck = w->ck;
	struct ext2_inode *inode = (struct ext2_inode *)p->inode;
	blk64_t acl = ext2fs_file_acl_block(ck->fs, inode);
	bool has_acl = judge_xattr_place(ck, p->ino, acl), ok, judged;
	uint64_t stated, counted, missing = 0;

	ok = stated_clusters(ck->fs, inode, &stated);
	counted = count_clusters(w, p, has_acl, stated);
	judged = (p->damaged && p->ino != EXT2_RESIZE_INO) ||
		 ck->fs->super->s_creator_os == EXT2_OS_HURD;
	/*
	 * The attribute block may refer to EA inodes.  judge_missing() checks
	 * i_blocks after the block is read.
	 */
	if (ok && has_acl && stated >= counted &&
	    ext2fs_has_feature_ea_inode(ck->fs->super)) {
		missing = stated - counted;
		counted = stated;
	} else if (!judged && (!ok || stated != counted) &&
		   is_inline_link(p->inode)) {
		FOUND(ck, INODE_UNREAD, .ino = p->ino);
	} else if (!judged && (!ok || stated != counted)) {
		FOUND(ck, INODE_BLOCKS, .ino = p->ino,
		      .got = ext2fs_inode_i_blocks(ck->fs, inode),
		      .want = counted << ck->fs->cluster_ratio_bits <<
			      (EXT2_BLOCK_SIZE_BITS(ck->fs->super) - 9));
		judged = true;
	}
	*owned = counted;
	return has_acl ? note_xattr_block(w, p, acl, missing, judged) : 0;
}

/*
 * Records a symbolic link whose target is in a block.  If the map of the link
 * is invalid, reports a finding instead.
 */
static errcode_t note_symlink(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	struct ext2_inode *inode = (struct ext2_inode *)p->inode;
	errcode_t err;

	if (p->map == E4L_MAP_INLINE ||
	    (ck->kind[p->ino] & KIND_TYPE) != EXT2_FT_SYMLINK)
		return 0;
	/* a symbolic link has no block if its target fits into the inode */
	if (ext2fs_is_fast_symlink(inode)) {
		if (w->f.extents)
			e4l_inode_wrong_type(ck, p->ino, 0, p->inode,
					 F_INODE_SYMLINK);
		return 0;
	}
	if (w->f.extents != 1 || w->f.first.lblk || w->f.first.len != 1 ||
	    p->depth) {
		e4l_inode_wrong_type(ck, p->ino, 0, p->inode, F_INODE_SYMLINK);
		return 0;
	}
	err = e4l_grow(&ck->symlinks, ck->n_symlinks, sizeof(*ck->symlinks));
	if (!err)
		ck->symlinks[ck->n_symlinks++] = (struct symlink_use) {
			.blk = w->f.first.pblk, .ino = p->ino,
			.size = inode->i_size, .encrypted = w->f.encrypted,
		};
	return err;
}

static void judge_map_kind(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	struct ext2_inode *inode = (struct ext2_inode *)p->inode;
	unsigned int mode = inode->i_mode;

	if (!(inode->i_flags & (EXT4_EXTENTS_FL | EXT4_INLINE_DATA_FL)) &&
	    ext2fs_inode_data_blocks2(ck->fs, inode) &&
	    ext2fs_has_feature_bigalloc(ck->fs->super) &&
	    (LINUX_S_ISREG(mode) || LINUX_S_ISDIR(mode)) &&
	    (p->ino == EXT2_ROOT_INO ||
	     p->ino >= EXT2_FIRST_INODE(ck->fs->super)))
		FOUND(ck, MAP_BIGALLOC, .ino = p->ino);
	if (w->f.is_dir && !w->f.clusters && p->map != E4L_MAP_INLINE &&
	    !p->damaged)
		FOUND(ck, DIR_EMPTY, .ino = p->ino);
}

/*
 * Whether the index of @dir can be checked.  The check needs an element of
 * ck->dx for each logical block.  A damaged map with few blocks, but high
 * logical block numbers, would need too much memory.
 */
static bool has_index_blocks(const struct file_walk *w, const struct dir *dir)
{
	const struct check *ck = w->ck;

	return dir->blocks <= 2 * w->f.blocks &&
	       ck->n_dx + dir->blocks <= ext2fs_blocks_count(ck->fs->super);
}

static errcode_t end_dir(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	struct dir *dir = &ck->dirs[w->f.dir];

	dir->blocks = w->f.last_lblk + 1;
	dir->damaged = p->damaged;
	if (p->map != E4L_MAP_EXTENTS || w->f.told_unwritten ||
	    w->f.blocks != dir->blocks ||
	    w->f.blocks * ck->fs->blocksize != EXT2_I_SIZE(p->inode))
		dir->flags |= DIR_STAYS;
	if (!has_index_blocks(w, dir))
		dir->flags &= ~DIR_INDEX;
	if (dir->flags & DIR_INDEX) {
		dir->index = ck->n_dx;
		ck->n_dx += dir->blocks;
	}
	return 0;
}

static errcode_t end_file(struct file_walk *w, const struct e4l_piece *p)
{
	struct check *ck = w->ck;
	uint64_t owned;
	errcode_t err;

	if (p->ino == EXT2_BAD_INO)
		return 0;
	judge_map_kind(w, p);
	err = judge_blocks(w, p, &owned);
	if (!err && LINUX_S_ISLNK(p->inode->i_mode))
		err = note_symlink(w, p);
	if (!p->damaged) {
		judge_size(w, p);
		judge_past_eof(w, p);
	}
	if (!err && w->f.is_dir)
		err = end_dir(w, p);
	if (!err)
		err = e4l_usage_charge(ck, p->ino, p->inode, owned,
				       1 + body_values(ck, p).n);
	if (!err && w->f.encrypted)
		err = e4l_encryption_note(ck, p->ino, w->f.policy);
	if (w->score && !p->damaged)
		e4l_layout_judge_file(ck, p, &w->f.scorer);
	return err;
}

static errcode_t begin_file(struct file_walk *w, const struct e4l_piece *p)
{
	errcode_t err;

	w->f = (struct file) {
		.ino = p->ino, .last_lblk = NO_BLOCK,
		.last_written = NO_BLOCK,
		.is_dir = (w->ck->kind[p->ino] & KIND_TYPE) == EXT2_FT_DIR,
		.encrypted = w->ck->kind[p->ino] & KIND_ENCRYPTED,
	};
	if (w->f.encrypted)
		w->f.policy = e4l_encryption_policy(w->ck, p->inode);
	err = claim_translator(w, p);
	return err || !w->f.is_dir ? err : begin_dir(w, p);
}

errcode_t e4l_walk_piece(struct file_walk *w, const struct e4l_piece *p)
{
	errcode_t err = 0;
	size_t i;

	if (!p->inode)
		return 0;
	if (p->first)
		err = begin_file(w, p);
	if (!err)
		err = claim_tree(w, p);
	for (i = 0; i < p->n_extents && !err; i++)
		err = walk_extent(w, p, &p->extents[i]);
	if (!err && w->score)
		e4l_score_piece(&w->f.scorer, p);
	return err || !p->last ? err : end_file(w, p);
}
