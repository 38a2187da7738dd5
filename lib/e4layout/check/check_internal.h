/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the passes of the check share. */
#ifndef E4L_CHECK_INTERNAL_H
#define E4L_CHECK_INTERNAL_H

#include "check.h"
#include <e4layout/dirs.h>
#include <e4layout/scan.h>
#include <e4layout/score.h>
#include <e4layout/tunables.h>
#include "e4layout/base/array.h"
#include "e4layout/base/owners.h"

/*
 * The state of an inode after pass 1, in one byte: the file type as in
 * directory entries (EXT2_FT_*), and flags.  0: the inode is unused.
 */
#define KIND_TYPE	0x0F
#define KIND_UNREAD	0x0F /* file type of an unread inode in a bad block */
#define KIND_USED	0x10
#define KIND_ENCRYPTED	0x20
#define KIND_EA_INODE	0x40
#define KIND_NO_NAME	0x80	/* the inode needs no directory entry */

/* A directory.  The array check->dirs is sorted by inode number. */
struct dir {
	ext2_ino_t ino;
	/* a directory with an entry for @ino; 0: none found */
	ext2_ino_t parent;
	ext2_ino_t dotdot;
	uint32_t generation;
	uint32_t blocks; /* number of the last mapped logical block, plus 1 */
	uint32_t index;		/* index of logical block 0 in check->dx */
	/* if DIR_INDEX is set: hash version of the index */
	uint32_t hash_version;
	uint8_t levels;	/* if DIR_INDEX is set: levels of index blocks */
	uint8_t flags;
	/*
	 * a part of the directory is unreadable or invalid; any thread may set
	 * @damaged
	 */
	bool damaged;
};
#define DIR_INDEX	0x01	/* the index can be checked */
#define DIR_CASEFOLD	0x02
#define DIR_ENCRYPTED	0x04
#define DIR_CONNECTED	0x08
#define DIR_VISITED	0x10
#define DIR_HAD_INDEX	0x20	/* the inode has the index flag */
/*
 * e4l_compact_dirs() cannot rebuild the directory: the block map is indirect,
 * has holes or unwritten extents, or does not match i_size
 */
#define DIR_STAYS	0x40

/* Contiguous blocks of a directory. */
struct dir_run {
	uint64_t pblk : 48;
	uint64_t len : 16;
	uint32_t lblk;
	uint32_t dir;		/* index in check->dirs */
};

/* A block of an indexed directory. */
struct dx_block {
	/* lowest and highest hash of the names in the block */
	uint32_t min_hash, max_hash;
	/* hash range of the block, according to the index */
	uint32_t node_min, node_max;
	uint32_t parent;	/* index block that refers to this block */
	uint8_t type, flags;
};

/* A reference of an inode to an attribute block. */
struct xattr_use {
	blk64_t blk;
	ext2_ino_t ino;
	/*
	 * clusters that i_blocks counts, but pass 1 has not found; the EA
	 * inodes of the attribute block must have this number of clusters
	 */
	uint32_t missing;
	uint32_t generation;	/* generation of the inode */
	/*
	 * number of EA inodes that the attribute block refers to; set after the
	 * block is read
	 */
	uint32_t values;
	bool judged;	/* i_blocks needs no further check */
	bool encrypted;	/* the block must contain an encryption context */
};

/* An attribute whose value is in an EA inode. */
struct ea_use {
	ext2_ino_t ea_ino, ino;
	/* hash and value size in the attribute's entry */
	uint32_t hash, size;
	uint32_t name_hash, signed_name_hash;
	uint32_t generation;
};

/* A symbolic link whose target is in a block. */
struct symlink_use {
	blk64_t blk;
	ext2_ino_t ino;
	uint32_t size;
	bool encrypted;
};

struct check {
	struct e4l *e;
	ext2_filsys fs;
	const struct e4l_check_options *opt;
	/* channel on the device of the external journal; NULL: not opened */
	io_channel journal;
	struct findings *found;
	/*
	 * Arrays with one element per inode number.  @kind: KIND_* flags;
	 * @links: the link count; @counted: the number of directory entries
	 * found.
	 */
	uint8_t *kind;
	uint16_t *links, *counted;
	struct e4l_owners *owners;
	struct extent_list *metadata;
	struct bad_blocks *bad_blocks;
	/* the walk over all files; NULL outside of pass 1 */
	struct file_walk *walk;
	pthread_mutex_t lock;	/* protects @dx and @eas */
	struct dir *dirs;
	size_t n_dirs;
	struct dir_run *runs;
	size_t n_runs;
	struct dx_block *dx;
	size_t n_dx;
	struct xattr_use *xattrs;
	size_t n_xattrs;
	struct ea_use *eas;
	size_t n_eas;
	struct symlink_use *symlinks;
	size_t n_symlinks;
	struct quota *quota;
	struct policies *policies;
	/* a map is damaged: some blocks have unknown owners */
	bool maps_damaged;
	/* number of entries of the resize inode that refer to the superblock */
	uint32_t resize_super;
	/*
	 * an i_dtime below s_inodes_count is the inode number of the next
	 * orphan, not a time
	 */
	bool low_dtime;
};

/*
 * Returns @err, the result of a read.  If @err reports a lack of memory,
 * e4l_check_run() will return ENOMEM.  If @err is another error, the caller
 * must report a finding.
 */
errcode_t e4l_check_noted(struct check *ck, errcode_t err);

/* Adds a finding, as in FOUND(ck, INODE_MODE, .ino = ino, .got = mode). */
#define FOUND(ck, name, ...) \
	e4l_findings_add((ck)->found, F_##name, (struct finding) { __VA_ARGS__ })
#define IN_GROUP(g) .has_group = true, .group = (g)

static inline bool is_zero(const void *p, size_t bytes)
{
	const char *c = p;

	return !*c && !memcmp(c, c + 1, bytes - 1);
}

/* The passes.  Each pass returns 0, or an error that ends the check. */
errcode_t e4l_pass0_super(struct check *ck);
errcode_t e4l_pass0_groups(struct check *ck);
errcode_t e4l_pass0_resize_inode(struct check *ck);
errcode_t e4l_pass0_journal(struct check *ck);
errcode_t e4l_pass0_mmp(struct check *ck);
errcode_t e4l_pass0_backups(struct check *ck);
errcode_t e4l_pass1_inodes(struct check *ck);
errcode_t e4l_pass1_xattr_blocks(struct check *ck);
errcode_t e4l_pass1_symlinks(struct check *ck);
errcode_t e4l_pass2_dirs(struct check *ck);
errcode_t e4l_pass3_connect(struct check *ck);
errcode_t e4l_pass4_links(struct check *ck);
errcode_t e4l_pass5_bitmaps(struct check *ck);
errcode_t e4l_pass6_orphans(struct check *ck);
errcode_t e4l_pass6_quota(struct check *ck);

/* Whether @blk is a valid block number. */
static inline bool in_filesystem(ext2_filsys fs, blk64_t blk)
{
	return blk >= fs->super->s_first_data_block &&
	       blk < ext2fs_blocks_count(fs->super);
}

/*
 * Returns the first inode in [@ino, @end) that is in use.  If no inode in the
 * range is in use, returns @end.
 */
static inline uint64_t next_known(const struct check *ck, uint64_t ino,
				  uint64_t end)
{
	static const uint8_t none[64];

	while (ino + sizeof(none) <= end &&
	       !memcmp(ck->kind + ino, none, sizeof(none)))
		ino += sizeof(none);
	while (ino < end && !ck->kind[ino])
		ino++;
	return ino;
}

/* ------------------------------- functions that several files of pass 1 use */

/*
 * Checks inode @ino, except for its map, and sets ck->kind[@ino] to the KIND_*
 * flags of the inode.  May be called by any thread.
 *
 * If the inode has no links and is not a reserved inode in use, returns false.
 * The caller must then not check the map and the attributes of the inode.
 */
bool e4l_inode_judge(struct check *ck, ext2_ino_t ino, blk64_t blk,
		     const struct ext2_inode_large *inode);

/* Whether the inode has a link or a block. */
static inline bool inode_holds_anything(const struct ext2_inode *inode)
{
	return inode->i_links_count || inode->i_blocks || inode->i_block[0];
}

/*
 * Reports, as finding @id, that the inode does not match its file type.  For an
 * EA inode, reports the warning INODE_UNREAD: e2fsck does not check file types
 * of inodes without a directory entry.
 */
void e4l_inode_wrong_type(struct check *ck, ext2_ino_t ino, blk64_t blk,
			  const struct ext2_inode_large *inode,
			  enum finding_id id);

/* Reads inode @ino.  An invalid checksum is not an error. */
errcode_t e4l_inode_read(struct check *ck, ext2_ino_t ino,
			 struct ext2_inode_large *inode);

/* Whether @ino has a fixed purpose, and may have contents without a link. */
bool e4l_has_purpose(const struct ext2_super_block *sb, ext2_ino_t ino);

/*
 * Whether the inode is a symbolic link with inline data.  e2fsck does not check
 * i_blocks of inline symbolic links, and quotas do not count these links.
 */
static inline bool is_inline_link(const struct ext2_inode_large *inode)
{
	return LINUX_S_ISLNK(inode->i_mode) &&
	       inode->i_flags & EXT4_INLINE_DATA_FL;
}

/* Whether the group descriptor marks @ino as never used. */
bool e4l_inode_is_skipped(struct check *ck, ext2_ino_t ino);

/*
 * Whether @n is valid as the size of extra fields (i_extra_isize,
 * s_want_extra_isize).
 */
bool e4l_extra_isize_ok(const struct ext2_super_block *sb, unsigned int n);

/* Whether @ino is the inode of a quota file, according to the superblock. */
bool e4l_is_quota_inode(const struct ext2_super_block *sb, ext2_ino_t ino);

/*
 * Returns the header of the attributes in @inode's body, or NULL if the body
 * has no attributes.
 */
const char *e4l_xattr_ibody_header(const struct check *ck,
				   const struct ext2_inode_large *inode);

/* Whether @inode's body has attributes that can be read. */
bool e4l_xattr_ibody_readable(struct check *ck,
			      const struct ext2_inode_large *inode);

/*
 * The number of EA inodes to which a list of attributes refers, and the number
 * of clusters of these EA inodes.
 */
struct xattr_values {
	uint32_t n;
	uint64_t clusters;
};

/* Counts the EA inodes of the attributes in @inode's body. */
struct xattr_values e4l_xattr_ibody_values(struct check *ck,
					   const struct ext2_inode_large *inode);

/*
 * Returns the number of clusters in the EA inodes of Lustre that belong to
 * attributes in @inode's body.  i_blocks does not count these clusters.
 */
uint64_t e4l_xattr_ibody_lustre(struct check *ck, ext2_ino_t ino,
				const struct ext2_inode_large *inode);

/*
 * Returns the attribute entry at *@p, and advances *@p to the next entry.
 * Returns NULL after the last entry, or if the entry extends beyond @end.
 */
struct ext2_ext_attr_entry;
const struct ext2_ext_attr_entry *e4l_xattr_walk(const char **p,
						 const char *end);

/*
 * Checks the attributes in an inode's body.  May be called by any thread.
 * Attributes with EA inodes are added to ck->eas.
 */
void e4l_xattr_judge_ibody(struct check *ck, ext2_ino_t ino,
			   const struct ext2_inode_large *inode);

static inline void dir_is_damaged(struct dir *dir)
{
	__atomic_store_n(&dir->damaged, true, __ATOMIC_RELAXED);
}

/* Returns the directory @ino, or NULL if @ino is not a directory. */
struct dir *e4l_find_dir(struct check *ck, ext2_ino_t ino);

#endif
