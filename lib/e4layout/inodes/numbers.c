/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "numbers.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/format.h"
#include "e4layout/format/xattr.h"

/* number of attribute blocks to collect before they are read, in disk order */
#define ROUND_BLOCKS	(64u << 10)

/*
 * Encryption contexts: see include/uapi/linux/fscrypt.h and fs/crypto/ in
 * Linux.
 */
#define POLICY_VERSIONS		2
/* byte offset of the flags in an encryption context of version 1 or 2 */
#define POLICY_FLAGS_AT		3
/*
 * FSCRYPT_POLICY_FLAG_IV_INO_LBLK_64 and _32: the IV depends on the inode
 * number
 */
#define POLICY_IV_INO		(0x08 | 0x10)
/* size of an encryption context of version 1; other versions are larger */
#define CONTEXT_BYTES		28

/*
 * The first byte of security.evm is the type of the signature.  A portable
 * signature (EVM_XATTR_PORTABLE_DIGSIG in Linux) does not depend on the inode
 * number.
 */
#define EVM_PORTABLE		5

/*
 * Values and byte offsets (_AT) of struct ovl_fb, overlayfs' file handle, in
 * fs/overlayfs/ of Linux.
 */
#define FB_MAGIC		0xfb
#define FB_MAGIC_AT		1
#define FB_TYPE_AT		4
#define FB_UUID_AT		5
#define FB_INO_AT		21
/* offset of the parent's inode number, in handles of type 2 */
#define FB_PARENT_AT		29
/* type of a file handle: FILEID_INO32_GEN in Linux */
#define FB_INO32_GEN		1
#define FB_INO32_GEN_PARENT	2

struct bound {
	ext2_ino_t ino;		/* must be first, for e4l_u32_cmp() */
	enum e4l_skip why;
};

/* An inode, and the extended attribute block to which it refers. */
struct user {
	blk64_t blk;		/* must be first, for e4l_u64_cmp() */
	ext2_ino_t ino;
	bool wants_policy;
};

struct e4l_numbers {
	struct e4l *e;
	bool anyway;
	struct bound *bound;
	size_t n_bound;
	struct user *users;
	size_t n_users;
	ext2_ino_t own[8];
	char *block;
};

errcode_t e4l_numbers_bind(struct e4l_numbers *n, ext2_ino_t ino,
			   enum e4l_skip why)
{
	errcode_t err = e4l_grow(&n->bound, n->n_bound, sizeof(*n->bound));

	if (!err)
		n->bound[n->n_bound++] = (struct bound) { ino, why };
	return err;
}

/* --------------------------------------------------------------- attributes */

static bool is_overlay(const struct e4l_xattr *x)
{
	return e4l_xattr_is(x, XATTR_INDEX_TRUSTED, "overlay.origin") ||
	       e4l_xattr_is(x, XATTR_INDEX_TRUSTED, "overlay.upper") ||
	       e4l_xattr_is(x, XATTR_INDEX_USER, "overlay.origin") ||
	       e4l_xattr_is(x, XATTR_INDEX_USER, "overlay.upper");
}

static errcode_t bind_number(struct e4l_numbers *n, ext2_ino_t ino)
{
	return ino && ino <= n->e->fs->super->s_inodes_count ?
	       e4l_numbers_bind(n, ino, E4L_SKIP_OVERLAY) : 0;
}

/*
 * If overlayfs file handle @x refers to this filesystem, records that the inode
 * in the handle must keep its number.  If the handle also has the inode number
 * of the parent directory, records that the parent directory must keep its
 * number.
 */
static errcode_t bind_handle(struct e4l_numbers *n, const struct e4l_xattr *x)
{
	static const char none[16];
	const struct ext2_super_block *sb = n->e->fs->super;
	const char *v = x->value;
	errcode_t err;

	if (!v || x->len < FB_INO_AT + 8 ||
	    (uint8_t)v[FB_MAGIC_AT] != FB_MAGIC ||
	    (v[FB_TYPE_AT] != FB_INO32_GEN &&
	     v[FB_TYPE_AT] != FB_INO32_GEN_PARENT))
		return 0;
	if (memcmp(v + FB_UUID_AT, sb->s_uuid, sizeof(none)) &&
	    memcmp(v + FB_UUID_AT, none, sizeof(none)))
		return 0;
	err = bind_number(n, get_le32(v + FB_INO_AT));
	if (err || v[FB_TYPE_AT] != FB_INO32_GEN_PARENT ||
	    x->len < FB_PARENT_AT + 4)
		return err;
	return bind_number(n, get_le32(v + FB_PARENT_AT));
}

/*
 * If the encryption context of an inode depends on the inode number, or has an
 * unknown format, records that the inode must keep its number.
 */
static errcode_t bind_policy(struct e4l_numbers *n, ext2_ino_t ino,
			     const struct e4l_xattr *x)
{
	if (!x->value || x->len < CONTEXT_BYTES || !x->value[0] ||
	    x->value[0] > POLICY_VERSIONS)
		return e4l_numbers_bind(n, ino, E4L_SKIP_UNKNOWN_POLICY);
	return x->value[POLICY_FLAGS_AT] & POLICY_IV_INO ?
	       e4l_numbers_bind(n, ino, E4L_SKIP_ENCRYPTED_INODES) : 0;
}

/*
 * Records the inodes that must keep their numbers because of the attributes of
 * inode @ino.  If an attribute is an encryption context, sets *@has_policy to
 * true.
 */
static errcode_t look(struct e4l_numbers *n, ext2_ino_t ino,
		      struct e4l_xattr_walk w, bool *has_policy)
{
	struct e4l_xattr x;
	errcode_t err = 0;

	while (!err && e4l_xattr_next(&w, &x)) {
		if (x.index == XATTR_INDEX_ENCRYPTION) {
			*has_policy = true;
			err = bind_policy(n, ino, &x);
		} else if (e4l_xattr_is(&x, XATTR_INDEX_SECURITY, "evm") &&
			   (!x.len || x.value[0] != EVM_PORTABLE)) {
			err = e4l_numbers_bind(n, ino, E4L_SKIP_EVM);
		} else if (!n->anyway && is_overlay(&x)) {
			err = bind_handle(n, &x);
		}
	}
	return err;
}

static errcode_t read_block(struct e4l_numbers *n, const struct user *u)
{
	errcode_t err = e4l_read(n->e, u->blk, 1, n->block);

	if (!err && !ext2fs_ext_attr_block_csum_verify(n->e->fs, u->ino,
						       u->blk,
						       (void *)n->block))
		err = E4L_ET_DAMAGED;
	return err ? e4l_fail(n->e, err, "reading attributes", u->ino, u->blk) :
		     0;
}

/*
 * Reads and examines all attribute blocks that e4l_numbers_piece() has
 * collected.
 */
static errcode_t read_users(struct e4l_numbers *n)
{
	size_t bs = n->e->fs->blocksize, i;
	blk64_t last = 0;
	errcode_t err = 0;

	e4l_sort(n->users, n->n_users, sizeof(*n->users), e4l_u64_cmp);
	for (i = 0; i < n->n_users && !err; i++) {
		const struct user *u = &n->users[i];
		bool has_policy = false;

		if (u->blk != last)
			err = read_block(n, u);
		last = u->blk;
		if (!err)
			err = look(n, u->ino, e4l_xattr_block(n->block, bs),
				   &has_policy);
		if (!err && u->wants_policy && !has_policy)
			err = e4l_numbers_bind(n, u->ino, E4L_SKIP_UNKNOWN_POLICY);
	}
	n->n_users = 0;
	return err;
}

static errcode_t add_user(struct e4l_numbers *n, const struct user *user)
{
	errcode_t err = e4l_grow(&n->users, n->n_users, sizeof(*n->users));

	if (err)
		return err;
	n->users[n->n_users++] = *user;
	return n->n_users < ROUND_BLOCKS ? 0 : read_users(n);
}

/* ------------------------------------------------------------------- public */

errcode_t e4l_numbers_piece(struct e4l_numbers *n, const struct e4l_piece *p)
{
	ext2_filsys fs = n->e->fs;
	struct ext2_inode *inode = (struct ext2_inode *)p->inode;
	size_t bytes = EXT2_INODE_SIZE(fs->super);
	bool encrypted = inode->i_flags & EXT4_ENCRYPT_FL, found = false;
	struct user user = {
		.blk = ext2fs_file_acl_block(fs, inode), .ino = p->ino,
	};
	errcode_t err;

	if (inode->i_flags & EXT4_EA_INODE_FL)
		return inode->i_mtime && inode->i_mtime <=
					 fs->super->s_inodes_count ?
		       e4l_numbers_bind(n, inode->i_mtime, E4L_SKIP_XATTR_INODES) : 0;
	err = look(n, p->ino, e4l_xattr_inode(p->inode, bytes), &found);
	user.wants_policy = encrypted && !found;
	if (err)
		return err;
	if (user.blk)
		return add_user(n, &user);
	return user.wants_policy ? e4l_numbers_bind(n, p->ino, E4L_SKIP_UNKNOWN_POLICY) : 0;
}

errcode_t e4l_numbers_finish(struct e4l_numbers *n)
{
	errcode_t err = read_users(n);

	e4l_sort(n->bound, n->n_bound, sizeof(*n->bound),
		 e4l_u32_cmp);
	return err;
}

static bool is_own(const struct e4l_numbers *n, ext2_ino_t ino)
{
	size_t i;

	for (i = 0; i < sizeof(n->own) / sizeof(*n->own); i++)
		if (n->own[i] == ino)
			return true;
	return ino < EXT2_FIRST_INO(n->e->fs->super);
}

enum e4l_skip e4l_numbers_why(const struct e4l_numbers *n, ext2_ino_t ino)
{
	size_t i;

	if (is_own(n, ino))
		return E4L_SKIP_OWN_INODES;
	if (ext2fs_has_feature_stable_inodes(n->e->fs->super))
		return E4L_SKIP_STABLE_INODES;
	i = e4l_lower_bound(&ino, n->bound, n->n_bound, sizeof(*n->bound),
			    e4l_u32_cmp);
	return i < n->n_bound && n->bound[i].ino == ino ? n->bound[i].why :
							  E4L_SKIP_NONE;
}

errcode_t e4l_numbers_new(struct e4l *e, bool anyway, struct e4l_numbers **ret)
{
	const struct ext2_super_block *sb = e->fs->super;
	struct e4l_numbers *n = calloc(1, sizeof(*n));

	*ret = NULL;
	if (!n)
		return ENOMEM;
	*n = (struct e4l_numbers) {
		.e = e, .anyway = anyway,
		.own = {
			sb->s_journal_inum, sb->s_usr_quota_inum,
			sb->s_grp_quota_inum, sb->s_prj_quota_inum,
			sb->s_orphan_file_inum, sb->s_lpf_ino,
			sb->s_snapshot_inum,
		},
		.block = malloc(e->fs->blocksize),
	};
	if (!n->block) {
		free(n);
		return ENOMEM;
	}
	*ret = n;
	return 0;
}

void e4l_numbers_free(struct e4l_numbers *n)
{
	if (!n)
		return;
	free(n->bound);
	free(n->users);
	free(n->block);
	free(n);
}
