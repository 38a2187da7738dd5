/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rare contents: encryption contexts, inline data, extended attributes, an MMP
 * block, an external journal.
 */
#include "config.h"
#include <endian.h>
#include <string.h>
#include "lab.h"
#include <ext2fs/ext2_ext_attr.h>

/* fscrypt_context_v2 and its xattr: see fs/crypto/ in Linux. */
#define ENCRYPTION_XATTR_INDEX 9
#define ENCRYPTION_XATTR_NAME 'c'
struct encryption_context {
	__u8 version, contents_mode, filenames_mode, flags;
	__u8 log2_data_unit, reserved[3];
	__u8 master_key[16];
	__u8 nonce[16];
};

void extra_encryption(struct lab *l, ext2_ino_t ino, char *slot)
{
	struct ext2_inode_large *inode = (struct ext2_inode_large *)slot;
	size_t bytes = EXT2_INODE_SIZE(l->fs->super);
	size_t start = EXT2_GOOD_OLD_INODE_SIZE +
		       ext2fs_le16_to_cpu(inode->i_extra_isize);
	struct encryption_context context = {
		.version = 2,
		.contents_mode = EXT4_ENCRYPTION_MODE_AES_256_XTS,
		.filenames_mode = EXT4_ENCRYPTION_MODE_AES_256_CTS,
		.flags = 3, /* names padded to 32 bytes */
	};
	struct ext2_ext_attr_entry entry = {
		.e_name_len = 1,
		.e_name_index = ENCRYPTION_XATTR_INDEX,
		.e_value_size = ext2fs_cpu_to_le32(sizeof(context)),
		.e_value_offs = ext2fs_cpu_to_le16(
			bytes - sizeof(context) - start - sizeof(__u32)),
	};
	__u32 magic = ext2fs_cpu_to_le32(EXT2_EXT_ATTR_MAGIC);

	emit_fill(context.master_key, sizeof(context.master_key), l->seed);
	emit_fill(context.nonce, sizeof(context.nonce), emit_key(l, ino, 0));
	memcpy(slot + start, &magic, sizeof(magic));
	memcpy(slot + start + sizeof(magic), &entry, sizeof(entry));
	slot[start + sizeof(magic) + sizeof(entry)] = ENCRYPTION_XATTR_NAME;
	memcpy(slot + bytes - sizeof(context), &context, sizeof(context));
}

/* ---- inline data and extended attributes ---- */

/*
 * On an error, prints the number of the inode, because the inode's line in the
 * recipe is unknown.
 */
static void check_inode(struct lab *l, const struct node *n, errcode_t err,
			const char *doing)
{
	if (err)
		lab_fail(l, "inode %u: %s: %s", node_ino(l, n), doing,
			 error_message(err));
}

static void set_inline(struct lab *l, struct node *n)
{
	ext2_ino_t ino = node_ino(l, n);
	char *buf = lab_alloc(l, n->size_bytes + sizeof(__u64));
	__u32 parent = ext2fs_cpu_to_le32(n->x->parent);

	if (node_is_dir(n)) {
		memcpy(buf, &parent, sizeof(parent));
		memcpy(buf + sizeof(parent), n->x->dir, INLINE_DIR_BYTES);
#ifdef WORDS_BIGENDIAN
		check_inode(l, n, ext2fs_dirent_swab_out2(
				l->fs, buf + sizeof(parent), INLINE_DIR_BYTES,
				0), "its entries");
#endif
	} else {
		emit_fill(buf, div_up(n->size_bytes, 8) * 8,
			  emit_key(l, ino, 0));
	}
	check_inode(l, n, ext2fs_inline_data_init(l->fs, ino), "inline data");
	check_inode(l, n, ext2fs_inline_data_set(l->fs, ino, NULL, buf,
						 n->size_bytes), "inline data");
	free(buf);
}

/*
 * Adds the blocks of an EA inode to the block count of the inode that uses the
 * EA inode, because libext2fs omits these blocks.
 */
static void charge_value(struct lab *l, struct node *n, size_t value_bytes)
{
	struct ext2_inode inode;
	blk64_t clusters = div_up(value_bytes,
				  (__u64)l->block_bytes * l->ratio_blks);

	check_inode(l, n, ext2fs_read_inode(l->fs, node_ino(l, n), &inode),
		    "reading it");
	check_inode(l, n, ext2fs_iblk_add_blocks(l->fs, &inode, clusters),
		    "its number of blocks");
	check_inode(l, n, ext2fs_write_inode(l->fs, node_ino(l, n), &inode),
		    "writing it");
}

static void set_xattrs(struct lab *l, struct node *n)
{
	struct ext2_xattr_handle *h;
	struct xattr *a;
	__u32 free_inodes;

	check_inode(l, n, ext2fs_xattrs_open(l->fs, node_ino(l, n), &h),
		    "extended attributes");
	check_inode(l, n, ext2fs_xattrs_read(h), "extended attributes");
	for (a = n->x->xattrs; a; a = a->next) {
		free_inodes = l->fs->super->s_free_inodes_count;
		check_inode(l, n, ext2fs_xattr_set(h, a->name, a->value,
						   a->value_bytes), a->name);
		if (l->fs->super->s_free_inodes_count < free_inodes)
			charge_value(l, n, a->value_bytes);
	}
	ext2fs_xattrs_close(&h);
}

static void share_xattrs(struct lab *l, struct node *n)
{
	struct ext2_inode owner, inode;
	ext2_ino_t ino = node_ino(l, n);
	blk64_t blk;

	check_inode(l, n, ext2fs_read_inode(l->fs, n->x->xattrs_of, &owner),
		    "reading another");
	check_inode(l, n, ext2fs_read_inode(l->fs, ino, &inode), "reading it");
	blk = ext2fs_file_acl_block(l->fs, &owner);
	check_inode(l, n, blk ? ext2fs_adjust_ea_refcount3(
		l->fs, blk, NULL, 1, NULL, n->x->xattrs_of) : ENOENT,
		    "another's block of extended attributes");
	ext2fs_file_acl_block_set(l->fs, &inode, blk);
	check_inode(l, n, ext2fs_iblk_add_blocks(l->fs, &inode, 1),
		    "its number of blocks");
	check_inode(l, n, ext2fs_write_inode(l->fs, ino, &inode), "writing it");
}

void extra_inodes(struct lab *l)
{
	ext2_ino_t ino, count = l->fs->super->s_inodes_count;
	struct node *n;

	for (ino = 1; ino <= count; ino++) {
		n = &l->nodes[ino];
		if (!n->x || (!n->x->is_inline && !n->x->xattrs))
			continue;
		if (n->x->is_inline)
			set_inline(l, n);
		if (n->x->xattrs)
			set_xattrs(l, n);
	}
	for (ino = 1; ino <= count; ino++) {
		n = &l->nodes[ino];
		if (n->x && n->x->xattrs_of)
			share_xattrs(l, n);
	}
}

/* ---- MMP and the external journal ---- */

/*
 * Clears the host's name and the time in the MMP block, because they differ
 * between two runs of mke2fs.
 */
static void reset_mmp(struct lab *l)
{
	struct mmp_struct *mmp = lab_alloc(l, l->block_bytes);

	mmp->mmp_magic = EXT4_MMP_MAGIC;
	mmp->mmp_seq = EXT4_MMP_SEQ_CLEAN;
	mmp->mmp_check_interval = l->fs->super->s_mmp_update_interval;
#ifdef WORDS_BIGENDIAN
	ext2fs_swap_mmp(mmp);
#endif
	lab_check(l, ext2fs_mmp_csum_set(l->fs, mmp), "MMP");
	lab_check(l, io_channel_write_blk64(
			     l->fs->io, l->fs->super->s_mmp_block, 1, mmp),
		  "MMP");
	free(mmp);
}

/* Offsets in a journal's superblock: see journal.rst. */
#define JBD2_UUID_OFF 0x30
#define JBD2_NR_USERS_OFF 0x40
#define JBD2_USERS_OFF 0x100
#define JBD2_SUPER_BYTES 1024

static void attach_journal(struct lab *l)
{
	size_t len = strlen(l->image_name) + sizeof(".journal");
	struct ext2_super_block *super = l->fs->super;
	char *name = lab_alloc(l, len), jsb[JBD2_SUPER_BYTES];
	__u32 one = htobe32(1);
	io_channel io;

	snprintf(name, len, "%s.journal", l->image_name);
	make_journal(l, name);
	lab_check(l, unix_io_manager->open(name, IO_FLAG_RW, &io), name);
	io_channel_set_blksize(io, JBD2_SUPER_BYTES);
	len = l->block_bytes > 1024 ? l->block_bytes / 1024 : 2;
	lab_check(l, io_channel_read_blk64(io, len, 1, jsb), name);
	memcpy(jsb + JBD2_NR_USERS_OFF, &one, sizeof(one));
	memcpy(jsb + JBD2_USERS_OFF, super->s_uuid, sizeof(super->s_uuid));
	lab_check(l, io_channel_write_blk64(io, len, 1, jsb), name);
	lab_check(l, io_channel_close(io), name);
	memcpy(super->s_journal_uuid, jsb + JBD2_UUID_OFF,
	       sizeof(super->s_journal_uuid));
	ext2fs_set_feature_journal(super);
	free(name);
}

void extra_blocks(struct lab *l)
{
	if (ext2fs_has_feature_mmp(l->fs->super))
		reset_mmp(l);
	if (l->journal_bytes)
		attach_journal(l);
}
