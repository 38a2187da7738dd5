/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/format/dir_block.h"
#include "encryption.h"
#include "pass2_block.h"
#include "pass2_htree.h"

#define ENCRYPTED_NAME	16 /* minimum length of an encrypted name, in bytes */

/* A directory block, or one of the two parts of an inline directory. */
struct part {
	struct dir *dir;
	struct dx_block *dx;	/* NULL: the directory has no valid index */
	blk64_t blk;
	const char *buf;
	unsigned int len, off;
	unsigned int entry;	/* next entry: 0: ".", 1: "..", 2: any other */
	bool hashed;		/* each name is followed by its hash */
};

errcode_t e4l_dir_judge_init(struct dir_judge *j, struct check *ck)
{
	uint32_t n = 64;

	while (n < 2 * ck->fs->blocksize / DIR_ENTRY_BYTES)
		n *= 2;
	*j = (struct dir_judge) { .ck = ck, .n_slots = n };
	j->slots = calloc(n, sizeof(*j->slots));
	return j->slots ? 0 : ENOMEM;
}

void e4l_dir_judge_release(struct dir_judge *j)
{
	free(j->slots);
}

/* ------------------------------------------------------------------- links */

/* Counts a directory entry of @ino.  A count of 65535 means 65535 or more. */
static void count_link(struct check *ck, ext2_ino_t ino)
{
	uint16_t *p = &ck->counted[ino];
	uint16_t n = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (n != UINT16_MAX &&
	       !__atomic_compare_exchange_n(p, &n, n + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Records @parent as the parent of directory @ino.  If a directory has several
 * parents, records the one with the lowest inode number.
 */
static void note_parent(struct check *ck, ext2_ino_t ino, ext2_ino_t parent)
{
	struct dir *dir = e4l_find_dir(ck, ino);
	ext2_ino_t old;

	if (!dir)
		return;
	old = __atomic_load_n(&dir->parent, __ATOMIC_RELAXED);
	while (!old || parent < old)
		if (__atomic_compare_exchange_n(&dir->parent, &old, parent,
						true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			break;
	if (old)
		FOUND(ck, ENTRY_DIR_LINK, .ino = ino);
}

/* ------------------------------------------------------------------- names */

static bool is_dot_name(const struct dirent_raw *e)
{
	return (e->name_len == 1 && e->name[0] == '.') ||
	       (e->name_len == 2 && e->name[0] == '.' && e->name[1] == '.');
}

/*
 * Whether the encoding allows a name.  Names are tested only in casefolded
 * directories, and only if the encoding is strict.
 */
static bool is_encoded(const struct check *ck, const struct part *p,
		       const struct dirent_raw *e)
{
	ext2_filsys fs = ck->fs;
	char *bad;

	return !(p->dir->flags & DIR_CASEFOLD) || !fs->encoding ||
	       !(fs->super->s_encoding_flags & EXT4_ENC_STRICT_MODE_FL) ||
	       !ext2fs_check_encoded_name(fs->encoding, (char *)e->name,
					  e->name_len, &bad);
}

static void judge_name(struct dir_judge *j, const struct part *p,
		       const struct dirent_raw *e)
{
	bool ok;

	if (p->dir->flags & DIR_ENCRYPTED)
		ok = p->entry < 2 || e->name_len >= ENCRYPTED_NAME;
	else
		ok = !memchr(e->name, '/', e->name_len) &&
		     !memchr(e->name, '\0', e->name_len) &&
		     is_encoded(j->ck, p, e);
	if (!ok)
		FOUND(j->ck, ENTRY_NAME, .ino = p->dir->ino, .blk = p->blk,
		      .got = e->ino);
}

/*
 * Whether an earlier entry of @p has the name of @e.  If no earlier entry has
 * the name, adds the name to the hash table of @j.
 */
static bool is_twice(struct dir_judge *j, const struct part *p,
		     const struct dirent_raw *e)
{
	uint32_t hash = e4l_crc32c(~0u, e->name, e->name_len);
	uint32_t i = hash & (j->n_slots - 1);

	for (; j->slots[i].offset; i = (i + 1) & (j->n_slots - 1)) {
		const char *other = p->buf + j->slots[i].offset - 1;

		if (j->slots[i].hash == hash && (uint8_t)other[6] == e->name_len &&
		    !memcmp(other + DIRENT_HEAD_BYTES, e->name, e->name_len))
			return true;
	}
	j->slots[i] = (struct name_slot) {
		hash, e->name - p->buf - DIRENT_HEAD_BYTES + 1
	};
	return false;
}

static void note_hash(struct dir_judge *j, const struct part *p,
		      const struct dirent_raw *e)
{
	struct check *ck = j->ck;
	uint32_t hash = 0;

	if (!p->dx || p->dx->type != DX_LEAF)
		return;
	if (p->dir->hash_version == EXT2_HASH_SIPHASH)
		hash = ext2fs_le32_to_cpu(*(const uint32_t *)(e->name +
					  (e->name_len + 3) / 4 * 4));
	else
		ext2fs_dirhash2(p->dir->hash_version, e->name, e->name_len,
				ck->fs->encoding,
				p->dir->flags & DIR_CASEFOLD ?
				EXT4_CASEFOLD_FL : 0,
				ck->fs->super->s_hash_seed, &hash, NULL);
	if (hash < p->dx->min_hash)
		p->dx->min_hash = hash;
	if (hash > p->dx->max_hash)
		p->dx->max_hash = hash;
}

/* ------------------------------------------------------------------ entries */

static bool ino_allowed(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return ino <= sb->s_inodes_count && !e4l_is_quota_inode(sb, ino) &&
	       ino != sb->s_orphan_file_inum &&
	       (ino == EXT2_ROOT_INO || ino >= EXT2_FIRST_INODE(sb));
}

static void judge_type(struct dir_judge *j, const struct part *p,
		       const struct dirent_raw *e)
{
	struct check *ck = j->ck;
	uint8_t type = ck->kind[e->ino] & KIND_TYPE;

	if (!ext2fs_has_feature_filetype(ck->fs->super))
		type = 0;
	if (e->type == type)
		return;
	if (e->type)
		FOUND(ck, ENTRY_TYPE, .ino = p->dir->ino, .blk = p->blk,
		      .got = e->type, .want = type);
	else
		FOUND(ck, ENTRY_NO_TYPE, .ino = p->dir->ino, .blk = p->blk,
		      .got = e->type, .want = type);
}

/* Checks an entry after "." and "..". */
static void judge_other(struct dir_judge *j, const struct part *p,
			const struct dirent_raw *e)
{
	struct check *ck = j->ck;
	ext2_ino_t dir = p->dir->ino;

	if (e->ino == dir)
		FOUND(ck, ENTRY_SELF, .ino = dir, .blk = p->blk);
	else if (is_dot_name(e))
		FOUND(ck, ENTRY_DOTS, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	else if (e->ino == EXT2_ROOT_INO)
		FOUND(ck, ENTRY_ROOT, .ino = dir, .blk = p->blk);
	else if (!e->name_len)
		FOUND(ck, ENTRY_NAME, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	if (p->dir->flags & DIR_ENCRYPTED &&
	    !e4l_encryption_agrees(ck, dir, e->ino))
		FOUND(ck, ENTRY_ENCRYPTION, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	if ((ck->kind[e->ino] & KIND_TYPE) == EXT2_FT_DIR)
		note_parent(ck, e->ino, dir);
	if (!is_twice(j, p, e))
		return;
	if (p->blk)
		FOUND(ck, ENTRY_TWICE, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	else
		FOUND(ck, ENTRY_TWICE_INLINE, .ino = dir, .got = e->ino);
}

static void judge_target(struct dir_judge *j, const struct part *p,
			 const struct dirent_raw *e)
{
	struct check *ck = j->ck;
	ext2_ino_t dir = p->dir->ino;

	if (!ino_allowed(ck->fs->super, e->ino)) {
		FOUND(ck, ENTRY_INODE, .ino = dir, .blk = p->blk,
		      .got = e->ino);
		return;
	}
	if ((ck->kind[e->ino] & KIND_TYPE) == KIND_UNREAD)
		FOUND(ck, ENTRY_BAD_BLOCK, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	else if (e4l_inode_is_skipped(ck, e->ino))
		FOUND(ck, ENTRY_SKIPPED, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	else if (!ck->kind[e->ino])
		FOUND(ck, ENTRY_UNUSED, .ino = dir, .blk = p->blk,
		      .got = e->ino);
	else
		judge_type(j, p, e);
	judge_name(j, p, e);
	if (p->entry > 1)
		judge_other(j, p, e);
	note_hash(j, p, e);
	count_link(ck, e->ino);
}

static void judge_dot(struct dir_judge *j, const struct part *p,
		      const struct dirent_raw *e)
{
	struct check *ck = j->ck;

	if (e->ino != p->dir->ino || e->name_len != 1 || e->name[0] != '.' ||
	    e->name[1])
		FOUND(ck, DIR_DOT, .ino = p->dir->ino, .blk = p->blk,
		      .got = e->ino);
	else if (e->rec_len > 2 * DIR_ENTRY_BYTES)
		FOUND(ck, DIR_DOT_LENGTH, .ino = p->dir->ino, .blk = p->blk);
}

static void judge_dotdot(struct dir_judge *j, const struct part *p,
			 const struct dirent_raw *e)
{
	if (!e->ino || e->name_len != 2 || e->name[0] != '.' ||
	    e->name[1] != '.' || e->name[2])
		FOUND(j->ck, DIR_DOTDOT, .ino = p->dir->ino, .blk = p->blk,
		      .got = e->ino);
	else
		p->dir->dotdot = e->ino;
}

static void judge_entry(struct dir_judge *j, struct part *p,
			const struct dirent_raw *e)
{
	if (p->entry == 0)
		judge_dot(j, p, e);
	else if (p->entry == 1)
		judge_dotdot(j, p, e);
	if (e->ino)
		judge_target(j, p, e);
	if (p->entry < 2)
		p->entry++;
}

/* Reads the next entry.  If the remaining bytes are invalid, returns false. */
static bool next_entry(const struct check *ck, struct part *p,
		       struct dirent_raw *e)
{
	unsigned int left = p->len - p->off;
	unsigned int extra = p->hashed && p->entry > 1 ? DIR_HASH_BYTES : 0;

	if (left < DIR_ENTRY_BYTES)
		return false;
	*e = dirent_read(ck->fs->blocksize, p->buf + p->off);
	return e->rec_len <= left && e->rec_len >= DIR_ENTRY_BYTES + extra &&
	       e->rec_len % 4 == 0 &&
	       dirent_bytes(e->name_len) + extra <= e->rec_len;
}

static void judge_part(struct dir_judge *j, struct part *p)
{
	struct dirent_raw e;

	memset(j->slots, 0, j->n_slots * sizeof(*j->slots));
	while (p->off < p->len) {
		if (!next_entry(j->ck, p, &e)) {
			FOUND(j->ck, DIR_CORRUPT, .ino = p->dir->ino,
			      .blk = p->blk, .got = p->off);
			dir_is_damaged(p->dir);
			return;
		}
		judge_entry(j, p, &e);
		p->off += e.rec_len;
	}
	/* "." fills the block, and ".." is missing */
	if (p->entry < 2)
		FOUND(j->ck, DIR_DOTDOT, .ino = p->dir->ino, .blk = p->blk);
}

/* ------------------------------------------------------------------ blocks */

/* Whether the last entry of a leaf is followed by the entry of the checksum. */
static bool has_tail(ext2_filsys fs, const char *block)
{
	static const uint8_t tail[8] = { 0, 0, 0, 0, DIR_TAIL_BYTES, 0, 0,
					 DIR_TAIL_TYPE };
	unsigned int top = fs->blocksize - DIR_TAIL_BYTES, off = 0;

	while (off < top) {
		const uint8_t *d = (const uint8_t *)block + off;
		unsigned int len = get_le16(d + 4);

		/* judge_part() reports invalid record lengths */
		if (len < 8 || len % 4 || off + len > fs->blocksize)
			return true;
		off += len;
	}
	return off == top && !memcmp(block + top, tail, sizeof(tail));
}

static enum dx_type type_of(struct check *ck, const struct dir *dir,
			    uint32_t lblk, const void *block)
{
	if (!(dir->flags & DIR_INDEX) || lblk >= dir->blocks)
		return DX_LEAF;
	if (!lblk)
		return DX_ROOT;
	return e4l_htree_is_node(ck, block) ? DX_NODE : DX_LEAF;
}

/*
 * Verifies the block's checksum.  Returns the number of bytes that entries can
 * use.
 */
static unsigned int judge_csum(struct check *ck, const struct dir *dir,
			       blk64_t blk, enum dx_type type,
			       const void *block)
{
	ext2_filsys fs = ck->fs;
	bool ok = e4l_dir_block_csum_ok(fs, dir->ino, dir->generation, block);

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return fs->blocksize;
	if (type != DX_LEAF) {
		/*
		 * e2fsck also requires file type 0 in the empty entry at the
		 * start of the index block
		 */
		if (!ok || (type == DX_NODE && ((const char *)block)[7]))
			FOUND(ck, HTREE_CSUM, .ino = dir->ino, .blk = blk);
		return fs->blocksize;
	}
	if (!ok && !has_tail(fs, block)) {
		FOUND(ck, DIR_NO_CSUM, .ino = dir->ino, .blk = blk);
		return fs->blocksize;
	}
	if (!ok)
		FOUND(ck, DIR_CSUM, .ino = dir->ino, .blk = blk);
	return fs->blocksize - DIR_TAIL_BYTES;
}

void e4l_dir_judge_block(struct dir_judge *j, struct dir *dir, blk64_t blk,
			 uint32_t lblk, const void *block)
{
	struct check *ck = j->ck;
	enum dx_type type = type_of(ck, dir, lblk, block);
	struct part p = {
		.dir = dir, .blk = blk, .buf = block,
		.entry = lblk ? 2 : 0,
		.hashed = dir->flags & DIR_CASEFOLD &&
			  dir->flags & DIR_ENCRYPTED,
	};

	if (dir->flags & DIR_INDEX && lblk < dir->blocks) {
		p.dx = &ck->dx[dir->index + lblk];
		p.dx->type = type;
		p.dx->min_hash = ~0u;
		p.dx->max_hash = 0;
	}
	p.len = judge_csum(ck, dir, blk, type, block);
	judge_part(j, &p);
	if (type != DX_LEAF)
		e4l_htree_judge_node(ck, dir, blk, lblk, block);
}

/*
 * Checks "." and ".." of an inline directory, which stores no entry for ".",
 * and only the inode number for "..".
 */
static void judge_inline_dots(struct dir_judge *j, struct part *p,
			      ext2_ino_t parent)
{
	bool typed = ext2fs_has_feature_filetype(j->ck->fs->super);
	struct dirent_raw e = {
		.ino = p->dir->ino, .name = ".\0", .name_len = 1,
		.rec_len = DIR_ENTRY_BYTES, .type = typed ? EXT2_FT_DIR : 0,
	};

	judge_entry(j, p, &e);
	e.ino = parent;
	e.name = "..\0";
	e.name_len = 2;
	judge_entry(j, p, &e);
}

void e4l_dir_judge_inline(struct dir_judge *j, struct dir *dir,
			  const struct ext2_inode_large *inode)
{
	struct check *ck = j->ck;
	struct part p = {
		.dir = dir, .buf = (const char *)inode->i_block,
		.len = I_BLOCK_BYTES, .off = DIR_INLINE_PARENT,
		.hashed = dir->flags & DIR_CASEFOLD &&
			  dir->flags & DIR_ENCRYPTED,
	};
	const char *value;
	size_t len;

	value = e4l_inline_value(inode, EXT2_INODE_SIZE(ck->fs->super), &len);
	if (!value)
		return;		/* pass 1 reports the missing attribute */
	if (len % 4 || (len && len < DIR_ENTRY_BYTES)) {
		FOUND(ck, DIR_INLINE_SIZE, .ino = dir->ino,
		      .got = I_BLOCK_BYTES + len);
		return;
	}
	judge_inline_dots(j, &p, ext2fs_le32_to_cpu(inode->i_block[0]));
	judge_part(j, &p);
	p.buf = value;
	p.len = len;
	p.off = 0;
	judge_part(j, &p);
}
