/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the passes of the check share. */
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
 * What is known of an inode after pass 1, in one byte: its type as directory
 * entries have it (EXT2_FT_*), and these.  0: not in use.
 */
#define KIND_TYPE	0x0F
#define KIND_UNREAD	0x0F	/* as a type: it is in a bad block */
#define KIND_USED	0x10
#define KIND_ENCRYPTED	0x20
#define KIND_EA_INODE	0x40
#define KIND_NO_NAME	0x80	/* reserved: needs none */

/* A directory, in the order of inode numbers. */
struct dir {
	ext2_ino_t ino;
	ext2_ino_t parent;	/* that holds it, by its entry; 0: none yet */
	ext2_ino_t dotdot;
	uint32_t generation;
	uint32_t blocks;	/* up to its last */
	uint32_t index;		/* its first in check->dx */
	uint32_t hash_version;	/* with DIR_INDEX */
	uint8_t levels;		/* likewise: of index blocks */
	uint8_t flags;
	bool damaged;		/* part of it was not read, or makes no sense:
				 * set by any thread */
};
#define DIR_INDEX	0x01	/* has an index that can be checked */
#define DIR_CASEFOLD	0x02
#define DIR_ENCRYPTED	0x04
#define DIR_CONNECTED	0x08
#define DIR_VISITED	0x10
#define DIR_HAD_INDEX	0x20	/* its inode says so */
#define DIR_STAYS	0x40	/* its map is not one to build it anew */

/* Contiguous blocks of a directory. */
struct dir_run {
	uint64_t pblk : 48;
	uint64_t len : 16;
	uint32_t lblk;
	uint32_t dir;		/* index */
};

/* A block of a directory that has an index. */
struct dx_block {
	uint32_t min_hash, max_hash;		/* of the names in it */
	uint32_t node_min, node_max;		/* by the index */
	uint32_t parent;			/* block */
	uint8_t type, flags;
};

/* One inode's claim on an attribute block. */
struct xattr_use {
	blk64_t blk;
	ext2_ino_t ino;
	uint32_t missing;	/* clusters that i_blocks counts beyond those
				 * found; for values in inodes */
	uint32_t generation;	/* of the inode */
	uint32_t values;	/* in inodes; known once the block was read */
	bool judged;		/* i_blocks has been, without those values */
	bool encrypted;		/* its context has to be there */
};

/* An attribute whose value is in an inode of its own. */
struct ea_use {
	ext2_ino_t ea_ino, ino;
	uint32_t hash, size;	/* as the attribute has them */
	uint32_t name_hash, signed_name_hash;
	uint32_t generation;
};

/* A symbolic link with a block of its own. */
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
	io_channel journal;	/* of an external journal's device, or NULL */
	struct findings *found;
	/* by inode number; all but the first are of the inode tables */
	uint8_t *kind;
	uint16_t *links, *counted;
	struct e4l_owners *owners;
	struct extent_list *metadata;
	struct bad_blocks *bad_blocks;
	/* pass 1 */
	struct file_walk *walk;
	pthread_mutex_t lock;		/* of the lists that look() adds to */
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
	bool maps_damaged;	/* so some blocks may seem to be nobody's */
	uint32_t resize_super;	/* entries of the resize inode that name the
				 * superblock */
	bool low_dtime;		/* a dtime below s_inodes_count is an inode */
};

/*
 * Returns @err, which is why something cannot be read.  When memory is short,
 * that says nothing about the filesystem: it is noted, and e4l_check_run() fails.
 */
errcode_t e4l_check_noted(struct check *ck, errcode_t err);

/* Adds a finding: FOUND(ck, INODE_MODE, .ino = ino, .got = mode). */
#define FOUND(ck, name, ...) \
	e4l_findings_add((ck)->found, F_##name, (struct finding) { __VA_ARGS__ })
#define IN_GROUP(g) .has_group = true, .group = (g)

static inline bool is_zero(const void *p, size_t bytes)
{
	const char *c = p;

	return !*c && !memcmp(c, c + 1, bytes - 1);
}

/* Passes.  0, or why the check itself cannot go on. */
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

/* Is @blk a place where something can be? */
static inline bool in_filesystem(ext2_filsys fs, blk64_t blk)
{
	return blk >= fs->super->s_first_data_block &&
	       blk < ext2fs_blocks_count(fs->super);
}

/* The first inode from @ino on of which anything is known, or @end. */
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

/* ------------------------------------------------------------ pass 1 shares */

/*
 * Judges an inode that is in use, except for its map, and adds its kind to
 * ck->kind.  Returns whether its map and attributes count: a reserved inode
 * without a link whose feature is off has none.  From any thread.
 */
bool e4l_inode_judge(struct check *ck, ext2_ino_t ino, blk64_t blk,
		     const struct ext2_inode_large *inode);

/* Does the inode have a link or a block? */
static inline bool inode_holds_anything(const struct ext2_inode *inode)
{
	return inode->i_links_count || inode->i_blocks || inode->i_block[0];
}

/*
 * Adds finding @id: the inode is not of its type.  Nobody asks one without a
 * name, so that for that it is a warning.
 */
void e4l_inode_wrong_type(struct check *ck, ext2_ino_t ino, blk64_t blk,
			  const struct ext2_inode_large *inode,
			  enum finding_id id);

/* Reads @ino, whose checksum has been judged. */
errcode_t e4l_inode_read(struct check *ck, ext2_ino_t ino,
			 struct ext2_inode_large *inode);

/* Has the superblock a purpose for @ino, whatever its link count? */
bool e4l_has_purpose(const struct ext2_super_block *sb, ext2_ino_t ino);

/* A link without blocks: e2fsck neither counts its i_blocks nor charges it. */
static inline bool is_inline_link(const struct ext2_inode_large *inode)
{
	return LINUX_S_ISLNK(inode->i_mode) &&
	       inode->i_flags & EXT4_INLINE_DATA_FL;
}

/* Does the group say that nobody has used @ino yet? */
bool e4l_inode_is_skipped(struct check *ck, ext2_ino_t ino);

/* Can inodes have, or be meant to have, @n bytes of extra fields? */
bool e4l_extra_isize_ok(const struct ext2_super_block *sb, unsigned int n);

/* Is @ino one that the superblock keeps quotas in? */
bool e4l_is_quota_inode(const struct ext2_super_block *sb, ext2_ino_t ino);

/* The header of the attributes in @inode, before the first; NULL: none. */
const char *e4l_xattr_ibody_header(const struct check *ck,
				   const struct ext2_inode_large *inode);

/* Can the attributes in @inode be read, and are there any? */
bool e4l_xattr_ibody_readable(struct check *ck,
			      const struct ext2_inode_large *inode);

/* Values of attributes that are in inodes, and what they take there. */
struct xattr_values {
	uint32_t n;
	uint64_t clusters;
};

/* Those of the attributes in @inode. */
struct xattr_values e4l_xattr_ibody_values(struct check *ck,
					   const struct ext2_inode_large *inode);

/* Of their clusters, those that i_blocks does not count, for they are Lustre's. */
uint64_t e4l_xattr_ibody_lustre(struct check *ck, ext2_ino_t ino,
				const struct ext2_inode_large *inode);

/*
 * The entry at *@p, which moves on behind it; NULL: there is none that ends
 * before @end.
 */
struct ext2_ext_attr_entry;
const struct ext2_ext_attr_entry *e4l_xattr_walk(const char **p,
						 const char *end);

/*
 * Judges the attributes in an inode.  From any thread.  Attributes whose value
 * is in an inode go to ck->eas.
 */
void e4l_xattr_judge_ibody(struct check *ck, ext2_ino_t ino,
			   const struct ext2_inode_large *inode);

static inline void dir_is_damaged(struct dir *dir)
{
	__atomic_store_n(&dir->damaged, true, __ATOMIC_RELAXED);
}

/* The directory @ino, or NULL. */
struct dir *e4l_find_dir(struct check *ck, ext2_ino_t ino);

#endif
